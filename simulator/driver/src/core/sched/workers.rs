//! Threads that run tasks: as many as there are tasks at once, kept for a while when idle.

use super::work::Job;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// How long an idle thread waits for more.
const KEEP: Duration = Duration::from_secs(2);

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    idle: usize,
}

/// A pool that never makes a task wait for another one: a kernel may wait for the copy behind it.
#[derive(Default)]
pub(super) struct Workers {
    waiting: Mutex<Waiting>,
    arrived: Condvar,
}

impl Workers {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().expect("no panic under this lock")
    }

    /// Has a thread run `job` with `run`, which also settles what follows from it.
    pub fn dispatch(&'static self, job: Job, run: fn(Job)) {
        let mut waiting = self.lock();
        waiting.jobs.push_back(job);
        if waiting.idle >= waiting.jobs.len() {
            self.arrived.notify_one();
            return;
        }
        drop(waiting);
        let spawned = std::thread::Builder::new().name("boomerang-sim".into()).spawn(move || self.work(run));
        if let Err(error) = spawned {
            // The job stays queued: a thread that becomes idle takes it.
            eprintln!("boomerang-sim: no thread for a stream: {error}");
        }
    }

    fn work(&self, run: fn(Job)) {
        let mut waiting = self.lock();
        loop {
            while let Some(job) = waiting.jobs.pop_front() {
                drop(waiting);
                run(job);
                waiting = self.lock();
            }
            waiting.idle += 1;
            let (guard, timeout) =
                self.arrived.wait_timeout(waiting, KEEP).expect("no panic under this lock");
            waiting = guard;
            waiting.idle -= 1;
            if timeout.timed_out() && waiting.jobs.is_empty() {
                return;
            }
        }
    }
}
