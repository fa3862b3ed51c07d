//! The driver's result codes: number, name and description, as `cuda.h` gives them.

use std::ffi::CStr;

/// What a driver call returns: 0, or the number of an [`Error`].
pub type CUresult = u32;

/// A driver error by its number (any number, so that tests can inject codes unknown here).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Error(pub u32);

/// What the functions behind the entry points return.
pub type Result<T = ()> = std::result::Result<T, Error>;

macro_rules! errors {
    ($($name:ident = $code:literal, $text:literal;)*) => {
        #[allow(missing_docs)] // each is described by its text
        impl Error {
            $(pub const $name: Error = Error($code);)*
        }

        /// Name and description of a result code; `None` for a number that `cuda.h` doesn't list.
        pub fn describe(code: CUresult) -> Option<(&'static CStr, &'static CStr)> {
            let (name, text) = match code {
                0 => ("CUDA_SUCCESS\0", "no error\0"),
                $($code => (concat!("CUDA_ERROR_", stringify!($name), "\0"), concat!($text, "\0")),)*
                _ => return None,
            };
            let c = |s: &'static str| CStr::from_bytes_with_nul(s.as_bytes()).expect("one NUL, at the end");
            Some((c(name), c(text)))
        }
    };
}

errors! {
    INVALID_VALUE = 1, "invalid argument";
    OUT_OF_MEMORY = 2, "out of memory";
    NOT_INITIALIZED = 3, "initialization error";
    DEINITIALIZED = 4, "driver shutting down";
    PROFILER_DISABLED = 5, "profiler disabled while using external profiling tool";
    STUB_LIBRARY = 34, "CUDA driver is a stub library";
    DEVICE_UNAVAILABLE = 46, "CUDA-capable device(s) is/are busy or unavailable";
    NO_DEVICE = 100, "no CUDA-capable device is detected";
    INVALID_DEVICE = 101, "invalid device ordinal";
    DEVICE_NOT_LICENSED = 102, "device doesn't have valid Grid license";
    INVALID_IMAGE = 200, "device kernel image is invalid";
    INVALID_CONTEXT = 201, "invalid device context";
    MAP_FAILED = 205, "mapping of buffer object failed";
    UNMAP_FAILED = 206, "unmapping of buffer object failed";
    NO_BINARY_FOR_GPU = 209, "no kernel image is available for execution on the device";
    ECC_UNCORRECTABLE = 214, "uncorrectable ECC error encountered";
    UNSUPPORTED_LIMIT = 215, "limit is not supported on this architecture";
    CONTEXT_ALREADY_IN_USE = 216, "exclusive-thread device already in use by a different thread";
    PEER_ACCESS_UNSUPPORTED = 217, "peer access is not supported between these two devices";
    INVALID_PTX = 218, "a PTX JIT compilation failed";
    UNSUPPORTED_PTX_VERSION = 222, "the provided PTX was compiled with an unsupported toolchain.";
    INVALID_SOURCE = 300, "device kernel image is invalid";
    FILE_NOT_FOUND = 301, "file not found";
    SHARED_OBJECT_SYMBOL_NOT_FOUND = 302, "shared object symbol not found";
    SHARED_OBJECT_INIT_FAILED = 303, "shared object initialization failed";
    OPERATING_SYSTEM = 304, "OS call failed or operation not supported on this OS";
    INVALID_HANDLE = 400, "invalid resource handle";
    ILLEGAL_STATE = 401, "the operation cannot be performed in the present state";
    NOT_FOUND = 500, "named symbol not found";
    NOT_READY = 600, "device not ready";
    ILLEGAL_ADDRESS = 700, "an illegal memory access was encountered";
    LAUNCH_OUT_OF_RESOURCES = 701, "too many resources requested for launch";
    LAUNCH_TIMEOUT = 702, "the launch timed out and was terminated";
    PEER_ACCESS_ALREADY_ENABLED = 704, "peer access is already enabled";
    PEER_ACCESS_NOT_ENABLED = 705, "peer access has not been enabled";
    PRIMARY_CONTEXT_ACTIVE = 708, "cannot set while device is active in this process";
    CONTEXT_IS_DESTROYED = 709, "context is destroyed";
    ASSERT = 710, "device-side assert triggered";
    HOST_MEMORY_ALREADY_REGISTERED = 712, "part or all of the requested memory range is already mapped";
    HOST_MEMORY_NOT_REGISTERED = 713, "pointer does not correspond to a registered memory region";
    HARDWARE_STACK_ERROR = 714, "hardware stack error";
    ILLEGAL_INSTRUCTION = 715, "an illegal instruction was encountered";
    MISALIGNED_ADDRESS = 716, "misaligned address";
    INVALID_ADDRESS_SPACE = 717, "operation not supported on global/shared address space";
    INVALID_PC = 718, "invalid program counter";
    LAUNCH_FAILED = 719, "unspecified launch failure";
    COOPERATIVE_LAUNCH_TOO_LARGE = 720, "too many blocks in cooperative launch";
    NOT_PERMITTED = 800, "operation not permitted";
    NOT_SUPPORTED = 801, "operation not supported";
    SYSTEM_NOT_READY = 802, "system not yet initialized";
    SYSTEM_DRIVER_MISMATCH = 803, "system has unsupported display driver / cuda driver combination";
    COMPAT_NOT_SUPPORTED_ON_DEVICE = 804, "forward compatibility was attempted on non supported HW";
    MPS_CONNECTION_FAILED = 805, "MPS client failed to connect to the MPS control daemon or the MPS server";
    TIMEOUT = 909, "wait operation timed out";
    UNKNOWN = 999, "unknown error";
}

impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match describe(self.0) {
            Some((name, _)) => write!(f, "{} ({})", name.to_string_lossy(), self.0),
            None => write!(f, "error {}", self.0),
        }
    }
}

/// The number a C caller sees.
pub fn code(result: Result) -> CUresult {
    result.map_or_else(|e| e.0, |()| 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_the_name_and_text_of_cuda_h() {
        let (name, text) = describe(Error::INVALID_CONTEXT.0).unwrap();
        assert_eq!(name.to_str(), Ok("CUDA_ERROR_INVALID_CONTEXT"));
        assert_eq!(text.to_str(), Ok("invalid device context"));
        assert!(describe(12345).is_none());
    }
}
