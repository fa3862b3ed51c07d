//! Interoperability objects (OpenMP 5.1 to 6.0, `interop`): what a program gets to use CUDA or HIP beside OpenMP.

use std::ffi::{CStr, c_char, c_int, c_void};

use crate::device::Device;
use crate::driver::{Order, Stream};
use crate::error::Result;

/// `struct interop_obj_t` (libgomp-plugin.h). libgomp makes it, the plugin fills it in.
#[repr(C)]
#[derive(Debug)]
pub struct Object {
    /// A `CUstream` for `targetsync`, or null.
    pub stream: *mut c_void,
    /// The plugin's: the [`Device`].
    pub device_data: *mut c_void,
    /// The foreign runtime: `omp_interop_fr_t`.
    pub runtime: c_int,
    /// OpenMP's number of the device.
    pub device_num: c_int,
}

// As libgomp lays it out.
const _: () = assert!(size_of::<Object>() == 24);

/// A foreign runtime that objects can be for: `omp_interop_fr_t` (omp.h).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runtime {
    /// CUDA's runtime library.
    Cuda = 1,
    /// CUDA's driver.
    CudaDriver = 2,
    /// HIP for NVIDIA devices.
    Hip = 5,
}

impl Runtime {
    fn from_number(number: c_int) -> Option<Runtime> {
        [Runtime::Cuda, Runtime::CudaDriver, Runtime::Hip]
            .into_iter()
            .find(|runtime| *runtime as c_int == number)
    }
}

/// `enum gomp_interop_flag` (libgomp-plugin.h).
pub mod action {
    /// Fill in a new object.
    pub const INIT: i32 = 0;
    /// Wait for what the program enqueued.
    pub const USE: i32 = 1;
    /// Take the object back.
    pub const DESTROY: i32 = 2;
}

/// `omp_interop_property_t` (omp.h).
mod property {
    pub const RUNTIME_ID: i32 = -1;
    pub const RUNTIME_NAME: i32 = -2;
    pub const VENDOR: i32 = -3;
    pub const VENDOR_NAME: i32 = -4;
    pub const DEVICE_NUM: i32 = -5;
    pub const PLATFORM: i32 = -6;
    pub const DEVICE: i32 = -7;
    pub const DEVICE_CONTEXT: i32 = -8;
    pub const STREAM: i32 = -9;
}

/// NVIDIA's number in the OpenMP context definitions' list of vendors.
const VENDOR_NVIDIA: isize = 11;

/// The value of a property, in its own type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Int(isize),
    /// A handle.
    Pointer(*mut c_void),
    /// A handle that may be asked for as a number, too.
    Handle(*mut c_void),
    /// A text.
    Text(&'static CStr),
    /// The object has no such property.
    None,
}

/// `omp_interop_rc_t` (omp.h).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The value was returned.
    Success = 0,
    /// There is no value.
    NoValue = 1,
    /// No such property.
    OutOfRange = -2,
    /// The value is a number.
    IsInt = -3,
    /// The value is a pointer.
    IsPointer = -4,
    /// The value is a text.
    IsText = -5,
}

impl Object {
    /// The value of a property; `Err` for one that OpenMP does not know.
    fn value(&self, id: c_int) -> std::result::Result<Value, Outcome> {
        let Some(runtime) = Runtime::from_number(self.runtime) else { return Ok(Value::None) };
        // SAFETY: `init` stored it; devices live until the process ends.
        let device = unsafe { self.device_data.cast::<Device>().as_ref() };
        Ok(match id {
            property::RUNTIME_ID => Value::Int(runtime as isize),
            property::RUNTIME_NAME => Value::Text(match runtime {
                Runtime::Cuda => c"cuda",
                Runtime::CudaDriver => c"cuda_driver",
                Runtime::Hip => c"hip",
            }),
            property::VENDOR => Value::Int(VENDOR_NVIDIA),
            property::VENDOR_NAME => Value::Text(c"nvidia"),
            property::DEVICE_NUM => Value::Int(self.device_num as isize),
            property::PLATFORM => Value::None,
            property::DEVICE => device.map_or(Value::None, |device| Value::Int(*device.handle() as isize)),
            // CUDA's runtime library has no contexts.
            property::DEVICE_CONTEXT if runtime == Runtime::Cuda => Value::None,
            property::DEVICE_CONTEXT => {
                device.map_or(Value::None, |device| Value::Pointer(device.context.0.cast()))
            }
            property::STREAM if self.stream.is_null() => Value::None,
            property::STREAM => Value::Handle(self.stream),
            _ => return Err(Outcome::OutOfRange),
        })
    }

