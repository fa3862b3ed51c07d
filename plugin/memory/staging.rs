//! What copies go through: streams that carry nothing else.
//!
//! A copy must not wait for a kernel that may wait for the host: libgomp copies under its device lock, which it also takes to serve
//! a reverse-offload request. The driver sends a copy of up to 64 KiB to the device through a hardware channel, and none is free where as
//! many kernels have marks behind them (measured on an H200, docs/driver.md). So these streams carry no kernels, and few streams with
//! kernels have marks ([`crate::launch::queue`]).
//!
//! Copies come after what the program's other CUDA code has put on the legacy NULL stream, as they do with the stock plugin. The copies
//! of a request don't: that work may come after the kernel that waits for the reply.
//!
//! A copy is waited for by a look at a word that its stream writes behind it, which is sooner known than by the driver's own wait (a
//! write behind a copy holds nothing back that the copy does not). Only copies between host and device are: others may take long. Small
//! ones to the host do without the word ([`super::arrival`]).

use super::arrival::Arrival;
use crate::condition::Condition;
use crate::driver::{Code, CudaError, DevicePtr, Driver, Order, Stream};
use std::cell::Cell;
use std::ffi::c_void;
use std::hash::{BuildHasher, RandomState};
use std::slice;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of a buffer, through which small copies to the host go: from pinned memory that takes 6.5 us, from pageable 8.9.
pub const BUFFER: usize = 64 * 1024;

/// The largest copy to the host that is seen to arrive by its own words, in bytes. On an H200 that takes 5.1 us for 4 bytes, 5.3 for 256,
/// 6.0 for 1024 and 8.5 for 4096; with a word behind the copy 6.7 to 6.8.
const OWN_WORDS: usize = 1024;

/// How long a thread looks at words before it leaves the waiting to the driver: longer than any small copy takes, and soon enough to
/// learn that the context is lost. Then nothing is written.
const LOOK: Duration = Duration::from_micros(50);

/// A stream for copies. One thread uses it at a time.
#[derive(Debug)]
pub struct Staging {
    /// The stream.
    pub stream: Stream,
    /// Null where there is no page-locked memory.
    buffer: *mut c_void,
    /// The word behind the buffer, which counts copies; none where streams don't write any, or threads don't spin.
    done: Option<&'static AtomicU32>,
    /// What the words of the next small copy are filled with: another number each time, lest a program that copies the same again and
    /// again always meets it. The first is random.
    filler: Cell<u32>,
}

// SAFETY: the buffer belongs to whoever has the staging.
unsafe impl Send for Staging {}

impl Staging {
    fn new(driver: &Driver, order: Order, marks: bool) -> Result<Staging, CudaError> {
        let buffer = match driver.host_alloc(BUFFER + size_of::<AtomicU32>()) {
            Err(error) if error.code == Code::OUT_OF_MEMORY => std::ptr::null_mut(),
            buffer => buffer?,
        };
        let done = (marks && !buffer.is_null()).then(|| {
            let word = buffer.wrapping_byte_add(BUFFER).cast::<u32>();
            // SAFETY: within the memory, aligned, and never freed while the context lives; only this touches the word, as an atomic from
            // now on.
            unsafe {
                word.write(0);
                AtomicU32::from_ptr(word)
            }
        });
        let filler = Cell::new(RandomState::new().hash_one(()) as u32);
        Ok(Staging { stream: driver.create_stream(order)?, buffer, done, filler })
    }

    /// Waits until all that is on the stream is done.
    fn wait(&self, driver: &Driver) -> Result<(), CudaError> {
        let Some(done) = self.done else { return driver.synchronize_stream(self.stream) };
        // Relaxed: all copies before have been waited for, so nothing changes the word.
        let number = done.load(Ordering::Relaxed).wrapping_add(1);
        // SAFETY: the word lives as long as the context.
        unsafe { driver.stream_write_value_32(self.stream, done.as_ptr() as u64, number) }?;
        // Acquire pairs with the barrier that the stream's write begins with (CUDA Driver API, CU_STREAM_WRITE_VALUE_DEFAULT).
        self.look(driver, || done.load(Ordering::Acquire) == number)
    }

