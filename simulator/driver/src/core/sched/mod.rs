//! The scheduler: in-order queues (streams), run at once by as many threads as have something to do.
//!
//! One lock guards the [state machine](state); it is never held while a task runs or a caller waits.
//! Waits on memory park their queue and are polled by one thread, so thousands cost no thread.

mod blocking;
mod first_use;
mod poller;
mod report;
mod state;
#[cfg(test)]
mod tests;
mod virtual_time;
mod work;
mod workers;

pub use blocking::Blocked;
pub use state::Class;
pub use work::{
    Channel, Condition, DomainId, KernelControl, Point, QueueId, Task, Ticket, WaitWord, Word, Work,
};

use crate::core::clock::Clock;
use crate::error::{Error, Result};
use crate::platform;
use state::State;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use virtual_time::Awaited;
use work::Job;

/// See the module.
#[derive(Default)]
pub struct Scheduler {
    state: Mutex<State>,
    workers: workers::Workers,
    poller: poller::Poller,
    /// Calls that block now, for reports.
    blocked: Mutex<Vec<Blocked>>,
}

/// The process's scheduler.
pub fn scheduler() -> &'static Scheduler {
    static SCHEDULER: std::sync::OnceLock<Scheduler> = std::sync::OnceLock::new();
    SCHEDULER.get_or_init(|| {
        // With a wrong platform there are no devices, and so no work.
        let clock = platform::description().ok().flatten().map(Clock::new);
        let scheduler = Scheduler::default();
        scheduler.lock().clock = clock;
        scheduler
    })
}

impl Scheduler {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic under this lock")
    }

    /// A new context's queues, among them the legacy default stream's.
    pub fn create_domain(&self, channels: usize) -> (DomainId, QueueId) {
        let mut state = self.lock();
        let domain = state.add_domain(channels);
        (domain, state.domains[&domain].legacy)
    }

    /// A new stream's queue; reports call it `name`.
    pub fn create_queue(&self, domain: DomainId, class: Class, name: String) -> Result<QueueId> {
        self.lock().add_queue(domain, class, name)
    }

    /// The stream is gone; its queue goes once its work is done.
    pub fn retire(&'static self, queue: QueueId) {
        let mut state = self.lock();
        state.retire(queue);
        let jobs = state.pump(vec![queue]);
        drop(state);
        self.dispatch(jobs);
    }

    /// Appends an operation to a queue.
    pub fn submit(&'static self, queue: QueueId, work: Work) -> Result<Point> {
        let mut state = self.lock();
        let point = state.push(queue, work)?;
        let jobs = state.pump(vec![queue]);
        self.settle(state, jobs);
        Ok(point)
    }

    /// Appends an operation and waits for it; runs it on this thread if it may run at once.
    pub fn run(&'static self, queue: QueueId, work: Work, call: &'static str) -> Result {
        let mut state = self.lock();
        let point = state.push(queue, work)?;
        let (domain, awaited) = (state.queues[&queue].domain, Awaited::queue(&state, queue));
        let mut jobs = state.pump(vec![queue]);
        let own = jobs.iter().position(|j| j.queue == queue).map(|i| jobs.swap_remove(i));
        self.settle(state, jobs);
        if let Some(job) = own {
            self.execute(job);
        }
        self.wait_copy(domain, point, call)?;
        awaited.over(&mut self.lock());
        Ok(())
    }

    /// Whether everything submitted to a queue is complete, by the legacy stream's rules where it is one.
    pub fn idle(&self, queue: QueueId) -> Result<bool> {
        let mut state = self.lock();
        let Some(q) = state.queues.get(&queue) else { return Err(Error::INVALID_HANDLE) };
        state.check(q.domain)?;
        let earlier = q.class == Class::Legacy && !state.before(queue).is_empty();
        let idle = q.completed == q.submitted && !earlier;
        if idle {
            Awaited::queue(&state, queue).over(&mut state);
        }
        Ok(idle)
    }

    /// A context's sticky error.
    pub fn check(&self, domain: DomainId) -> Result {
        self.lock().check(domain)
    }

    /// Loses a context for good: every later call returns `error`.
    pub fn poison(&'static self, domain: DomainId, error: Error) {
        let mut state = self.lock();
        let jobs = state.poison(domain, error);
        self.settle(state, jobs);
    }

    /// Ends a context: what hasn't begun never will, kernels are cancelled, other tasks waited for.
    pub fn destroy_domain(&'static self, domain: DomainId) {
        self.poison(domain, Error::CONTEXT_IS_DESTROYED);
        let mut state = self.lock();
        let awaited = Awaited::domain(&state, domain);
        while state.anything_runs(domain) {
            let changed = Arc::clone(&state.domains[&domain].changed);
            state = changed.wait(state).expect("no panic under this lock");
        }
        awaited.over(&mut state);
        state.remove_domain(domain);
    }

    /// Unlocks, and sees to it that jobs run and pending waits are polled.
    fn settle(&'static self, state: MutexGuard<'_, State>, jobs: Vec<Job>) {
        let waiting = !state.waits.is_empty();
        drop(state);
        self.dispatch(jobs);
        if waiting {
            self.poller.wake(self);
        }
    }

    fn dispatch(&'static self, jobs: Vec<Job>) {
        for job in jobs {
            self.workers.dispatch(job, |job| scheduler().execute(job));
        }
    }

    /// Runs a job on this thread.
    fn execute(&'static self, job: Job) {
        let Job { queue, start, body } = job;
        let result = body(start);
        let mut state = self.lock();
        let mut jobs = Vec::new();
        if let (Err(error), Some(domain)) = (result, state.queues.get(&queue).map(|q| q.domain)) {
            jobs = state.poison(domain, error);
        }
        jobs.extend(state.complete(queue));
        self.settle(state, jobs);
    }

    /// Waits for something of `state` that `condition` announces.
    fn sleep<'a>(
        &self,
        state: MutexGuard<'a, State>,
        condition: &Condvar,
        limit: std::time::Duration,
    ) -> MutexGuard<'a, State> {
        condition.wait_timeout(state, limit).expect("no panic under this lock").0
    }
}

pub use state::ticket;
