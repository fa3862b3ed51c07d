//! A condition variable for what is often signalled and seldom waited for.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, MutexGuard, PoisonError};
use std::time::Duration;

/// As [`Condvar`], whose every signal is a system call, also where nobody waits; here it is one only where somebody does. All of it
/// happens under the lock of what is waited for, the signal too.
#[derive(Debug, Default)]
pub struct Condition {
    condvar: Condvar,
    /// Changed and read under the lock only, which orders it.
    waiting: AtomicUsize,
}

impl Condition {
    /// Waits for a signal, or for as long as `longest`.
    pub fn wait_timeout<'a, T>(&self, guard: MutexGuard<'a, T>, longest: Duration) -> MutexGuard<'a, T> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let (guard, _) = self.condvar.wait_timeout(guard, longest).unwrap_or_else(PoisonError::into_inner);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        guard
    }

    /// Waits for signals until `waits` no longer holds.
    pub fn wait_while<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        waits: impl Fn(&T) -> bool,
    ) -> MutexGuard<'a, T> {
        while waits(&guard) {
            self.waiting.fetch_add(1, Ordering::Relaxed);
            guard = self.condvar.wait(guard).unwrap_or_else(PoisonError::into_inner);
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
        guard
    }

    /// Wakes one that waits. `_guard`: the lock is held.
    pub fn notify_one<T>(&self, _guard: &MutexGuard<'_, T>) {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.condvar.notify_one();
        }
    }

    /// Wakes all that wait. `_guard`: the lock is held.
    pub fn notify_all<T>(&self, _guard: &MutexGuard<'_, T>) {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.condvar.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn whoever_waits_is_woken_by_every_signal_that_comes_after() {
        let (count, condition) = (Mutex::new(0), Condition::default());
        let turn = |mine: usize| {
            for round in 0..1000 {
                let count = count.lock().expect("no panic");
                let mut count = condition.wait_while(count, |count| *count != 2 * round + mine);
                *count += 1;
                condition.notify_one(&count);
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| turn(0));
            scope.spawn(|| turn(1));
        });
        assert_eq!(count.into_inner().expect("no panic"), 2000);
        assert_eq!(condition.waiting.into_inner(), 0);
    }
}
