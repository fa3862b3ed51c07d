//! Large copies between pageable memory and the device, by several threads and through page-locked buffers.
//!
//! The driver copies pageable memory with one thread, at 6 to 14 GB/s; from page-locked memory it does 55 (an H200). To lock the program's
//! pages for a copy takes longer than that (23 ms for 256 MiB), and whoever remembers locked pages by their address is wrong as soon as
//! something else is mapped there. So threads ([`super::workers`]) copy between the program's memory, of whatever kind, and buffers of
//! ours: each takes the next chunk, and has two buffers, one for the device's copy and one for its own. Which chunk is under way when
//! does not matter: the copy as a whole is waited for.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::nontemporal;
use super::workers::{MOST_THREADS, processors, workers};
use crate::device::Device;
use crate::driver::{ContextGuard, CudaError, DevicePtr, Driver, Event, Stream};
use crate::env::WaitPolicy;

type Done<T> = Result<T, CudaError>;

/// The smallest copy for which this is worth waking other threads. The driver alone copies 4 MiB in 320 us (an H200); smaller copies have
/// not been measured.
pub const LEAST: usize = 4 << 20;

/// How copies of some size are made. The figures are rates of an H200 with 16 processors.
struct Shape {
    /// The smallest copy, in bytes.
    least: usize,
    /// Bytes of a buffer, of which each thread has two.
    chunk: usize,
    /// Whether threads write to the buffers around their caches. What is in a processor's own cache the device has to fetch from there.
    around_caches: bool,
}

/// From the smallest on, as the lanes of a device are numbered.
const SHAPES: [Shape; 2] = [
    // 4 MiB to the device: 26 GB/s, 16 by way of the caches; 256 MiB only 18. Other chunks were no better.
    Shape { least: LEAST, chunk: 256 << 10, around_caches: true },
    // 256 MiB: 48 GB/s, around the caches 29; with chunks of 1 MiB 45, of 512 KiB 29. Two for each thread, at least.
    Shape { least: 32 << 20, chunk: 2 << 20, around_caches: false },
];

/// The most lanes of a shape that a device has: enough for two copies, one in each direction. So it has 72 MiB of page-locked memory for
/// copies at most.
const MOST_LANES: usize = 2 * MOST_THREADS;

/// What one thread copies through: two buffers, one behind the other, and the events behind the copies that use them.
#[derive(Debug)]
struct Lane {
    memory: *mut u8,
    /// Bytes of a buffer.
    chunk: usize,
    events: [Event; 2],
}

// SAFETY: the memory belongs to whoever has the lane.
unsafe impl Send for Lane {}
// SAFETY: a lane that is shared is used by one thread only, which got it by [`Transfer::run`].
unsafe impl Sync for Lane {}

impl Lane {
    fn new(driver: &Driver, chunk: usize, blocking: bool) -> Done<Lane> {
        let events = [driver.create_event(blocking)?, driver.create_event(blocking)?];
        match driver.host_alloc(2 * chunk) {
            Ok(memory) => Ok(Lane { memory: memory.cast(), chunk, events }),
            Err(error) => {
                for event in events {
                    // SAFETY: made above. The first error is the one to tell of.
                    let _ = unsafe { driver.destroy_event(event) };
                }
                Err(error)
            }
        }
    }

    /// One of the buffers.
    fn buffer(&self, turn: usize) -> (*mut u8, Event) {
        let which = turn % 2;
        // SAFETY: within the memory.
        (unsafe { self.memory.add(which * self.chunk) }, self.events[which])
    }
}

/// A device's lanes, for each shape.
#[derive(Debug, Default)]
pub struct Lanes([Mutex<State>; SHAPES.len()]);

#[derive(Debug, Default)]
struct State {
    free: Vec<Lane>,
    /// How many there are. As many as there may be once the driver has refused one.
    made: usize,
}

impl Lanes {
    fn lock(&self, shape: usize) -> MutexGuard<'_, State> {
        self.0[shape].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes up to `wanted` lanes; none where there is no page-locked memory, or where other copies have them. `blocking`: whoever waits
    /// for a lane's copies sleeps.
    fn take(&self, driver: &Driver, shape: usize, wanted: usize, blocking: bool) -> Vec<Lane> {
        let mut state = self.lock(shape);
        let kept = state.free.len().saturating_sub(wanted);
        let mut lanes = state.free.split_off(kept);
        while lanes.len() < wanted && state.made < MOST_LANES {
            match Lane::new(driver, SHAPES[shape].chunk, blocking) {
                Ok(lane) => {
                    lanes.push(lane);
                    state.made += 1;
                }
                Err(_) => state.made = MOST_LANES,
            }
        }
        lanes
    }
}

/// Which way a copy goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// From the host to the device.
    ToDevice,
    /// From the device to the host.
    ToHost,
}

