//! Launching target regions.

pub mod dims;
pub mod kernel;
pub mod queue;
pub mod repeat;
pub mod running;
pub mod stacks;
pub mod tasks;
pub mod watch;

use crate::driver::{CudaError, Driver};
use crate::memory::alloc::Memory;
use std::sync::atomic::{AtomicU64, Ordering};

/// What one device keeps for launches.
pub struct State {
    queues: queue::Pool,
    stacks: stacks::Pool,
    launched: AtomicU64,
    /// The kernels that run now.
    pub running: running::Running,
    /// The regions that nobody waits for.
    pub tasks: tasks::Tasks,
}

impl State {
    /// `marks`: how many queues may have end marks.
    pub fn new(marks: usize) -> State {
        State {
            queues: queue::Pool::new(marks),
            stacks: stacks::Pool::default(),
            launched: AtomicU64::new(0),
            running: running::Running::default(),
            tasks: tasks::Tasks::default(),
        }
    }

    /// Gives memory that no region uses now back to `memory`. No region runs.
    pub fn release_memory(&self, memory: &Memory) {
        self.stacks.drain(memory);
    }

    /// Gets ready for kernels that may wait for the host.
    ///
    /// # Errors
    /// Those of the driver calls.
    pub fn expect_requests(&self, driver: &Driver) -> Result<(), CudaError> {
        self.queues.make_ahead(driver)
    }

    /// Counts a kernel that was launched without a region's queue.
    pub fn count(&self) {
        self.launched.fetch_add(1, Ordering::Relaxed);
    }

    /// Kernels launched so far.
    pub fn launched(&self) -> u64 {
        self.launched.load(Ordering::Relaxed)
    }
}
