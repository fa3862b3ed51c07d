//! No requests are served once the program ends.
//!
//! libgomp closes its devices in a handler of `exit`. Who has it serve a request afterwards is told that the device is finalized, which
//! ends the program with libgomp's status in place of its own. So threads stop serving before that, in a handler of ours, which was
//! registered after libgomp's and comes before it.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Once, OnceLock};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use super::serving;
use crate::device::registry;

/// How long the end waits for threads that have begun to serve: to come through libgomp to the program's block takes microseconds, where
/// there is a processor for them. Those that are in a block by then may stay there for ever.
const PASSAGE: Duration = Duration::from_millis(100);

/// Whether the program ends, and by which thread.
static ENDS: AtomicBool = AtomicBool::new(false);
static ENDED_BY: OnceLock<ThreadId> = OnceLock::new();

unsafe extern "C" {
    safe fn atexit(handler: extern "C" fn()) -> c_int;
}

/// Has the end of the program stop all threads that serve. libgomp has registered its handler.
pub fn expect() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Without a handler, as without this module.
        let _ = atexit(begin);
    });
}

extern "C" fn begin() {
    let _ = ENDED_BY.set(thread::current().id());
    // SeqCst, as the look at the count below: see `State::serve`.
    ENDS.store(true, Ordering::SeqCst);
    let own = usize::from(serving().is_some());
    let started = Instant::now();
    while registry::in_use().any(|device| device.reverse.under_service() > own) && started.elapsed() < PASSAGE
    {
        thread::yield_now();
    }
}

/// Whether another thread ends the program.
pub fn is_elsewhere() -> bool {
    // SeqCst: see `State::serve`.
    ENDS.load(Ordering::SeqCst) && ENDED_BY.get().is_some_and(|by| *by != thread::current().id())
}

/// Waits for the end of the program.
pub fn stay() -> ! {
    loop {
        thread::park();
    }
}
