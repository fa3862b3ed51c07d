//! A warp: its lanes, which of them run together, and their activations.
//!
//! Lanes that are at the same place form a *split*. A branch that sends them different ways makes two splits, which take turns, so
//! that a lane may wait for another one of its warp. Both owe each other a *join*: at the branch's immediate
//! post-dominator they wait, and go on as one split again. A function's end is a join of its own: lanes that return wait in the
//! frame until all that entered have.

use super::barrier::Votes;
use super::frames::Frames;
use crate::ir::{LANES, NONE};
use crate::mem::View;
use std::array;
use std::sync::Arc;

/// Why a split doesn't run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It does.
    Ready,
    /// It has come to a barrier of the block, but the warp has not arrived yet: other lanes may still come.
    AtBarrier {
        /// The barrier.
        id: u32,
        /// Threads it waits for; 0 for all of the block.
        count: u32,
        /// Whether it goes on only when the barrier opens.
        wait: bool,
        /// Lanes that vote yes in a reduction.
        votes: u32,
        /// Whether all lanes of the warp must come to this very instruction.
        aligned: bool,
    },
    /// The warp has arrived, and it waits until the barrier leaves this generation.
    InBarrier {
        /// The barrier.
        id: u32,
        /// Its generation at arrival.
        generation: u64,
    },
    /// It waits for the lanes of this mask at a warp-wide instruction.
    Gathering(u32),
}

/// How an instruction that made a split wait is to go on, when it is executed again.
#[derive(Clone, Debug, Default)]
pub(crate) enum Resume {
    /// It has not waited yet.
    #[default]
    Fresh,
    /// Lanes have gathered; what those outside the split brought.
    Gathered(Arc<Gathered>),
    /// The barrier opened.
    Passed(Votes),
    /// The lower half of the warp has loaded.
    Half,
}

/// What lanes brought to a warp-wide instruction.
#[derive(Clone, Debug)]
pub(crate) struct Gathered {
    pub lanes: u32,
    pub values: [u64; LANES],
}

/// Lanes at the same place.
#[derive(Clone, Debug)]
pub(crate) struct Split {
    pub mask: u32,
    pub pc: u32,
    pub frame: u32,
    /// Innermost join owed in this frame; [`NONE`] if none.
    pub join: u32,
    pub state: State,
    pub resume: Resume,
    /// The address last loaded or updated when it last ran.
    pub watched: u64,
}

impl Split {
    /// A split that can run.
    pub fn ready(mask: u32, pc: u32, frame: u32, join: u32) -> Split {
        Split { mask, pc, frame, join, state: State::Ready, resume: Resume::Fresh, watched: 0 }
    }
}

/// A place where lanes wait for each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Join {
    pub frame: u32,
    pub pc: u32,
    /// The join owed after this one; [`NONE`] if none in the frame.
    pub outer: u32,
    /// Lanes still to come.
    pub pending: u32,
    /// Lanes waiting.
    pub arrived: u32,
}

/// How many views a warp keeps; a power of two.
pub(crate) const VIEWS: usize = 16;
/// Bytes of memory that count as one place of which a lane may hold a lock.
const LINE: u64 = 64;
/// How many updates a warp remembers.
const UPDATES: usize = 8;

/// A warp.
pub(crate) struct Warp {
    /// Its number in the block.
    pub index: u32,
    /// `%tid` of its lanes, in each dimension: kept, as GCC's code asks for it at each function's entry.
    pub thread_indices: [[u32; LANES]; 3],
    /// Lanes that have not exited.
    pub live: u32,
    /// The splits; the order is that of turns.
    pub splits: Vec<Split>,
    pub joins: Vec<Join>,
    pub free_joins: Vec<u32>,
    pub frames: Frames,
    /// Local memory, lane by lane; empty until first used.
    pub local: Vec<u64>,
    /// The allocations last accessed, by instruction, and the table's generation that they are of.
    pub views: [View; VIEWS],
    pub views_generation: u64,
    /// What each lane brought to the warp-wide instruction at which it waits.
    pub exchange: [u64; LANES],
    /// Where in the program's own code it last came to a barrier of the block.
    pub last_barrier: Option<(u32, u32)>,
    /// Turns in a row in which every split only looked at memory.
    pub idle_turns: u32,
    /// The latest successful atomic updates, by address, with the lanes that made them: a lock that a lane of this warp may hold.
    updates: [(u64, u32); UPDATES],
    next_update: usize,
}

impl Warp {
    /// A warp of the lanes `live` of a block of the size `block`, whose frame 0 is the kernel's.
    pub fn new(index: u32, block: [u32; 3], live: u32, frames: Frames) -> Warp {
        let [width, height, _] = block;
        let flat = |lane: usize| index * LANES as u32 + lane as u32;
        let thread_indices = [
            array::from_fn(|lane| flat(lane) % width),
            array::from_fn(|lane| flat(lane) / width % height),
            array::from_fn(|lane| flat(lane) / width / height),
        ];
        Warp {
            index,
            thread_indices,
            live,
            splits: vec![Split::ready(live, 0, 0, NONE)],
            joins: Vec::new(),
            free_joins: Vec::new(),
            frames,
            local: Vec::new(),
            views: [View::EMPTY; VIEWS],
            views_generation: 0,
            exchange: [0; LANES],
            last_barrier: None,
            idle_turns: 0,
            updates: [(0, 0); UPDATES],
            next_update: 0,
        }
    }

