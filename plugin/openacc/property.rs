//! What a program may ask about a device (`acc_get_property`).

use std::ffi::{CString, c_char, c_int};
use std::sync::OnceLock;

use crate::device::Device;
use crate::error::Result;

/// `union goacc_property_value` (libgomp-plugin.h).
#[repr(C)]
#[derive(Clone, Copy)]
pub union Value {
    /// A text, or null.
    pub text: *const c_char,
    /// A number, or 0.
    pub number: usize,
}

/// `enum goacc_property` (libgomp-plugin.h).
mod wanted {
    use std::ffi::c_int;
    pub const MEMORY: c_int = 1;
    pub const FREE_MEMORY: c_int = 2;
    pub const NAME: c_int = 0x10001;
    pub const VENDOR: c_int = 0x10002;
    pub const DRIVER: c_int = 0x10003;
}

impl Value {
    /// What there is to say of a property that is not known, as a number and as a text.
    pub const NONE: Value = Value { number: 0 };

    fn text(kept: &'static OnceLock<CString>, make: impl FnOnce() -> String) -> Value {
        Value { text: kept.get_or_init(|| CString::new(make()).unwrap_or_default()).as_ptr() }
    }
}

/// The texts of one device, for as long as the program may use them.
#[derive(Debug, Default)]
pub struct Texts {
    name: OnceLock<CString>,
    driver: OnceLock<CString>,
}

/// The value of `property`. Texts are never freed.
///
/// # Errors
/// Those of the driver.
pub fn value(device: &'static Device, property: c_int) -> Result<Value> {
    let failed = |error| device.failed(error, || "query of a property".into());
    let texts = &device.openacc.texts;
    Ok(match property {
        wanted::MEMORY => Value { number: device.driver.device_memory(*device.handle()).map_err(failed)? },
        wanted::FREE_MEMORY => {
            let _context = device.enter()?;
            // What is kept for reuse is free to the program.
            Value { number: device.driver.mem_info().map_err(failed)?.0 + device.memory.kept() }
        }
        wanted::NAME => Value::text(&texts.name, || device.attrs.name.clone()),
        wanted::VENDOR => Value { text: c"Nvidia".as_ptr() },
        wanted::DRIVER => {
            let version = device.driver.version().map_err(failed)?;
            Value::text(&texts.driver, || format!("CUDA Driver {}.{}", version / 1000, version % 1000 / 10))
        }
        _ => Value::NONE,
    })
}
