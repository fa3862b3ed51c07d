//! Target regions.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use super::{entry, host};
use crate::device::{Device, registry};
use crate::error::{Error, Result};
use crate::launch::dims;
use crate::launch::kernel::{self, Plan};

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
        // SAFETY: the caller's promise.
        let (device, plan) = unsafe { plan(ordinal, function, variables, args) }?;
        let name = Arc::clone(&plan.kernel.name);
        kernel::run(device, plan).map_err(|error| device.kernel_failed(&name, error))
    });
}

/// Launches a target region, or has it launched later, and returns. `task` is libgomp's: it is told of the region's end with it
/// (`GOMP_PLUGIN_target_task_completion`).
///
/// # Safety
/// As [`GOMP_OFFLOAD_run`], but for `args`, which may go when this returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_OFFLOAD_async_run(
    ordinal: c_int,
    function: *mut c_void,
    variables: *mut c_void,
    args: *mut *mut c_void,
    task: *mut c_void,
) {
    entry::guard("GOMP_OFFLOAD_async_run", || {
        // SAFETY: the caller's promise.
        let (device, plan) = unsafe { plan(ordinal, function, variables, args) }?;
        let name = Arc::clone(&plan.kernel.name);
        // SAFETY: the task is libgomp's, which waits for its end.
        let task = unsafe { host::Task::new(task) };
        device.launch.tasks.submit(device, plan, task).map_err(|error| device.kernel_failed(&name, error))
    });
}

/// What is to run where.
///
/// # Safety
/// As [`GOMP_OFFLOAD_run`].
unsafe fn plan(
    ordinal: c_int,
    function: *mut c_void,
    variables: *mut c_void,
    args: *mut *mut c_void,
) -> Result<(&'static Device, Plan)> {
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
    Ok((device, Plan::new(device, kernel, variables.expose_provenance() as u64, requested)?))
}
