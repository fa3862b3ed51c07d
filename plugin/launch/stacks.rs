//! Soft stacks: the device memory that each OpenMP thread of a region uses as its stack, kept for the next region. In front of
//! them is what our device runtime needs to find the region's request slots (`include/rev_wire.h`).

use crate::condition::Condition;
use crate::device::Device;
use crate::driver::DevicePtr;
use crate::error::{Error, Result};
use crate::memory::alloc::{self, Memory};
use crate::reverse::window::Window;
use crate::reverse::wire::{self, REGION_BYTES};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Bytes of one thread's soft stack, as the stock plugin has it. All lanes of the thread's warp share it.
pub const STACK_BYTES: u64 = 128 * 1024;

/// How often a thread that waits for stacks looks whether those who have some wait for it.
const LOOK: Duration = Duration::from_millis(20);

/// The stacks of one region, one behind the other. In device memory: turns, region, stacks.
#[derive(Debug)]
pub struct Stacks {
    memory: DevicePtr,
    threads: u64,
    window: Option<Arc<Window>>,
}

/// Bytes in front of the stacks of `threads` threads.
fn front(threads: u64) -> u64 {
    slots(threads) as u64 * size_of::<wire::Turn>() as u64 + REGION_BYTES
}

/// Bytes of a block of stacks for `threads` threads, with what is in front.
fn block_bytes(threads: u64) -> usize {
    (front(threads) + threads * STACK_BYTES) as usize
}

/// Slots for the requests of `threads` threads: one each, as far as there are enough.
fn slots(threads: u64) -> usize {
    (threads as usize).next_power_of_two().clamp(wire::MIN_SLOTS, wire::MAX_SLOTS)
}

impl Stacks {
    /// The device address of the first stack.
    pub fn base(&self) -> DevicePtr {
        self.memory + front(self.threads)
    }

    /// The addresses of all of them.
    pub fn addresses(&self) -> Range<u64> {
        self.base()..self.base() + self.threads * STACK_BYTES
    }

    /// The slots for the requests of the region that uses these stacks.
    ///
    /// # Errors
    /// Those of the driver calls that make them, the first time.
    pub fn window(&mut self, device: &Device) -> Result<Arc<Window>> {
        if let Some(window) = &self.window {
            return Ok(Arc::clone(window));
        }
        let region = self.base() - REGION_BYTES;
        let window = Window::new(device, slots(self.threads), region, self.memory)?;
        Ok(Arc::clone(self.window.insert(Arc::new(window))))
    }

    /// Gives the memory back to `device_memory`.
    fn release(self, device_memory: &Memory) {
        device_memory.give_back(self.memory);
        // Whoever still holds the window uses it no more: its region has ended.
        if let Some(window) = self.window {
            device_memory.put_off_host(window.memory());
        }
    }
}

/// A device's soft stacks. There are no more blocks than regions that have run at once.
#[derive(Debug, Default)]
pub struct Pool {
    blocks: Mutex<Blocks>,
    given_back: Condition,
}

#[derive(Debug, Default)]
struct Blocks {
    free: Vec<Stacks>,
    in_use: usize,
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, Blocks> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes stacks for `threads` threads: the smallest pooled block that is large enough, else a new one. A new one takes the place
    /// of one that was too small.
    ///
    /// # Errors
    /// When the device has no more memory.
    pub fn take(&self, device: &Device, threads: u64) -> Result<Stacks> {
        let mut blocks = self.lock();
        let free = &mut blocks.free;
        let fit = (0..free.len()).filter(|&i| free[i].threads >= threads).min_by_key(|&i| free[i].threads);
        let stacks = match fit {
            Some(i) => free.swap_remove(i),
            None => {
                let small = free.pop();
                drop(blocks);
                small.into_iter().for_each(|small| small.release(&device.memory));
                // Rounded up to an eighth of its magnitude, so that regions of similar size share blocks.
                let threads = threads.next_multiple_of((threads.next_power_of_two() / 16).max(1));
                let memory = alloc::alloc(device, block_bytes(threads))?;
                blocks = self.lock();
                Stacks { memory, threads, window: None }
            }
        };
        blocks.in_use += 1;
        Ok(stacks)
    }

    /// Takes stacks, and where the device has no more memory waits for those of other regions.
    ///
    /// # Errors
    /// When there is no memory and nobody will give any back.
    pub fn wait_for(&self, device: &Device, threads: u64) -> Result<Stacks> {
        loop {
            // Before the attempt: those that are given back meanwhile may be what it takes.
            let are_coming = self.are_coming(device);
            match self.take(device, threads) {
                Err(Error::OutOfMemory { .. }) if are_coming => {
                    // For a while only: those who have some may come to wait for a block that this thread serves.
                    drop(self.given_back.wait_timeout(self.lock(), LOOK));
                }
                taken => return taken,
            }
        }
    }

    /// Whether a region will give stacks back that doesn't wait for a served block. That block may be waiting for stacks.
    pub fn are_coming(&self, device: &Device) -> bool {
        self.lock().in_use > device.reverse.under_service()
    }

    /// Gives stacks back. No kernel uses them any more.
    pub fn give_back(&self, stacks: Stacks) {
        let mut blocks = self.lock();
        blocks.free.push(stacks);
        blocks.in_use -= 1;
        self.given_back.notify_all(&blocks);
    }

    /// Gives everything in the pool back to `device_memory`, where memory is short. No region runs.
    pub fn drain(&self, device_memory: &Memory) {
        self.lock().free.drain(..).for_each(|stacks| stacks.release(device_memory));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_lie_behind_their_turns_and_region_aligned() {
        for threads in [1, 3, 8, 1000, 100_000] {
            let stacks = Stacks { memory: 1 << 20, threads, window: None };
            assert_eq!(stacks.base() % 256, 0);
            assert!(stacks.base() - REGION_BYTES >= stacks.memory + 16 * slots(threads) as u64);
            assert_eq!(stacks.addresses().end - stacks.base(), threads * STACK_BYTES);
        }
    }
}
