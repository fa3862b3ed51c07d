//! Warp-wide instructions.

use super::function::{Lowered, Lowering};
use crate::exec::gather;
use crate::ir::{Handler, Inst, Slot, pair};
use boomerang_ptx::ast::*;

impl Lowering<'_> {
    pub(super) fn lower_warp(&mut self, i: &Instruction) -> Lowered {
        let m = &i.modifiers;
        match (i.opcode, m.mode) {
            (Opcode::Activemask, _) => {
                let d = self.destination(&i.operands[0], Type::U32)?;
                self.emit(Inst { d: d.slot, ..Inst::new(gather::active_mask) });
                self.finish(d);
                Ok(())
            }
            (Opcode::Shfl, Some(Mode::Shuffle(kind))) => self.lower_shuffle(i, kind),
            (Opcode::Vote, Some(Mode::Vote(kind))) => self.lower_vote(i, kind),
            (Opcode::Match, Some(Mode::Match(kind))) => self.lower_match(i, kind),
            (Opcode::Redux, Some(Mode::Atomic(op))) => {
                let ty = m.types[0].ok_or("it has no type")?;
                let run = gather::select_redux(op, ty).ok_or("such an operation")?;
                let a = self.value(&i.operands[1], ty)?;
                let b = self.value(&i.operands[2], Type::U32)?;
                let d = self.destination(&i.operands[0], ty)?;
                self.emit_op(run, 0, d.slot, [a, b, b]);
                self.finish(d);
                Ok(())
            }
            (Opcode::Elect, _) => {
                let (to, predicate) = self.result_and_predicate(&i.operands[0])?;
                let a = self.value(&i.operands[1], Type::U32)?;
                let d = self.destination(&to, Type::U32)?;
                let predicate = predicate.unwrap_or_else(|| self.new_predicate());
                self.emit_op(gather::elect, predicate.offset() as u64, d.slot, [a; 3]);
                self.finish(d);
                Ok(())
            }
            _ => Err("such an operation".into()),
        }
    }

    /// The two destinations of `d|p`.
    pub(super) fn result_and_predicate(&self, operand: &Operand) -> Lowered<(Operand, Option<Slot>)> {
        Ok(match operand {
            Operand::Pair(d, p) => {
                let predicate = p.map(|p| self.predicate_register(p)).transpose()?;
                (d.map_or(Operand::Sink, Operand::Register), predicate)
            }
            other => (other.clone(), None),
        })
    }

    fn lower_shuffle(&mut self, i: &Instruction, kind: Shuffle) -> Lowered {
        let sync = i.modifiers.flags.sync;
        let run: Handler = match (kind, sync) {
            (Shuffle::Up, false) => gather::shuffle_up,
            (Shuffle::Up, true) => gather::shuffle_up_sync,
            (Shuffle::Down, false) => gather::shuffle_down,
            (Shuffle::Down, true) => gather::shuffle_down_sync,
            (Shuffle::Bfly, false) => gather::shuffle_bfly,
            (Shuffle::Bfly, true) => gather::shuffle_bfly_sync,
            (Shuffle::Idx, false) => gather::shuffle_idx,
            (Shuffle::Idx, true) => gather::shuffle_idx_sync,
        };
        let (to, predicate) = self.result_and_predicate(&i.operands[0])?;
        let [a, b, c] = [1, 2, 3].map(|n| self.value(&i.operands[n], Type::B32));
        let members = match (sync, i.operands.get(4)) {
            (true, Some(operand)) => self.value(operand, Type::B32)?,
            (true, None) => return Err("it has no member mask".into()),
            (false, _) => Slot::UNUSED,
        };
        let d = self.destination(&to, Type::B32)?;
        let imm = pair(predicate.map_or(0, |p| p.offset() as u32), members.bits());
        self.emit_op(run, imm, d.slot, [a?, b?, c?]);
        self.finish(d);
        Ok(())
    }

    fn lower_vote(&mut self, i: &Instruction, kind: Vote) -> Lowered {
        let (a, flip) = self.predicate(&i.operands[1])?;
        let sync = i.modifiers.flags.sync;
        let members = match (sync, i.operands.get(2)) {
            (true, Some(operand)) => self.value(operand, Type::B32)?,
            (true, None) => return Err("it has no member mask".into()),
            (false, _) => a,
        };
        let imm = pair(flip, sync.into());
        if kind == Vote::Ballot {
            let d = self.destination(&i.operands[0], Type::B32)?;
            self.emit_op(gather::ballot, imm, d.slot, [a, members, members]);
            self.finish(d);
            return Ok(());
        }
        let run: Handler = match kind {
            Vote::All => gather::vote_all,
            Vote::Any => gather::vote_any,
            _ => gather::vote_uni,
        };
        let d = self.predicate_destination(&i.operands[0])?;
        self.emit_op(run, imm, d, [a, members, members]);
        Ok(())
    }

    fn lower_match(&mut self, i: &Instruction, kind: Match) -> Lowered {
        let ty = i.modifiers.types[0].ok_or("it has no type")?;
        let run: Handler = match (kind, ty.size()) {
            (Match::Any, 8) => gather::match_any::<u64>,
            (Match::Any, _) => gather::match_any::<u32>,
            (Match::All, 8) => gather::match_all::<u64>,
            (Match::All, _) => gather::match_all::<u32>,
        };
        let (to, predicate) = self.result_and_predicate(&i.operands[0])?;
        let a = self.value(&i.operands[1], ty)?;
        let members = self.value(&i.operands[2], Type::B32)?;
        let d = self.destination(&to, Type::B32)?;
        self.emit_op(run, predicate.map_or(0, |p| p.offset() as u64), d.slot, [a, members, members]);
        self.finish(d);
        Ok(())
    }
}
