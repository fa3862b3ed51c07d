//! Whether this process is a child of the one that started the CUDA driver, which does not survive a fork. Each use of a device asks
//! several times: a flag takes next to nothing, where to ask for the process's number takes 130 ns.

use std::ffi::c_int;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

static FORKED: AtomicBool = AtomicBool::new(false);

unsafe extern "C" {
    fn pthread_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> c_int;
}

extern "C" fn child() {
    // Relaxed: a child has one thread, from which all others come.
    FORKED.store(true, Ordering::Relaxed);
}

/// Takes note of forks from now on. Called before the driver is started.
pub fn watch() {
    static ONCE: Once = Once::new();
    // It fails only for want of memory; the driver's calls then fail in a child.
    // SAFETY: the function only stores to an atomic. It stays: libc forgets handlers of a library that is unloaded.
    ONCE.call_once(|| _ = unsafe { pthread_atfork(None, None, Some(child)) });
}

/// Whether there was a fork, and this is the child.
pub fn is_child() -> bool {
    FORKED.load(Ordering::Relaxed)
}
