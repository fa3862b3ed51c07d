//! Which regions run, for driver calls that wait for running kernels.
//!
//! `cuMemFree`, `cuModuleLoadData` and their like wait for running kernels, and libgomp makes them under its device lock, which
//! it also takes to serve a reverse-offload request. So such a call, made while a kernel runs, ends in a deadlock as soon as
//! that kernel makes a request. They are made while nothing runs, and keep launches off meanwhile.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::condition::Condition;

/// How often a thread that waits for kernels looks whether one of them waits for it.
const LOOK: Duration = Duration::from_millis(20);

/// One device's running kernels.
#[derive(Debug, Default)]
pub struct Running {
    /// Their names, in no order.
    names: Mutex<Vec<Arc<str>>>,
    none: Condition,
}

impl Running {
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<str>>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a kernel that is about to be launched.
    pub fn begin(&self, name: &Arc<str>) {
        self.lock().push(Arc::clone(name));
    }

    /// A kernel of this name has ended. One that failed never does: its device is lost.
    pub fn end(&self, name: &Arc<str>) {
        let mut names = self.lock();
        if let Some(index) = names.iter().position(|other| other == name) {
            names.swap_remove(index);
        }
        if names.is_empty() {
            self.none.notify_all(&names);
        }
    }

    /// The kernels that run, or have failed. None are named while a call is made that keeps launches off.
    pub fn names(&self) -> Vec<Arc<str>> {
        self.names.try_lock().map_or(Vec::new(), |names| names.clone())
    }

    /// Whether a kernel runs, or has failed.
    pub fn is_any(&self) -> bool {
        !self.lock().is_empty()
    }

    /// Calls `call` if no kernel runs, and lets none start meanwhile.
    pub fn if_none<T>(&self, call: impl FnOnce() -> T) -> Option<T> {
        let names = self.lock();
        names.is_empty().then(call)
    }

    /// Waits until no kernel runs, then calls `call` and lets none start meanwhile. None as soon as `hopeless` says that the
    /// wait would last for ever.
    pub fn when_none<T>(&self, hopeless: impl Fn() -> bool, call: impl FnOnce() -> T) -> Option<T> {
        let mut names = self.lock();
        while !names.is_empty() {
            if hopeless() {
                return None;
            }
            names = self.none.wait_timeout(names, LOOK);
        }
        Some(call())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_waits_for_kernels_is_made_only_while_none_runs() {
        let (running, name) = (Running::default(), Arc::from("k"));
        assert_eq!(running.if_none(|| 1), Some(1));
        running.begin(&name);
        running.begin(&name);
        assert_eq!(running.if_none(|| 1), None);
        running.end(&name);
        assert!(running.is_any());
        running.end(&name);
        assert_eq!(running.if_none(|| 1), Some(1));
    }

    #[test]
    fn running_kernels_are_named_except_during_a_call_that_keeps_them_off() {
        let (running, first, second) = (Running::default(), Arc::from("first"), Arc::from("second"));
        running.begin(&first);
        running.begin(&second);
        running.end(&first);
        assert_eq!(running.names(), [Arc::clone(&second)]);
        running.end(&second);
        assert_eq!(running.if_none(|| running.names()), Some(vec![]));
    }

    #[test]
    fn waiting_ends_with_the_last_kernel_or_when_it_is_hopeless() {
        let (running, name) = (Running::default(), Arc::from("k"));
        running.begin(&name);
        assert_eq!(running.when_none(|| true, || 1), None);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| running.when_none(|| false, || 1));
            running.end(&name);
            assert_eq!(waiting.join().expect("no panic"), Some(1));
        });
    }
}
