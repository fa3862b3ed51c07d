//! Who may sleep in a stream wait, and who must not meanwhile call the driver.
//!
//! While a stream wait is pending, `cuMemFree`, `cuModuleLoadData` and others block until it is satisfied (measured on an H200,
//! docs/driver.md). So at most one thread per device sleeps in such a wait, the *sleeper*; the other waiting threads sleep on
//! a condition variable, and whoever has to make one of those calls first wakes the sleeper and keeps everyone from sleeping
//! until it is done ([`Gate::run_blocking`]).
//!
//! A wake-up is a hint. Every waiter looks for its own work under the gate's lock before it sleeps, and whoever makes work
//! for it takes the lock after having made it: no wake-up is lost (`tests/loom_slot.rs`).

use crate::reverse::slot::WaitWord;
use crate::reverse::sync::{Condvar, Mutex, MutexGuard};
use std::ptr;
use std::time::Duration;

/// How long a sleeping wait lasts, at most, before its thread looks around: at first, and when nothing has happened for long. In between
/// it doubles each time: a lost end write, streams that share a hardware channel, or another unforeseen cause delays a region by no more
/// than it had already waited in peace, or by the first of the two. Each look costs some hundred microseconds of CPU time.
const SLEEPS: (Duration, Duration) = (Duration::from_millis(80), Duration::from_millis(320));

/// One device's gate.
#[derive(Debug)]
pub struct Gate {
    state: Mutex<State>,
    /// Signalled when anything changes that a waiting thread might wait for.
    changed: Condvar,
    /// Signalled when the timer has to leave its rest. Models have no time.
    #[cfg_attr(loom, expect(dead_code))]
    timer: Condvar,
}

#[derive(Debug)]
struct State {
    /// Driver calls under way that a pending stream wait would block.
    blocking_calls: usize,
    sleeper: Option<Sleeper>,
    /// Counts sleeps, so that the timer can tell one from the next.
    sleeps: u64,
    /// How long the next sleep may last.
    longest: Duration,
    #[cfg_attr(loom, expect(dead_code))]
    timer: Timer,
}

#[derive(Debug, PartialEq)]
#[cfg_attr(loom, expect(dead_code))]
enum Timer {
    NotStarted,
    Resting,
    Ticking,
}

struct Sleeper {
    waiter: u64,
    word: &'static dyn WaitWord,
    /// Whether the timer has ended its sleep.
    overslept: bool,
}

impl std::fmt::Debug for Sleeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "waiter {}", self.waiter)
    }
}

/// Why [`Gate::sleep`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// There is, or may be, something to do: look.
    Look,
    /// Sleeping isn't allowed now, since a driver call is under way that a stream wait would block; or it is of no use, since the one
    /// thread that sleeps in a stream wait watches another word.
    Closed,
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

impl Gate {
    /// A gate that is open and has no sleeper.
    pub fn new() -> Self {
        let state = State {
            blocking_calls: 0,
            sleeper: None,
            sleeps: 0,
            longest: SLEEPS.0,
            timer: Timer::NotStarted,
        };
        Gate { state: Mutex::new(state), changed: Condvar::new(), timer: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Makes a driver call that a pending stream wait blocks. Other threads serve requests by polling meanwhile.
    pub fn run_blocking<T>(&self, call: impl FnOnce() -> T) -> T {
        /// Opens the gate again even where `call` panics.
        struct Open<'a>(&'a Gate);
        impl Drop for Open<'_> {
            fn drop(&mut self) {
                self.0.lock().blocking_calls -= 1;
            }
        }
        let mut state = self.lock();
        state.blocking_calls += 1;
        if let Some(sleeper) = &state.sleeper {
            sleeper.word.cancel();
        }
        self.changed.notify_all();
        drop(state);
        let _open = Open(self);
        call()
    }

    /// Sleeps until there may be something to do for `waiter`, or the time that a sleep may last has passed. `ready` says whether there is;
    /// `block` waits, by a stream wait, until `word` isn't idle. An error is that of `block`.
    pub fn sleep<E>(
        &'static self,
        waiter: u64,
        word: &'static dyn WaitWord,
        ready: impl Fn() -> bool,
        block: impl FnOnce() -> Result<(), E>,
    ) -> Result<Wake, E> {
        let mut state = self.lock();
        loop {
            // Armed before `ready` looks: what comes after the look ends the stream wait.
            let may_sleep = state.sleeper.is_none() && word.arm();
            let awake = if ready() {
                Some(Wake::Look)
            } else if state.blocking_calls > 0
                || state.sleeper.as_ref().is_some_and(|it| !ptr::addr_eq(it.word, word))
            {
                Some(Wake::Closed)
            } else {
                None
            };
            match awake {
                None if may_sleep => break,
                None => {}
                Some(wake) => {
                    if state.sleeper.is_none() {
                        word.disarm();
                    }
                    return Ok(wake);
                }
            }
            let longest = state.longest;
            let (next, timeout) =
                self.changed.wait_timeout(state, longest).unwrap_or_else(|poisoned| poisoned.into_inner());
            state = next;
            if timeout.timed_out() {
                return Ok(Wake::Look);
            }
        }
        state.sleeper = Some(Sleeper { waiter, word, overslept: false });
        state.sleeps += 1;
        self.start_timer(&mut state);
        drop(state);
        let result = block();
        let mut state = self.lock();
        let overslept = state.sleeper.take().is_some_and(|sleeper| sleeper.overslept);
        state.longest = if overslept { (state.longest * 2).min(SLEEPS.1) } else { SLEEPS.0 };
        word.disarm();
        // Whatever woke this thread may be another's: all look, and one of them sleeps next.
        self.changed.notify_all();
        result.map(|()| Wake::Look)
    }