    /// Looks whether it `is_done`, and after a while leaves the waiting to the driver.
    fn look(&self, driver: &Driver, mut is_done: impl FnMut() -> bool) -> Result<(), CudaError> {
        let started = Instant::now();
        while !is_done() {
            if started.elapsed() > LOOK {
                return driver.synchronize_stream(self.stream);
            }
            std::hint::spin_loop();
        }
        Ok(())
    }

    /// Gets ready to see a copy of `bytes` bytes from `from` arrive in the buffer, where its words tell.
    fn expect(&self, from: DevicePtr, bytes: usize) -> Option<Arrival<'_>> {
        // With a word of ours threads may look.
        self.done?;
        let in_words = (from | bytes as u64) % size_of::<AtomicU32>() as u64 == 0;
        if !in_words || bytes > OWN_WORDS || !cfg!(target_arch = "x86_64") {
            return None;
        }
        let filler = self.filler.get().wrapping_add(1);
        self.filler.set(filler);
        // SAFETY: within the buffer, which there is where there is a word behind it; aligned; no copy is under way, and while the arrival
        // lives only the device writes there, words as a whole.
        let words = unsafe { slice::from_raw_parts(self.buffer.cast(), bytes / size_of::<AtomicU32>()) };
        Some(Arrival::expect(words, filler))
    }

    /// [`BUFFER`] bytes of page-locked memory, where there are any.
    pub fn buffer(&self) -> Option<*mut u8> {
        (!self.buffer.is_null()).then_some(self.buffer.cast())
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
        self.wait(driver)
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
        let buffer = self.buffer().filter(|_| bytes <= BUFFER);
        let arrival = self.expect(from, bytes);
        // SAFETY: the caller's promise, or the buffer's; the copy is done before this returns.
        unsafe { driver.copy_to_host_async(buffer.map_or(to, <*mut u8>::cast), from, bytes, self.stream) }?;
        match arrival {
            Some(mut arrival) => self.look(driver, || arrival.is_complete())?,
            None => self.wait(driver)?,
        }
        if let Some(buffer) = buffer {
            // SAFETY: the copy has filled the buffer; the rest is the caller's promise.
            unsafe { to.cast::<u8>().copy_from_nonoverlapping(buffer, bytes) };
        }
        Ok(())
    }
}

/// Stagings of one order.
#[derive(Debug)]
struct Free {
    stagings: Mutex<Vec<Staging>>,
    given_back: Condition,
}

/// A device's stagings.
#[derive(Debug)]
pub struct Pool {
    ordinary: Free,
    requests: Free,
}

impl Pool {
    /// Makes `count` stagings, at least one of each order. `marks`: whether threads wait by looking at what streams write. The device's
    /// context is current.
    ///
    /// # Errors
    /// Those of the driver calls that make streams and pinned memory.
    pub fn new(driver: &Driver, count: usize, marks: bool) -> Result<Pool, CudaError> {
        let free = |order| {
            let stagings = (0..count.div_ceil(2))
                .map(|_| Staging::new(driver, order, marks))
                .collect::<Result<_, _>>()?;
            Ok(Free { stagings: Mutex::new(stagings), given_back: Condition::default() })
        };
        Ok(Pool { ordinary: free(Order::AfterNull)?, requests: free(Order::Apart)? })
    }

    /// Makes a copy with a staging that no other thread uses. `request`: it is a copy of a reverse-offload request.
    ///
    /// # Errors
    /// Those of the copy.
    pub fn with<T>(
        &self,
        driver: &Driver,
        request: bool,
        copy: impl FnOnce(&Driver, &Staging) -> Result<T, CudaError>,
    ) -> Result<T, CudaError> {
        let Free { stagings, given_back } = if request { &self.requests } else { &self.ordinary };
        let lock = || stagings.lock().unwrap_or_else(PoisonError::into_inner);
        let staging = given_back.wait_while(lock(), Vec::is_empty).pop().expect("waited for one");
        let done = copy(driver, &staging);
        let mut free = lock();
        free.push(staging);
        given_back.notify_one(&free);
        done
    }
}
