//! Allocating and freeing device memory.
//!
//! What the program frees is kept in a [`Pool`] and used again: neither takes a driver call then. `cuMemFree` waits for running
//! kernels, and libgomp calls it under the lock that it also needs to serve a request of such a kernel. So memory goes back to the
//! driver only while no kernel runs: when more is kept than may be, and when the driver has no more.
//!
//! What is freed may be used again at once. libgomp frees a region's memory when the region has ended, and that of an asynchronous one
//! in a callback behind it. Whatever uses the memory next comes after the copies that the host did not wait for ([`super::small`]), but
//! for work of the program's own on a stream that the NULL stream does not wait for: a block rests until those copies have ended. A
//! program that frees memory while its own OpenACC queues use it is waited for, as by `cuMemFree`.

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::pool::{Place, Pool, Wrong};
use crate::abi::host;
use crate::device::Device;
use crate::driver::{Code, ContextGuard, CudaError, DevicePtr};
use crate::env::{DeviceChoice, Settings};
use crate::error::{Error, Result};
use crate::openacc::callback;

/// The longest that an allocation waits for kernels to end, so that memory can be given back. Others may start one after the other.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// How much of a device's memory is kept for reuse at most, unless the user has it otherwise: one byte in so many. It is a loss to other
/// processes and to the program's other libraries, which cannot ask for it.
const KEPT_PART: usize = 8;

/// How many bytes of a device's memory, `total` bytes, are kept for reuse at most (BOOMERANG_POOL). Whoever asks for the simulator wants to
/// know of wrong accesses.
pub fn most_kept(settings: &Settings, total: usize) -> usize {
    let default = if settings.device == DeviceChoice::Simulator { 0 } else { total / KEPT_PART };
    settings.pool.unwrap_or(default)
}

/// One device's memory.
#[derive(Debug)]
pub struct Memory(Mutex<State>);

#[derive(Debug)]
struct State {
    pool: Pool,
    put_off: PutOff,
}

/// Memory that the program has freed, and that is not used again, until the driver can be told.
#[derive(Debug, Default)]
struct PutOff {
    /// Memory that moves between host and device, and what the program's own CUDA code allocated.
    device: BTreeSet<DevicePtr>,
    /// Page-locked host memory.
    host: BTreeSet<usize>,
}

impl PutOff {
    fn is_any(&self) -> bool {
        !(self.device.is_empty() && self.host.is_empty())
    }
}