/// A copy that threads share.
struct Transfer<'a> {
    driver: &'a Driver,
    stream: Stream,
    way: Way,
    host: *mut u8,
    device: DevicePtr,
    bytes: usize,
    shape: &'static Shape,
    /// Bytes that threads have taken on so far.
    taken: AtomicUsize,
}

// SAFETY: threads use chunks of the host's memory that don't overlap; everything else may be shared.
unsafe impl Sync for Transfer<'_> {}

impl Transfer<'_> {
    /// Takes on the next chunk: where it starts, and its size.
    fn next(&self) -> Option<(usize, usize)> {
        // Relaxed: the number is all that threads tell each other.
        let start = self.taken.fetch_add(self.shape.chunk, Ordering::Relaxed);
        (start < self.bytes).then(|| (start, self.shape.chunk.min(self.bytes - start)))
    }

    /// Copies chunks until there are no more.
    fn run(&self, lane: &Lane) -> Done<()> {
        let done = match self.way {
            Way::ToDevice => self.to_device(lane),
            Way::ToHost => self.to_host(lane),
        };
        if done.is_err() {
            self.taken.store(self.bytes, Ordering::Relaxed);
        }
        done
    }

    fn to_device(&self, lane: &Lane) -> Done<()> {
        for turn in 0.. {
            let Some((start, bytes)) = self.next() else { break };
            let (buffer, copied) = lane.buffer(turn);
            if turn >= 2 {
                self.driver.synchronize_event(copied)?;
            }
            // SAFETY: the program's memory is readable, by `copy`'s caller. Nothing uses the buffer: the copy before is done. It is left
            // alone until this one is, here or by `copy`.
            unsafe {
                let from = self.host.add(start);
                if self.shape.around_caches {
                    nontemporal::copy(buffer, from, bytes);
                } else {
                    buffer.copy_from_nonoverlapping(from, bytes);
                }
                let to = self.device + start as u64;
                self.driver.copy_to_device_async(to, buffer.cast(), bytes, self.stream)?;
            }
            self.driver.record_event(copied, self.stream)?;
        }
        Ok(())
    }

    fn to_host(&self, lane: &Lane) -> Done<()> {
        let mut before = None;
        for turn in 0.. {
            let chunk = self.next();
            let (buffer, copied) = lane.buffer(turn);
            if let Some((start, bytes)) = chunk {
                let from = self.device + start as u64;
                // SAFETY: what was in the buffer has been copied out, two turns ago.
                unsafe { self.driver.copy_to_host_async(buffer.cast(), from, bytes, self.stream) }?;
                self.driver.record_event(copied, self.stream)?;
            }
            if let Some((buffer, copied, start, bytes)) = before.take() {
                self.driver.synchronize_event(copied)?;
                let buffer: *mut u8 = buffer;
                // SAFETY: the copy into the buffer is done; the program's memory is writable, by `copy`'s caller.
                unsafe { self.host.add(start).copy_from_nonoverlapping(buffer, bytes) };
            }
            let Some((start, bytes)) = chunk else { break };
            before = Some((buffer, copied, start, bytes));
        }
        Ok(())
    }
}

/// Copies by several threads and waits until it is done; false where that cannot be done. `stream` is this thread's alone.
///
/// # Errors
/// Those of the driver calls.
///
/// # Safety
/// `bytes` bytes at `host` can be read or written, and nobody else uses them meanwhile.
pub unsafe fn copy(
    device: &Device,
    stream: Stream,
    way: Way,
    host: *mut u8,
    address: DevicePtr,
    bytes: usize,
) -> Done<bool> {
    let driver = device.driver;
    let threads = processors().min(MOST_THREADS);
    if threads < 2 {
        // The driver does that as well.
        return Ok(false);
    }
    let index = SHAPES.iter().rposition(|shape| bytes >= shape.least).unwrap_or(0);
    let blocking = device.wait_policy() == WaitPolicy::Block;
    let lanes = device.lanes.take(driver, index, threads, blocking);
    if lanes.is_empty() {
        return Ok(false);
    }
    let shape = &SHAPES[index];
    let transfer =
        Transfer { driver, stream, way, host, device: address, bytes, shape, taken: AtomicUsize::new(0) };
    let done = Mutex::new(Ok(()));
    workers().share(lanes.len(), &|part| {
        let context = ContextGuard::enter(driver, device.context);
        let result = context.and_then(|_context| transfer.run(&lanes[part]));
        let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
        *done = std::mem::replace(&mut *done, Ok(())).and(result);
    });
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    // After an error, too: copies may use the buffers still.
    let (_, last) = lanes[0].buffer(0);
    let waited = driver.record_event(last, stream).and_then(|()| driver.synchronize_event(last));
    if waited.is_ok() {
        device.lanes.lock(index).free.extend(lanes);
    }
    done.and(waited).map(|()| true)
}
