//! Target regions.

use std::ffi::{c_int, c_void};

use super::entry;
use crate::device::registry;
use crate::error::Error;
use crate::launch::{dims, kernel};

/// Whether a function can run on a device: not one that its image promised and does not have. The host runs it then.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_OFFLOAD_can_run(function: *mut c_void) -> bool {
    entry::guard("GOMP_OFFLOAD_can_run", || {
        Ok(registry::kernel(function.addr()).is_some_and(|(_, kernel)| kernel.is_loaded()))
    })
}

/// Runs a target region and returns when it has ended. `function` is an address from the table of the image, `variables` the
/// device address of the region's arguments, `args` the launch arguments.
///
/// # Safety
/// As libgomp calls it: what the region's arguments point at lives until the region has ended; `args` is null, or an array of
/// launch arguments whose last word is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_OFFLOAD_run(
    ordinal: c_int,
    function: *mut c_void,
    variables: *mut c_void,
    args: *mut *mut c_void,
) {
    entry::guard("GOMP_OFFLOAD_run", || {
        let device = registry::get(ordinal)?;
        let kernel = device
            .kernel(function.addr())
            .filter(|kernel| kernel.is_loaded())
            .ok_or_else(|| Error::Argument(format!("{function:p} is no function of device {ordinal}")))?;
        if args.is_null() {
            return Err(Error::Argument(format!("kernel {}: no launch arguments", kernel.name)));
        }
        // SAFETY: not null, so the caller's promise.
        let requested = unsafe { dims::requested(args.cast_const().cast()) };
        device.check_usable()?;
        kernel::run(device, &kernel, variables.expose_provenance() as u64, requested)
            .map_err(|error| device.kernel_failed(&kernel.name, error))
    });
}
