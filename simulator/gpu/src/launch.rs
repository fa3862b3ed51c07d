//! Launching a grid.

use crate::{Fault, Kernel};
use std::sync::atomic::AtomicBool;

/// What to run.
pub struct Launch<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// Blocks in x, y, z; none may be 0.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z; none may be 0, the product at most [`Kernel::max_threads`].
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// The parameters, laid out as [`Kernel::params`] says; short buffers are an illegal access when read.
    pub params: &'a [u8],
}

/// What a grid did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Instructions executed, counted once for each active lane.
    pub thread_instructions: u64,
    /// Instructions executed, counted once a warp.
    pub warp_instructions: u64,
}

/// Runs a grid to its end and returns what it did, or the first fault.
///
/// It runs on the device that the kernel's module was loaded on and blocks; several threads may run grids of one device at once and share its workers fairly. Raising `cancel`
/// ends the grid with [`crate::FaultKind::Cancelled`] within milliseconds.
pub fn run_grid(launch: &Launch<'_>, cancel: &AtomicBool) -> Result<Stats, Fault> {
    let _ = (launch, cancel);
    todo!()
}
