//! What copies go through: streams that carry nothing else, and a pinned buffer with each for the small ones.
//!
//! A copy must not wait for a kernel: libgomp copies under its device lock, which it also takes to serve a reverse-offload
//! request that a kernel waits for. Streams share hardware channels, and a channel whose head waits for a kernel holds back
//! everything behind it. Copies that the copy engine makes have channels of their own; but the driver sends a small copy from
//! pageable memory, up to 64 KiB, through a compute channel (measured on an H200, docs/driver.md). From pinned memory it doesn't.

use crate::driver::{CudaError, DevicePtr, Driver, Stream};
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

/// Bytes of a buffer. Larger copies go straight from and to the program's memory; the driver stages those by the copy engine.
const BUFFER: usize = 64 * 1024;

/// A stream for copies. One thread uses it at a time.
#[derive(Debug)]
pub struct Staging {
    /// The stream.
    pub stream: Stream,
    buffer: *mut c_void,
}

// SAFETY: the buffer belongs to whoever has the staging.
unsafe impl Send for Staging {}

impl Staging {
    fn new(driver: &Driver) -> Result<Staging, CudaError> {
        Ok(Staging { stream: driver.create_stream()?, buffer: driver.host_alloc(BUFFER)? })
    }

    /// Copies to the device and waits until it is done.
    ///
    /// # Errors
    /// When the driver refuses.
    ///
    /// # Safety
    /// `bytes` bytes at `from` can be read and nobody writes them meanwhile.
    pub unsafe fn to_device(
        &self,
        driver: &Driver,
        to: DevicePtr,
        from: *const c_void,
        bytes: usize,
    ) -> Result<(), CudaError> {
        let from = if bytes <= BUFFER {
            // SAFETY: the buffer is long enough, and ours; the rest is the caller's promise.
            unsafe { self.buffer.copy_from_nonoverlapping(from, bytes) };
            self.buffer.cast_const()
        } else {
            from
        };
        // SAFETY: the caller's promise, or the buffer's; the copy is done when this returns.
        unsafe { driver.copy_to_device_async(to, from, bytes, self.stream) }?;
        driver.synchronize_stream(self.stream)
    }

    /// Copies to the host and waits until it is done.
    ///
    /// # Errors
    /// When the driver refuses.
    ///
    /// # Safety
    /// `bytes` bytes at `to` can be written and nobody else uses them meanwhile.
    pub unsafe fn to_host(
        &self,
        driver: &Driver,
        to: *mut c_void,
        from: DevicePtr,
        bytes: usize,
    ) -> Result<(), CudaError> {
        let small = bytes <= BUFFER;
        // SAFETY: the caller's promise, or the buffer's; the copy is done before this returns.
        unsafe { driver.copy_to_host_async(if small { self.buffer } else { to }, from, bytes, self.stream) }?;
        driver.synchronize_stream(self.stream)?;
        if small {
            // SAFETY: the copy has filled the buffer; the rest is the caller's promise.
            unsafe { to.copy_from_nonoverlapping(self.buffer, bytes) };
        }
        Ok(())
    }
}

/// The stagings that no thread uses now.
#[derive(Debug, Default)]
pub struct Pool(Mutex<Vec<Staging>>);

impl Pool {
    /// Makes a copy by a staging of the pool, or a new one.
    ///
    /// # Errors
    /// Those of the copy, and of the driver calls that make streams and pinned memory. What a failed copy used isn't used again.
    pub fn with<T>(
        &self,
        driver: &Driver,
        copy: impl FnOnce(&Staging) -> Result<T, CudaError>,
    ) -> Result<T, CudaError> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let free = lock().pop();
        let staging = match free {
            Some(staging) => staging,
            None => Staging::new(driver)?,
        };
        let done = copy(&staging)?;
        lock().push(staging);
        Ok(done)
    }
}
