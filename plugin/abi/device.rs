//! Which devices there are, their start and their end.

use std::ffi::{c_char, c_int, c_uint};
use std::ptr;

use super::{entry, host};
use crate::device::{Device, registry};
use crate::env;
use crate::error::{Error, Result};
use crate::{image, reverse};

/// `GOMP_VERSION` (gomp-constants.h): the plugin interface of libgomp 14 to 16.
const VERSION: c_uint = 3;
/// `GOMP_OFFLOAD_CAP_OPENMP_400` and `GOMP_OFFLOAD_CAP_OPENACC_200` (libgomp-plugin.h).
const CAPABILITIES: c_uint = 1 << 2 | 1 << 3;
/// `OFFLOAD_TARGET_TYPE_NVIDIA_PTX`
const TYPE: c_int = 5;

/// The plugin interface's version.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_OFFLOAD_version() -> c_uint {
    VERSION
}

/// The devices' kind, for messages and for `OMP_*_DEV` variables.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_OFFLOAD_get_name() -> *const c_char {
    c"nvptx".as_ptr()
}

/// What the plugin can do.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_OFFLOAD_get_caps() -> c_uint {
    CAPABILITIES
}

/// Which images are for these devices.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_OFFLOAD_get_type() -> c_int {
    TYPE
}

/// The number of devices, or -1 when there are some that cannot do what the program requires. Whatever keeps the driver from
/// working is not an error here: the program runs on the host, and why is told on request only.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_OFFLOAD_get_num_devices(requires: c_uint) -> c_int {
    entry::guard("GOMP_OFFLOAD_get_num_devices", || match registry::count(requires) {
        Ok(registry::Count::Usable(count)) => Ok(c_int::try_from(count).unwrap_or(c_int::MAX)),
        Ok(registry::Count::Unfit) => Ok(-1),
        Err(error) => {
            registry::tell(&format!("no nvptx device: {error}"));
            Ok(0)
        }
    })
}

/// A device's unique name, in memory that the caller frees, or null.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_OFFLOAD_get_uid(ordinal: c_int) -> *const c_char {
    entry::guard("GOMP_OFFLOAD_get_uid", || {
        let Some(uid) = registry::uid(ordinal)? else { return Ok(ptr::null()) };
        let text = host::malloc::<u8>(uid.len() + 1);
        if !text.is_null() {
            // SAFETY: room for the text; the byte behind it is zero already.
            unsafe { text.copy_from_nonoverlapping(uid.as_ptr(), uid.len()) };
        }
        Ok(text.cast_const().cast())
    })
}

/// Starts to use a device.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_OFFLOAD_init_device(ordinal: c_int) -> bool {
    entry::guard("GOMP_OFFLOAD_init_device", || {
        registry::open(ordinal)?;
        reverse::ending::expect();
        Ok(true)
    })
}

/// Ends the use of a device, at the end of the program. The context and what is in it go with the process, which is far
/// quicker; only what can be seen is done: destructors run, and what they print comes out.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_OFFLOAD_fini_device(ordinal: c_int) -> bool {
    entry::guard("GOMP_OFFLOAD_fini_device", || {
        host::closes_device();
        let device = registry::get(ordinal)?;
        match finish(device) {
            Ok(()) | Err(Error::ShuttingDown) => {}
            Err(error) => return Err(error),
        }
        if env::settings().summary && !device.is_forked() {
            eprintln!(
                "boomerang: device {ordinal} ({}): {} reverse-offload requests served, {} kernels launched",
                device.attrs.name,
                device.reverse.served(),
                device.launch.launched()
            );
        }
        Ok(true)
    })
}

fn finish(device: &'static Device) -> Result<()> {
    if !device.is_lost() && !device.is_forked() && reverse::serving().is_none() {
        device.launch.tasks.wait_for_end()?;
    }
    if !device.is_idle() {
        return Ok(());
    }
    let _context = device.enter()?;
    let images = std::mem::take(&mut *device.lock_images());
    images.iter().try_for_each(|image| image::load::destroy(device, image))?;
    device.heap.report(device);
    Ok(())
}
