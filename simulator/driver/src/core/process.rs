//! The life of the driver in this process: not initialised, ready, shutting down; and what a fork leaves.

use crate::error::{Error, Result};
use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU8, Ordering};

const FRESH: u8 = 0;
const READY: u8 = 1;
const ENDED: u8 = 2;
const FORKED: u8 = 3;

static PHASE: AtomicU8 = AtomicU8::new(FRESH);

thread_local! {
    /// Whether this thread runs a host function or callback of a stream.
    static IN_HOST_FUNCTION: Cell<bool> = const { Cell::new(false) };
}

unsafe extern "C" {
    fn atexit(handler: extern "C" fn()) -> c_int;
    fn pthread_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> c_int;
}

/// What holds for every call: not after exit began, not in a forked child, not in a host function.
pub fn check_alive() -> Result {
    // Acquire: pairs with the release in `ready`; who sees READY sees the devices.
    match PHASE.load(Ordering::Acquire) {
        ENDED => Err(Error::DEINITIALIZED),
        // What the driver returns in the child of a process that had used it.
        FORKED => Err(Error::NOT_INITIALIZED),
        _ if IN_HOST_FUNCTION.get() => Err(Error::NOT_PERMITTED),
        _ => Ok(()),
    }
}

/// What holds for most calls: `cuInit` has succeeded.
pub fn check_ready() -> Result {
    check_alive()?;
    if PHASE.load(Ordering::Acquire) == READY { Ok(()) } else { Err(Error::NOT_INITIALIZED) }
}

/// `cuInit` has succeeded. The caller does this once.
pub fn ready() {
    extern "C" fn child() {
        PHASE.store(FORKED, Ordering::Release);
    }
    extern "C" fn exit() {
        super::context::flush_all();
        // Not in a forked child, which has nothing to tell. Acquire: as in `check_alive`.
        if let (READY, Some(file)) = (PHASE.load(Ordering::Acquire), &crate::env::settings().report) {
            super::sched::scheduler().report(file);
        }
        crate::guard::report_calls();
        let _ = PHASE.compare_exchange(READY, ENDED, Ordering::AcqRel, Ordering::Acquire);
    }
    // SAFETY: both take functions that live as long as this library, which is never unloaded while they
    // may run: libc removes handlers of a library that is closed.
    unsafe {
        atexit(exit);
        pthread_atfork(None, None, Some(child));
    }
    PHASE.store(READY, Ordering::Release);
}

/// Runs a host function: driver calls inside are not permitted.
pub fn host_function(body: impl FnOnce()) {
    IN_HOST_FUNCTION.set(true);
    body();
    IN_HOST_FUNCTION.set(false);
}
