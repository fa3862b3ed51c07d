//! Interoperability objects.

use std::ffi::{c_char, c_int, c_void};

use super::entry;
use crate::device::registry;
use crate::error::Error;
use crate::interop::{self, Object, Outcome, action};

/// Makes, waits for, or takes back an object. `with_stream`: the program asked for `targetsync`.
///
/// # Safety
/// `object` is libgomp's, used by this thread alone; `prefer` is null or the compiler's list of preferences.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_OFFLOAD_interop(
    object: *mut Object,
    ordinal: c_int,
    action: c_int,
    with_stream: bool,
    prefer: *const c_char,
) {
    entry::guard("GOMP_OFFLOAD_interop", || {
        let device = registry::get(ordinal)?;
        // SAFETY: the caller's promise.
        let object =
            unsafe { object.as_mut() }.ok_or_else(|| Error::Argument("interop: null object".into()))?;
        match action {
            // SAFETY: the caller's promise.
            action::INIT => object.init(device, with_stream, unsafe { interop::preferred(prefer) }),
            action::USE => object.synchronize(device),
            action::DESTROY => object.destroy(device),
            other => Err(Error::Argument(format!("interop: unknown action {other}"))),
        }
    });
}

/// Stores the outcome of a query where the caller wants it, and passes the value on.
///
/// # Safety
/// `outcome` is null or valid for a write.
unsafe fn tell<T>((value, found): (T, Outcome), outcome: *mut c_int) -> T {
    if !outcome.is_null() {
        // SAFETY: not null, so the caller's promise.
        unsafe { outcome.write(found as c_int) };
    }
    value
}

/// # Safety
/// `object` is null or an object that `GOMP_OFFLOAD_interop` made.
unsafe fn object<'a>(object: *const Object) -> Result<&'a Object, Error> {
    // SAFETY: the caller's promise.
    unsafe { object.as_ref() }.ok_or_else(|| Error::Argument("interop: null object".into()))
}

/// A property as a number.
///
/// # Safety
/// `of` is an object that `GOMP_OFFLOAD_interop` made; `outcome` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_OFFLOAD_get_interop_int(
    of: *mut Object,
    property: c_int,
    outcome: *mut c_int,
) -> isize {
    // SAFETY: the caller's promise.
    entry::guard("GOMP_OFFLOAD_get_interop_int", || Ok(unsafe { tell(object(of)?.int(property), outcome) }))
}

/// A property as a pointer.
///
/// # Safety
/// As [`GOMP_OFFLOAD_get_interop_int`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_OFFLOAD_get_interop_ptr(
    of: *mut Object,
    property: c_int,
    outcome: *mut c_int,
) -> *mut c_void {
    entry::guard("GOMP_OFFLOAD_get_interop_ptr", || {
        // SAFETY: the caller's promise.
        Ok(unsafe { tell(object(of)?.pointer(property), outcome) })
    })
}

/// A property as a text.
///
/// # Safety
/// As [`GOMP_OFFLOAD_get_interop_int`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_OFFLOAD_get_interop_str(
    of: *mut Object,
    property: c_int,
    outcome: *mut c_int,
) -> *const c_char {
    // SAFETY: the caller's promise.
    entry::guard("GOMP_OFFLOAD_get_interop_str", || Ok(unsafe { tell(object(of)?.text(property), outcome) }))
}

/// The C type of a property, or "N/A".
///
/// # Safety
/// `of` is an object that `GOMP_OFFLOAD_interop` made.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_OFFLOAD_get_interop_type_desc(
    of: *mut Object,
    property: c_int,
) -> *const c_char {
    // SAFETY: the caller's promise.
    entry::guard("GOMP_OFFLOAD_get_interop_type_desc", || Ok(unsafe { object(of) }?.type_of(property)))
}
