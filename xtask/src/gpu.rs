//! The GPU of this machine, if it has one.

use std::ffi::{CStr, c_char, c_int, c_uint};

use libloading::Library;

/// The name of the GPU that programs use, or why they can't use any.
pub fn find() -> Result<String, String> {
    // SAFETY: the driver's library runs only its own initialisers, which may be run at any time.
    let driver = unsafe { Library::new("libcuda.so.1") }.map_err(|error| error.to_string())?;
    let name = ask(&driver);
    // The driver keeps threads of its own once it is initialised: unloading it under them would be unsound.
    std::mem::forget(driver);
    name
}

/// Whether a device of this name is the simulator's: a dry run of the bundle takes that for a GPU.
pub fn is_simulated(name: &str) -> bool {
    name == "Boomerang Simulated GPU"
}

fn ask(driver: &Library) -> Result<String, String> {
    let lacks = |error: libloading::Error| error.to_string();
    let (mut count, mut name): (c_int, [c_char; 256]) = (0, [0; 256]);
    // SAFETY: the three functions have had these signatures since CUDA 2.0; what they write to outlives the calls.
    let (init, counted, named) = unsafe {
        let init = driver.get::<unsafe extern "C" fn(c_uint) -> c_int>(b"cuInit\0").map_err(lacks)?;
        let counter =
            driver.get::<unsafe extern "C" fn(*mut c_int) -> c_int>(b"cuDeviceGetCount\0").map_err(lacks)?;
        type Name = unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int;
        let namer = driver.get::<Name>(b"cuDeviceGetName\0").map_err(lacks)?;
        // Its last byte stays 0.
        (init(0), counter(&mut count), namer(name.as_mut_ptr(), name.len() as c_int - 1, 0))
    };
    match (init, counted, count, named) {
        (0, 0, 1.., 0) => {
            // SAFETY: the array ends with a 0.
            Ok(unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned())
        }
        (0, ..) => Err("the driver finds no device".to_owned()),
        (code, ..) => Err(format!("cuInit failed with {code}")),
    }
}
