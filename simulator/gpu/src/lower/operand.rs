//! Operands: where a value is read from and a result goes to.

use super::function::{Lowered, Lowering, register_bytes};
use crate::exec::local::local_address;
use crate::exec::{half, moves};
use crate::ir::{Handler, Inst, LOCAL_WINDOW, PARAM_WINDOW, Slot};
use boomerang_ptx::ast::*;

/// Where a result goes.
pub(super) struct Destination {
    /// What the instruction writes.
    pub slot: Slot,
    /// How it gets from there to a register of another width.
    then: Option<(Slot, Handler)>,
}

impl Lowering<'_> {
    /// The slot and element type of a register or component.
    fn register_of(&self, operand: &Operand) -> Option<(Slot, Type)> {
        let (id, component) = match operand {
            Operand::Register(id) => (*id, 0),
            Operand::Component(id, component) => (*id, *component as usize),
            _ => return None,
        };
        let ty = self.body.registers[id.index()].ty;
        Some((self.registers[id.index()].plus(component * register_bytes(ty.size())), ty))
    }

    /// A register with the value of an operand used as `ty`.
    pub fn value(&mut self, operand: &Operand, ty: Type) -> Lowered<Slot> {
        check_width(ty)?;
        let wide = ty.size() == 8;
        match operand {
            Operand::Register(_) | Operand::Component(..) => {
                let (slot, own) = self.register_of(operand).expect("it is a register");
                if own == Type::Pred {
                    return Err("a predicate stands where a value is expected".into());
                }
                self.as_wide(slot, own, wide)
            }
            Operand::Integer(value) => Ok(self.constant(truncate(*value, ty.size()), wide)),
            Operand::Float(float) => {
                let bits = match (float, ty) {
                    (Float::Single(bits), t) if t.size() == 4 => u64::from(*bits),
                    (Float::Double(bits), t) if t.size() == 8 => *bits,
                    (f, Type::F16) => half::from_f64(f.value()).into(),
                    (f, Type::Bf16) => half::bf16_from_f64(f.value()).into(),
                    (f, t) if t.size() == 8 => f.value().to_bits(),
                    (f, _) => (f.value() as f32).to_bits().into(),
                };
                Ok(self.constant(bits, wide))
            }
            Operand::Special(register) => {
                let (slot, is_wide) = self.special(*register)?;
                self.as_wide(slot, if is_wide { Type::U64 } else { Type::U32 }, wide)
            }
            Operand::Symbol(symbol, offset) => {
                let slot = self.symbol(*symbol, *offset, false)?;
                self.as_wide(slot, Type::U64, wide)
            }
            other => Err(format!("the operand {other:?} is not supported here")),
        }
    }

    /// A register of type `own` as one of 64 bits, or not.
    fn as_wide(&mut self, slot: Slot, own: Type, wide: bool) -> Lowered<Slot> {
        check_width(own)?;
        let run: Handler = match (own.size() == 8, wide) {
            (false, true) => {
                moves::select_widen(own.size(), own.is_signed()).ok_or("a register of this width")?
            }
            (true, false) => moves::narrow,
            _ => return Ok(slot),
        };
        let to = self.temporary(if wide { 8 } else { 4 });
        let guard = self.guard.take();
        self.emit(Inst { d: to, a: slot, ..Inst::new(run) });
        self.guard = guard;
        Ok(to)
    }

    /// A register with the address of a symbol, in its own space or generic.
    pub fn symbol(&mut self, symbol: Symbol, offset: i64, generic: bool) -> Lowered<Slot> {
        let address = match symbol {
            Symbol::Function(id) => super::code_address(self.program, self.placement, id),
            Symbol::Variable(id) => {
                let space = self.program.variables[id.index()].space;
                self.placement.addresses[id.index()] + if generic { super::place::window(space) } else { 0 }
            }
            Symbol::Local(id) if self.body.variables[id.index()].space == Space::Local => {
                let offset = (self.variables[id.index()] as u64).wrapping_add(offset as u64);
                return Ok(self.local_address(offset, generic));
            }
            Symbol::Parameter(n) if self.function.entry => {
                self.kernel_parameters[n as usize] + if generic { PARAM_WINDOW } else { 0 }
            }
            _ => return Err("the address of a function's parameter is taken".into()),
        };
        Ok(self.constant(address.wrapping_add(offset as u64), true))
    }

    fn local_address(&mut self, offset: u64, generic: bool) -> Slot {
        let d = self.temporary(8);
        let window = self.constant(if generic { LOCAL_WINDOW } else { 0 }, true);
        let guard = self.guard.take();
        self.emit_op(local_address, offset, d, [window, window, window]);
        self.guard = guard;
        d
    }

    /// Where a result of type `ty` goes that an operand takes.
    pub fn destination(&mut self, operand: &Operand, ty: Type) -> Lowered<Destination> {
        check_width(ty)?;
        let wide = ty.size() == 8;
        if *operand == Operand::Sink {
            return Ok(Destination { slot: self.temporary(ty.size().max(4)), then: None });
        }
        let (slot, own) = self.register_of(operand).ok_or("the destination is no register")?;
        if own == Type::Pred {
            return Err("a predicate can't hold the result".into());
        }
        check_width(own)?;
        let then: Handler = match (own.size() == 8, wide) {
            (true, false) => {
                moves::select_widen(ty.size(), ty.is_signed()).ok_or("a result of this width")?
            }
            (false, true) => moves::narrow,
            _ => return Ok(Destination { slot, then: None }),
        };
        Ok(Destination { slot: self.temporary(ty.size().max(4)), then: Some((slot, then)) })
    }

    /// Brings a result to where it goes.
    pub fn finish(&mut self, destination: Destination) {
        if let Some((to, run)) = destination.then {
            self.emit(Inst { d: to, a: destination.slot, ..Inst::new(run) });
        }
    }

    /// A predicate, and whether it is complemented.
    pub fn predicate(&mut self, operand: &Operand) -> Lowered<(Slot, u32)> {
        match operand {
            Operand::Register(id) if self.is_predicate(*id) => Ok((self.registers[id.index()], 0)),
            Operand::Negated(id) if self.is_predicate(*id) => Ok((self.registers[id.index()], !0)),
            Operand::Integer(value) => {
                Ok((self.constant(if *value != 0 { 0xffff_ffff } else { 0 }, false), 0))
            }
            _ => Err("a predicate is expected".into()),
        }
    }

    pub fn is_predicate(&self, id: RegisterId) -> bool {
        self.body.registers[id.index()].ty == Type::Pred
    }

    /// The slot of a predicate register that is written; an unused one for a sink.
    pub fn predicate_destination(&mut self, operand: &Operand) -> Lowered<Slot> {
        match operand {
            Operand::Register(id) => self.predicate_register(*id),
            Operand::Sink => Ok(self.new_predicate()),
            _ => Err("the destination is no predicate".into()),
        }
    }

    /// The slot of a register that must be a predicate.
    pub fn predicate_register(&self, id: RegisterId) -> Lowered<Slot> {
        match self.is_predicate(id) {
            true => Ok(self.registers[id.index()]),
            false => Err("the destination is no predicate".into()),
        }
    }

    /// The elements of a vector operand: of a list in braces, or of a vector register.
    pub fn elements(&self, operand: &Operand) -> Vec<Operand> {
        const COMPONENTS: [Component; 4] = [Component::X, Component::Y, Component::Z, Component::W];
        match operand {
            Operand::Vector(list) => list.clone(),
            Operand::Register(id) => match self.body.registers[id.index()].vector {
                Some(vector) => COMPONENTS[..vector.elements().min(4)]
                    .iter()
                    .map(|c| Operand::Component(*id, *c))
                    .collect(),
                None => vec![operand.clone()],
            },
            _ => vec![operand.clone()],
        }
    }
}

/// Registers of 128 bits can be declared, no more.
pub(super) fn check_width(ty: Type) -> Lowered {
    if ty.size() > 8 { Err(format!("the type {ty}")) } else { Ok(()) }
}

fn truncate(value: u64, size: u32) -> u64 {
    value & (u64::MAX >> (64 - 8 * size.clamp(1, 8)))
}
