//! `mov`: between registers, vectors, and the parts of wider values.

use super::function::{Lowered, Lowering};
use crate::exec::compare::predicate_copy;
use crate::exec::moves;
use crate::ir::{Inst, Slot, pair};
use boomerang_ptx::ast::*;

impl Lowering<'_> {
    pub(super) fn lower_mov(&mut self, i: &Instruction) -> Lowered {
        let ty = i.modifiers.types[0].ok_or("it has no type")?;
        let [to, from] = &i.operands[..] else { return Err("it has two operands".into()) };
        if ty == Type::Pred {
            let (a, flip) = self.predicate(from)?;
            let d = self.predicate_destination(to)?;
            self.emit_op(predicate_copy, pair(flip, 0), d, [a, a, a]);
            return Ok(());
        }
        super::operand::check_width(ty)?;
        let (targets, sources) = (self.elements(to), self.elements(from));
        match (targets.len(), sources.len()) {
            (1, 1) => self.move_one(&targets[0], &sources[0], ty),
            (n, m) if n == m => self.move_vector(&targets, &sources, ty),
            (1, n) => self.pack(&targets[0], &sources, ty, ty.size() / n as u32),
            (n, 1) => self.unpack(&targets, &sources[0], ty, ty.size() / n as u32),
            _ => Err("vectors of different lengths".into()),
        }
    }

    fn move_one(&mut self, to: &Operand, from: &Operand, ty: Type) -> Lowered {
        let a = self.value(from, ty)?;
        let d = self.destination(to, ty)?;
        self.emit_op(moves::select(ty.size()), 0, d.slot, [a; 3]);
        self.finish(d);
        Ok(())
    }

    /// All are read before the first is written.
    fn move_vector(&mut self, to: &[Operand], from: &[Operand], ty: Type) -> Lowered {
        let copy = moves::select(ty.size());
        let mut held = Vec::new();
        for operand in from {
            let a = self.value(operand, ty)?;
            let t = self.temporary(ty.size().max(4));
            self.emit_op(copy, 0, t, [a; 3]);
            held.push(t);
        }
        for (operand, a) in to.iter().zip(held) {
            let d = self.destination(operand, ty)?;
            self.emit_op(copy, 0, d.slot, [a; 3]);
            self.finish(d);
        }
        Ok(())
    }

    fn pack(&mut self, to: &Operand, from: &[Operand], ty: Type, size: u32) -> Lowered {
        let run = moves::select_put(size, ty.size()).ok_or("such a vector")?;
        let part = integer(size)?;
        let whole = self.temporary(ty.size().max(4));
        for (n, operand) in from.iter().enumerate() {
            let a = self.value(operand, part)?;
            self.emit_op(run, n as u64 * u64::from(8 * size), whole, [a; 3]);
        }
        let d = self.destination(to, ty)?;
        self.emit_op(moves::select(ty.size()), 0, d.slot, [whole; 3]);
        self.finish(d);
        Ok(())
    }

    fn unpack(&mut self, to: &[Operand], from: &Operand, ty: Type, size: u32) -> Lowered {
        let run = moves::select_part(ty.size(), size).ok_or("such a vector")?;
        let a = self.value(from, ty)?;
        // A copy, as the first part may be written over the whole.
        let whole: Slot = self.temporary(ty.size().max(4));
        self.emit(Inst { d: whole, a, ..Inst::new(moves::select(ty.size())) });
        for (n, operand) in to.iter().enumerate().filter(|(_, o)| **o != Operand::Sink) {
            let d = self.destination(operand, integer(size)?)?;
            self.emit_op(run, n as u64 * u64::from(8 * size), d.slot, [whole; 3]);
            self.finish(d);
        }
        Ok(())
    }
}

/// The unsigned type of a size.
fn integer(size: u32) -> Lowered<Type> {
    Ok(match size {
        1 => Type::B8,
        2 => Type::B16,
        4 => Type::B32,
        8 => Type::B64,
        _ => return Err("parts of such a size".into()),
    })
}
