//! Calls that wait: for points of queues, for events, for a context at rest.

use super::report::Stall;
use super::virtual_time::Awaited;
use super::{DomainId, Point, QueueId, Scheduler, Ticket};
use crate::env;
use crate::error::{Error, Result};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

/// How often a blocked call looks whether it is in a deadlock.
const LOOK: Duration = Duration::from_millis(100);

/// A call that blocks, for the report of a deadlock.
pub struct Blocked {
    /// The driver function.
    pub call: &'static str,
    pub(super) domain: DomainId,
    /// As the system numbers it, for a debugger.
    pub(super) thread: i32,
    pub(super) since: Instant,
}

impl Scheduler {
    /// Waits for an operation that a synchronous copy has enqueued. A copy stuck behind a kernel that only
    /// polls is a deadlock, unlike a caller who asked to wait for the kernel.
    pub(super) fn wait_copy(&'static self, domain: DomainId, point: Point, call: &'static str) -> Result {
        self.blocked_call(domain, call, |state| (!state.reached(point)).then_some(point))
    }

    /// Waits until the queue has done all that it holds now, with what the legacy rules put before it.
    pub fn wait_queue(&self, domain: DomainId, queue: QueueId) -> Result {
        let state = self.lock();
        let Some(q) = state.queues.get(&queue) else { return Err(Error::INVALID_HANDLE) };
        let mut points = vec![Point { queue, seq: q.submitted }];
        if q.class == super::Class::Legacy {
            points.extend(state.before(queue));
        }
        let awaited = Awaited::queue(&state, queue);
        drop(state);
        self.wait_points(domain, points, awaited)
    }

    /// Waits until all work that the context holds now is done.
    pub fn wait_domain(&self, domain: DomainId) -> Result {
        let state = self.lock();
        let (points, awaited) = (state.snapshot(domain, |_| true), Awaited::domain(&state, domain));
        drop(state);
        self.wait_points(domain, points, awaited)
    }

    fn wait_points(&self, domain: DomainId, points: Vec<Point>, awaited: Awaited) -> Result {
        let mut state = self.lock();
        for point in points {
            while !state.reached(point) {
                state = self.await_advance(state, point);
            }
        }
        awaited.over(&mut state);
        state.check(domain)
    }

    /// Waits until an operation of a point's queue ends, unless it has come that far.
    pub(super) fn await_advance<'a>(
        &self,
        state: MutexGuard<'a, super::State>,
        point: Point,
    ) -> MutexGuard<'a, super::State> {
        match state.queues.get(&point.queue).filter(|_| !state.reached(point)) {
            Some(queue) => {
                let advanced = Arc::clone(&queue.advanced);
                advanced.wait(state).expect("no panic under this lock")
            }
            None => state,
        }
    }

    /// Waits for an event's recording.
    pub fn wait_ticket(&self, ticket: &Ticket) -> Result {
        let mut state = self.lock();
        loop {
            match ticket.done() {
                Some((_, result)) => {
                    Awaited::ticket(ticket).over(&mut state);
                    return result;
                }
                None => state = ticket.reached.wait(state).expect("no panic under this lock"),
            }
        }
    }

    /// What `cuMemFree` and others do on hardware: wait for every wait and kernel of the context that is
    /// pending now. This is where programs deadlock, so this is where the simulator looks for it.
    pub fn quiesce(&'static self, domain: DomainId, call: &'static str) -> Result {
        let state = self.lock();
        let (points, awaited) = (state.snapshot(domain, |_| true), Awaited::domain(&state, domain));
        drop(state);
        if !points.is_empty() {
            self.blocked_call(domain, call, |state| points.iter().copied().find(|p| !state.reached(*p)))?;
        }
        awaited.over(&mut self.lock());
        Ok(())
    }

    /// What the first launch of a lazily loaded function does on hardware: wait until no stream wait is
    /// pending, unless a kernel runs.
    pub fn await_lazy_load(&'static self, domain: DomainId, call: &'static str) -> Result {
        self.blocked_call(domain, call, |state| {
            let wait = state.waits.iter().find(|w| w.domain == domain)?;
            let behind = state.queues.get(&wait.queue)?.completed + 1;
            (!state.kernel_runs(domain)).then_some(Point { queue: wait.queue, seq: behind })
        })
    }

    /// Blocks while `obstacle` names a point to wait for, with an eye on deadlocks.
    fn blocked_call(
        &'static self,
        domain: DomainId,
        call: &'static str,
        obstacle: impl Fn(&super::State) -> Option<Point>,
    ) -> Result {
        let limit = env::settings().deadlock;
        let mut state = self.lock();
        let mut stall = Stall::new();
        let mut entry = None;
        while let Some(point) = obstacle(&state) {
            entry.get_or_insert_with(|| BlockedEntry::new(self, domain, call));
            if stall.lasts(&state, state.bottom(point)) > limit {
                drop(state);
                self.report_deadlock(domain, limit);
                self.poison(domain, Error::LAUNCH_TIMEOUT);
                return Err(Error::LAUNCH_TIMEOUT);
            }
            let Some(owner) = state.domains.get(&domain) else { break };
            let changed = Arc::clone(&owner.changed);
            state = self.sleep(state, &changed, LOOK.min(limit));
        }
        state.check(domain)
    }
}

/// Stands in the list of blocked calls while it lives.
struct BlockedEntry(&'static Scheduler);

impl BlockedEntry {
    fn new(scheduler: &'static Scheduler, domain: DomainId, call: &'static str) -> BlockedEntry {
        let (thread, since) = (thread_number(), Instant::now());
        let mut blocked = scheduler.blocked.lock().expect("no panic under this lock");
        blocked.push(Blocked { call, domain, thread, since });
        BlockedEntry(scheduler)
    }
}

impl Drop for BlockedEntry {
    fn drop(&mut self) {
        let me = thread_number();
        self.0.blocked.lock().expect("no panic under this lock").retain(|b| b.thread != me);
    }
}

fn thread_number() -> i32 {
    unsafe extern "C" {
        safe fn gettid() -> i32;
    }
    gettid()
}
