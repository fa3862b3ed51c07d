//! Barriers of the block. They count warps, each as 32 threads: a warp arrives when none of its lanes can run on. Its lanes must all
//! come to the same instruction then, unless that is a `barrier` without `.aligned` (PTX ISA, `bar`).

use super::context::{Context, Error, Flow};
use super::report;
use super::waits::list;
use super::warp::{Resume, Split, State};
use crate::fault::FaultKind;
use crate::ir::{Inst, LANES};

/// Hardware barriers of a block (PTX ISA, `bar`).
pub(crate) const BARRIERS: usize = 16;

/// The bit of an instruction's `imm` that says that it is aligned.
pub(crate) const ALIGNED: u64 = 1 << 32;

/// The yes votes and voters of a reduction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Votes {
    pub yes: u32,
    pub all: u32,
}

/// A barrier.
#[derive(Clone, Debug, Default)]
pub(crate) struct Barrier {
    /// How often it has opened.
    pub generation: u64,
    /// Threads that have arrived.
    pub arrived: u32,
    /// Threads it waits for; 0 for all of the block.
    pub expected: u32,
    votes: Votes,
    /// The votes of the last two generations: no warp can be farther behind.
    past: [Votes; 2],
}

impl Barrier {
    /// A warp arrives; `block` is the number of threads in live warps.
    fn arrive(&mut self, count: u32, votes: Votes, block: u32) {
        self.arrived += LANES as u32;
        self.expected = count;
        self.votes.yes += votes.yes;
        self.votes.all += votes.all;
        self.open_if_complete(block);
    }

    /// Opens if all have arrived that it waits for.
    pub fn open_if_complete(&mut self, block: u32) {
        let expected = if self.expected == 0 { block } else { self.expected };
        if self.arrived != 0 && self.arrived >= expected {
            self.past[self.generation as usize % 2] = std::mem::take(&mut self.votes);
            self.generation += 1;
            self.arrived = 0;
        }
    }

    /// The votes of a past generation.
    pub fn votes(&self, generation: u64) -> Votes {
        self.past[generation as usize % 2]
    }
}

