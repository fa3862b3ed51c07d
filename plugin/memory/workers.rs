//! Threads that help with large copies.
//!
//! They are started when there is work for them, are parked between copies (to start them for each took a copy of 4 MiB some 100 us more,
//! an H200's host), and end when there has been none for long. Nobody relies on them: a thread that wants help does itself whatever they
//! have not begun. So it does not matter how many there are or what others have them do, and where none can be started none is missed. In
//! a forked child there are none, and no device to copy from either.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// The most threads that one copy keeps busy. On an H200's host they copy as fast as the device does, 48 GB/s; 12 were no better.
pub const MOST_THREADS: usize = 8;
/// The most helpers: enough for two copies, one in each direction.
const MOST: usize = 2 * (MOST_THREADS - 1);
/// How long a thread is parked before it ends.
const IDLE: Duration = Duration::from_secs(10);

/// Threads that help whoever asks.
pub struct Workers {
    state: Mutex<State>,
    /// Signalled when there are tasks.
    posted: Condvar,
    /// The most threads at a time.
    most: usize,
    /// How long they are parked, at most.
    idle: Duration,
}

#[derive(Default)]
struct State {
    /// Tasks that nobody has begun, the oldest first.
    tasks: VecDeque<Task>,
    threads: usize,
    parked: usize,
}

/// One thread's part of a job.
struct Task {
    job: Arc<Job>,
    part: usize,
}

/// What a thread wants help with.
struct Job {
    work: Work,
    begun: Mutex<Begun>,
    ended: Condvar,
}

/// Parts of a job that helpers have begun.
#[derive(Default)]
struct Begun {
    under_way: usize,
    panic: Option<Box<dyn Any + Send>>,
}

/// The function that does a part. Valid while the job's owner is in [`Workers::share`], which it leaves with no part under way and none
/// that can be begun.
struct Work(*const (dyn Fn(usize) + Sync));

// SAFETY: the function may be called by several threads at once; when it may be called at all is the job's concern.
unsafe impl Send for Work {}
// SAFETY: as above.
unsafe impl Sync for Work {}

impl Job {
    fn begun(&self) -> MutexGuard<'_, Begun> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does a part that has been counted as under way.
    fn run(&self, part: usize) {
        // SAFETY: the part is under way, so the owner is in `share`.
        let done = catch_unwind(AssertUnwindSafe(|| unsafe { (*self.work.0)(part) }));
        let mut begun = self.begun();
        begun.under_way -= 1;
        begun.panic = begun.panic.take().or(done.err());
        if begun.under_way == 0 {
            self.ended.notify_one();
        }
    }
}

/// Ends a job, also where its owner's own part panics.
struct Ending<'a>(&'a Workers, &'a Arc<Job>);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        let Ending(workers, job) = self;
        workers.lock().tasks.retain(|task| !Arc::ptr_eq(&task.job, job));
        let none = job.ended.wait_while(job.begun(), |begun| begun.under_way > 0);
        drop(none.unwrap_or_else(PoisonError::into_inner));
    }
}