impl Memory {
    /// Keeps at most `cap` bytes for reuse.
    pub fn new(cap: usize) -> Memory {
        Memory(Mutex::new(State { pool: Pool::new(cap), put_off: PutOff::default() }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes back device memory of ours that nothing uses any more.
    pub fn give_back(&self, address: DevicePtr) {
        // Ours is never freed twice; the pool would refuse.
        let _ = self.lock().pool.free(address, false);
    }

    /// Puts off the release of page-locked host memory.
    pub fn put_off_host(&self, address: usize) {
        self.lock().put_off.host.insert(address);
    }

    /// Bytes that are kept for reuse.
    pub fn kept(&self) -> usize {
        self.lock().pool.kept()
    }

    /// The copies that freed memory had to wait for have ended.
    pub(super) fn settle(&self) {
        self.lock().pool.settle();
    }

    /// Refuses the use of `bytes` bytes at `address` that are freed, or end behind their allocation. The driver cannot tell: to it the
    /// memory is allocated, and may be larger than the program knows. Says whether it is memory that [`alloc`] has allocated.
    ///
    /// # Errors
    /// Says what is wrong.
    pub fn check(&self, address: DevicePtr, bytes: usize, doing: impl FnOnce() -> String) -> Result<bool> {
        // GCC's tests look for the words in parentheses.
        let wrong = match self.lock().pool.place(address, bytes) {
            Place::Used => return Ok(true),
            Place::Unknown => return Ok(false),
            Place::Freed => format!("{address:#x} is freed (invalid device address)"),
            Place::PastEnd { start, bytes } => {
                format!("the allocation at {start:#x} has {bytes} bytes (invalid size)")
            }
        };
        Err(Error::Argument(format!("{}: {wrong}", doing())))
    }
}

/// Allocates device memory; no bytes are at address 0.
///
/// # Errors
/// When the device has no more, even after everything that is only kept for reuse has been freed.
pub fn alloc(device: &Device, bytes: usize) -> Result<DevicePtr> {
    if bytes == 0 {
        // The driver would refuse.
        return Ok(0);
    }
    device.check_usable()?;
    let pool = || device.memory.lock();
    let kept = pool().pool.take(bytes);
    if let Some(address) = kept {
        return Ok(address);
    }
    let _context = device.enter()?;
    if pool().pool.has_resting() && device.small.poll(device)? {
        let kept = pool().pool.take(bytes);
        if let Some(address) = kept {
            return Ok(address);
        }
    }
    let mut size = pool().pool.size(bytes);
    let mut result = device.driver.mem_alloc(size);
    if is_short(&result) && size > bytes {
        size = bytes;
        result = device.driver.mem_alloc(bytes);
    }
    match retry(device, bytes, result, || device.driver.mem_alloc(bytes)) {
        Ok(address) => {
            pool().pool.insert(address, size, bytes);
            Ok(address)
        }
        // Where kernels kept memory from going back, better a block that is much too large than none.
        Err(error @ Error::OutOfMemory { .. }) => pool().pool.take_any(bytes).ok_or(error),
        Err(error) => Err(error),
    }
}

/// Allocates memory that moves between host and device as it is used.
///
/// # Errors
/// As [`alloc`].
pub fn alloc_managed(device: &Device, bytes: usize) -> Result<DevicePtr> {
    if bytes == 0 {
        return Ok(0);
    }
    let _context = device.enter()?;
    allocate(device, bytes, || device.driver.mem_alloc_managed(bytes))
}

/// Makes an allocation, and once more with what was kept for reuse set free where memory is short.
pub(super) fn allocate<T>(
    device: &Device,
    bytes: usize,
    call: impl Fn() -> std::result::Result<T, CudaError>,
) -> Result<T> {
    retry(device, bytes, call(), call)
}

/// Where an allocation has failed for want of memory, sets free what was kept for reuse and makes it once more.
fn retry<T>(
    device: &Device,
    bytes: usize,
    mut result: std::result::Result<T, CudaError>,
    call: impl Fn() -> std::result::Result<T, CudaError>,
) -> Result<T> {
    // What is more than there is need not be tried.
    let exists = || device.driver.mem_info().is_ok_and(|(_, total)| bytes <= total);
    if is_short(&result) && exists() && release_all(device) {
        result = call();
    }
    if is_short(&result) {
        return Err(Error::OutOfMemory { requested: bytes, available: device.driver.mem_info().ok() });
    }
    result.map_err(|error| device.failed(error, || format!("allocation of {bytes} bytes")))
}

fn is_short<T>(result: &std::result::Result<T, CudaError>) -> bool {
    result.as_ref().is_err_and(|error| error.code == Code::OUT_OF_MEMORY)
}

/// Gives all that is kept for reuse back to the driver, and says whether that could be done: not while kernels run of which one waits
/// for the host, which may wait for us.
fn release_all(device: &Device) -> bool {
    let started = Instant::now();
    let hopeless =
        || device.reverse.under_service() > 0 || device.is_lost() || started.elapsed() > LONGEST_WAIT;
    let released = device.launch.running.when_none(hopeless, || {
        device.launch.release_memory(&device.memory);
        give_to_driver(device, Pool::drain)
    });
    // What could not be freed was the program's to keep; the rest has been.
    released.is_some()
}

/// If no kernel runs, gives what is more than may be kept back to the driver, and what was put off. The device's context is current.
///
/// # Errors
/// As [`give_to_driver`].
fn tidy(device: &Device) -> Result<()> {
    device.launch.running.if_none(|| give_to_driver(device, Pool::trim)).unwrap_or(Ok(()))
}

/// Frees blocks of the pool, and what was put off. No kernel runs; the device's context is current.
///
/// # Errors
/// What the driver first refused to free. All else is freed.
fn give_to_driver(device: &Device, blocks: impl FnOnce(&mut Pool) -> Vec<DevicePtr>) -> Result<()> {
    let mut state = device.memory.lock();
    let (blocks, PutOff { device: others, host }) =
        (blocks(&mut state.pool), std::mem::take(&mut state.put_off));
    drop(state);
    let mut refused = None;
    device.gate.run_blocking(|| {
        for block in blocks.into_iter().chain(others) {
            // SAFETY: the program has freed it, and no kernel runs; the call waits for copies.
            if let Err(error) = unsafe { device.driver.mem_free(block) } {
                refused.get_or_insert_with(|| device.failed(error, || doing(block)));
            }
        }
        for block in host {
            let address = std::ptr::with_exposed_provenance_mut(block);
            // SAFETY: as above.
            if let Err(error) = unsafe { device.driver.host_free(address) } {
                let doing = || format!("freeing page-locked memory at {block:#x}");
                refused.get_or_insert_with(|| device.failed(error, doing));
            }
        }
    });
    refused.map_or(Ok(()), Err)
}

/// Frees device memory. Nothing is at address 0.
///
/// # Errors
/// When `address` is not the start of an allocation.
pub fn free(device: &Device, address: DevicePtr) -> Result<()> {
    if address == 0 {
        return Ok(());
    }
    device.check_usable()?;
    // In a callback, everything before it on its queue is done, and the driver must not be called.
    let callback = callback::is_running();
    if !callback && device.openacc.has_queues() {
        let Some(_context) = enter(device)? else { return Ok(()) };
        device.openacc.join(device).map_err(|error| device.failed(error, || doing(address)))?;
    }
    let rest = device.small.is_pending();
    let mut state = device.memory.lock();
    let freed = state.pool.free(address, rest);
    let untidy = state.pool.is_over_cap() || state.put_off.is_any();
    drop(state);
    match freed {
        Ok(()) if untidy && !callback => {
            let Some(_context) = enter(device)? else { return Ok(()) };
            tidy(device)
        }
        Ok(()) => Ok(()),
        Err(Wrong::Twice) => Err(freed_already(address)),
        Err(Wrong::Inside(start)) => Err(not_a_start(address, start)),
        Err(Wrong::Unknown) => free_other(device, address),
    }
}

/// Frees memory of [`alloc_managed`], or of the program's own CUDA code.
///
/// # Errors
/// As [`free`].
pub fn free_other(device: &Device, address: DevicePtr) -> Result<()> {
    let Some(_context) = enter(device)? else { return Ok(()) };
    let found = device.driver.address_range(address);
    let (start, _) = found.map_err(|error| device.failed(error, || doing(address)))?;
    if start != address {
        return Err(not_a_start(address, start));
    }
    if !device.memory.lock().put_off.device.insert(address) {
        return Err(freed_already(address));
    }
    tidy(device)
}

/// Frees page-locked host memory.
///
/// # Errors
/// When the driver refuses.
pub(super) fn free_host(device: &Device, address: *mut c_void) -> Result<()> {
    let Some(_context) = enter(device)? else { return Ok(()) };
    let address = address.expose_provenance();
    if !device.memory.lock().put_off.host.insert(address) {
        return Err(freed_already(address as DevicePtr));
    }
    tidy(device)
}

/// Makes the device's context current. None at the end of the process, when the driver has let go of everything already.
fn enter(device: &Device) -> Result<Option<ContextGuard>> {
    match device.enter() {
        Ok(context) => Ok(Some(context)),
        Err(Error::ShuttingDown) => Ok(None),
        Err(error) => Err(error),
    }
}

fn doing(address: DevicePtr) -> String {
    format!("freeing device memory at {address:#x}")
}

fn freed_already(address: DevicePtr) -> Error {
    Error::Argument(format!("invalid address: {address:#x} is freed already"))
}

fn not_a_start(address: DevicePtr, start: DevicePtr) -> Error {
    host::debug(|| format!("{address:#x} is not the start of device memory, but {start:#x} is"));
    // libgomp says what it was doing. GCC's tests look for these very words.
    Error::Argument("invalid device address".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_the_memory_is_kept_unless_the_user_says_otherwise_or_wants_the_simulator() {
        let sim = Settings { device: DeviceChoice::Simulator, ..Settings::default() };
        assert_eq!(most_kept(&Settings::default(), 8 << 30), 1 << 30);
        assert_eq!(most_kept(&sim, 8 << 30), 0);
        for device in [DeviceChoice::Auto, DeviceChoice::Simulator] {
            assert_eq!(most_kept(&Settings { device, pool: Some(5), ..Settings::default() }, 8 << 30), 5);
        }
    }
}
