//! Calls of the public device API (`device-runtime/boomerang.h`), and the program's handler for them.

use super::Serving;
use crate::device::Device;
use crate::error::{Error, Result};
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

/// The program's function: opcode, data, bytes, and the context that it was registered with.
pub type Function = unsafe extern "C" fn(u32, *mut c_void, u32, *mut c_void);

#[derive(Clone, Copy)]
struct Handler {
    function: Function,
    context: *mut c_void,
}

// SAFETY: the program registers it to be called from any thread; nothing here follows the pointer.
unsafe impl Send for Handler {}

static HANDLER: Mutex<Option<Handler>> = Mutex::new(None);

/// Has `function` handle calls from now on, or nobody. A call under way may still be in the one before.
///
/// # Safety
/// The function may be called with the context, on any thread that runs regions, as long as it is registered.
pub unsafe fn set_handler(function: Option<Function>, context: *mut c_void) {
    let handler = function.map(|function| Handler { function, context });
    *HANDLER.lock().unwrap_or_else(PoisonError::into_inner) = handler;
}

/// Has the handler handle a call.
///
/// # Errors
/// When there is none.
pub fn serve(device: &Device, opcode: u32, data: &mut [u8]) -> Result<()> {
    // Copied: the handler may register another.
    let handler = *HANDLER.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(Handler { function, context }) = handler else {
        let why = "and the program has registered no handler (boomerang_set_call_handler)";
        return Err(Error::Argument(format!("a kernel called the host with opcode {opcode}, {why}")));
    };
    let serving = Serving { device: device.ordinal };
    device.reverse.serve(serving, || {
        // SAFETY: as was promised when it was registered; the data is the slot's until the reply.
        unsafe { function(opcode, data.as_mut_ptr().cast(), data.len() as u32, context) }
    });
    Ok(())
}
