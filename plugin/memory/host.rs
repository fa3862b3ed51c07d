//! Host memory that devices reach.

use std::ffi::c_void;
use std::ptr;

use cudarc::driver::sys::CUmemorytype;

use super::alloc;
use crate::device::{Device, registry};
use crate::driver::DevicePtr;
use crate::error::{Error, Result};

/// Allocates page-locked memory. Null when there is none left, and for no bytes.
///
/// # Errors
/// When the driver refuses for another reason.
pub fn alloc_page_locked(device: &Device, bytes: usize) -> Result<*mut c_void> {
    if bytes == 0 {
        return Ok(ptr::null_mut());
    }
    let _context = device.enter()?;
    match alloc::allocate(device, bytes, || device.driver.host_alloc(bytes)) {
        // libgomp has its own way to go on.
        Err(Error::OutOfMemory { .. }) => Ok(ptr::null_mut()),
        result => result,
    }
}

/// Frees page-locked memory.
///
/// # Errors
/// When the driver refuses.
pub fn free_page_locked(device: &Device, address: *mut c_void) -> Result<()> {
    if address.is_null() {
        return Ok(());
    }
    let _context = match device.enter() {
        Ok(context) => context,
        Err(Error::ShuttingDown) => return Ok(()),
        Err(error) => return Err(error),
    };
    alloc::free_host(device, address)
}

/// The smallest unit in which memory is accessible or not, in bytes.
const PAGE: DevicePtr = 4096;

/// Whether kernels on the device may use memory of the host's by its address.
///
/// # Errors
/// When the device cannot be used at all.
pub fn is_accessible(device: &Device, address: DevicePtr, bytes: usize) -> Result<bool> {
    if registry::shares_memory() || device.attrs.pageable_memory_access {
        return Ok(true);
    }
    let _context = device.enter()?;
    let end = address.saturating_add(bytes.max(1) as DevicePtr);
    let mut at = address;
    while at < end {
        let kind = device
            .driver
            .memory_type(at)
            .map_err(|error| device.failed(error, || format!("query of {at:#x}")))?;
        if kind == 0 || kind == CUmemorytype::CU_MEMORYTYPE_ARRAY as u32 {
            return Ok(false);
        }
        let Some(next) = (at & !(PAGE - 1)).checked_add(PAGE) else { break };
        at = next;
    }
    Ok(true)
}
