//! A warp's turn: its splits run one after the other until the time slice is used up or all wait.

use super::context::{Context, Error, Flow};
use super::warp::{Resume, Split, State};
use crate::fault::FaultKind;
use crate::ir::FULL;

/// How a turn ended.
pub(crate) enum Outcome {
    /// All lanes have exited.
    Done,
    /// The time slice is used up.
    Sliced(Idle),
    /// It waits at a barrier of the block.
    Waiting,
    /// It did something it may not.
    Fault(Box<Error>),
}

/// Whether those that ran made progress by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Idle {
    /// They only looked at device memory: they wait for each other.
    OnDevice,
    /// They only looked at memory, among it the host's.
    OnHost,
    /// They made progress.
    No,
}

/// Turns in a row without progress after which lanes that wait go on without the spinning ones, if one of them made the last update
/// of the word that these watch: it holds the lock, and has come out of the loop ahead of the others.
const PATIENCE: u32 = 4;
/// The least time slice of a split, in instructions.
const LEAST_SHARE: u32 = 16;

impl Context<'_> {
    /// Runs the warp for about `slice` instructions. `parts`: lanes that wait at joins go on as soon as others have done
    /// what lets them. `stuck`: nothing
    /// on the device has made progress for some time.
    pub fn turn(&mut self, slice: u32, parts: bool, stuck: bool) -> Outcome {
        self.wake();
        let (mut idle, mut held, mut yielded) = (Idle::OnDevice, false, false);
        let (mut left, mut extended) = (slice, false);
        loop {
            // Every ready split gets a share; splits that appear meanwhile run until the slice is used up.
            let turns = self.warp.splits.len();
            let share = (slice / turns.max(1) as u32).max(LEAST_SHARE);
            let mut served = 0;
            while left > 0 || served < turns {
                let Some(index) = self.warp.splits.iter().position(|s| s.state == State::Ready) else {
                    break;
                };
                let split = self.warp.splits.remove(index);
                self.load(split);
                (self.effects, self.orderings) = (0, 0);
                self.budget = share;
                let flow = self.execute();
                self.turn_effects += self.effects;
                left = left.saturating_sub((share - self.budget).max(1));
                served += 1;
                match flow {
                    Flow::Fault => {
                        return Outcome::Fault(self.error.take().expect("a fault leaves its error"));
                    }
                    Flow::Switch => idle = Idle::No,
                    // Preempted: to the end of the line.
                    Flow::Next | Flow::Jump => {
                        let split = self.saved(State::Ready);
                        self.warp.splits.push(split);
                        yielded |= self.orderings > 0;
                        idle = idle.max(self.idleness());
                        held |= self.warp.updater_waits(self.watched);
                    }
                }
            }
            if self.warp.live == 0 {
                return Outcome::Done;
            }
            if parts && yielded && self.warp.release_waiting() {
                return Outcome::Sliced(Idle::No);
            }
            if self.any_ready() {
                return Outcome::Sliced(self.sliced(idle, held, stuck));
            }
            if let Err(error) = self.arrive_at_barriers() {
                return Outcome::Fault(error);
            }
            self.wake();
            if !self.any_ready() {
                break;
            }
            // The last to arrive goes on at once: see `SLICE`. But not for ever, if it waits for nobody.
            if left < LEAST_SHARE && std::mem::replace(&mut extended, true) {
                return Outcome::Sliced(Idle::No);
            }
            left = left.max(LEAST_SHARE);
        }
        if self.warp.splits.iter().any(|s| matches!(s.state, State::InBarrier { .. })) {
            return Outcome::Waiting;
        }
        if self.warp.release_waiting() {
            return Outcome::Sliced(Idle::No);
        }
        let note = "its lanes wait for each other at warp-wide instructions".into();
        let lane = self.warp.live.trailing_zeros();
        Outcome::Fault(Box::new(Error { kind: FaultKind::Deadlock, lane, access: None, note }))
    }

    fn any_ready(&self) -> bool {
        self.warp.splits.iter().any(|s| s.state == State::Ready)
    }

    /// Whether the split that has just used up its share made progress.
    fn idleness(&self) -> Idle {
        match () {
            () if self.effects > 0 || self.orderings == 0 => Idle::No,
            () if self.grid.memory().lookup(self.watched).is_some_and(|a| a.kind.is_host()) => Idle::OnHost,
            () => Idle::OnDevice,
        }
    }

    /// Ends a turn after which splits are ready.
    fn sliced(&mut self, idle: Idle, held: bool, stuck: bool) -> Idle {
        if idle == Idle::No {
            self.warp.idle_turns = 0;
            return idle;
        }
        self.warp.idle_turns += 1;
        if (stuck || held && self.warp.idle_turns >= PATIENCE) && self.warp.release_waiting() {
            self.warp.idle_turns = 0;
            return Idle::No;
        }
        idle
    }

    /// Readies the splits whose barrier has let them go.
    fn wake(&mut self) {
        let mut woken = false;
        for split in &mut self.warp.splits {
            let State::InBarrier { id, generation } = split.state else { continue };
            let barrier = &self.block.barriers[id as usize];
            if barrier.generation != generation {
                if let Some(races) = &mut self.block.races {
                    races.leave(self.warp.index, id, generation);
                }
                split.state = State::Ready;
                split.resume = Resume::Passed(barrier.votes(generation));
                woken = true;
            }
        }
        if woken && self.warp.splits.len() > 1 {
            self.warp.merge();
        }
    }

    /// Makes a split the current one.
    pub fn load(&mut self, split: Split) {
        self.enter(split.frame);
        (self.mask, self.pc, self.join) = (split.mask, split.pc, split.join);
        (self.resume, self.watched) = (split.resume, split.watched);
    }

    /// The current split, to be put among the others.
    pub fn saved(&mut self, state: State) -> Split {
        let split = Split::ready(self.mask, self.pc, self.frame_index, self.join);
        Split { state, watched: self.watched, resume: std::mem::take(&mut self.resume), ..split }
    }

    /// Executes the current split until it stops. [`Flow::Next`] says that the budget is used up.
    fn execute(&mut self) -> Flow {
        let program = self.grid.program();
        let mut code = program.functions[self.function as usize].code.as_slice();
        let mut function = self.function;
        loop {
            if self.budget == 0 {
                return Flow::Next;
            }
            self.budget -= 1;
            let inst = &code[self.pc as usize];
            let mask = match inst.guard {
                None => self.mask,
                Some(guard) => self.guarded(guard),
            };
            if mask == 0 {
                self.pc += 1;
                continue;
            }
            self.warp_instructions += 1;
            self.thread_instructions += if mask == FULL { 32 } else { u64::from(mask.count_ones()) };
            match (inst.run)(self, inst, mask) {
                Flow::Next => self.pc += 1,
                Flow::Jump => {
                    if self.function != function {
                        function = self.function;
                        code = program.functions[function as usize].code.as_slice();
                    }
                }
                stop => return stop,
            }
        }
    }
}