    /// A property as a number.
    pub fn int(&self, id: c_int) -> (isize, Outcome) {
        match self.value(id) {
            Ok(Value::Int(value)) => (value, Outcome::Success),
            Ok(Value::Handle(value)) => (value as isize, Outcome::Success),
            other => (0, mismatch(other)),
        }
    }

    /// A property as a pointer.
    pub fn pointer(&self, id: c_int) -> (*mut c_void, Outcome) {
        match self.value(id) {
            Ok(Value::Pointer(value) | Value::Handle(value)) => (value, Outcome::Success),
            other => (std::ptr::null_mut(), mismatch(other)),
        }
    }

    /// A property as a text.
    pub fn text(&self, id: c_int) -> (*const c_char, Outcome) {
        match self.value(id) {
            Ok(Value::Text(value)) => (value.as_ptr(), Outcome::Success),
            other => (std::ptr::null(), mismatch(other)),
        }
    }

    /// The C type of a property, or "N/A"; null for one whose type does not depend on the runtime.
    pub fn type_of(&self, id: c_int) -> *const c_char {
        let Some(runtime) = Runtime::from_number(self.runtime) else { return c"N/A".as_ptr() };
        let [device, context, stream] = match runtime {
            Runtime::Cuda => [c"int", c"N/A", c"cudaStream_t"],
            Runtime::CudaDriver => [c"CUdevice", c"CUcontext", c"CUstream"],
            Runtime::Hip => [c"hipDevice_t", c"hipCtx_t", c"hipStream_t"],
        };
        match id {
            property::PLATFORM => c"N/A".as_ptr(),
            property::DEVICE => device.as_ptr(),
            property::DEVICE_CONTEXT => context.as_ptr(),
            property::STREAM => stream.as_ptr(),
            _ => std::ptr::null(),
        }
    }

    /// Fills in a new object. `with_stream`: for `targetsync`.
    ///
    /// # Errors
    /// When the driver makes no stream.
    pub fn init(&mut self, device: &'static Device, with_stream: bool, runtime: Runtime) -> Result<()> {
        self.runtime = runtime as c_int;
        self.device_data = std::ptr::from_ref(device).cast_mut().cast();
        self.stream = std::ptr::null_mut();
        if with_stream {
            let _context = device.enter()?;
            // Ordered with the default stream, as CUDA programs expect of a stream that they are given.
            let stream = device.driver.create_stream(Order::AfterNull);
            self.stream = stream.map_err(|error| device.failed(error, || "interop".into()))?.0.cast();
        }
        Ok(())
    }

    /// Waits for what the program enqueued.
    ///
    /// # Errors
    /// When that failed.
    pub fn synchronize(&self, device: &'static Device) -> Result<()> {
        if self.stream.is_null() {
            return Ok(());
        }
        let _context = device.enter()?;
        let result = device.driver.synchronize_stream(Stream(self.stream.cast()));
        result.map_err(|error| device.failed(error, || "interop".into()))
    }

    /// Takes the object back.
    ///
    /// # Errors
    /// When the driver refuses.
    pub fn destroy(&mut self, device: &'static Device) -> Result<()> {
        if self.stream.is_null() {
            return Ok(());
        }
        let _context = device.enter()?;
        // SAFETY: `init` made the stream, and the program's object is destroyed.
        let result = unsafe { device.driver.destroy_stream(Stream(self.stream.cast())) };
        self.stream = std::ptr::null_mut();
        result.map_err(|error| device.failed(error, || "interop".into()))
    }
}

fn mismatch(value: std::result::Result<Value, Outcome>) -> Outcome {
    match value {
        Ok(Value::Int(_)) => Outcome::IsInt,
        Ok(Value::Pointer(_) | Value::Handle(_)) => Outcome::IsPointer,
        Ok(Value::Text(_)) => Outcome::IsText,
        Ok(Value::None) => Outcome::NoValue,
        Err(outcome) => outcome,
    }
}

