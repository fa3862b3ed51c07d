//! Calls of device code through `device-runtime/boomerang.h`.

use std::ffi::c_void;

use super::entry;
use crate::reverse::call::{self, Function};

/// Has `handler` handle the calls of all devices; null: nobody.
///
/// # Safety
/// The function may be called with the context, on any thread that runs regions, until another one is registered and no region runs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn boomerang_set_call_handler(handler: Option<Function>, context: *mut c_void) {
    entry::guard("boomerang_set_call_handler", || {
        // SAFETY: the caller's promise.
        unsafe { call::set_handler(handler, context) };
        Ok(())
    });
}
