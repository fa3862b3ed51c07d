//! The thread that watches the words of pending stream waits: a store by the host or a kernel notifies nobody.

use super::Scheduler;
use crate::env;
use crate::error::Error;
use std::ffi::c_int;
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

/// Time between looks while something happened within [`BRISK_FOR`]; real hardware takes 4 us.
const BRISK: Duration = Duration::from_micros(20);
/// See [`BRISK`].
const BRISK_FOR: Duration = Duration::from_millis(2);
/// Time between looks otherwise: a few per cent of a core.
const CALM: Duration = Duration::from_micros(200);

#[derive(Default)]
struct Signal {
    started: bool,
    work: bool,
}

/// See the module.
#[derive(Default)]
pub(super) struct Poller {
    signal: Mutex<Signal>,
    woken: Condvar,
}

impl Poller {
    /// Some wait is pending.
    pub fn wake(&'static self, scheduler: &'static Scheduler) {
        let mut signal = self.signal.lock().expect("no panic under this lock");
        signal.work = true;
        if std::mem::replace(&mut signal.started, true) {
            self.woken.notify_one();
            return;
        }
        drop(signal);
        let body = move || self.watch(scheduler);
        if let Err(error) = std::thread::Builder::new().name("boomerang-sim-wait".into()).spawn(body) {
            eprintln!("boomerang-sim: no thread to watch stream waits: {error}");
        }
    }

    fn watch(&self, scheduler: &'static Scheduler) -> ! {
        exact_sleeps();
        loop {
            let mut signal = self.signal.lock().expect("no panic under this lock");
            while !std::mem::take(&mut signal.work) {
                signal = self.woken.wait(signal).expect("no panic under this lock");
            }
            drop(signal);
            let mut news = Instant::now();
            while let Some(progress) = scheduler.look() {
                if progress {
                    news = Instant::now();
                }
                std::thread::sleep(if news.elapsed() < BRISK_FOR { BRISK } else { CALM });
            }
        }
    }
}

impl Scheduler {
    /// Looks at all waited words once; `None` when no wait is pending, else whether one had come true.
    fn look(&'static self) -> Option<bool> {
        let mut state = self.lock();
        if state.waits.is_empty() {
            return None;
        }
        let before = state.waits.len();
        let jobs = state.poll();
        let progress = state.waits.len() != before;
        // Only a stream held back by another's wait is certainly stuck: any other wait the host may yet satisfy.
        let limit = env::settings().deadlock;
        let stuck = state.held.iter().find(|(_, since)| since.elapsed() > limit).map(|(q, _)| *q);
        let stuck = stuck.and_then(|q| state.queues.get(&q)).map(|q| q.domain);
        drop(state);
        self.dispatch(jobs);
        if let Some(domain) = stuck {
            self.report_deadlock(domain, limit);
            self.poison(domain, Error::LAUNCH_TIMEOUT);
        }
        Some(progress)
    }
}

/// Linux delays sleeps by up to 50 us to batch timers; that would double the latency of a wait.
fn exact_sleeps() {
    const PR_SET_TIMERSLACK: c_int = 29;
    unsafe extern "C" {
        fn prctl(option: c_int, ...) -> c_int;
    }
    // SAFETY: PR_SET_TIMERSLACK takes one unsigned long and concerns this thread only.
    unsafe { prctl(PR_SET_TIMERSLACK, 1_u64) };
}
