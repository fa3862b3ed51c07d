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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::mock::{Garbage, MockDevice};
    use super::super::wire::{self, OP_USER};

    /// A device whose only slot holds a call with an inline area of 64 bytes.
    fn calling(func: u64, mapnum: u64) -> MockDevice {
        let mut device = MockDevice::new(1, 64);
        let call = Garbage {
            posted: wire::posted(0, 0, 0, 0),
            op: OP_USER,
            words: [func, mapnum, 0, 0, 0],
            dev_num: 0,
            has_inline: 0,
            items: vec![],
            area: (0..64).collect(),
        };
        device.corrupt(0, &call);
        device
    }

    #[test]
    fn a_call_brings_its_opcode_and_its_bytes_and_no_more() {
        for bytes in [0, 1, 5, 64] {
            let device = calling(u32::MAX.into(), bytes);
            let mut claim = device.window.claim().expect("well-formed").expect("posted");
            let (opcode, data) = claim.call().expect("well-formed");
            assert_eq!(opcode, u32::MAX);
            assert_eq!(data, (0..bytes as u8).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_call_of_more_bytes_than_fit_or_of_an_impossible_opcode_is_malformed() {
        for (func, mapnum, field) in
            [(1, 65, "mapnum"), (1, 1 << 24, "mapnum"), (1 << 32, 8, "fn"), (u64::MAX, 8, "fn")]
        {
            let device = calling(func, mapnum);
            let mut claim = device.window.claim().expect("the window does not look at that").expect("posted");
            assert_eq!(claim.call().expect_err("malformed").field, field);
        }
    }
}
