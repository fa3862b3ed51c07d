//! Copies between host and device, and fills.
//!
//! Small copies to the device are only enqueued, if no kernel runs ([`super::small`]). All others go on while kernels run, on streams of
//! their own ([`super::staging`]), large ones in chunks ([`super::pipeline`]). Each is waited for: nothing orders it with the stream of
//! the kernel that needs the data.

use std::ffi::c_void;

use super::pipeline::{self, Way};
use super::staging::Staging;
use super::{addresses, alloc, small};
use crate::device::Device;
use crate::driver::{CudaError, DevicePtr, Driver};
use crate::error::Result;
use crate::reverse;

/// Copies to the device.
///
/// # Errors
/// When the driver refuses.
///
/// # Safety
/// `bytes` bytes at `from` can be read and nobody writes them meanwhile.
pub unsafe fn to_device(device: &Device, to: DevicePtr, from: *const c_void, bytes: usize) -> Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    addresses::check(from, to)?;
    let what = || format!("copy of {bytes} bytes from host {from:p} to device {to:#x}");
    let ours = device.memory.check(to, bytes, what)?;
    let _context = device.enter()?;
    let doing = || what() + addresses::doubt(device, to, bytes);
    if bytes <= small::MOST && !is_request(device) && !device.openacc.has_queues() {
        // SAFETY: the caller's promise.
        let enqueued = unsafe { device.small.enqueue(device, to, from.cast(), bytes, ours) };
        if enqueued.map_err(|error| device.failed(error, doing))? {
            return Ok(());
        }
    }
    run(device, doing, |driver, staging| {
        // SAFETY: the caller's promise.
        unsafe {
            if !copy_in_chunks(device, staging, Way::ToDevice, from.cast_mut(), to, bytes)? {
                staging.to_device(driver, to, from, bytes)?;
            }
        }
        Ok(())
    })
}

/// Copies to the host.
///
/// # Errors
/// When the driver refuses.
///
/// # Safety
/// `bytes` bytes at `to` can be written and nobody else uses them meanwhile.
pub unsafe fn to_host(device: &Device, to: *mut c_void, from: DevicePtr, bytes: usize) -> Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    addresses::check(to, from)?;
    let what = || format!("copy of {bytes} bytes from device {from:#x} to host {to:p}");
    device.memory.check(from, bytes, what)?;
    let _context = device.enter()?;
    let doing = || what() + addresses::doubt(device, from, bytes);
    run(device, doing, |driver, staging| {
        // SAFETY: the caller's promise.
        unsafe {
            if !copy_in_chunks(device, staging, Way::ToHost, to, from, bytes)? {
                staging.to_host(driver, to, from, bytes)?;
            }
        }
        Ok(())
    })
}

/// Makes a large copy of pageable memory by several threads, and says whether it did: not where the driver does it as fast.
///
/// # Safety
/// As for [`pipeline::copy`].
unsafe fn copy_in_chunks(
    device: &Device,
    staging: &Staging,
    way: Way,
    host: *mut c_void,
    address: DevicePtr,
    bytes: usize,
) -> std::result::Result<bool, CudaError> {
    if bytes < pipeline::LEAST || device.attrs.pageable_memory_access {
        return Ok(false);
    }
    // A request makes no driver call of which it is not known that it never waits for a kernel; chunks are right for any memory.
    if !is_request(device) && device.driver.is_page_locked(host, bytes)? {
        return Ok(false);
    }
    // SAFETY: the caller's promise.
    unsafe { pipeline::copy(device, staging.stream, way, host.cast(), address, bytes) }
}

/// Copies from one place of the device to another.
///
/// # Errors
/// When the driver refuses.
pub fn on_device(device: &Device, to: DevicePtr, from: DevicePtr, bytes: usize) -> Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    let doing = || format!("copy of {bytes} bytes from device {from:#x} to device {to:#x}");
    device.memory.check(from, bytes, doing)?;
    device.memory.check(to, bytes, doing)?;
    let _context = device.enter()?;
    let overlap = to.abs_diff(from) < bytes as u64;
    // The driver's copy would be undefined.
    let between = if overlap { Some(alloc::alloc(device, bytes)?) } else { None };
    let copied = run(device, doing, |driver, staging| {
        if let Some(between) = between {
            driver.copy_on_device_async(between, from, bytes, staging.stream)?;
        }
        driver.copy_on_device_async(to, between.unwrap_or(from), bytes, staging.stream)?;
        driver.synchronize_stream(staging.stream)
    });
    between.into_iter().for_each(|between| device.memory.give_back(between));
    copied
}

/// Sets every byte of a range.
///
/// # Errors
/// When the driver refuses.
pub fn fill(device: &Device, address: DevicePtr, value: u8, bytes: usize) -> Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    let doing = || format!("filling {bytes} bytes at device {address:#x}");
    device.memory.check(address, bytes, doing)?;
    let _context = device.enter()?;
    run(device, doing, |driver, staging| {
        driver.memset_async(address, value, bytes, staging.stream)?;
        driver.synchronize_stream(staging.stream)
    })
}

/// Whether this thread serves a request of the device's.
pub(super) fn is_request(device: &Device) -> bool {
    reverse::serving().is_some_and(|serving| serving.device == device.ordinal)
}

/// Makes a copy through a staging and waits for it. The device's context is current.
pub(super) fn run(
    device: &Device,
    doing: impl FnOnce() -> String,
    copy: impl FnOnce(&Driver, &Staging) -> std::result::Result<(), CudaError>,
) -> Result<()> {
    device
        .openacc
        .join(device)
        .and_then(|()| device.staging.with(device.driver, is_request(device), copy))
        .map_err(|error| device.failed(error, doing))
}
