//! Allocating and freeing device memory.
//!
//! `cuMemFree` waits for running kernels, and libgomp calls it under the lock that it also needs to serve a request of such
//! a kernel. So memory is freed while no kernel runs; else its release is put off, and the next allocation of the same size
//! takes it. The same goes for memory that libgomp frees in a callback behind an OpenACC queue, where the driver cannot be
//! called at all.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::abi::host;
use crate::device::Device;
use crate::driver::{Code, CudaError, DevicePtr};
use crate::error::{Error, Result};
use crate::openacc::callback;

/// Memory that the program has freed and the driver has not.
#[derive(Debug, Default)]
pub struct Deferred(Mutex<Blocks>);

#[derive(Debug, Default)]
struct Blocks {
    /// Device memory that can be used again, by size in bytes.
    device: HashMap<usize, Vec<DevicePtr>>,
    /// Device memory that was freed where the driver could not be asked for its size.
    unmeasured: Vec<DevicePtr>,
    /// Memory that moves between host and device.
    managed: Vec<DevicePtr>,
    /// Page-locked host memory.
    host: Vec<usize>,
}

impl Deferred {
    fn lock(&self) -> MutexGuard<'_, Blocks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts off the release of device memory.
    pub fn put(&self, address: DevicePtr, bytes: usize) {
        self.lock().device.entry(bytes).or_default().push(address);
    }

    /// As [`put`](Self::put), where the driver cannot be asked for the size.
    fn put_unmeasured(&self, address: DevicePtr) {
        self.lock().unmeasured.push(address);
    }

    /// Asks for the sizes that are not known yet.
    fn measure(&self, size_of: impl Fn(DevicePtr) -> std::result::Result<usize, CudaError>) {
        let blocks = std::mem::take(&mut self.lock().unmeasured);
        for address in blocks {
            // A failure would be an error of the program's that it can no longer be told of.
            if let Ok(bytes) = size_of(address) {
                self.put(address, bytes);
            }
        }
    }

    /// Puts off the release of memory that moves between host and device.
    pub fn put_managed(&self, address: DevicePtr) {
        self.lock().managed.push(address);
    }

    /// Puts off the release of page-locked host memory.
    pub fn put_host(&self, address: usize) {
        self.lock().host.push(address);
    }

    /// Takes device memory of exactly this size, to be used again.
    fn take(&self, bytes: usize) -> Option<DevicePtr> {
        self.lock().device.get_mut(&bytes)?.pop()
    }

    /// Takes everything, to be freed.
    fn take_all(&self) -> (Vec<DevicePtr>, Vec<usize>) {
        let Blocks { device, unmeasured, managed, host } = std::mem::take(&mut *self.lock());
        (device.into_values().flatten().chain(unmeasured).chain(managed).collect(), host)
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
    let _context = device.enter()?;
    device.deferred.measure(|address| device.driver.address_range(address).map(|(_, bytes)| bytes));
    if let Some(address) = device.deferred.take(bytes) {
        return Ok(address);
    }
    allocate(device, bytes, || device.driver.mem_alloc(bytes))
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
    let mut result = call();
    if is_short(&result) && release_spare(device) {
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

/// Frees what is kept for reuse, and says whether that could be done.
fn release_spare(device: &Device) -> bool {
    device.launch.running.if_none(|| device.launch.release_memory(&device.deferred));
    release(device, None, None).is_some_and(|result| result.is_ok())
}

/// If no kernel runs, frees `block` and `host` and everything whose release was put off. None while kernels run.
fn release(
    device: &Device,
    block: Option<DevicePtr>,
    host: Option<usize>,
) -> Option<std::result::Result<(), CudaError>> {
    device.launch.running.if_none(|| {
        device.gate.run_blocking(|| {
            let (deferred_blocks, deferred_host) = device.deferred.take_all();
            for block in block.into_iter().chain(deferred_blocks) {
                // SAFETY: the program has freed it, and no kernel runs.
                unsafe { device.driver.mem_free(block) }?;
            }
            for block in deferred_host.into_iter().chain(host) {
                // SAFETY: as above.
                unsafe { device.driver.host_free(std::ptr::with_exposed_provenance_mut(block)) }?;
            }
            Ok(())
        })
    })
}

/// Frees device memory.
///
/// # Errors
/// When `address` is not the start of an allocation.
pub fn free(device: &Device, address: DevicePtr) -> Result<()> {
    if callback::is_running() {
        device.deferred.put_unmeasured(address);
        return Ok(());
    }
    free_or(device, address, |bytes| device.deferred.put(address, bytes))
}

/// Frees memory of [`alloc_managed`].
///
/// # Errors
/// As [`free`].
pub fn free_managed(device: &Device, address: DevicePtr) -> Result<()> {
    free_or(device, address, |_| device.deferred.put_managed(address))
}

fn free_or(device: &Device, address: DevicePtr, put_off: impl FnOnce(usize)) -> Result<()> {
    let _context = match device.enter() {
        Ok(context) => context,
        // At the end of the process the driver has let go of everything already.
        Err(Error::ShuttingDown) => return Ok(()),
        Err(error) => return Err(error),
    };
    let doing = || format!("freeing device memory at {address:#x}");
    let found = device.driver.address_range(address).map_err(|error| device.failed(error, doing))?;
    if found.0 != address {
        host::debug(|| format!("{address:#x} is not the start of device memory, but {:#x} is", found.0));
        // libgomp says what it was doing. GCC's tests look for these very words.
        return Err(Error::Argument("invalid device address".into()));
    }
    match release(device, Some(address), None) {
        Some(result) => result.map_err(|error| device.failed(error, doing)),
        None => {
            put_off(found.1);
            Ok(())
        }
    }
}

/// Frees page-locked host memory.
///
/// # Errors
/// When the driver refuses.
pub(super) fn free_host(device: &Device, address: *mut c_void) -> Result<()> {
    match release(device, None, Some(address.expose_provenance())) {
        Some(result) => result
            .map_err(|error| device.failed(error, || format!("freeing page-locked memory at {address:p}"))),
        None => {
            device.deferred.put_host(address.expose_provenance());
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_reused_only_for_requests_of_its_own_size() {
        let deferred = Deferred::default();
        deferred.put(0x1000, 64);
        deferred.put(0x2000, 128);
        assert_eq!(deferred.take(32), None);
        assert_eq!(deferred.take(128), Some(0x2000));
        assert_eq!(deferred.take(128), None);
        assert_eq!(deferred.take(64), Some(0x1000));
    }

    #[test]
    fn memory_freed_in_a_callback_is_reused_once_its_size_is_known() {
        let deferred = Deferred::default();
        deferred.put_unmeasured(0x1000);
        assert_eq!(deferred.take(64), None);
        deferred.measure(|_| Ok(64));
        assert_eq!(deferred.take(64), Some(0x1000));
    }

    #[test]
    fn everything_put_off_is_taken_once() {
        let deferred = Deferred::default();
        deferred.put(0x1000, 64);
        deferred.put_unmeasured(0x3000);
        deferred.put_managed(0x2000);
        deferred.put_host(0x5000);
        assert_eq!(deferred.take(128), None, "managed memory is not used again");
        assert_eq!(deferred.take_all(), (vec![0x1000, 0x3000, 0x2000], vec![0x5000]));
        assert_eq!(deferred.take_all(), (vec![], vec![]));
    }
}
