//! Status codes of the driver, and errors made of them.

use std::ffi::{CStr, c_char};
use std::{fmt, ptr};

use cudarc::driver::sys::CUresult;

use super::table::{self, Status};

/// A driver function's status code (`CUresult`).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Code(pub u32);

impl Code {
    /// The driver is shutting down: the process is at its end.
    pub const DEINITIALIZED: Code = Code(CUresult::CUDA_ERROR_DEINITIALIZED as u32);
    /// No memory left.
    pub const OUT_OF_MEMORY: Code = Code(CUresult::CUDA_ERROR_OUT_OF_MEMORY as u32);
    /// The work asked about is still running.
    pub const NOT_READY: Code = Code(CUresult::CUDA_ERROR_NOT_READY as u32);
    /// The named symbol is not in the module.
    pub const NOT_FOUND: Code = Code(CUresult::CUDA_ERROR_NOT_FOUND as u32);
    /// The driver lacks the function, or the device the ability.
    pub const NOT_SUPPORTED: Code = Code(CUresult::CUDA_ERROR_NOT_SUPPORTED as u32);
    /// A kernel stopped by itself (trap, as `abort` does) or by an unnamed fault.
    pub const LAUNCH_FAILED: Code = Code(CUresult::CUDA_ERROR_LAUNCH_FAILED as u32);
    /// A kernel used an address that is not mapped.
    pub const ILLEGAL_ADDRESS: Code = Code(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS as u32);

    /// Whether the code tells of a fault of a kernel, after which the context is of no use: the range that the
    /// driver's documentation says leaves the process "in an inconsistent state".
    pub fn is_fault(self) -> bool {
        use CUresult::*;
        [
            CUDA_ERROR_ILLEGAL_ADDRESS,
            CUDA_ERROR_LAUNCH_TIMEOUT,
            CUDA_ERROR_ASSERT,
            CUDA_ERROR_HARDWARE_STACK_ERROR,
            CUDA_ERROR_ILLEGAL_INSTRUCTION,
            CUDA_ERROR_MISALIGNED_ADDRESS,
            CUDA_ERROR_INVALID_ADDRESS_SPACE,
            CUDA_ERROR_INVALID_PC,
            CUDA_ERROR_LAUNCH_FAILED,
            CUDA_ERROR_ECC_UNCORRECTABLE,
        ]
        .iter()
        .any(|code| *code as u32 == self.0)
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = table::loaded().and_then(|driver| lookup_text(driver.get_error_string, self.0));
        let name = table::loaded().and_then(|driver| lookup_text(driver.get_error_name, self.0));
        match (text, name) {
            (Some(text), Some(name)) => write!(f, "{text} ({name}, {})", self.0),
            _ => write!(f, "CUDA error {}", self.0),
        }
    }
}

fn lookup_text(
    get: unsafe extern "C" fn(Status, *mut *const c_char) -> Status,
    code: Status,
) -> Option<&'static str> {
    let mut text = ptr::null();
    // SAFETY: `text` is valid for the write; the function takes any code, before cuInit as well.
    let status = unsafe { get(code, &mut text) };
    if status != 0 || text.is_null() {
        return None;
    }
    // SAFETY: the driver returns a string constant of its own, which is never unloaded (table.rs).
    unsafe { CStr::from_ptr(text) }.to_str().ok()
}

/// A driver call that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CudaError {
    /// Name of the driver function.
    pub call: &'static str,
    /// What it returned.
    pub code: Code,
}

impl fmt::Display for CudaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} error: {}", self.call, self.code)
    }
}

impl std::error::Error for CudaError {}

/// Result of a driver call.
pub type Result<T> = std::result::Result<T, CudaError>;

pub(super) fn check(call: &'static str, status: Status) -> Result<()> {
    if status == CUresult::CUDA_SUCCESS as u32 { Ok(()) } else { Err(CudaError { call, code: Code(status) }) }
}

/// For queries: whether the work is done.
pub(super) fn check_ready(call: &'static str, status: Status) -> Result<bool> {
    if status == Code::NOT_READY.0 { Ok(false) } else { check(call, status).map(|()| true) }
}

pub(super) fn missing<T>(call: &'static str, function: Option<T>) -> Result<T> {
    function.ok_or(CudaError { call, code: Code::NOT_SUPPORTED })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_call_and_the_code() {
        let error = CudaError { call: "cuMemAlloc", code: Code::OUT_OF_MEMORY };
        assert!(error.to_string().starts_with("cuMemAlloc error: "));
        assert!(error.to_string().contains('2'));
    }

    #[test]
    fn only_device_faults_count_as_faults() {
        assert!(Code::ILLEGAL_ADDRESS.is_fault());
        assert!(Code::LAUNCH_FAILED.is_fault());
        for code in [Code::OUT_OF_MEMORY, Code::NOT_READY, Code::DEINITIALIZED] {
            assert!(!code.is_fault());
        }
    }

    #[test]
    fn not_ready_is_an_answer_and_not_an_error() {
        assert_eq!(check_ready("cuStreamQuery", Code::NOT_READY.0), Ok(false));
        assert_eq!(check_ready("cuStreamQuery", 0), Ok(true));
        assert!(check_ready("cuStreamQuery", Code::LAUNCH_FAILED.0).is_err());
    }
}
