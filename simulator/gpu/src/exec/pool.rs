//! The host threads of a device, which execute the blocks of all its running grids in turn.

use super::block::{Block, Round};
use super::report::of_grid;
use super::turn::Idle;
use super::waits::Waits;
use crate::Stats;
use crate::fault::{Fault, FaultKind};
use crate::launch::Grid;
use crate::random::Random;
use std::collections::VecDeque;
use std::ffi::{c_int, c_ulong};
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A grid that runs.
struct Entry {
    grid: Arc<Grid>,
    /// Resident blocks that no worker has in hand.
    queue: VecDeque<Box<Block>>,
    /// How many blocks have been made resident.
    begun: u64,
    finished: u64,
    /// Blocks that workers have in hand.
    held: u64,
    /// Blocks are made resident in the order `n * stride mod total`.
    stride: u64,
    residency: u64,
    stats: Stats,
    fault: Option<Box<Fault>>,
    /// Whether it was told that it waits for the host.
    told: bool,
}

impl Entry {
    fn new(grid: Arc<Grid>) -> Entry {
        let total = grid.blocks();
        let mut stride = 1;
        let seed = grid.device().config().seed;
        if seed != 0 {
            let gcd = |mut a: u64, mut b: u64| {
                while b != 0 {
                    (a, b) = (b, a % b);
                }
                a
            };
            let mut random = Random::new(seed);
            stride = 1 + random.below(total);
            while gcd(stride, total) != 1 {
                stride += 1;
            }
        }
        Entry {
            queue: VecDeque::new(),
            begun: 0,
            finished: 0,
            held: 0,
            stride,
            residency: grid.residency(),
            stats: Stats::default(),
            fault: None,
            told: false,
            grid,
        }
    }

    /// Whether no more of it will run.
    fn over(&self) -> bool {
        self.held == 0 && (self.fault.is_some() || self.finished == self.grid.blocks())
    }

    /// What stands still in the grid, as a fault of that kind; `block` is in hand.
    fn standing(&self, block: &Block, kind: FaultKind) -> Fault {
        let mut waits = Waits::new(&self.grid);
        let resident = std::iter::once(block).chain(self.queue.iter().map(|b| b.as_ref()));
        resident.take(REPORTED).for_each(|block| waits.add(block));
        let fault = of_grid(&self.grid, kind, waits.text());
        Fault { block: block.state.index, ..fault }
    }

    /// A block to run; a new one if another may become resident.
    fn take(&mut self) -> Option<Job> {
        if self.fault.is_some() {
            return None;
        }
        let total = self.grid.blocks();
        let job = if self.begun < total && self.begun - self.finished < self.residency {
            self.begun += 1;
            let flat = (u128::from(self.begun - 1) * u128::from(self.stride) % u128::from(total)) as u64;
            Job::Begin(flat)
        } else {
            Job::Continue(self.queue.pop_front()?)
        };
        self.held += 1;
        Some(job)
    }
}

enum Job {
    Begin(u64),
    Continue(Box<Block>),
}

struct State {
    entries: Vec<Entry>,
    /// When something last made progress, or waited for the host.
    active: Instant,
    /// When something last made progress.
    progress: Instant,
    /// Whose turn it is.
    next: usize,
    closed: bool,
}

impl State {
    fn take(&mut self) -> Option<(Arc<Grid>, Job)> {
        for _ in 0..self.entries.len() {
            self.next = (self.next + 1) % self.entries.len();
            let entry = &mut self.entries[self.next];
            if let Some(job) = entry.take() {
                return Some((entry.grid.clone(), job));
            }
        }
        None
    }

    fn entry(&mut self, grid: &Arc<Grid>) -> &mut Entry {
        let mut entries = self.entries.iter_mut();
        entries.find(|e| Arc::ptr_eq(&e.grid, grid)).expect("a grid stays until it is over")
    }

    fn resident(&self) -> usize {
        self.entries.iter().map(|e| e.queue.len()).sum()
    }
}

struct Shared {
    state: Mutex<State>,
    /// Signalled when there are blocks to run.
    work: Condvar,
    /// Signalled when a grid is over.
    over: Condvar,
}

/// The workers of a device.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
}

impl Pool {
    /// Starts `workers` threads.
    pub fn new(workers: usize, seed: u64) -> Pool {
        let now = Instant::now();
        let state = State { entries: Vec::new(), active: now, progress: now, next: 0, closed: false };
        let shared =
            Arc::new(Shared { state: Mutex::new(state), work: Condvar::new(), over: Condvar::new() });
        let start = |n: usize| {
            let shared = shared.clone();
            let seed = seed.wrapping_add(n as u64);
            let work = move || work(&shared, Random::new(seed));
            thread::Builder::new()
                .name(format!("gpu-worker-{n}"))
                .spawn(work)
                .expect("a thread can be started")
        };
        let workers = (0..workers.max(1)).map(start).collect();
        Pool { shared, workers }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.state.lock().unwrap().closed = true;
        self.shared.work.notify_all();
        for worker in self.workers.drain(..) {
            // A worker that panicked has nothing left to end.
            let _ = worker.join();
        }
    }
}

/// Runs a grid on its device's workers.
pub(crate) fn run(grid: Arc<Grid>) -> Result<Stats, Box<Fault>> {
    let device = grid.device().clone();
    let shared = &device.pool().shared;
    let mut state = shared.state.lock().unwrap();
    state.entries.push(Entry::new(grid.clone()));
    state.active = Instant::now();
    state.progress = state.active;
    shared.work.notify_all();
    let mut state = shared.over.wait_while(state, |state| !state.entry(&grid).over()).unwrap();
    let at = state.entries.iter().position(|e| Arc::ptr_eq(&e.grid, &grid)).expect("only we remove it");
    let entry = state.entries.swap_remove(at);
    drop(state);
    match entry.fault {
        Some(fault) => Err(fault),
        None => Ok(entry.stats),
    }
}

