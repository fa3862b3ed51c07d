//! Branches, joins, returns and exits: how lanes part and meet.

use super::context::{Context, Flow};
use super::warp::{Join, Split, State};
use crate::fault::FaultKind;
use crate::ir::{Inst, NONE};

impl Context<'_> {
    /// Makes the current split owe a join at `pc` of this frame.
    pub fn owe(&mut self, pc: u32) {
        let shared = self.join != NONE && self.warp.joins[self.join as usize].pc == pc;
        if pc != NONE && !shared {
            let join = Join { frame: self.frame_index, pc, outer: self.join, pending: self.mask, arrived: 0 };
            self.join = self.warp.add_join(join);
        }
    }

    /// Sends the lanes `away` of the current split to `pc`; they owe what it owes. Some lanes must stay.
    pub fn part(&mut self, away: u32, pc: u32) {
        self.mask &= !away;
        let frame = self.frame_index;
        if self.join != NONE && self.warp.joins[self.join as usize].pc == pc {
            let join = &mut self.warp.joins[self.join as usize];
            join.pending &= !away;
            join.arrived |= away;
        } else {
            let join = self.join;
            self.warp.splits.push(Split::ready(away, pc, frame, join));
        }
    }

    /// Takes the lanes `gone` out of the current split.
    fn leave(&mut self, gone: u32) -> Flow {
        self.mask &= !gone;
        if self.mask == 0 { Flow::Switch } else { Flow::Next }
    }
}

/// Jumps to `imm.0`; lanes that part meet again at `imm.1`.
pub(crate) fn branch(cx: &mut Context<'_>, i: &Inst, taken: u32) -> Flow {
    let (target, meet) = i.pair();
    if taken == cx.mask {
        cx.pc = target;
        return Flow::Jump;
    }
    cx.owe(meet);
    if meet == cx.pc + 1 {
        // The lanes that stay are at the meeting point already.
        let stay = cx.mask & !taken;
        cx.part(stay, meet);
        cx.pc = target;
        return Flow::Jump;
    }
    cx.part(taken, target);
    Flow::Next
}

/// Jumps to entry `a` of the branch table `imm.0`; lanes that part meet at `imm.1`.
pub(crate) fn branch_table(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    let (table, meet) = i.pair();
    let entry = |cx: &Context<'_>, lane| {
        let table = &cx.grid.program().functions[cx.function as usize].branch_tables[table as usize];
        table.get(cx.lane::<u32>(i.a, lane) as usize).copied()
    };
    let first = mask.trailing_zeros() as usize;
    let Some(target) = entry(cx, first) else {
        return cx.fail(FaultKind::InvalidProgramCounter, first, "the index is outside the branch table");
    };
    let same = super::map::lanes(mask).filter(|&l| entry(cx, l) == Some(target)).fold(0, |m, l| m | 1 << l);
    if same != cx.mask {
        cx.owe(meet);
        let (others, pc) = (cx.mask & !same, cx.pc);
        cx.part(others, pc);
    }
    cx.pc = target;
    Flow::Jump
}

/// A place where lanes meet.
pub(crate) fn join(cx: &mut Context<'_>, _: &Inst, _: u32) -> Flow {
    if cx.join == NONE || cx.warp.joins[cx.join as usize].pc != cx.pc {
        return Flow::Next;
    }
    let join = &mut cx.warp.joins[cx.join as usize];
    join.pending &= !cx.mask;
    join.arrived |= cx.mask;
    if join.pending != 0 {
        cx.mask = 0;
        return Flow::Switch;
    }
    cx.mask = join.arrived;
    let outer = join.outer;
    cx.warp.free_joins.push(cx.join);
    cx.join = outer;
    // An outer join may lie at the same place: look again.
    Flow::Jump
}

/// Returns from a function.
pub(crate) fn ret(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    if cx.warp.frames[cx.frame_index].caller == NONE {
        return exit(cx, i, mask);
    }
    if cx.join != NONE {
        cx.warp.withdraw_in_frame(mask, cx.join, NONE);
    }
    let index = cx.frame_index;
    let frame = &mut cx.warp.frames[index];
    frame.inside &= !mask;
    frame.returned |= mask;
    if frame.inside != 0 {
        return cx.leave(mask);
    }
    let (returned, pc, caller, join) = (frame.returned, frame.return_pc, frame.caller, frame.join);
    cx.warp.frames.copy_results(index, returned);
    cx.warp.frames.pop(index);
    cx.enter(caller);
    (cx.mask, cx.pc, cx.join) = (returned, pc, join);
    Flow::Jump
}

/// Ends lanes.
pub(crate) fn exit(cx: &mut Context<'_>, _: &Inst, mask: u32) -> Flow {
    cx.warp.live &= !mask;
    for split in &mut cx.warp.splits {
        // Who gathers may have waited for these lanes only: let it look again.
        if let State::Gathering(_) = split.state {
            split.state = State::Ready;
        }
    }
    cx.warp.withdraw(mask, cx.frame_index, cx.join);
    cx.leave(mask)
}

/// `trap`.
pub(crate) fn trap(cx: &mut Context<'_>, _: &Inst, mask: u32) -> Flow {
    cx.fail(FaultKind::Trap, mask.trailing_zeros() as usize, "")
}
