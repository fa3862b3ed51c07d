//! Calls of libgomp's that the driver makes when a queue has got that far.

use std::cell::Cell;
use std::ffi::c_void;

use crate::driver::{CudaError, Driver, Stream};

/// A function of libgomp's and its argument.
pub struct Callback {
    /// The function.
    pub function: unsafe extern "C" fn(*mut c_void),
    /// Its argument.
    pub argument: *mut c_void,
}

thread_local! {
    static RUNNING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is the driver's, in the middle of a callback. Then the driver must not be called (CUDA Driver API,
/// cuLaunchHostFunc). Of what libgomp does in callbacks, only freeing device memory would.
pub fn is_running() -> bool {
    RUNNING.get()
}

impl Callback {
    /// Has the driver make the call behind the work of `stream`. It does not when that fails.
    ///
    /// # Errors
    /// When the driver refuses.
    ///
    /// # Safety
    /// The function may be called on any thread.
    pub unsafe fn enqueue(self, driver: &Driver, stream: Stream) -> Result<(), CudaError> {
        let callback = Box::into_raw(Box::new(self));
        // SAFETY: `run` takes the box back.
        unsafe { driver.launch_host_function(stream, run, callback.cast()) }.inspect_err(|_| {
            // SAFETY: the driver refused it, so it is still ours.
            drop(unsafe { Box::from_raw(callback) });
        })
    }
}

unsafe extern "C" fn run(callback: *mut c_void) {
    // SAFETY: `enqueue` made the box, and the driver calls once.
    let callback = unsafe { Box::from_raw(callback.cast::<Callback>()) };
    RUNNING.set(true);
    // SAFETY: the promise of `enqueue`'s caller.
    unsafe { (callback.function)(callback.argument) };
    RUNNING.set(false);
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" fn note(seen: *mut c_void) {
        // SAFETY: the test's own.
        unsafe { seen.cast::<bool>().write(is_running()) };
    }

    #[test]
    fn a_callback_knows_that_it_is_one() {
        let mut seen = false;
        let callback = Box::new(Callback { function: note, argument: (&raw mut seen).cast() });
        // SAFETY: a box of ours, run once.
        unsafe { run(Box::into_raw(callback).cast()) };
        assert!(seen && !is_running());
    }
}
