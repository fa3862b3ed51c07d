//! Whether this machine has a GPU.

use std::ffi::{c_int, c_uint};

use libloading::Library;

/// Says why no GPU can be used, or None where one can.
pub fn missing() -> Option<String> {
    // SAFETY: the driver's library runs only its own initialisers, which may be run at any time.
    let driver = match unsafe { Library::new("libcuda.so.1") } {
        Ok(driver) => driver,
        Err(error) => return Some(error.to_string()),
    };
    let mut count: c_int = 0;
    // SAFETY: both functions have had these signatures since CUDA 2.0; `count` outlives the call.
    let (init, counted) = unsafe {
        let Ok(init) = driver.get::<unsafe extern "C" fn(c_uint) -> c_int>(b"cuInit\0") else {
            return Some("libcuda.so.1 has no cuInit".to_owned());
        };
        let Ok(device_count) = driver.get::<unsafe extern "C" fn(*mut c_int) -> c_int>(b"cuDeviceGetCount\0")
        else {
            return Some("libcuda.so.1 has no cuDeviceGetCount".to_owned());
        };
        (init(0), device_count(&mut count))
    };
    // The driver keeps threads of its own once it is initialised: unloading it under them would be unsound.
    std::mem::forget(driver);
    match (init, counted, count) {
        (0, 0, 1..) => None,
        (0, ..) => Some("the driver finds no device".to_owned()),
        (code, ..) => Some(format!("cuInit failed with {code}")),
    }
}
