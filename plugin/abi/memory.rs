//! Memory and copies. Device addresses come as pointers.

use std::ffi::{c_int, c_void};

use super::entry;
use crate::device::{Device, registry};
use crate::driver::DevicePtr;
use crate::error::{Error, Result};
use crate::memory::part::{self, Part};
use crate::memory::{alloc, copy, host};
use crate::openacc::profiling;

/// No device: the host.
const HOST: c_int = -1;

pub(super) fn address(pointer: *const c_void) -> DevicePtr {
    pointer.expose_provenance() as DevicePtr
}

fn pointer(address: DevicePtr) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(address as usize)
}

/// Allocates device memory; null when there is none.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_OFFLOAD_alloc(ordinal: c_int, bytes: usize) -> *mut c_void {
    entry::guard("GOMP_OFFLOAD_alloc", || {
        let block = alloc::alloc(registry::get(ordinal)?, bytes)?;
        profiling::allocated(block, bytes);
        Ok(pointer(block))
    })
}

/// Frees device memory.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_OFFLOAD_free(ordinal: c_int, block: *mut c_void) -> bool {
    entry::guard("GOMP_OFFLOAD_free", || {
        alloc::free(registry::get(ordinal)?, address(block))?;
        profiling::freed(address(block));
        Ok(true)
    })
}

/// Allocates memory that moves between host and device as it is used; null when there is none.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_OFFLOAD_managed_alloc(ordinal: c_int, bytes: usize) -> *mut c_void {
    entry::guard("GOMP_OFFLOAD_managed_alloc", || {
        alloc::alloc_managed(registry::get(ordinal)?, bytes).map(pointer)
    })
}

/// Frees memory of [`GOMP_OFFLOAD_managed_alloc`].
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_OFFLOAD_managed_free(ordinal: c_int, block: *mut c_void) -> bool {
    entry::guard("GOMP_OFFLOAD_managed_free", || {
        alloc::free_other(registry::get(ordinal)?, address(block)).map(|()| true)
    })
}

/// Whether kernels on the device may use `bytes` bytes of the host's at `start`: 1 or 0.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_OFFLOAD_is_accessible_ptr(
    ordinal: c_int,
    start: *const c_void,
    bytes: usize,
) -> c_int {
    let answer = || host::is_accessible(registry::get(ordinal)?, address(start), bytes);
    c_int::from(entry::guard("GOMP_OFFLOAD_is_accessible_ptr", answer))
}

/// Allocates page-locked host memory; null when there is none.
///
/// # Safety
/// `block` is valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_OFFLOAD_page_locked_host_alloc(block: *mut *mut c_void, bytes: usize) -> bool {
    entry::guard("GOMP_OFFLOAD_page_locked_host_alloc", || {
        let allocated = host::alloc_page_locked(registry::any()?, bytes)?;
        // SAFETY: the caller's promise.
        unsafe { block.write(allocated) };
        Ok(true)
    })
}

/// Frees page-locked host memory.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_OFFLOAD_page_locked_host_free(block: *mut c_void) -> bool {
    entry::guard("GOMP_OFFLOAD_page_locked_host_free", || {
        host::free_page_locked(registry::any()?, block).map(|()| true)
    })
}

/// Copies from the device to the host.
///
/// # Safety
/// `bytes` bytes at `to` can be written and nobody else uses them meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_OFFLOAD_dev2host(
    ordinal: c_int,
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
) -> bool {
    entry::guard("GOMP_OFFLOAD_dev2host", || {
        // SAFETY: the caller's promise.
        unsafe { copy::to_host(registry::get(ordinal)?, to, address(from), bytes) }.map(|()| true)
    })
}

/// Copies from the host to the device.
///
/// # Safety
/// `bytes` bytes at `from` can be read and nobody writes them meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_OFFLOAD_host2dev(
    ordinal: c_int,
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
) -> bool {
    entry::guard("GOMP_OFFLOAD_host2dev", || {
        // SAFETY: the caller's promise.
        unsafe { copy::to_device(registry::get(ordinal)?, address(to), from, bytes) }.map(|()| true)
    })
}

