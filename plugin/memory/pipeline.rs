//! Large copies between pageable memory and the device, by several threads and through page-locked buffers.
//!
//! The driver copies pageable memory with one thread, at 6 to 14 GB/s; from page-locked memory it does 55 (an H200). To lock the program's
//! pages for a copy takes longer than that (23 ms for 256 MiB), and whoever remembers locked pages by their address is wrong as soon as
//! something else is mapped there. So threads copy between the program's memory, of whatever kind, and buffers of ours: each takes the
//! next chunk, and has two buffers, one for the device's copy and one for its own. Which chunk is under way when does not matter: the
//! copy as a whole is waited for.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

use crate::device::Device;
use crate::driver::{ContextGuard, CudaError, DevicePtr, Driver, Event, Stream};

type Done<T> = Result<T, CudaError>;

/// The smallest copy for which this is worth threads that are started, some 30 us each (computed from the figures above; not measured).
pub const LEAST: usize = 4 << 20;
/// Bytes of a buffer. The device's copy of it takes 10 us, ours 60: driver calls of a few microseconds don't count, and both fit
/// into a core's cache (computed; not measured).
const CHUNK: usize = 512 << 10;
/// The most threads for one copy: at 9 GB/s each they do as much as the device.
const MOST_THREADS: usize = 6;
/// The most lanes of a device: enough for two copies, one in each direction.
const MOST_LANES: usize = 2 * MOST_THREADS;

/// What one thread copies through: two buffers, one behind the other, and the events behind the copies that use them.
#[derive(Debug)]
struct Lane {
    memory: *mut u8,
    events: [Event; 2],
}

// SAFETY: the memory belongs to whoever has the lane.
unsafe impl Send for Lane {}
// SAFETY: a lane that is shared is used by one thread only, which got it by [`Transfer::run`].
unsafe impl Sync for Lane {}

impl Lane {
    fn new(driver: &Driver) -> Done<Lane> {
        let events = [driver.create_event(false)?, driver.create_event(false)?];
        match driver.host_alloc(2 * CHUNK) {
            Ok(memory) => Ok(Lane { memory: memory.cast(), events }),
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
        (unsafe { self.memory.add(which * CHUNK) }, self.events[which])
    }
}

/// A device's lanes.
#[derive(Debug, Default)]
pub struct Lanes(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    free: Vec<Lane>,
    /// How many there are. As many as there may be once the driver has refused one.
    made: usize,
}

impl Lanes {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes up to `wanted` lanes; none where there is no page-locked memory, or where other copies have them.
    fn take(&self, driver: &Driver, wanted: usize) -> Vec<Lane> {
        let mut state = self.lock();
        let kept = state.free.len().saturating_sub(wanted);
        let mut lanes = state.free.split_off(kept);
        while lanes.len() < wanted && state.made < MOST_LANES {
            match Lane::new(driver) {
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
    /// Bytes that threads have taken on so far.
    taken: AtomicUsize,
}

// SAFETY: threads use chunks of the host's memory that don't overlap; everything else may be shared.
unsafe impl Sync for Transfer<'_> {}

impl Transfer<'_> {
    /// Takes on the next chunk: where it starts, and its size.
    fn next(&self) -> Option<(usize, usize)> {
        // Relaxed: the number is all that threads tell each other.
        let start = self.taken.fetch_add(CHUNK, Ordering::Relaxed);
        (start < self.bytes).then(|| (start, CHUNK.min(self.bytes - start)))
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
                buffer.copy_from_nonoverlapping(self.host.add(start), bytes);
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
    let lanes = device.lanes.take(driver, threads);
    let Some((own, others)) = lanes.split_first() else { return Ok(false) };
    let transfer = Transfer { driver, stream, way, host, device: address, bytes, taken: AtomicUsize::new(0) };
    let mut done = thread::scope(|scope| {
        let work = |lane| {
            let _context = ContextGuard::enter(driver, device.context)?;
            transfer.run(lane)
        };
        let start = |lane| {
            thread::Builder::new().name("boomerang-copy".into()).spawn_scoped(scope, move || work(lane))
        };
        // Where a thread cannot be started the others do its part.
        let helpers: Vec<_> = others.iter().filter_map(|lane| start(lane).ok()).collect();
        let own = transfer.run(own);
        helpers.into_iter().fold(own, |done, helper| {
            done.and(helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    });
    // After an error, too: copies may use the buffers still.
    let waited = driver.synchronize_stream(stream);
    if waited.is_ok() {
        device.lanes.lock().free.extend(lanes);
    }
    done = done.and(waited);
    done.map(|()| true)
}

/// Processors that this process may use.
fn processors() -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    *PROCESSORS.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}
