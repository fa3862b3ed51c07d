//! A resident block: its warps take turns on one host thread at a time, so what they share needs no lock.

use super::barrier::{BARRIERS, Barrier};
use super::context::Context;
use super::frames::Frames;
use super::races::Races;
use super::turn::{Idle, Outcome};
use super::waits::Waits;
use super::warp::{State, Warp};
use crate::fault::{Fault, FaultKind};
use crate::ir::{FULL, LANES};
use crate::launch::Grid;
use crate::mem::View;
use crate::random::Random;
use crate::{Stats, exec};

/// What the warps of a block share.
pub(crate) struct BlockState {
    pub index: [u32; 3],
    /// Number of the multiprocessor that it is on.
    pub multiprocessor: u32,
    pub barriers: [Barrier; BARRIERS],
    /// Warps that have lanes left.
    pub live_warps: u32,
    /// Where races are looked for.
    pub races: Option<Box<Races>>,
    shared: Vec<u64>,
    shared_size: u64,
}

impl BlockState {
    /// The simulator's address of `size` bytes of shared memory.
    pub fn shared_pointer(&mut self, addr: u64, size: u64) -> Option<*mut u8> {
        (addr.checked_add(size)? <= self.shared_size)
            .then(|| self.shared.as_mut_ptr().cast::<u8>().wrapping_add(addr as usize))
    }

    /// All of shared memory.
    pub fn shared_view(&mut self) -> View {
        View { low: 0, high: self.shared_size, delta: self.shared.as_mut_ptr() as u64 }
    }

    /// The 32-bit word at a multiple of 4 in shared memory.
    pub fn shared_word(&self, addr: u64) -> Option<u32> {
        let word = self.shared.get(addr as usize / 8).filter(|_| addr < self.shared_size)?;
        Some((word >> (addr % 8 * 8)) as u32)
    }
}

/// A block.
pub(crate) struct Block {
    pub state: BlockState,
    pub warps: Vec<Option<Box<Warp>>>,
}

/// How a round of turns ended.
pub(crate) enum Round {
    /// The block has ended.
    Done,
    /// It goes on.
    More(Idle),
    /// A thread did something it may not.
    Fault(Box<Fault>),
}

impl Block {
    /// Block `flat` of the grid, counted in x first.
    pub fn new(grid: &Grid, flat: u64) -> Block {
        let [x, y, _] = grid.grid.map(u64::from);
        let index = [(flat % x) as u32, (flat / x % y) as u32, (flat / x / y) as u32];
        let threads = grid.threads();
        let warps: Vec<_> = (0..threads.div_ceil(LANES as u32))
            .map(|w| {
                let lanes = (threads - w * LANES as u32).min(LANES as u32);
                let live = FULL >> (LANES as u32 - lanes);
                let frames = Frames::new(grid.program_handle(), grid.function(), live);
                Some(Box::new(Warp::new(w, grid.block, live, frames)))
            })
            .collect();
        let shared_size = grid.shared_size();
        let state = BlockState {
            index,
            multiprocessor: (flat % u64::from(grid.multiprocessors())) as u32,
            barriers: Default::default(),
            live_warps: warps.len() as u32,
            races: grid.device().config().checks.races.then(|| Box::new(Races::new(warps.len()))),
            shared: vec![0; (shared_size as usize).div_ceil(8)],
            shared_size: shared_size.into(),
        };
        Block { state, warps }
    }

    /// Gives each warp a turn. `stuck`: nothing on the device has made progress for some time.
    pub fn round(&mut self, grid: &Grid, random: &mut Random, stuck: bool, stats: &mut Stats) -> Round {
        let (mut ran, mut idle) = (false, Idle::OnDevice);
        for n in 0..self.warps.len() {
            let Some(warp) = self.warps[n].take() else { continue };
            let mut cx = Context::new(warp, &mut self.state, grid);
            cx.whole_loads = grid.whole_loads(random);
            let outcome = cx.turn(grid.slice(random), grid.parts(random), stuck);
            grid.count_effects(cx.turn_effects);
            stats.thread_instructions += cx.thread_instructions;
            stats.warp_instructions += cx.warp_instructions;
            match outcome {
                Outcome::Done => {
                    (ran, idle) = (true, Idle::No);
                    self.end_warp();
                    continue;
                }
                Outcome::Sliced(waits) => (ran, idle) = (true, idle.max(waits)),
                Outcome::Waiting => {}
                Outcome::Fault(error) => return Round::Fault(Box::new(exec::report::fault(&cx, *error))),
            }
            self.warps[n] = Some(cx.warp);
        }
        match () {
            () if self.state.live_warps == 0 => Round::Done,
            () if ran => Round::More(idle),
            () if self.someone_may_go() => Round::More(Idle::No),
            () => Round::Fault(Box::new(self.deadlock(grid))),
        }
    }

    fn end_warp(&mut self) {
        self.state.live_warps -= 1;
        let threads = self.state.live_warps * LANES as u32;
        for barrier in self.state.barriers.iter_mut().filter(|b| b.expected == 0) {
            barrier.open_if_complete(threads);
        }
    }

    fn waits(&self) -> impl Iterator<Item = (&Warp, u32, u64)> {
        let warps = self.warps.iter().flatten();
        warps.flat_map(|warp| warp.splits.iter().map(move |s| (warp, s.state))).filter_map(|(warp, state)| {
            match state {
                State::InBarrier { id, generation } => Some((warp.as_ref(), id, generation)),
                _ => None,
            }
        })
    }

    fn someone_may_go(&self) -> bool {
        self.waits().any(|(_, id, generation)| self.state.barriers[id as usize].generation != generation)
    }

    fn deadlock(&self, grid: &Grid) -> Fault {
        let mut waits = Waits::new(grid);
        waits.add(self);
        let mut note = waits.text();
        let mut numbers: Vec<u32> = self.waits().map(|(_, id, _)| id).collect();
        numbers.dedup();
        if numbers.len() > 1 {
            note = format!("its threads wait at different barriers; {note}");
        }
        let (first, ..) = self.waits().next().expect("somebody waits");
        let split = &first.splits[0];
        let function = first.frames[split.frame].function;
        Fault {
            block: self.state.index,
            thread: exec::report::thread(grid, first.index, first.live.trailing_zeros()),
            location: exec::report::location(grid.program(), function, split.pc),
            ..exec::report::of_grid(grid, FaultKind::Deadlock, note)
        }
    }
}
