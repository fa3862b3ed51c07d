//! Launching target regions.

pub mod dims;
pub mod kernel;
pub mod queue;
pub mod running;
pub mod stacks;

use crate::driver::DevicePtr;
use std::sync::atomic::{AtomicU64, Ordering};

/// What one device keeps for launches.
#[derive(Debug, Default)]
pub struct State {
    queues: queue::Pool,
    stacks: stacks::Pool,
    launched: AtomicU64,
    /// The kernels that run now.
    pub running: running::Running,
}

impl State {
    /// Device memory that no region uses now, for the caller to free.
    pub fn release_memory(&self) -> Vec<DevicePtr> {
        self.stacks.drain()
    }

    /// Kernels launched so far.
    pub fn launched(&self) -> u64 {
        self.launched.load(Ordering::Relaxed)
    }
}
