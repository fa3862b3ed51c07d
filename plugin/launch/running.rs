//! Which regions run, for driver calls that wait for running kernels.
//!
//! `cuMemFree`, `cuModuleLoadData` and their like wait for running kernels, and libgomp makes them under its device lock, which
//! it also takes to serve a reverse-offload request. So such a call, made while a kernel runs, ends in a deadlock as soon as
//! that kernel makes a request. They are made while nothing runs, and keep launches off meanwhile.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often a thread that waits for kernels looks whether one of them waits for it.
const LOOK: Duration = Duration::from_millis(20);

/// Counts one device's running kernels.
#[derive(Debug, Default)]
pub struct Running {
    count: Mutex<usize>,
    none: Condvar,
}

impl Running {
    fn lock(&self) -> MutexGuard<'_, usize> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a kernel that is about to be launched.
    pub fn begin(&self) {
        *self.lock() += 1;
    }

    /// A kernel has ended. One that failed never does: its device is lost.
    pub fn end(&self) {
        let mut count = self.lock();
        *count -= 1;
        if *count == 0 {
            self.none.notify_all();
        }
    }

    /// Whether a kernel runs, or has failed.
    pub fn is_any(&self) -> bool {
        *self.lock() > 0
    }

    /// Calls `call` if no kernel runs, and lets none start meanwhile.
    pub fn if_none<T>(&self, call: impl FnOnce() -> T) -> Option<T> {
        let count = self.lock();
        (*count == 0).then(call)
    }

    /// Waits until no kernel runs, then calls `call` and lets none start meanwhile. None as soon as `hopeless` says that the
    /// wait would last for ever.
    pub fn when_none<T>(&self, hopeless: impl Fn() -> bool, call: impl FnOnce() -> T) -> Option<T> {
        let mut count = self.lock();
        while *count > 0 {
            if hopeless() {
                return None;
            }
            count = self.none.wait_timeout(count, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
        Some(call())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_waits_for_kernels_is_made_only_while_none_runs() {
        let running = Running::default();
        assert_eq!(running.if_none(|| 1), Some(1));
        running.begin();
        running.begin();
        assert_eq!(running.if_none(|| 1), None);
        running.end();
        assert!(running.is_any());
        running.end();
        assert_eq!(running.if_none(|| 1), Some(1));
    }

    #[test]
    fn waiting_ends_with_the_last_kernel_or_when_it_is_hopeless() {
        let running = Running::default();
        running.begin();
        assert_eq!(running.when_none(|| true, || 1), None);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| running.when_none(|| false, || 1));
            running.end();
            assert_eq!(waiting.join().expect("no panic"), Some(1));
        });
    }
}
