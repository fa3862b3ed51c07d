//! Small copies to the device that the host does not wait for.
//!
//! libgomp copies a region's arguments and small variables, then launches it. A wait in between costs some 4 us and helps nobody. So the
//! data is put into page-locked memory of ours, and the copy is enqueued on the legacy NULL stream. All that may come to need the data
//! comes after it there, as with the stock plugin: streams for regions, OpenACC queues, other copies and the program's own CUDA code.
//! What a region with a small variable copies, 12 bytes, the stream writes by itself: that is enqueued 0.5 us sooner (an H200).
//!
//! The NULL stream waits for running kernels, which must not hold up copies. So these copies are enqueued only while no kernel runs
//! ([`crate::launch::running`]); others are waited for ([`super::staging`]). And since a kernel counts as running before its stream
//! looks at the NULL stream, each kernel comes after every copy that was enqueued before it ran, also one that waits for the host and
//! whose stream the NULL stream knows nothing of. When a kernel has ended, all of these copies have.

use std::slice;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::device::Device;
use crate::driver::{Code, CudaError, DevicePtr, Stream};
use crate::error::Result;

/// Bytes of page-locked memory that copies go through, until they have ended.
const BUFFER: usize = 256 * 1024;
/// What copies are rounded up to in it, so that they share no cache line.
const LINE: usize = 64;
/// The largest copy. A copy in memory of as much takes about as long as the wait that is saved (some 10 GB/s; not measured).
pub const MOST: usize = 16 * 1024;

/// One device's small copies.
#[derive(Debug, Default)]
pub struct Copies(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The buffer, made when it is first needed. Null where there is no page-locked memory.
    buffer: Option<*mut u8>,
    /// Bytes of it that copies may still be made from. 0: all have ended.
    used: usize,
    /// Whether the driver has refused to have a stream write, and is not to be asked again.
    writes_are_refused: bool,
}

// SAFETY: the buffer belongs to whoever has the lock.
unsafe impl Send for State {}

impl Copies {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enqueues a copy of at most [`MOST`] bytes, if that can be done without waiting; says whether it was. `ours`: to memory that
    /// [`super::alloc`] has allocated, which streams can write to. The device's context is current.
    ///
    /// # Errors
    /// When the driver refuses.
    ///
    /// # Safety
    /// `bytes` bytes at `from` can be read and nobody writes them meanwhile.
    pub unsafe fn enqueue(
        &self,
        device: &Device,
        to: DevicePtr,
        from: *const u8,
        bytes: usize,
        ours: bool,
    ) -> std::result::Result<bool, CudaError> {
        let driver = device.driver;
        let mut state = self.lock();
        if state.used + bytes > BUFFER {
            state.poll(device)?;
        }
        if state.used + bytes > BUFFER || device.launch.running.is_any() {
            return Ok(false);
        }
        let buffer = match state.buffer {
            Some(buffer) => buffer,
            None => {
                let made = match driver.host_alloc(BUFFER) {
                    Err(error) if error.code == Code::OUT_OF_MEMORY => std::ptr::null_mut(),
                    made => made?.cast(),
                };
                *state.buffer.insert(made)
            }
        };
        if buffer.is_null() {
            return Ok(false);
        }
        // SAFETY: within the buffer; no copy that is under way reads there. The rest is the caller's promise.
        let data = unsafe {
            let data = buffer.add(state.used);
            data.copy_from_nonoverlapping(from, bytes);
            data
        };
        let is_written = ours
            && !state.writes_are_refused
            && device.uses_memory_operations()
            && driver.can_stream_write(to, bytes);
        let copy = || {
            if is_written {
                // SAFETY: the buffer holds as many.
                let bytes = unsafe { slice::from_raw_parts(data, bytes) };
                // SAFETY: the caller's promise.
                match unsafe { driver.stream_write(Stream::NULL, to, bytes) } {
                    Err(error) if !error.code.is_fault() => state.writes_are_refused = true,
                    written => return written,
                }
            }
            // SAFETY: the bytes stay as they are until `used` says that no copy is under way.
            unsafe { driver.copy_to_device_async(to, data.cast(), bytes, Stream::NULL) }
        };
        let Some(enqueued) = device.launch.running.if_none(copy) else { return Ok(false) };
        enqueued?;
        state.used = (state.used + bytes).next_multiple_of(LINE);
        Ok(true)
    }

    /// Whether copies may be under way.
    pub(super) fn is_pending(&self) -> bool {
        self.lock().used > 0
    }

    /// Asks the driver whether all copies have ended. The device's context is current.
    ///
    /// # Errors
    /// When the driver refuses, or a kernel has failed.
    pub(super) fn poll(&self, device: &Device) -> Result<bool> {
        let ended = self.lock().poll(device);
        ended.map_err(|error| device.failed(error, || "small copies to the device".into()))
    }

    /// A kernel has ended that [`crate::launch::running`] still counts: all copies have ended.
    pub fn settle(&self, device: &Device) {
        self.lock().settle(device);
    }
}

impl State {
    fn poll(&mut self, device: &Device) -> std::result::Result<bool, CudaError> {
        let ended = self.used == 0 || device.driver.query_stream(Stream::NULL)?;
        if ended {
            self.settle(device);
        }
        Ok(ended)
    }

    fn settle(&mut self, device: &Device) {
        self.used = 0;
        device.memory.settle();
    }
}