/// Copies on the device.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_OFFLOAD_dev2dev(
    ordinal: c_int,
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
) -> bool {
    entry::guard("GOMP_OFFLOAD_dev2dev", || {
        copy::on_device(registry::get(ordinal)?, address(to), address(from), bytes).map(|()| true)
    })
}

/// Sets `bytes` bytes of the device's to the low byte of `value`.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_OFFLOAD_memset(
    ordinal: c_int,
    block: *mut c_void,
    value: c_int,
    bytes: usize,
) -> bool {
    entry::guard("GOMP_OFFLOAD_memset", || {
        copy::fill(registry::get(ordinal)?, address(block), value as u8, bytes).map(|()| true)
    })
}

/// The device of a copy between a device and the host, or on one device.
fn device_of(to: c_int, from: c_int) -> Result<&'static Device> {
    match (to, from) {
        (HOST, HOST) => Err(Error::Argument("a copy from the host to the host".into())),
        (HOST, device) | (device, HOST) => registry::get(device),
        (to, from) if to == from => registry::get(to),
        (to, from) => Err(Error::Argument(format!("a copy from device {from} to device {to} at once"))),
    }
}

/// Copies `rows` rows of `row_bytes` bytes between two arrays, given the offset of the first row's first byte (bytes, rows) and
/// the arrays' row lengths in bytes. 1, or 0 on failure; never -1, which would ask libgomp to copy row by row.
///
/// # Safety
/// The host's side can be read or written, and nobody else uses it meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_OFFLOAD_memcpy2d(
    to_ordinal: c_int,
    from_ordinal: c_int,
    row_bytes: usize,
    rows: usize,
    to: *mut c_void,
    to_offset_bytes: usize,
    to_offset_rows: usize,
    to_row_bytes: usize,
    from: *const c_void,
    from_offset_bytes: usize,
    from_offset_rows: usize,
    from_row_bytes: usize,
) -> c_int {
    c_int::from(entry::guard("GOMP_OFFLOAD_memcpy2d", || {
        let to = Part {
            on_device: to_ordinal != HOST,
            address: to.expose_provenance(),
            offset: [0, to_offset_rows, to_offset_bytes],
            rows,
            pitch: to_row_bytes,
        };
        let from = Part {
            on_device: from_ordinal != HOST,
            address: from.expose_provenance(),
            offset: [0, from_offset_rows, from_offset_bytes],
            rows,
            pitch: from_row_bytes,
        };
        // SAFETY: the caller's promise.
        unsafe { part::copy(device_of(to_ordinal, from_ordinal)?, to, from, [1, rows, row_bytes]) }
            .map(|()| true)
    }))
}

/// Copies `planes` planes of `rows` rows of `row_bytes` bytes between two arrays, given the offset of the first byte (bytes,
/// rows, planes), the arrays' row lengths in bytes and the rows of their planes. Returns as [`GOMP_OFFLOAD_memcpy2d`].
///
/// # Safety
/// As [`GOMP_OFFLOAD_memcpy2d`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_OFFLOAD_memcpy3d(
    to_ordinal: c_int,
    from_ordinal: c_int,
    row_bytes: usize,
    rows: usize,
    planes: usize,
    to: *mut c_void,
    to_offset_bytes: usize,
    to_offset_rows: usize,
    to_offset_planes: usize,
    to_row_bytes: usize,
    to_plane_rows: usize,
    from: *const c_void,
    from_offset_bytes: usize,
    from_offset_rows: usize,
    from_offset_planes: usize,
    from_row_bytes: usize,
    from_plane_rows: usize,
) -> c_int {
    c_int::from(entry::guard("GOMP_OFFLOAD_memcpy3d", || {
        let to = Part {
            on_device: to_ordinal != HOST,
            address: to.expose_provenance(),
            offset: [to_offset_planes, to_offset_rows, to_offset_bytes],
            rows: to_plane_rows,
            pitch: to_row_bytes,
        };
        let from = Part {
            on_device: from_ordinal != HOST,
            address: from.expose_provenance(),
            offset: [from_offset_planes, from_offset_rows, from_offset_bytes],
            rows: from_plane_rows,
            pitch: from_row_bytes,
        };
        // SAFETY: the caller's promise.
        unsafe { part::copy(device_of(to_ordinal, from_ordinal)?, to, from, [planes, rows, row_bytes]) }
            .map(|()| true)
    }))
}