    /// A new join.
    pub fn add_join(&mut self, join: Join) -> u32 {
        match self.free_joins.pop() {
            Some(index) => {
                self.joins[index as usize] = join;
                index
            }
            None => {
                self.joins.push(join);
                self.joins.len() as u32 - 1
            }
        }
    }

    /// Remembers an update.
    pub fn note_update(&mut self, addr: u64, lane: u32) {
        if let Some(update) = self.updates.iter_mut().find(|u| u.0 == addr) {
            update.1 |= 1 << lane;
            return;
        }
        self.updates[self.next_update % UPDATES] = (addr, 1 << lane);
        self.next_update += 1;
    }

    /// Whether one of its latest updates was of `addr`.
    pub fn has_updated(&self, addr: u64) -> bool {
        self.updates.iter().any(|&(updated, _)| updated == addr)
    }

    /// Whether a lane that has updated `addr`, or what is in a line with it, waits for others. A ticket lock has the tickets' counter
    /// beside the word that its waiters watch.
    pub fn updater_waits(&self, addr: u64) -> bool {
        let running = self.splits.iter().fold(0, |all, s| all | s.mask);
        let waiting = self.live & !running;
        self.updates.iter().any(|&(updated, lanes)| updated / LINE == addr / LINE && waiting & lanes != 0)
    }

    /// Removes `lanes` from all joins and frames that they owe, from `join` of `frame` outwards; who waited only for them goes on.
    pub fn withdraw(&mut self, lanes: u32, frame: u32, join: u32) {
        let (mut frame, mut join) = (frame, join);
        loop {
            self.withdraw_in_frame(lanes, join, NONE);
            let activation = &mut self.frames[frame];
            activation.inside &= !lanes;
            let (caller, outer) = (activation.caller, activation.join);
            if activation.inside == 0 {
                self.release_frame(frame);
            }
            if caller == NONE {
                return;
            }
            (frame, join) = (caller, outer);
        }
    }

    /// Removes `lanes` from the joins from `join` outwards up to but without `until`.
    pub fn withdraw_in_frame(&mut self, lanes: u32, join: u32, until: u32) {
        let mut next = join;
        while next != until && next != NONE {
            let index = next;
            let join = &mut self.joins[index as usize];
            join.pending &= !lanes;
            next = join.outer;
            if join.pending == 0 {
                self.release_join(index);
            }
        }
    }

    /// Lets the lanes that wait at a join go on.
    fn release_join(&mut self, index: u32) {
        let Join { frame, pc, outer, pending, arrived } = self.joins[index as usize];
        if pending == 0 {
            self.free_joins.push(index);
        } else {
            self.joins[index as usize].arrived = 0;
        }
        if arrived != 0 {
            self.splits.push(Split::ready(arrived, pc, frame, outer));
        }
    }

    /// Lets the lanes that have returned from a frame go on in its caller.
    fn release_frame(&mut self, index: u32) {
        let activation = &mut self.frames[index];
        let returned = std::mem::take(&mut activation.returned);
        let (caller, pc, join) = (activation.caller, activation.return_pc, activation.join);
        let empty = activation.inside == 0;
        if returned != 0 {
            self.frames.copy_results(index, returned);
            self.splits.push(Split::ready(returned, pc, caller, join));
        }
        if empty {
            self.frames.pop(index);
        }
    }

    /// Lets all lanes that wait at joins and for returns go on without the others; whether there were any.
    pub fn release_waiting(&mut self) -> bool {
        let before = self.splits.len();
        for index in 0..self.joins.len() as u32 {
            let join = self.joins[index as usize];
            if join.arrived != 0 && join.pending != 0 {
                self.release_join(index);
            }
        }
        for index in self.frames.indices() {
            if self.frames[index].returned != 0 {
                self.release_frame(index);
            }
        }
        self.splits.len() > before
    }

    /// Joins ready splits that are at the same place. Returns the number of splits left.
    pub fn merge(&mut self) -> usize {
        let mut i = 0;
        while i < self.splits.len() {
            let mut j = i + 1;
            while j < self.splits.len() {
                if self.mergeable(i, j) {
                    self.merge_pair(i, j);
                } else {
                    j += 1;
                }
            }
            i += 1;
        }
        self.splits.len()
    }

    fn mergeable(&self, i: usize, j: usize) -> bool {
        let (a, b) = (&self.splits[i], &self.splits[j]);
        let is_ready = |split: &Split| split.state == State::Ready && !matches!(split.resume, Resume::Half);
        a.pc == b.pc && a.frame == b.frame && is_ready(a) && is_ready(b)
    }

    /// Joins split `j` to split `i`; they owe from now on what both owed.
    fn merge_pair(&mut self, i: usize, j: usize) {
        let b = self.splits.swap_remove(j);
        let Split { mask, join, .. } = self.splits[i];
        let common = self.common_join(join, b.join);
        self.splits[i].mask |= b.mask;
        self.splits[i].join = common;
        self.withdraw_in_frame(mask, join, common);
        self.withdraw_in_frame(b.mask, b.join, common);
    }

    fn common_join(&self, a: u32, b: u32) -> u32 {
        let outer = |index: &u32| (*index != NONE).then(|| self.joins[*index as usize].outer);
        std::iter::successors(Some(a), outer)
            .find(|x| std::iter::successors(Some(b), outer).any(|y| y == *x))
            .unwrap_or(NONE)
    }
}
