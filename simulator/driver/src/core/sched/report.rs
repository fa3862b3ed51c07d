//! Deadlocks: noticing that a call can't go on, and telling the reader who waits for what.

use super::Scheduler;
use super::state::{Queue, State};
use super::work::{DomainId, Point, QueueId, Work};
use std::fmt::Write;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Measures how long the obstacle of a blocked call has stood still.
pub(super) struct Stall {
    seen: Option<(QueueId, u64, u64)>,
    since: Instant,
}

impl Stall {
    pub fn new() -> Stall {
        Stall { seen: None, since: Instant::now() }
    }

    /// How long nothing has happened in the queue that the call waits for: no operation ended and, where a
    /// kernel runs, it changed nothing in memory (so it polls). A running copy or host function is no stall:
    /// it ends by itself or the host ends it.
    pub fn lasts(&mut self, state: &State, point: Point) -> Duration {
        let Some(queue) = state.queues.get(&point.queue) else { return Duration::ZERO };
        let effects = match &queue.running {
            None => Some(0),
            Some(running) => running.kernel.as_ref().map(|k| k.effects.load(Ordering::Relaxed)),
        };
        let now = effects.map(|e| (point.queue, queue.completed, e));
        if now.is_none() || now != self.seen {
            (self.seen, self.since) = (now, Instant::now());
        }
        self.since.elapsed()
    }
}

impl Scheduler {
    /// Writes the report to stderr; the kernels add theirs when they are cancelled.
    pub(super) fn report_deadlock(&self, domain: DomainId, limit: Duration) {
        let mut text = format!("boomerang-sim: deadlock: no progress for {} ms\n", limit.as_millis());
        for call in self.blocked.lock().expect("no panic under this lock").iter() {
            if call.domain == domain {
                let (name, since) = (call.call, call.since.elapsed().as_secs_f64());
                let _ = writeln!(text, "  call {name} of thread {}: blocked for {since:.1} s", call.thread);
            }
        }
        let state = self.lock();
        for id in state.domains.get(&domain).map_or(&[][..], |d| &d.queues) {
            let Some(queue) = state.queues.get(id) else { continue };
            if let Some(kernel) = queue.running.as_ref().and_then(|r| r.kernel.as_ref()) {
                // Relaxed: the flag only asks for words.
                kernel.explain.store(true, Ordering::Relaxed);
            }
            if let Some(line) = describe(&state, *id, queue) {
                let _ = writeln!(text, "  {}: {line}", queue.name);
            }
        }
        drop(state);
        eprint!("{text}");
    }
}

/// One line on a queue that has something to do.
fn describe(state: &State, id: QueueId, queue: &Queue) -> Option<String> {
    let behind = queue.operations.len();
    if let Some(running) = &queue.running {
        let (what, since) = (&running.what, running.since.elapsed().as_secs_f64());
        return Some(format!("{what} runs for {since:.1} s, {behind} operations behind it"));
    }
    let head = queue.operations.front()?;
    let behind = behind - 1;
    let what = match &head.work {
        Work::Task(task) => task.what.clone(),
        Work::Record(_) => "event record".to_owned(),
        Work::After(_) => "wait for an event".to_owned(),
        Work::Write(word, value) => format!("write of {value:#x} to {:#x}", word.address),
        Work::Wait(w) => {
            let bits = if w.word.wide { 64 } else { 32 };
            let (at, now) = (w.word.address, w.word.load());
            format!("wait for the {bits}-bit word at {at:#x}, now {now:#x}, {:?} {:#x}", w.condition, w.value)
        }
    };
    let why = if let Some(wait) = state.waits.iter().find(|w| w.queue == id) {
        format!("pending for {:.1} s", wait.since.elapsed().as_secs_f64())
    } else if state.held.contains_key(&id) {
        "held back by other streams' waits or marks: no channel is free (CUDA_DEVICE_MAX_CONNECTIONS)"
            .to_owned()
    } else if let Some(point) = head.after.iter().find(|p| !state.reached(**p)) {
        let earlier = state.queues.get(&point.queue).map_or("a stream", |q| q.name.as_str());
        format!("behind {earlier} by the default stream's rules")
    } else {
        "not complete".to_owned()
    };
    Some(format!("{what}: {why}, {behind} operations behind it"))
}
