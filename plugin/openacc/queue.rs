//! What libgomp calls an asynchronous queue: a stream, or, for the copies of a reverse-offload request, whoever makes those.

use std::cell::RefCell;
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::callback::Callback;
use crate::device::Device;
use crate::driver::{CudaError, DevicePtr, Order, Stream};
use crate::error::{Error, Result};
use crate::image::KernelRef;
use crate::memory::addresses;

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
    unsafe fn write(
        &mut self,
        device: &Device,
        to: DevicePtr,
        from: *const c_void,
        bytes: usize,
    ) -> Result<()>;
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

    /// The program's queue.
    ///
    /// # Errors
    /// For a request's, which does nothing but its copies.
    pub fn stream(&self) -> Result<&StreamQueue> {
        match self {
            AsyncQueue::Stream(queue) => Ok(queue),
            AsyncQueue::Request(_) => Err(Error::Argument("the queue of a request makes copies only".into())),
        }
    }

    /// Copies to the device, in the queue's order.
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

    /// Copies to the host, in the queue's order.
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

/// A stream, and whose it is.
pub struct StreamQueue {
    device: &'static Device,
    used: Mutex<Used>,
}

struct Used {
    stream: Stream,
    /// Whether the program made the stream (`acc_set_cuda_stream`), and so destroys it.
    foreign: bool,
    /// The kernel that was enqueued last.
    last: Option<KernelRef>,
}

impl StreamQueue {
    /// A new queue. Its stream is ordered with the NULL stream, which does what is not asynchronous: copies between the
    /// program's regions wait for the queues, and the program's CUDA code does.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn new(device: &'static Device) -> Result<StreamQueue> {
        let _context = device.enter()?;
        let created = device.driver.create_stream(Order::AfterNull);
        let stream = created.map_err(|error| device.failed(error, || "a new asynchronous queue".into()))?;
        device.openacc.queue_made();
        Ok(StreamQueue { device, used: Mutex::new(Used { stream, foreign: false, last: None }) })
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The stream that the queue uses now.
    pub fn handle(&self) -> Stream {
        self.used().stream
    }

    /// Makes a driver call with the stream in the device's context.
    fn call<T>(
        &self,
        doing: impl FnOnce() -> String,
        call: impl FnOnce(Stream) -> std::result::Result<T, CudaError>,
    ) -> Result<T> {
        let _context = self.device.enter()?;
        call(self.handle()).map_err(|error| self.device.failed(error, doing))
    }

    unsafe fn to_device(&self, to: DevicePtr, from: *const c_void, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        addresses::check(from, to)?;
        let what = || format!("copy of {bytes} bytes from host {from:p} to device {to:#x}");
        self.device.memory.check(to, bytes, what)?;
        self.call(
            || what() + addresses::doubt(self.device, to, bytes),
            // SAFETY: the caller's promise. The driver has read pageable memory when it returns.
            |stream| unsafe { self.device.driver.copy_to_device_async(to, from, bytes, stream) },
        )
    }

    unsafe fn to_host(&self, to: *mut c_void, from: DevicePtr, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        addresses::check(to, from)?;
        let what = || format!("copy of {bytes} bytes from device {from:#x} to host {to:p}");
        self.device.memory.check(from, bytes, what)?;
        self.call(
            || what() + addresses::doubt(self.device, from, bytes),
            // SAFETY: the caller's promise. The driver has written pageable memory when it returns.
            |stream| unsafe { self.device.driver.copy_to_host_async(to, from, bytes, stream) },
        )
    }

