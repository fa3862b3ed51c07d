//! Offload images.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;

use super::{entry, host};
use crate::device::registry;
use crate::error::{Error, Result};
use crate::image::load::AddressPair;
use crate::image::{self, Descriptor};

/// Loads an image. Returns how many entries `table` got (functions, variables, and one for the ICVs), or -1. `reverse_table` is
/// null unless the program requires reverse offload; it gets the device addresses of the functions, or null where the host
/// cannot be asked for any. Both tables are in memory that the caller frees. `host_indirect`: addresses of the host's indirect
/// functions, or null.
///
/// # Safety
/// As libgomp calls it: `data` is an image that stays as it is until it is unloaded, the other pointers are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_OFFLOAD_load_image(
    ordinal: c_int,
    version: c_uint,
    data: *const c_void,
    table: *mut *mut AddressPair,
    reverse_table: *mut *mut u64,
    host_indirect: *const u64,
) -> c_int {
    entry::guard("GOMP_OFFLOAD_load_image", || {
        let device = registry::get(ordinal)?;
        // SAFETY: the caller's promise.
        let image = unsafe { Descriptor::read(version, data) }?;
        let host_indirect = if host_indirect.is_null() {
            &[]
        } else {
            // SAFETY: the caller's promise; both tables are made of the same list.
            unsafe { std::slice::from_raw_parts(host_indirect, image.indirect) }
        };
        if table.is_null() {
            return Err(Error::Argument("GOMP_OFFLOAD_load_image: no place for the table".into()));
        }
        let loaded = image::load(device, data, &image, !reverse_table.is_null(), host_indirect)?;
        // SAFETY: not null, so the caller's promise.
        unsafe {
            table.write(copy(&loaded.table)?);
            if !reverse_table.is_null() {
                reverse_table
                    .write(loaded.reverse_table.as_deref().map(copy).transpose()?.unwrap_or(ptr::null_mut()));
            }
        }
        Ok(c_int::try_from(loaded.table.len()).unwrap_or(-1))
    })
}

/// A copy of `items` in memory that the caller of the plugin frees.
fn copy<T: Copy>(items: &[T]) -> Result<*mut T> {
    let copy = host::malloc::<T>(items.len());
    if copy.is_null() {
        return Err(Error::Argument("out of host memory".into()));
    }
    // SAFETY: room for so many items.
    unsafe { copy.copy_from_nonoverlapping(items.as_ptr(), items.len()) };
    Ok(copy)
}

/// Unloads an image.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_OFFLOAD_unload_image(ordinal: c_int, _version: c_uint, data: *const c_void) -> bool {
    entry::guard("GOMP_OFFLOAD_unload_image", || image::unload(registry::get(ordinal)?, data).map(|()| true))
}
