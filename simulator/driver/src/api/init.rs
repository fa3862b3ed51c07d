//! Initialisation, version, errors, addresses of functions.

use crate::c::{In, Out};
use crate::core::handle::Key;
use crate::core::{counts, device};
use crate::error::{CUresult, Error, Result, describe};
use crate::exports::exports;
use crate::types::CString;
use std::ffi::{c_char, c_int, c_uint};

/// The version of the interface: CUDA 13.0.
pub const VERSION: c_int = 13000;

/// `cuInit`
pub fn init(flags: c_uint) -> Result {
    if flags != 0 {
        return Err(Error::INVALID_VALUE);
    }
    device::initialize()
}

/// `cuDriverGetVersion`
pub fn version(version: Out<c_int>) -> Result {
    version.set(VERSION)
}

/// No function of CUDA's: what this process has had the driver do so far. `calls`: of all functions that are not about errors.
/// `instructions`: of the kernels that have ended, counted once a warp.
pub fn counts(calls: Out<u64>, instructions: Out<u64>) -> Result {
    let so_far = counts::so_far();
    calls.set(so_far.0)?;
    instructions.set(so_far.1)
}

/// `cuGetErrorName`
pub fn error_name(error: CUresult, name: Out<CString>) -> Result {
    let described = describe(error);
    name.set(described.map_or(std::ptr::null(), |d| d.0.as_ptr()))?;
    described.map(drop).ok_or(Error::INVALID_VALUE)
}

/// `cuGetErrorString`
pub fn error_string(error: CUresult, text: Out<CString>) -> Result {
    let described = describe(error);
    text.set(described.map_or(std::ptr::null(), |d| d.1.as_ptr()))?;
    described.map(drop).ok_or(Error::INVALID_VALUE)
}

/// `cuGetProcAddress`
pub fn proc_address(symbol: In<c_char>, function: Out<Key>, version: c_int, flags: u64) -> Result {
    find_symbol(symbol, function, version, flags, None)
}

/// `cuGetProcAddress_v2`
pub fn proc_address_v2(
    symbol: In<c_char>,
    function: Out<Key>,
    version: c_int,
    flags: u64,
    status: Out<c_uint>,
) -> Result {
    find_symbol(symbol, function, version, flags, Some(status))
}

/// Finds the newest version of a function. `CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM` (2) asks for
/// functions that aren't here.
fn find_symbol(
    symbol: In<c_char>,
    function: Out<Key>,
    version: c_int,
    flags: u64,
    status: Option<Out<c_uint>>,
) -> Result {
    const FOUND: c_uint = 0;
    const NOT_FOUND: c_uint = 1;
    let symbol = symbol.text()?;
    function.require()?;
    if flags > 2 || version <= 0 {
        return Err(Error::INVALID_VALUE);
    }
    let newest = format!("{symbol}_v2");
    let find = |name: &str| exports().iter().find(|e| e.0 == name).map(|e| e.1);
    let found = find(&newest).or_else(|| find(&symbol)).filter(|_| flags != 2);
    function.set(found.unwrap_or(0))?;
    match status {
        Some(status) => {
            status.set_if_wanted(if found.is_some() { FOUND } else { NOT_FOUND });
            Ok(())
        }
        None => found.map(drop).ok_or(Error::NOT_FOUND),
    }
}

/// `cuProfilerStart`, `cuProfilerStop`
pub fn profiler() -> Result {
    crate::core::context::current().map(drop)
}