impl Context<'_> {
    /// The warp arrives at the barriers that its splits have come to.
    ///
    /// # Errors
    /// When its lanes are at different instructions and must not be.
    pub fn arrive_at_barriers(&mut self) -> Result<(), Box<Error>> {
        self.check_aligned()?;
        while let Some(first) =
            self.warp.splits.iter().position(|s| matches!(s.state, State::AtBarrier { .. }))
        {
            let State::AtBarrier { id, count, wait, .. } = self.warp.splits[first].state else {
                unreachable!()
            };
            let generation = self.block.barriers[id as usize].generation;
            if let Some(races) = &mut self.block.races {
                races.arrive(self.warp.index, id, generation);
            }
            let mut votes = Votes::default();
            for split in &mut self.warp.splits {
                match split.state {
                    State::AtBarrier { id: its, wait: waits, votes: yes, .. }
                        if its == id && waits == wait =>
                    {
                        votes.yes += (yes & split.mask).count_ones();
                        votes.all += split.mask.count_ones();
                        split.state = State::InBarrier { id, generation };
                        if !wait {
                            split.state = State::Ready;
                            split.resume = Resume::Passed(Votes::default());
                        }
                    }
                    _ => {}
                }
            }
            let threads = self.block.live_warps * LANES as u32;
            self.block.barriers[id as usize].arrive(count, votes, threads);
        }
        Ok(())
    }

    /// Refuses to let the warp arrive where lanes of it have come to different instructions, one of them aligned.
    fn check_aligned(&mut self) -> Result<(), Box<Error>> {
        let at = |split: &&Split| matches!(split.state, State::AtBarrier { .. });
        let is_aligned = |split: &&Split| matches!(split.state, State::AtBarrier { aligned: true, .. });
        let Some(one) = self.warp.splits.iter().find(is_aligned) else { return Ok(()) };
        let place = |split: &Split| (self.warp.frames[split.frame].function, split.pc);
        if self.warp.splits.iter().filter(at).all(|other| place(other) == place(one)) {
            return Ok(());
        }
        let mut places: Vec<((u32, u32), u32)> = vec![];
        for split in self.warp.splits.iter().filter(at) {
            match places.iter_mut().find(|(known, _)| *known == place(split)) {
                Some((_, mask)) => *mask |= split.mask,
                None => places.push((place(split), split.mask)),
            }
        }
        places.sort_by_key(|(_, mask)| mask.trailing_zeros());
        let lanes =
            |mask: u32| list(&(0..LANES as u32).filter(|lane| mask >> lane & 1 != 0).collect::<Vec<_>>());
        let lines: String = places
            .iter()
            .map(|&((function, pc), mask)| {
                format!(
                    "\n    lanes {}: {}",
                    lanes(mask),
                    report::location(self.grid.program(), function, pc)
                )
            })
            .collect();
        let (frame, pc, lane) = (one.frame, one.pc, one.mask.trailing_zeros());
        // The report is of that split.
        (self.frame_index, self.function, self.pc) = (frame, self.warp.frames[frame].function, pc);
        let note = format!(
            "the lanes of this warp wait at different barrier instructions, and must all come to one:{lines}"
        );
        Err(Box::new(Error { kind: FaultKind::Deadlock, lane, access: None, note }))
    }

    fn at_barrier(&mut self, i: &Inst, mask: u32, wait: bool, votes: u32) -> Flow {
        let first = mask.trailing_zeros() as usize;
        let (id, count) = (self.lane::<u32>(i.a, first), self.lane::<u32>(i.b, first));
        if id as usize >= BARRIERS || count % LANES as u32 != 0 {
            let note = format!("barrier {id} of {count} threads: there are {BARRIERS}, for whole warps");
            return self.fail(FaultKind::IllegalInstruction, first, note);
        }
        self.effects += 1;
        let own = report::own_place(self.grid.program(), &self.warp.frames, self.frame_index, self.pc);
        self.warp.last_barrier = own.or(self.warp.last_barrier);
        let split = self.saved(State::AtBarrier { id, count, wait, votes, aligned: i.imm & ALIGNED != 0 });
        self.warp.splits.push(split);
        self.mask = 0;
        Flow::Switch
    }
}

/// `bar.sync`: barrier `a`, thread count `b`.
pub(crate) fn sync(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    match std::mem::take(&mut cx.resume) {
        Resume::Passed(_) => Flow::Next,
        _ => cx.at_barrier(i, mask, true, 0),
    }
}

/// `bar.arrive`.
pub(crate) fn arrive(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    match std::mem::take(&mut cx.resume) {
        Resume::Passed(_) => Flow::Next,
        _ => cx.at_barrier(i, mask, false, 0),
    }
}

fn reduce(cx: &mut Context<'_>, i: &Inst, mask: u32, finish: impl Fn(&mut Context<'_>, Votes)) -> Flow {
    match std::mem::take(&mut cx.resume) {
        Resume::Passed(votes) => {
            finish(cx, votes);
            Flow::Next
        }
        _ => {
            let votes = cx.predicate(i.c) ^ i.imm as u32;
            cx.at_barrier(i, mask, true, votes)
        }
    }
}

/// `bar.red.and`: predicate `d` says whether `c` (complemented by `imm`) holds in all threads.
pub(crate) fn red_and(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    reduce(cx, i, mask, |cx, v| cx.write_predicate(i.d, mask, if v.yes == v.all { !0 } else { 0 }))
}

/// `bar.red.or`.
pub(crate) fn red_or(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    reduce(cx, i, mask, |cx, v| cx.write_predicate(i.d, mask, if v.yes > 0 { !0 } else { 0 }))
}

/// `bar.red.popc`: register `d` gets the number of threads in which `c` holds.
pub(crate) fn red_popc(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    reduce(cx, i, mask, |cx, v| cx.write_one(i.d, mask, v.yes))
}