    /// Wakes `waiter`: something it waits for has happened.
    pub fn wake(&self, waiter: u64) {
        let state = self.lock();
        match &state.sleeper {
            Some(sleeper) if sleeper.waiter == waiter => sleeper.word.cancel(),
            _ => self.changed.notify_all(),
        }
    }

    /// Tells every waiting thread but the sleeper to look: the word it watches tells that one.
    pub fn wake_others(&self) {
        let _state = self.lock();
        self.changed.notify_all();
    }

    #[cfg(loom)]
    fn start_timer(&self, _state: &mut State) {}

    /// Makes sure that the sleep that begins will be ended in time.
    #[cfg(not(loom))]
    fn start_timer(&'static self, state: &mut State) {
        match state.timer {
            Timer::Ticking => {}
            Timer::Resting => self.timer.notify_one(),
            Timer::NotStarted => {
                // Without a timer a sleep may last as long as its kernel: correct, unless streams share a channel.
                let _ = std::thread::Builder::new()
                    .name("boomerang-timer".into())
                    .spawn(move || self.run_timer());
            }
        }
        state.timer = Timer::Ticking;
    }

    /// Ends sleeps that last longer than they may, by up to as much again; rests while nobody sleeps.
    #[cfg(not(loom))]
    fn run_timer(&self) {
        let mut state = self.lock();
        loop {
            let (sleeps, longest) = (state.sleeps, state.longest);
            state =
                self.timer.wait_timeout(state, longest).unwrap_or_else(|poisoned| poisoned.into_inner()).0;
            if state.sleeps != sleeps {
                continue;
            }
            if let Some(sleeper) = &mut state.sleeper {
                sleeper.overslept = true;
                sleeper.word.cancel();
                continue;
            }
            state.timer = Timer::Resting;
            while state.timer == Timer::Resting {
                state = self.timer.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::convert::Infallible;

    /// A word that blocks as long as it is 0.
    #[derive(Default)]
    struct Word(Mutex<u32>, Condvar);

    impl Word {
        fn block(&self) -> Result<(), Infallible> {
            drop(self.1.wait_while(self.0.lock().expect("no panic"), |word| *word == 0).expect("no panic"));
            Ok(())
        }
    }

    impl WaitWord for Word {
        fn arm(&self) -> bool {
            *self.0.lock().expect("no panic") = 0;
            true
        }
        fn disarm(&self) {}
        fn cancel(&self) {
            *self.0.lock().expect("no panic") = 1;
            self.1.notify_all();
        }
    }

    #[test]
    fn sleeps_that_nothing_ends_may_get_longer_and_any_event_makes_them_short_again() {
        let gate: &Gate = Box::leak(Box::default());
        let word: &Word = Box::leak(Box::default());
        let sleep = |block: &dyn Fn() -> Result<(), Infallible>| {
            assert_eq!(gate.sleep(1, word, || false, block), Ok(Wake::Look));
            gate.lock().longest
        };
        assert_eq!(sleep(&|| word.block()), SLEEPS.0 * 2);
        assert_eq!(sleep(&|| word.block()), SLEEPS.0 * 4);
        assert_eq!(sleep(&|| Ok(())), SLEEPS.0, "the device rang");
        let woken = || {
            gate.wake(1);
            word.block()
        };
        assert_eq!(sleep(&woken), SLEEPS.0);
    }

    #[test]
    fn nobody_relies_on_a_sleeper_that_watches_another_word() {
        let gate: &Gate = Box::leak(Box::default());
        let [word, other]: [&Word; 2] = [Box::leak(Box::default()), Box::leak(Box::default())];
        let outside = || {
            let never = || -> Result<(), Infallible> { unreachable!("there is a sleeper") };
            assert_eq!(gate.sleep(2, other, || false, never), Ok(Wake::Closed));
            Ok::<(), Infallible>(())
        };
        assert_eq!(gate.sleep(1, word, || false, outside), Ok(Wake::Look));
    }
}