impl Workers {
    fn new(most: usize, idle: Duration) -> Workers {
        Workers { state: Mutex::default(), posted: Condvar::new(), most, idle }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `work` with 0 on this thread, and with 1 and so on, up to `parts`, on others as these have time; those that have not begun
    /// when this thread's call returns don't any more. So `work` must do all there is to do, on however many threads it runs.
    pub fn share(&'static self, parts: usize, work: &(dyn Fn(usize) + Sync)) {
        type Static = *const (dyn Fn(usize) + Sync);
        // SAFETY: only the lifetime changes; `Work` says who sees to it.
        let work = Work(unsafe { std::mem::transmute::<*const (dyn Fn(usize) + Sync + '_), Static>(work) });
        let job = Arc::new(Job { work, begun: Mutex::default(), ended: Condvar::new() });
        let ending = Ending(self, &job);
        self.post((1..parts).map(|part| Task { job: Arc::clone(&job), part }));
        // SAFETY: it is valid in here.
        unsafe { (*job.work.0)(0) };
        drop(ending);
        let panic = job.begun().panic.take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    fn post(&'static self, tasks: impl Iterator<Item = Task>) {
        let mut state = self.lock();
        state.tasks.extend(tasks);
        let missing = state.tasks.len().saturating_sub(state.parked).min(self.most - state.threads);
        state.threads += missing;
        drop(state);
        self.posted.notify_all();
        for _ in 0..missing {
            let started = thread::Builder::new().name("boomerang-copy".into()).spawn(|| self.help());
            if started.is_err() {
                self.lock().threads -= 1;
            }
        }
    }

    /// Does tasks until there have been none for long.
    fn help(&self) {
        let mut state = self.lock();
        loop {
            if let Some(Task { job, part }) = state.tasks.pop_front() {
                // Before the lock is let go: whoever takes the job's tasks away waits for this one.
                job.begun().under_way += 1;
                drop(state);
                job.run(part);
                state = self.lock();
                continue;
            }
            state.parked += 1;
            let waited = self.posted.wait_timeout(state, self.idle);
            let timeout;
            (state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state.parked -= 1;
            if timeout.timed_out() && state.tasks.is_empty() {
                state.threads -= 1;
                return;
            }
        }
    }
}

/// Processors that this process may use.
pub fn processors() -> usize {
    static PROCESSORS: LazyLock<usize> =
        LazyLock::new(|| thread::available_parallelism().map_or(1, usize::from));
    *PROCESSORS
}

/// The helpers of this process, for all devices. No more than there are processors, counting the thread that asks.
pub fn workers() -> &'static Workers {
    static WORKERS: LazyLock<Workers> = LazyLock::new(|| Workers::new(MOST.min(processors() - 1), IDLE));
    &WORKERS
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const LONG: Duration = Duration::from_secs(1000);

    fn leak(most: usize, idle: Duration) -> &'static Workers {
        Box::leak(Box::new(Workers::new(most, idle)))
    }

    #[test]
    fn without_helpers_a_thread_does_its_own_part_alone() {
        let calls = Mutex::new(vec![]);
        leak(0, LONG).share(5, &|part| calls.lock().expect("no panic").push(part));
        assert_eq!(*calls.lock().expect("no panic"), [0]);
    }

    #[test]
    fn helpers_work_at_the_same_time_and_are_used_again() {
        let workers = leak(3, LONG);
        for _ in 0..100 {
            let meet = Barrier::new(4);
            workers.share(4, &|_| {
                meet.wait();
            });
        }
        assert_eq!(workers.lock().threads, 3);
    }

    #[test]
    fn many_that_ask_at_once_share_the_helpers_and_each_is_left_by_all_before_it_goes_on() {
        let workers = leak(2, LONG);
        let running = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let (left, here) = (AtomicUsize::new(50), AtomicUsize::new(0));
                        workers.share(6, &|_| {
                            here.fetch_add(1, Ordering::SeqCst);
                            assert!(running.fetch_add(1, Ordering::SeqCst) < 8 + 2);
                            let take = |left: usize| left.checked_sub(1);
                            while left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok() {}
                            running.fetch_sub(1, Ordering::SeqCst);
                            here.fetch_sub(1, Ordering::SeqCst);
                        });
                        assert_eq!((here.into_inner(), left.into_inner()), (0, 0));
                    }
                });
            }
        });
        assert_eq!(workers.lock().threads, 2);
        assert!(workers.lock().tasks.is_empty());
    }

    #[test]
    fn a_helpers_panic_is_that_of_the_thread_that_asked_and_other_work_goes_on() {
        let workers = leak(1, LONG);
        let meet = Barrier::new(2);
        let failed = catch_unwind(AssertUnwindSafe(|| {
            workers.share(2, &|part| {
                meet.wait();
                assert!(part == 0, "in a helper");
            });
        }));
        assert!(failed.is_err());
        workers.share(2, &|_| {
            meet.wait();
        });
    }

    #[test]
    fn helpers_end_when_there_has_been_nothing_to_do_and_are_started_anew() {
        let workers = leak(1, Duration::from_millis(1));
        for _ in 0..3 {
            let meet = Barrier::new(2);
            workers.share(2, &|_| {
                meet.wait();
            });
            while workers.lock().threads > 0 {
                thread::yield_now();
            }
        }
    }
}
