//! Arithmetic, comparisons, conversions: which routine, and which types its operands have.

use super::function::{Lowered, Lowering};
use super::packed::half_of;
use crate::exec::{alu, bits, compare, convert, float, moves};
use crate::ir::{Handler, Slot, pair};
use boomerang_ptx::ast::*;

impl Lowering<'_> {
    pub(super) fn lower_arithmetic(&mut self, i: &Instruction) -> Lowered {
        use Opcode::*;
        let m = &i.modifiers;
        let ty = m.types[0].ok_or("it has no type")?;
        match i.opcode {
            And | Or | Xor | Not if ty == Type::Pred => self.lower_predicate_logic(i),
            Setp => match half_of(ty) {
                Some(half) => self.lower_setp_pairs(i, half),
                None => self.lower_setp(i, ty),
            },
            Set => self.lower_set(i),
            Testp => {
                let run = float::select_test(ty, m).ok_or("such a test")?;
                let a = self.value(&i.operands[1], ty)?;
                let d = self.predicate_destination(&i.operands[0])?;
                self.emit_op(run, 0, d, [a; 3]);
                Ok(())
            }
            Slct => {
                let by = m.types[1].ok_or("it has one type only")?;
                let run =
                    compare::select_slct(ty.size(), by == Type::F32, m.flags.ftz).ok_or("such a type")?;
                self.lower_typed(i, run, 0, ty, &[ty, ty, by])
            }
            Cvt => self.lower_cvt(i),
            Bfi => {
                let run: Handler = if ty.size() == 8 { bits::insert::<u64> } else { bits::insert::<u32> };
                let length = self.value(&i.operands[4], Type::U32)?;
                self.lower_typed(i, run, length.bits().into(), ty, &[ty, ty, Type::U32])
            }
            Lop3 => match i.operands.get(4) {
                Some(Operand::Integer(table)) if m.combine.is_none() => {
                    self.lower_typed(i, bits::lop3, *table, ty, &[ty; 3])
                }
                Some(Operand::Integer(table)) => self.lower_lop3_with_predicate(i, *table),
                _ => Err("a table that is no constant".into()),
            },
            Dp4a | Dp2a => {
                let b = m.types[1].ok_or("it has one type only")?;
                let signs = u32::from(ty.is_signed()) | u32::from(b.is_signed()) << 1;
                let form = match (i.opcode, m.part) {
                    (Dp4a, _) => 0,
                    (_, Some(Part::Hi)) => 2,
                    _ => 1,
                };
                self.lower_typed(i, alu::dot, pair(signs, form), Type::B32, &[Type::B32; 3])
            }
            _ if i.operands.len() > 3 && matches!(i.opcode, Min | Max) => self.lower_extremum_of_three(i, ty),
            Selp => self.lower_selp(i, ty),
            Add | Sub | Mul | Fma | Mad | Min | Max | Neg | Abs | Ex2 | Tanh if half_of(ty).is_some() => {
                self.lower_pairs(i, half_of(ty).unwrap_or(ty))
            }
            Addc | Subc | Madc => self.lower_carry(i, ty),
            Add | Sub | Mad if m.flags.cc => self.lower_carry(i, ty),
            _ if ty.is_float() => {
                let (run, imm) = float::select(i.opcode, ty, m).ok_or_else(|| format!("the type {ty}"))?;
                self.lower_typed(i, run, imm, ty, &[ty; 3])
            }
            _ => self.lower_integer(i, ty),
        }
    }

    /// `min` or `max` of three: of two, and of that and the third.
    fn lower_extremum_of_three(&mut self, i: &Instruction, ty: Type) -> Lowered {
        let (run, imm) = match ty {
            Type::F32 => float::select(i.opcode, ty, &i.modifiers).ok_or("such a form")?,
            _ => return Err(format!("three operands of the type {ty}")),
        };
        let mut operands = Vec::new();
        for operand in &i.operands[1..] {
            operands.push(self.value(operand, ty)?);
        }
        let [a, b, c] = operands[..] else { return Err("it has too few operands".into()) };
        let first = self.temporary(4);
        self.emit_op(run, imm, first, [a, b, b]);
        let d = self.destination(&i.operands[0], ty)?;
        self.emit_op(run, imm, d.slot, [first, c, c]);
        self.finish(d);
        Ok(())
    }

    /// `lop3.BOOLOP.b32 d|p, a, b, c, table, q`: `p` is whether `d` is not zero, joined with `q`.
    fn lower_lop3_with_predicate(&mut self, i: &Instruction, table: u64) -> Lowered {
        let [to, a, b, c, _, q] = &i.operands[..] else { return Err("it has six operands".into()) };
        let (to, predicate) = self.result_and_predicate(to)?;
        let [a, b, c] = [a, b, c].map(|operand| self.value(operand, Type::B32));
        let result = self.temporary(4);
        self.emit_op(bits::lop3, table, result, [a?, b?, c?]);
        if let Some(p) = predicate {
            let (q, complement) = self.predicate(q).map(|(slot, flip)| (slot, flip != 0))?;
            let run = compare::select_setp(Compare::Ne, Type::B32).ok_or("such a comparison")?;
            let zero = self.constant(0, false);
            let imm = compare::usage(i.modifiers.combine, complement, 0);
            self.emit_op(run, imm, p, [result, zero, q]);
        }
        let d = self.destination(&to, Type::B32)?;
        self.emit_op(moves::select(4), 0, d.slot, [result; 3]);
        self.finish(d);
        Ok(())
    }

    /// `run` of the operands after the first, each used as the type given, into the first as `to`.
    fn lower_typed(&mut self, i: &Instruction, run: Handler, imm: u64, to: Type, from: &[Type]) -> Lowered {
        let mut slots = [None; 3];
        for (n, (operand, ty)) in i.operands[1..].iter().zip(from).enumerate() {
            slots[n] = Some(self.value(operand, *ty)?);
        }
        let first = slots[0].ok_or("it has no operand")?;
        let d = self.destination(&i.operands[0], to)?;
        self.emit_op(run, imm, d.slot, slots.map(|s| s.unwrap_or(first)));
        self.finish(d);
        Ok(())
    }

    fn lower_integer(&mut self, i: &Instruction, ty: Type) -> Lowered {
        use Opcode::*;
        let m = &i.modifiers;
        let run = alu::select(i.opcode, ty, m).ok_or_else(|| format!("the type {ty}"))?;
        let wide = match (m.part == Some(Part::Wide), ty) {
            (false, _) => ty,
            (true, Type::U16) => Type::U32,
            (true, Type::S16) => Type::S32,
            (true, Type::U32) => Type::U64,
            (true, _) => Type::S64,
        };
        let (to, from) = match i.opcode {
            Popc | Clz | Bfind => (Type::U32, [ty; 3]),
            Fns => (ty, [Type::U32, Type::U32, Type::S32]),
            Shl | Shr => (ty, [ty, Type::U32, Type::U32]),
            Bfe => (ty, [ty, Type::U32, Type::U32]),
            Mul => (wide, [ty; 3]),
            Mad => (wide, [ty, ty, wide]),
            _ => (ty, [ty; 3]),
        };
        self.lower_typed(i, run, 0, to, &from)
    }

    fn lower_carry(&mut self, i: &Instruction, ty: Type) -> Lowered {
        use Opcode::*;
        let takes = matches!(i.opcode, Addc | Subc | Madc);
        let subtracts = matches!(i.opcode, Sub | Subc);
        let form = u32::from(takes) | u32::from(i.modifiers.flags.cc) << 1 | u32::from(subtracts) << 2;
        let imm = pair(form, self.carry().offset() as u32);
        let run: Handler = if ty.size() == 8 { alu::carry::<u64> } else { alu::carry::<u32> };
        let (a, b) = if matches!(i.opcode, Mad | Madc) {
            let product = alu::select(Mul, ty, &i.modifiers).ok_or("such a product")?;
            let (x, y) = (self.value(&i.operands[1], ty)?, self.value(&i.operands[2], ty)?);
            let t = self.temporary(ty.size());
            self.emit_op(product, 0, t, [x, y, y]);
            (t, self.value(&i.operands[3], ty)?)
        } else {
            (self.value(&i.operands[1], ty)?, self.value(&i.operands[2], ty)?)
        };
        let d = self.destination(&i.operands[0], ty)?;
        self.emit_op(run, imm, d.slot, [a, b, b]);
        self.finish(d);
        Ok(())
    }

    fn lower_predicate_logic(&mut self, i: &Instruction) -> Lowered {
        let run: Handler = match i.opcode {
            Opcode::And => compare::predicate_and,
            Opcode::Or => compare::predicate_or,
            Opcode::Xor => compare::predicate_xor,
            _ => compare::predicate_not,
        };
        let (a, flip_a) = self.predicate(&i.operands[1])?;
        let (b, flip_b) = match i.operands.get(2) {
            Some(operand) => self.predicate(operand)?,
            None => (a, 0),
        };
        let d = self.predicate_destination(&i.operands[0])?;
        self.emit_op(run, pair(flip_a, flip_b), d, [a, b, b]);
        Ok(())
    }

    /// The two values that an instruction compares.
    fn compared(&mut self, i: &Instruction, ty: Type) -> Lowered<(Slot, Slot, Type)> {
        let (a, b) = (self.value(&i.operands[1], ty)?, self.value(&i.operands[2], ty)?);
        Ok(self.comparable(a, b, ty, i.modifiers.flags.ftz))
    }

    /// Two values and their type as they are compared: halves as floats, subnormals flushed where asked.
    pub(super) fn comparable(&mut self, a: Slot, b: Slot, ty: Type, flush: bool) -> (Slot, Slot, Type) {
        let Some(widen) = compare::select_widen(ty, flush) else { return (a, b, ty) };
        let (x, y) = (self.temporary(4), self.temporary(4));
        self.emit_op(widen, 0, x, [a; 3]);
        self.emit_op(widen, 0, y, [b; 3]);
        (x, y, Type::F32)
    }

    /// The predicate that a comparison is combined with.
    pub(super) fn combined(&mut self, i: &Instruction) -> Lowered<(Option<Slot>, bool)> {
        match i.operands.get(3) {
            Some(operand) => self.predicate(operand).map(|(slot, flip)| (Some(slot), flip != 0)),
            None => Ok((None, false)),
        }
    }

    fn lower_setp(&mut self, i: &Instruction, ty: Type) -> Lowered {
        let m = &i.modifiers;
        let (a, b, ty) = self.compared(i, ty)?;
        let run = compare::select_setp(m.compare.ok_or("it has no comparison")?, ty).ok_or("such a type")?;
        let (c, complement) = self.combined(i)?;
        let (first, second) = match &i.operands[0] {
            Operand::Pair(p, q) => (*p, *q),
            Operand::Register(p) => (Some(*p), None),
            Operand::Sink => (None, None),
            _ => return Err("the destination is no predicate".into()),
        };
        let register = |id: Option<RegisterId>| id.map(|id| self.predicate_register(id)).transpose();
        let (first, second) = (register(first)?, register(second)?);
        let imm = compare::usage(m.combine, complement, second.map_or(0, |s| s.offset() as u32));
        self.emit_op(run, imm, first.unwrap_or(Slot::UNUSED), [a, b, c.unwrap_or(a)]);
        Ok(())
    }

    fn lower_set(&mut self, i: &Instruction) -> Lowered {
        let m = &i.modifiers;
        let [Some(to), Some(ty), _] = m.types else { return Err("it has two types".into()) };
        if to.size() != 4 || half_of(to).is_some() || half_of(ty).is_some() {
            return Err(format!("the types {to} and {ty}"));
        }
        let (a, b, ty) = self.compared(i, ty)?;
        let comparison = m.compare.ok_or("it has no comparison")?;
        let run = compare::select_set(comparison, ty, to == Type::F32).ok_or("such a type")?;
        let (c, complement) = self.combined(i)?;
        let d = self.destination(&i.operands[0], to)?;
        self.emit_op(run, compare::usage(m.combine, complement, 0), d.slot, [a, b, c.unwrap_or(a)]);
        self.finish(d);
        Ok(())
    }

    fn lower_selp(&mut self, i: &Instruction, ty: Type) -> Lowered {
        let (a, b) = (self.value(&i.operands[1], ty)?, self.value(&i.operands[2], ty)?);
        let (p, flip) = self.predicate(&i.operands[3])?;
        let d = self.destination(&i.operands[0], ty)?;
        self.emit_op(compare::select_selp(ty.size()), flip.into(), d.slot, [a, b, p]);
        self.finish(d);
        Ok(())
    }

    fn lower_cvt(&mut self, i: &Instruction) -> Lowered {
        let [Some(to), Some(from), _] = i.modifiers.types else { return Err("it has two types".into()) };
        if let (3, Some(half)) = (i.operands.len(), half_of(to)) {
            return self.lower_cvt_pair(i, half, from);
        }
        if i.operands.len() > 2 {
            return Err("a packed conversion".into());
        }
        let (run, imm) = convert::select(to, from, &i.modifiers).ok_or("such types")?;
        self.lower_typed(i, run, imm, to, &[from])
    }
}
