//! Soft stacks: the device memory that each OpenMP thread of a region uses as its stack, kept for the next region.

use crate::driver::{CudaError, DevicePtr, Driver};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Bytes of one thread's soft stack, as the stock plugin has it. All lanes of the thread's warp share it.
pub const STACK_BYTES: u64 = 128 * 1024;

/// The stacks of one region, one behind the other.
#[derive(Debug)]
pub struct Stacks {
    base: DevicePtr,
    bytes: u64,
}

impl Stacks {
    /// The device address of the first stack.
    pub fn base(&self) -> DevicePtr {
        self.base
    }

    /// The addresses of all of them.
    pub fn addresses(&self) -> Range<u64> {
        self.base..self.base + self.bytes
    }
}

/// The stacks that no region uses now.
#[derive(Debug, Default)]
pub struct Pool {
    free: Mutex<Vec<Stacks>>,
}

impl Pool {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Stacks>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes stacks for `threads` threads: the smallest pooled block that is large enough, else a new one.
    ///
    /// # Errors
    /// Those of `cuMemAlloc`.
    pub fn take(&self, driver: &Driver, threads: u64) -> Result<Stacks, CudaError> {
        let wanted = threads * STACK_BYTES;
        let mut free = self.lock();
        let fit = (0..free.len()).filter(|&i| free[i].bytes >= wanted).min_by_key(|&i| free[i].bytes);
        if let Some(i) = fit {
            return Ok(free.swap_remove(i));
        }
        drop(free);
        // Rounded up to an eighth of its magnitude, so that regions of similar size share blocks.
        let bytes = wanted.next_multiple_of((wanted.next_power_of_two() / 16).max(STACK_BYTES));
        Ok(Stacks { base: driver.mem_alloc(bytes as usize)?, bytes })
    }

    /// Gives stacks back. No kernel uses them any more.
    pub fn give_back(&self, stacks: Stacks) {
        self.lock().push(stacks);
    }

    /// Takes everything out of the pool, to be freed where memory is short.
    pub fn drain(&self) -> Vec<DevicePtr> {
        self.lock().drain(..).map(|stacks| stacks.base).collect()
    }
}