/// `GOMP_INTEROP_IFR_SEPARATOR` (gomp-constants.h).
const SEPARATOR: u8 = 0x80;

/// The foreign runtime that the `prefer_type` modifier asks for, the first that we have; else CUDA's.
///
/// The compiler's encoding: any number of blocks, each a separator, the numbers of foreign runtimes, a separator, any number
/// of attribute strings ending in NUL, and an empty string. The list ends with a byte that is not a separator.
///
/// # Safety
/// `prefer` is null or points at such a list.
pub unsafe fn preferred(prefer: *const c_char) -> Runtime {
    let mut at = prefer.cast::<u8>();
    let mut next = || {
        // SAFETY: the caller's promise: reading stops at the end of the list.
        unsafe {
            let byte = *at;
            at = at.add(1);
            byte
        }
    };
    if prefer.is_null() {
        return Runtime::Cuda;
    }
    while next() == SEPARATOR {
        let mut found = None;
        loop {
            match next() {
                SEPARATOR => break,
                number => found = Runtime::from_number(c_int::from(number)).or(found),
            }
        }
        if let Some(runtime) = found {
            return runtime;
        }
        // Attributes: strings, then an empty one.
        while next() != 0 {
            while next() != 0 {}
        }
    }
    Runtime::Cuda
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(runtime: c_int, stream: usize) -> Object {
        Object { stream: stream as *mut c_void, device_data: std::ptr::null_mut(), runtime, device_num: 3 }
    }

    fn prefer(list: &[u8]) -> Runtime {
        // SAFETY: every list of the tests is complete.
        unsafe { preferred(list.as_ptr().cast()) }
    }

    #[test]
    fn the_first_known_preference_wins_and_cuda_is_the_default() {
        assert_eq!(prefer(b"\0"), Runtime::Cuda);
        assert_eq!(prefer(b"\x80\x02\x80\0\0"), Runtime::CudaDriver);
        assert_eq!(prefer(b"\x80\x05\x80\0\x80\x02\x80\0\0"), Runtime::Hip);
        assert_eq!(prefer(b"\x80\x03\x80\0\x80\x02\x80\0\0"), Runtime::CudaDriver, "OpenCL first");
        assert_eq!(
            prefer(b"\x80\x81\x80ompx_a\0ompx_b\0\0\x80\x05\x80\0\0"),
            Runtime::Hip,
            "attributes are skipped"
        );
        assert_eq!(prefer(b"\x80\x80\0\0"), Runtime::Cuda);
        // SAFETY: null is allowed.
        assert_eq!(unsafe { preferred(std::ptr::null()) }, Runtime::Cuda);
    }

    #[test]
    fn a_property_is_given_in_its_own_type_and_its_type_told_otherwise() {
        let object = object(Runtime::CudaDriver as c_int, 0x70);
        assert_eq!(object.int(property::RUNTIME_ID), (2, Outcome::Success));
        assert_eq!(object.int(property::VENDOR), (11, Outcome::Success));
        assert_eq!(object.int(property::DEVICE_NUM), (3, Outcome::Success));
        assert_eq!(object.int(property::VENDOR_NAME).1, Outcome::IsText);
        assert_eq!(object.pointer(property::VENDOR).1, Outcome::IsInt);
        assert_eq!(object.pointer(property::STREAM), (0x70 as *mut c_void, Outcome::Success));
        assert_eq!(object.int(property::STREAM), (0x70, Outcome::Success));
        assert_eq!(object.text(property::STREAM).1, Outcome::IsPointer);
        let (name, outcome) = object.text(property::RUNTIME_NAME);
        assert_eq!(outcome, Outcome::Success);
        // SAFETY: a constant of ours.
        assert_eq!(unsafe { CStr::from_ptr(name) }, c"cuda_driver");
    }

    #[test]
    fn what_an_object_lacks_has_no_value() {
        let object = object(Runtime::Cuda as c_int, 0);
        assert_eq!(object.pointer(property::STREAM).1, Outcome::NoValue);
        assert_eq!(object.pointer(property::DEVICE_CONTEXT).1, Outcome::NoValue);
        assert_eq!(object.int(property::PLATFORM).1, Outcome::NoValue);
        assert_eq!(object.int(-10).1, Outcome::OutOfRange);
        assert_eq!(self::object(9, 0).int(property::VENDOR).1, Outcome::NoValue);
    }
}
