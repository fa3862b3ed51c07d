//! What libgomp calls an asynchronous queue: a stream, or, for the copies of a reverse-offload request, whoever makes those.

use std::cell::RefCell;
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::device::Device;
use crate::driver::{DevicePtr, Stream};
use crate::error::{Error, Result};

/// A queue, known to libgomp by its address (`struct goacc_asyncqueue` of libgomp-plugin.h).
pub enum AsyncQueue<'a> {
    /// A queue of the program's `async` clauses. Several threads may use it at once.
    Stream(StreamQueue),
    /// The queue of one reverse-offload request: libgomp makes the request's copies through it, on the thread that serves it.
    Request(RefCell<&'a mut dyn RequestCopies>),
}

/// Makes the copies of a reverse-offload request. Each is done when its method returns.
pub trait RequestCopies {
    /// Copies from the device.
    ///
    /// # Errors
    /// When the copy cannot be made.
    ///
    /// # Safety
    /// `bytes` bytes at `to` can be written and nobody else uses them meanwhile.
    unsafe fn read(&mut self, device: &Device, to: *mut c_void, from: DevicePtr, bytes: usize) -> Result<()>;

    /// Copies to the device.
    ///
    /// # Errors
    /// When the copy cannot be made.
    ///
    /// # Safety
    /// `bytes` bytes at `from` can be read and nobody writes them meanwhile.
    unsafe fn write(&mut self, device: &Device, to: DevicePtr, from: *const c_void, bytes: usize)
    -> Result<()>;
}

/// A stream, and whose it is.
pub struct StreamQueue {
    device: &'static Device,
    stream: Mutex<Used>,
}

#[derive(Clone, Copy)]
struct Used {
    stream: Stream,
    /// Whether the program made it (`acc_set_cuda_stream`), and destroys it.
    foreign: bool,
}

impl<'a> AsyncQueue<'a> {
    /// The queue of a request whose copies `copies` makes.
    pub fn request(copies: &'a mut dyn RequestCopies) -> AsyncQueue<'a> {
        AsyncQueue::Request(RefCell::new(copies))
    }

    /// The queue as libgomp takes it.
    pub fn as_c(&self) -> *mut c_void {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    /// The queue's stream.
    ///
    /// # Errors
    /// For a request's queue, which has none.
    pub fn stream(&self) -> Result<&StreamQueue> {
        match self {
            AsyncQueue::Stream(queue) => Ok(queue),
            AsyncQueue::Request(_) => Err(Error::Argument("the queue of a request makes copies only".into())),
        }
    }

    /// Copies to the device.
    ///
    /// # Errors
    /// When the driver refuses.
    ///
    /// # Safety
    /// `bytes` bytes at `from` can be read and nobody writes them until the queue has done the copy.
    pub unsafe fn to_device(
        &self,
        device: &Device,
        to: DevicePtr,
        from: *const c_void,
        bytes: usize,
    ) -> Result<()> {
        match self {
            // SAFETY: the caller's promise.
            AsyncQueue::Stream(queue) => unsafe { queue.to_device(to, from, bytes) },
            // SAFETY: the caller's promise.
            AsyncQueue::Request(copies) => unsafe { copies.borrow_mut().write(device, to, from, bytes) },
        }
    }

    /// Copies to the host.
    ///
    /// # Errors
    /// When the driver refuses.
    ///
    /// # Safety
    /// `bytes` bytes at `to` can be written and nobody else uses them until the queue has done the copy.
    pub unsafe fn to_host(
        &self,
        device: &Device,
        to: *mut c_void,
        from: DevicePtr,
        bytes: usize,
    ) -> Result<()> {
        match self {
            // SAFETY: the caller's promise.
            AsyncQueue::Stream(queue) => unsafe { queue.to_host(to, from, bytes) },
            // SAFETY: the caller's promise.
            AsyncQueue::Request(copies) => unsafe { copies.borrow_mut().read(device, to, from, bytes) },
        }
    }

    /// Waits until everything enqueued so far is done.
    ///
    /// # Errors
    /// When some of it failed.
    pub fn synchronize(&self) -> Result<()> {
        match self {
            AsyncQueue::Stream(queue) => queue.synchronize(),
            // Every copy was done when it returned.
            AsyncQueue::Request(_) => Ok(()),
        }
    }
}

impl StreamQueue {
    fn used(&self) -> MutexGuard<'_, Used> {
        self.stream.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The stream that the queue uses now.
    pub fn handle(&self) -> Stream {
        self.used().stream
    }

    unsafe fn to_device(&self, to: DevicePtr, from: *const c_void, bytes: usize) -> Result<()> {
        let device = self.device;
        if bytes == 0 {
            return Ok(());
        }
        let _context = device.enter()?;
        // SAFETY: the caller's promise. Pageable memory has been read when this returns.
        let copied = unsafe { device.driver.copy_to_device_async(to, from, bytes, self.handle()) };
        copied.map_err(|error| {
            device.failed(error, || format!("copy of {bytes} bytes from host {from:p} to device {to:#x}"))
        })
    }

    unsafe fn to_host(&self, to: *mut c_void, from: DevicePtr, bytes: usize) -> Result<()> {
        let device = self.device;
        if bytes == 0 {
            return Ok(());
        }
        let _context = device.enter()?;
        // SAFETY: the caller's promise. Into pageable memory the copy is done when this returns.
        let copied = unsafe { device.driver.copy_to_host_async(to, from, bytes, self.handle()) };
        copied.map_err(|error| {
            device.failed(error, || format!("copy of {bytes} bytes from device {from:#x} to host {to:p}"))
        })
    }

    fn synchronize(&self) -> Result<()> {
        let device = self.device;
        let _context = device.enter()?;
        let done = device.driver.synchronize_stream(self.handle());
        done.map_err(|error| device.failed(error, || "waiting for an asynchronous queue".into()))
    }
}
