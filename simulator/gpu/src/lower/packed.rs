//! Instructions on pairs of 16-bit values in a 32-bit register: done on each half by itself.

use super::function::{Lowered, Lowering};
use crate::exec::{alu, compare, convert, float, moves};
use crate::ir::{Handler, Slot};
use boomerang_ptx::ast::*;

/// The type of the halves, if `ty` is a pair.
pub(super) fn half_of(ty: Type) -> Option<Type> {
    Some(match ty {
        Type::F16x2 => Type::F16,
        Type::Bf16x2 => Type::Bf16,
        Type::U16x2 => Type::U16,
        Type::S16x2 => Type::S16,
        _ => return None,
    })
}

const TAKE: &str = "a 32-bit register has two halves";

impl Lowering<'_> {
    /// The lower and the upper half of an operand.
    pub(super) fn halves(&mut self, operand: &Operand) -> Lowered<[Slot; 2]> {
        let whole = self.value(operand, Type::B32)?;
        let take = moves::select_part(4, 2).ok_or(TAKE)?;
        Ok([0, 16].map(|shift| {
            let half = self.temporary(4);
            self.emit_op(take, shift, half, [whole; 3]);
            half
        }))
    }

    /// Puts two halves together as the result.
    fn join_halves(&mut self, to: &Operand, halves: [Slot; 2]) -> Lowered {
        let put = moves::select_put(2, 4).ok_or(TAKE)?;
        let d = self.destination(to, Type::B32)?;
        for (half, shift) in halves.into_iter().zip([0, 16]) {
            self.emit_op(put, shift, d.slot, [half; 3]);
        }
        self.finish(d);
        Ok(())
    }

    /// Arithmetic on pairs of `ty`.
    pub(super) fn lower_pairs(&mut self, i: &Instruction, ty: Type) -> Lowered {
        let (run, imm): (Handler, u64) = match ty.is_float() {
            true => float::select(i.opcode, ty, &i.modifiers).ok_or_else(|| format!("pairs of {ty}"))?,
            false => (alu::select(i.opcode, ty, &i.modifiers).ok_or_else(|| format!("pairs of {ty}"))?, 0),
        };
        let mut operands = Vec::new();
        for operand in &i.operands[1..] {
            operands.push(self.halves(operand)?);
        }
        let first = *operands.first().ok_or("it has no operand")?;
        let results = [0, 1].map(|n| {
            let slot = |at: usize| operands.get(at).unwrap_or(&first)[n];
            let d = self.temporary(4);
            self.emit_op(run, imm, d, [slot(0), slot(1), slot(2)]);
            d
        });
        self.join_halves(&i.operands[0], results)
    }

    /// `setp` of pairs: `p|q`, of the lower and the upper halves.
    pub(super) fn lower_setp_pairs(&mut self, i: &Instruction, ty: Type) -> Lowered {
        let Operand::Pair(p, q) = i.operands[0] else { return Err("it has two destinations".into()) };
        let (a, b) = (self.halves(&i.operands[1])?, self.halves(&i.operands[2])?);
        let (c, complement) = self.combined(i)?;
        let compared = i.modifiers.compare.ok_or("it has no comparison")?;
        let imm = compare::usage(i.modifiers.combine, complement, 0);
        for (n, to) in [p, q].into_iter().enumerate() {
            let Some(to) = to else { continue };
            let (x, y, single) = self.comparable(a[n], b[n], ty, i.modifiers.flags.ftz);
            let run = compare::select_setp(compared, single).ok_or("such a type")?;
            let d = self.predicate_register(to)?;
            self.emit_op(run, imm, d, [x, y, c.unwrap_or(x)]);
        }
        Ok(())
    }

    /// `cvt` of two floats to a pair: the first becomes the upper half.
    pub(super) fn lower_cvt_pair(&mut self, i: &Instruction, to: Type, from: Type) -> Lowered {
        let (run, imm) = convert::select(to, from, &i.modifiers).ok_or("such types")?;
        let mut halves = [Slot::UNUSED; 2];
        for (operand, half) in i.operands[1..].iter().zip(halves.iter_mut().rev()) {
            let a = self.value(operand, from)?;
            *half = self.temporary(4);
            self.emit_op(run, imm, *half, [a; 3]);
        }
        self.join_halves(&i.operands[0], halves)
    }
}
