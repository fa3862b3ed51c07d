//! What surrounds every entry point: checks, injected failures, and a stop for panics.

use crate::core::{counts, process};
use crate::env::{Failure, settings};
use crate::error::{CUresult, Error, Result, code};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// When a function may be called.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Always, even in host functions and while the process ends.
    Always,
    /// Before `cuInit` too.
    Alive,
    /// After `cuInit` only.
    Initialized,
}

/// Runs the body of the entry point `name`.
pub fn enter(name: &'static str, when: When, body: impl FnOnce() -> Result) -> CUresult {
    if when != When::Always {
        counts::add_call();
    }
    // AssertUnwindSafe: state behind locks is poisoned by a panic, so nothing half-done is used again.
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        match when {
            When::Always => {}
            When::Alive => process::check_alive()?,
            When::Initialized => process::check_ready()?,
        }
        if settings().calls {
            *calls().entry(name).or_default() += 1;
        }
        injected(name)?;
        body()
    }));
    code(outcome.unwrap_or_else(|_| {
        eprintln!("boomerang-sim: internal error in {name}");
        Err(Error::UNKNOWN)
    }))
}

/// How often each function was called, where that is wanted.
fn calls() -> MutexGuard<'static, BTreeMap<&'static str, u64>> {
    static CALLS: Mutex<BTreeMap<&str, u64>> = Mutex::new(BTreeMap::new());
    CALLS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tells how often each function was called, one line for each. The process ends.
pub fn report_calls() {
    for (name, count) in calls().iter() {
        eprintln!("boomerang-sim: {name} was called {count} times");
    }
}

/// The failure that `BOOMERANG_SIM_FAIL` asks for; a name there without `_v2` means every version.
fn injected(name: &str) -> Result {
    let failures = &settings().failures;
    if failures.is_empty() {
        return Ok(());
    }
    static COUNTS: OnceLock<Vec<AtomicU64>> = OnceLock::new();
    let counts = COUNTS.get_or_init(|| failures.iter().map(|_| AtomicU64::new(0)).collect());
    let names = |f: &Failure| {
        name.strip_prefix(f.call.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with("_v"))
    };
    for (failure, count) in failures.iter().zip(counts) {
        // Relaxed: only the count itself matters.
        if names(failure) && count.fetch_add(1, Ordering::Relaxed) + 1 >= failure.from {
            return if failure.code == 0 { Ok(()) } else { Err(Error(failure.code)) };
        }
    }
    Ok(())
}
