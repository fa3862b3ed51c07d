//! Branches, barriers, fences, ends.

use super::function::{Lowered, Lowering};
use crate::exec::{barrier, branch, gather, load_store, special};
use crate::ir::{Handler, Inst, Slot};
use boomerang_ptx::ast::*;

impl Lowering<'_> {
    pub(super) fn lower_control(&mut self, n: usize, i: &Instruction) -> Lowered {
        match i.opcode {
            Opcode::Bra => {
                let Operand::Label(label) = i.operands[0] else {
                    return Err("the target is no label".into());
                };
                let target = self.body.labels[label.index()].target;
                self.emit_jump(Inst::new(branch::branch), target, self.meeting[n]);
            }
            Opcode::Brx => {
                let Some(Operand::BranchTargets(list)) = i.operands.last() else {
                    return Err("it has no targets".into());
                };
                let list = &self.body.branch_targets[list.index()];
                let targets: Vec<u32> = list.iter().map(|l| self.body.labels[l.index()].target).collect();
                let a = self.value(&i.operands[0], Type::U32)?;
                self.emit_table_jump(
                    Inst { a, ..Inst::new(branch::branch_table) },
                    &targets,
                    self.meeting[n],
                );
            }
            Opcode::Ret => self.lower_return()?,
            Opcode::Exit => self.emit(Inst::new(branch::exit)),
            Opcode::Trap | Opcode::Brkpt => self.emit(Inst::new(branch::trap)),
            Opcode::Membar | Opcode::Fence => self.emit(Inst::new(load_store::fence)),
            Opcode::Nanosleep => self.emit(Inst::new(special::nanosleep)),
            _ => self.lower_barrier(i)?,
        }
        Ok(())
    }

    fn lower_barrier(&mut self, i: &Instruction) -> Lowered {
        let m = &i.modifiers;
        if m.flags.cluster {
            return Err("clusters are not supported".into());
        }
        if m.flags.warp {
            let a = self.value(&i.operands[0], Type::U32)?;
            self.emit_op(gather::warp_sync, 0, Slot::UNUSED, [a; 3]);
            return Ok(());
        }
        let Some(Mode::Barrier(kind)) = m.mode else { return Err("it has no operation".into()) };
        if kind == Barrier::Red {
            return self.lower_reduction(i);
        }
        let run: Handler = match kind {
            Barrier::Sync => barrier::sync,
            Barrier::Arrive => barrier::arrive,
            _ => return Err("such a barrier".into()),
        };
        let (a, b) = self.barrier_operands(&i.operands)?;
        self.emit_op(run, aligned(i), Slot::UNUSED, [a, b, b]);
        Ok(())
    }

    /// Number of the barrier, and of threads (0 for all).
    fn barrier_operands(&mut self, operands: &[Operand]) -> Lowered<(Slot, Slot)> {
        let a = self.value(operands.first().unwrap_or(&Operand::Integer(0)), Type::U32)?;
        let b = self.value(operands.get(1).unwrap_or(&Operand::Integer(0)), Type::U32)?;
        Ok((a, b))
    }

    fn lower_reduction(&mut self, i: &Instruction) -> Lowered {
        let [to, rest @ .., voted] = &i.operands[..] else { return Err("it has too few operands".into()) };
        let (a, b) = self.barrier_operands(rest)?;
        let (c, flip) = self.predicate(voted)?;
        if i.modifiers.combine == Some(BoolOp::Popc) {
            let d = self.destination(to, Type::U32)?;
            self.emit_op(barrier::red_popc, u64::from(flip) | aligned(i), d.slot, [a, b, c]);
            self.finish(d);
        } else {
            let all = i.modifiers.combine == Some(BoolOp::And);
            let d = self.predicate_destination(to)?;
            let run: Handler = if all { barrier::red_and } else { barrier::red_or };
            self.emit_op(run, u64::from(flip) | aligned(i), d, [a, b, c]);
        }
        Ok(())
    }
}

/// What a barrier's `imm` says of it: `bar` is `barrier.aligned` (PTX ISA, `bar`).
fn aligned(i: &Instruction) -> u64 {
    if i.opcode == Opcode::Bar || i.modifiers.flags.aligned { barrier::ALIGNED } else { 0 }
}