/// How many rounds a worker gives a block that makes progress before it takes another.
const ROUNDS: usize = 32;
/// Rounds without progress, for each resident block, after which a worker first yields, then sleeps a little: what
/// such blocks wait for is a change of memory by the host or another device, of which no event tells.
const FRUITLESS: usize = 4;
const YIELDS: u32 = 32;
const NAP: Duration = Duration::from_micros(20);
/// When nothing has made progress for so long, and nobody waits for the host, lanes go on that wait for others of their warp: only they
/// can still bring what all wait for. Longer than any round takes.
const STUCK: Duration = Duration::from_millis(100);

/// How many blocks a report looks at.
const REPORTED: usize = 64;

/// Some rounds of a block, up to one without progress.
fn rounds(block: &mut Block, grid: &Grid, random: &mut Random, stuck: bool, stats: &mut Stats) -> Round {
    for _ in 1..ROUNDS {
        match block.round(grid, random, stuck, stats) {
            Round::More(Idle::No) => {}
            other => return other,
        }
    }
    block.round(grid, random, stuck, stats)
}

/// What `run` gives. An error of ours ends the grid, not the process: a panic becomes its fault, and the block is gone.
fn guarded(grid: &Grid, run: impl FnOnce() -> (Option<Box<Block>>, Round)) -> (Option<Box<Block>>, Round) {
    // AssertUnwindSafe: the block is dropped with the panic, and what the locks guard is poisoned by it.
    panic::catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<String>().map(String::as_str);
        let message = message.or(panic.downcast_ref::<&str>().copied()).unwrap_or_default();
        let note = format!("an error of the simulator, not of the program: {message}");
        (None, Round::Fault(Box::new(of_grid(grid, FaultKind::IllegalInstruction, note))))
    })
}

/// Has the system end this thread's naps in time: by default it may be 50 us late, so that a nap of 20 would last 70 (prctl(2),
/// PR_SET_TIMERSLACK).
fn nap_precisely() {
    const PR_SET_TIMERSLACK: c_int = 29;
    const NANOSECONDS: c_ulong = 1_000;
    unsafe extern "C" {
        fn prctl(option: c_int, ...) -> c_int;
    }
    // A failure leaves the naps longer, nothing else.
    // SAFETY: the option takes one unsigned long and concerns the calling thread only.
    unsafe { prctl(PR_SET_TIMERSLACK, NANOSECONDS) };
}

fn work(shared: &Shared, mut random: Random) {
    nap_precisely();
    let mut fruitless = 0;
    let mut naps = 0;
    let mut state = shared.state.lock().unwrap();
    loop {
        if state.closed {
            return;
        }
        let Some((grid, job)) = state.take() else {
            state = shared.work.wait(state).unwrap();
            continue;
        };
        let resident = state.resident();
        let stuck = state.active.elapsed() > STUCK;
        drop(state);
        if fruitless > FRUITLESS * resident + FRUITLESS {
            if naps < YIELDS {
                thread::yield_now()
            } else {
                thread::sleep(NAP)
            }
            naps = naps.saturating_add(1);
            fruitless = 0;
        }
        let mut stats = Stats::default();
        let cancelled = grid.cancelled();
        let (block, mut round) = guarded(&grid, || {
            let mut block = match job {
                Job::Begin(flat) => Box::new(Block::new(&grid, flat)),
                Job::Continue(block) => block,
            };
            let round = match cancelled {
                true => Round::More(Idle::No),
                false => rounds(&mut block, &grid, &mut random, stuck, &mut stats),
            };
            (Some(block), round)
        });
        let idle = if let Round::More(idle) = round { idle } else { Idle::No };
        if idle == Idle::No {
            (fruitless, naps) = (0, 0);
        } else {
            fruitless += 1;
        }
        state = shared.state.lock().unwrap();
        if idle != Idle::OnDevice {
            state.active = Instant::now();
        }
        if idle == Idle::No {
            state.progress = Instant::now();
        }
        let config = grid.device().config();
        let deadlocked = idle == Idle::OnDevice && state.active.elapsed() > config.deadlock;
        let stalled = idle == Idle::OnHost && state.progress.elapsed() > config.deadlock;
        let entry = state.entry(&grid);
        if let Some(block) = &block {
            if cancelled || deadlocked {
                let kind = if cancelled { FaultKind::Cancelled } else { FaultKind::Deadlock };
                round = Round::Fault(Box::new(entry.standing(block, kind)));
            } else if stalled && !std::mem::replace(&mut entry.told, true) {
                (config.stalled)(&entry.standing(block, FaultKind::Stalled));
            }
        }
        entry.held -= 1;
        entry.stats.thread_instructions += stats.thread_instructions;
        entry.stats.warp_instructions += stats.warp_instructions;
        match round {
            Round::Done => entry.finished += 1,
            Round::More(_) => entry.queue.extend(block),
            Round::Fault(fault) => {
                entry.fault.get_or_insert(fault);
            }
        }
        let over = entry.over();
        // Before the caller can go on: the last handle must not be a worker's.
        drop(grid);
        if over {
            shared.over.notify_all();
        } else if state.entries.len() > 1 || state.resident() > 1 {
            shared.work.notify_one();
        }
    }
}
