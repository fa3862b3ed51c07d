//! What copies go through: streams that carry nothing else.
//!
//! A copy must not wait for a kernel: libgomp copies under its device lock, which it also takes to serve a reverse-offload
//! request that a kernel waits for. Streams share hardware channels, and a mark behind a running kernel holds back everything
//! that comes behind it in its channel. The driver sends a copy of up to 64 KiB from pageable memory through its stream's channel
//! (measured on an H200, docs/driver.md). So these streams are made first, before any stream with kernels, and no more streams with marks
//! are made than there are channels left (`crate::launch::queue`).

use crate::driver::{CudaError, DevicePtr, Driver, Stream};
use std::ffi::c_void;
use std::sync::{Condvar, Mutex, PoisonError};

/// Bytes of a buffer, through which small copies to the host go: from pinned memory that takes 6.5 us, from pageable 8.9.
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
        // SAFETY: the caller's promise; the copy is done when this returns.
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

/// A device's stagings.
#[derive(Debug)]
pub struct Pool {
    free: Mutex<Vec<Staging>>,
    given_back: Condvar,
}

impl Pool {
    /// Makes `count` stagings. The device's context is current.
    ///
    /// # Errors
    /// Those of the driver calls that make streams and pinned memory.
    pub fn new(driver: &Driver, count: usize) -> Result<Pool, CudaError> {
        let free = (0..count).map(|_| Staging::new(driver)).collect::<Result<_, _>>()?;
        Ok(Pool { free: Mutex::new(free), given_back: Condvar::new() })
    }

    /// Makes a copy with a staging that no other thread uses.
    ///
    /// # Errors
    /// Those of the copy.
    pub fn with<T>(
        &self,
        driver: &Driver,
        copy: impl FnOnce(&Driver, &Staging) -> Result<T, CudaError>,
    ) -> Result<T, CudaError> {
        let lock = || self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = |free| self.given_back.wait_while(free, |free: &mut Vec<_>| free.is_empty());
        let staging = wait(lock()).unwrap_or_else(PoisonError::into_inner).pop().expect("waited for one");
        let done = copy(driver, &staging);
        lock().push(staging);
        self.given_back.notify_one();
        done
    }
}