    /// Copies on the device, in the queue's order.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn on_device(&self, to: DevicePtr, from: DevicePtr, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let what = || format!("copy of {bytes} bytes from device {from:#x} to device {to:#x}");
        self.device.memory.check(from, bytes, what)?;
        self.device.memory.check(to, bytes, what)?;
        self.call(what, |stream| self.device.driver.copy_on_device_async(to, from, bytes, stream))
    }

    fn synchronize(&self) -> Result<()> {
        let _context = self.device.enter()?;
        let done = self.device.driver.synchronize_stream(self.handle());
        done.map_err(|error| self.work_failed(error))
    }

    /// Whether everything enqueued so far is done.
    ///
    /// # Errors
    /// When some of it failed.
    pub fn is_done(&self) -> Result<bool> {
        let _context = self.device.enter()?;
        let done = self.device.driver.query_stream(self.handle());
        done.map_err(|error| self.work_failed(error))
    }

    fn work_failed(&self, error: CudaError) -> Error {
        match &self.used().last {
            Some(kernel) if error.code.is_fault() => {
                let kernel = format!("{}, or one before it on its queue,", kernel.name);
                self.device.kernel_failed(&kernel, Error::Cuda(error))
            }
            _ => self.device.failed(error, || "waiting for an asynchronous queue".into()),
        }
    }

    /// Notes the kernel that was just enqueued, to be named when the queue's work fails.
    pub fn note(&self, kernel: KernelRef) {
        self.used().last = Some(kernel);
    }

    /// Has what `later` gets from now on wait for what this queue has got.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn precede(&self, later: &StreamQueue) -> Result<()> {
        let driver = self.device.driver;
        self.call(
            || "ordering two asynchronous queues".into(),
            |stream| {
                let event = driver.create_event(false)?;
                let ordered = driver
                    .record_event(event, stream)
                    .and_then(|()| driver.stream_wait_event(later.handle(), event));
                // SAFETY: nobody else has the handle.
                unsafe { driver.destroy_event(event) }?;
                ordered
            },
        )
    }

    /// Calls `function(argument)` when everything enqueued so far is done; not where it has failed.
    ///
    /// # Errors
    /// When the driver refuses.
    ///
    /// # Safety
    /// `function` may be called with `argument` on any thread.
    pub unsafe fn call_back(
        &self,
        function: unsafe extern "C" fn(*mut c_void),
        argument: *mut c_void,
    ) -> Result<()> {
        let device = self.device;
        let _context = match device.enter() {
            Err(Error::Lost) => return Ok(()),
            entered => entered?,
        };
        // SAFETY: the caller's promise; what the callback has the plugin do calls nothing of the driver.
        let done = unsafe { Callback { function, argument }.enqueue(device.driver, self.handle()) };
        match done {
            // Whoever waits for the queue is told. Here libgomp could only end the program, and holds the lock that it needs for that.
            Err(error) if error.code.is_fault() => Ok(()),
            done => done
                .map_err(|error| device.failed(error, || "a callback behind an asynchronous queue".into())),
        }
    }

    /// Uses a stream of the program's from now on.
    ///
    /// # Errors
    /// When what was enqueued so far failed.
    pub fn use_stream(&self, stream: Stream) -> Result<()> {
        let device = self.device;
        let _context = device.enter()?;
        let mut used = self.used();
        if used.stream == stream {
            return Ok(());
        }
        let failed = |error| device.failed(error, || "changing the stream of an asynchronous queue".into());
        // Keeps the queue's order.
        device.driver.synchronize_stream(used.stream).map_err(failed)?;
        let old = std::mem::replace(&mut *used, Used { stream, foreign: true, last: None });
        old.destroy(device).map_err(failed)
    }

    /// Ends the queue. Work already enqueued is still done.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn destroy(self) -> Result<()> {
        self.device.openacc.queue_ended();
        let _context = match self.device.enter() {
            Ok(context) => context,
            // The stream goes with the context.
            Err(Error::ShuttingDown | Error::Lost | Error::Forked { .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        let destroyed = self.used().destroy(self.device);
        destroyed.map_err(|error| self.device.failed(error, || "the end of an asynchronous queue".into()))
    }
}

impl Used {
    fn destroy(&self, device: &Device) -> std::result::Result<(), CudaError> {
        if self.foreign {
            return Ok(());
        }
        // SAFETY: ours, and the queue does not use it any more.
        unsafe { device.driver.destroy_stream(self.stream) }
    }
}
