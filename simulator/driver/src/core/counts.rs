//! What the program has had the driver do so far. Benches compare this, since times on a simulator say nothing about a GPU.

use std::sync::atomic::{AtomicU64, Ordering};

// Relaxed throughout: only the numbers themselves count.
static CALLS: AtomicU64 = AtomicU64::new(0);
static INSTRUCTIONS: AtomicU64 = AtomicU64::new(0);

/// Counts a call of a driver's function.
pub fn add_call() {
    CALLS.fetch_add(1, Ordering::Relaxed);
}

/// Counts what a kernel that has ended did.
pub fn add_instructions(warp_instructions: u64) {
    INSTRUCTIONS.fetch_add(warp_instructions, Ordering::Relaxed);
}

/// The calls, and the instructions of kernels that have ended, counted once a warp.
pub fn so_far() -> (u64, u64) {
    (CALLS.load(Ordering::Relaxed), INSTRUCTIONS.load(Ordering::Relaxed))
}
