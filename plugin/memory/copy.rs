//! Copies between host and device, and fills.
//!
//! Copies go on while kernels run, on streams of their own ([`super::staging`]). Each is waited for: nothing orders it with the stream of
//! the kernel that needs the data.

use std::ffi::c_void;

use cudarc::driver::sys::{CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUarray, CUmemorytype};

use super::staging::Staging;
use super::{addresses, alloc, small};
use crate::device::Device;
use crate::driver::{CudaError, DevicePtr, Driver, Stream};
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
    device.memory.check(to, bytes, what)?;
    let _context = device.enter()?;
    let doing = || what() + addresses::doubt(device, to, bytes);
    if bytes <= small::MOST && !is_request(device) && !device.openacc.has_queues() {
        // SAFETY: the caller's promise.
        let enqueued = unsafe { device.small.enqueue(device, to, from.cast(), bytes) };
        if enqueued.map_err(|error| device.failed(error, doing))? {
            return Ok(());
        }
    }
    run(device, doing, |driver, staging| {
        // SAFETY: the caller's promise.
        unsafe { staging.to_device(driver, to, from, bytes) }
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
        unsafe { staging.to_host(driver, to, from, bytes) }
    })
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
fn is_request(device: &Device) -> bool {
    reverse::serving().is_some_and(|serving| serving.device == device.ordinal)
}

/// Makes a copy through a staging and waits for it. The device's context is current.
fn run(
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

/// One side of a copy of a part of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Whether the array is on the device.
    pub on_device: bool,
    /// The array's first element; with offsets, an address that need not be mapped.
    pub address: usize,
    /// Where the part begins: plane, row, and byte in the row.
    pub offset: [usize; 3],
    /// Rows of a plane.
    pub rows: usize,
    /// Bytes of a row.
    pub pitch: usize,
}

impl Part {
    /// Address of the part's first byte. The driver would check the array's address, which for Fortran's arrays may lie outside.
    fn start(&self) -> usize {
        let [plane, row, byte] = self.offset;
        let rows = plane.wrapping_mul(self.rows).wrapping_add(row);
        self.address.wrapping_add(rows.wrapping_mul(self.pitch)).wrapping_add(byte)
    }

    /// As the driver names a side: its kind, the host's and the device's address.
    fn side(&self) -> (CUmemorytype, *mut c_void, DevicePtr) {
        if self.on_device {
            (CUmemorytype::CU_MEMORYTYPE_DEVICE, std::ptr::null_mut(), self.start() as DevicePtr)
        } else {
            (CUmemorytype::CU_MEMORYTYPE_HOST, std::ptr::with_exposed_provenance_mut(self.start()), 0)
        }
    }
}

/// Copies a part of an array: planes, rows, bytes of a row.
///
/// # Errors
/// When the driver refuses.
///
/// # Safety
/// The host's side can be read or written, and nobody else uses it meanwhile.
pub unsafe fn part(device: &Device, to: Part, from: Part, [planes, rows, bytes]: [usize; 3]) -> Result<()> {
    let doing = || format!("copy of {planes} x {rows} x {bytes} bytes from {from:x?} to {to:x?}");
    let (from_kind, from_host, from_device) = from.side();
    let (to_kind, to_host, to_device) = to.side();
    let no_array: CUarray = std::ptr::null_mut();
    if planes == 0 || rows == 0 || bytes == 0 {
        return Ok(());
    }
    let _context = device.enter()?;
    // An absurd size is the driver's to refuse.
    run(device, doing, |driver, _| {
        if planes == 1 {
            // Any pitch is allowed, unlike in three dimensions.
            let copy = CUDA_MEMCPY2D {
                srcXInBytes: 0,
                srcY: 0,
                srcMemoryType: from_kind,
                srcHost: from_host,
                srcDevice: from_device,
                srcArray: no_array,
                srcPitch: from.pitch,
                dstXInBytes: 0,
                dstY: 0,
                dstMemoryType: to_kind,
                dstHost: to_host,
                dstDevice: to_device,
                dstArray: no_array,
                dstPitch: to.pitch,
                WidthInBytes: bytes,
                Height: rows,
            };
            // SAFETY: the caller's promise.
            unsafe { driver.copy_2d(&copy) }?;
        } else {
            let copy = CUDA_MEMCPY3D {
                srcXInBytes: 0,
                srcY: 0,
                srcZ: 0,
                srcLOD: 0,
                srcMemoryType: from_kind,
                srcHost: from_host,
                srcDevice: from_device,
                srcArray: no_array,
                reserved0: std::ptr::null_mut(),
                srcPitch: from.pitch,
                srcHeight: from.rows,
                dstXInBytes: 0,
                dstY: 0,
                dstZ: 0,
                dstLOD: 0,
                dstMemoryType: to_kind,
                dstHost: to_host,
                dstDevice: to_device,
                dstArray: no_array,
                reserved1: std::ptr::null_mut(),
                dstPitch: to.pitch,
                dstHeight: to.rows,
                WidthInBytes: bytes,
                Height: rows,
                Depth: planes,
            };
            // SAFETY: the caller's promise.
            unsafe { driver.copy_3d(&copy) }?;
        }
        driver.synchronize_stream(Stream::NULL)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_starts_behind_the_planes_rows_and_bytes_before_it() {
        let part = Part { on_device: true, address: 1000, offset: [2, 3, 4], rows: 10, pitch: 100 };
        assert_eq!(part.start(), 1000 + 2 * 10 * 100 + 3 * 100 + 4);
    }

    #[test]
    fn a_virtual_origin_outside_the_array_is_no_overflow() {
        let part = Part {
            on_device: false,
            address: 0_usize.wrapping_sub(50),
            offset: [0, 0, 60],
            rows: 1,
            pitch: 80,
        };
        assert_eq!(part.start(), 10);
    }
}
