//! One method for each driver function: arguments in Rust's types, results as `Result`. Here those that need no context;
//! the rest is in [`super::memory`], [`super::module`] and [`super::stream`].

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use cudarc::driver::sys::{
    CUcontext, CUdevice, CUdevice_attribute, CUdeviceptr, CUevent, CUfunction, CUmodule, CUstream, CUuuid,
};

pub use super::module::Shape;
use super::status::{Result, check};
pub use super::stream::WaitFor;
use super::table::Driver;

/// An address in the device's address space.
pub type DevicePtr = CUdeviceptr;
/// A device's number, as the driver counts.
pub type Device = CUdevice;
/// A function that the driver calls on a thread of its own, behind the work of a stream. It must not call the driver.
pub type HostFunction = unsafe extern "C" fn(*mut c_void);

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident($raw:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(transparent)]
        pub struct $name(pub $raw);

        // SAFETY: a handle is a number to us, never dereferenced; the driver takes it from any thread.
        unsafe impl Send for $name {}
        // SAFETY: as above.
        unsafe impl Sync for $name {}
    };
}

handle!(
    /// A context (`CUcontext`).
    Context(CUcontext)
);
handle!(
    /// A stream (`CUstream`).
    Stream(CUstream)
);
handle!(
    /// An event (`CUevent`).
    Event(CUevent)
);
handle!(
    /// A loaded module (`CUmodule`).
    Module(CUmodule)
);
handle!(
    /// A kernel of a loaded module (`CUfunction`).
    Function(CUfunction)
);

impl Stream {
    /// The legacy NULL stream: waits for, and holds back, every stream that is not non-blocking.
    pub const NULL: Stream = Stream(ptr::null_mut());
}

impl Function {
    /// No function.
    pub const NONE: Function = Function(ptr::null_mut());
}

/// Process and devices. Callers need no context.
impl Driver {
    /// `cuInit`. May be called again.
    pub fn init(&self) -> Result<()> {
        // SAFETY: the only argument is the flags word, which must be 0.
        check("cuInit", unsafe { (self.init)(0) })
    }

    /// `cuDriverGetVersion`: 1000 * major + 10 * minor of the newest CUDA that the driver knows.
    pub fn version(&self) -> Result<u32> {
        let mut version = 0;
        // SAFETY: `version` is valid for the write.
        check("cuDriverGetVersion", unsafe { (self.driver_get_version)(&mut version) })?;
        Ok(version as u32)
    }

    /// `cuDeviceGetCount`
    pub fn device_count(&self) -> Result<usize> {
        let mut count = 0;
        // SAFETY: `count` is valid for the write.
        check("cuDeviceGetCount", unsafe { (self.device_get_count)(&mut count) })?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// `cuDeviceGet`
    pub fn device(&self, ordinal: usize) -> Result<Device> {
        let mut device = 0;
        // SAFETY: `device` is valid for the write.
        check("cuDeviceGet", unsafe { (self.device_get)(&mut device, ordinal as c_int) })?;
        Ok(device)
    }

    /// `cuDeviceGetAttribute`
    pub fn device_attribute(&self, device: Device, attribute: CUdevice_attribute) -> Result<i32> {
        let mut value = 0;
        // SAFETY: `value` is valid for the write.
        check("cuDeviceGetAttribute", unsafe { (self.device_get_attribute)(&mut value, attribute, device) })?;
        Ok(value)
    }

    /// `cuDeviceGetName`
    pub fn device_name(&self, device: Device) -> Result<String> {
        let mut name = [0 as c_char; 256];
        // SAFETY: the driver writes at most the given length, with the terminator.
        check("cuDeviceGetName", unsafe {
            (self.device_get_name)(name.as_mut_ptr(), name.len() as c_int, device)
        })?;
        Ok(text_of(&name))
    }

    /// `cuDeviceTotalMem`, in bytes.
    pub fn device_memory(&self, device: Device) -> Result<usize> {
        let mut bytes = 0;
        // SAFETY: `bytes` is valid for the write.
        check("cuDeviceTotalMem", unsafe { (self.device_total_mem)(&mut bytes, device) })?;
        Ok(bytes)
    }

    /// `cuDeviceGetUuid`, or `None` where the driver has no such function.
    pub fn device_uuid(&self, device: Device) -> Result<Option<[u8; 16]>> {
        let Some(get) = self.device_get_uuid else { return Ok(None) };
        let mut uuid = CUuuid { bytes: [0; 16] };
        // SAFETY: `uuid` is valid for the write.
        check("cuDeviceGetUuid", unsafe { get(&mut uuid, device) })?;
        Ok(Some(uuid.bytes.map(|byte| byte as u8)))
    }

    /// `cuDevicePrimaryCtxRetain`. Creates the context where nobody has yet.
    pub fn primary_context_retain(&self, device: Device) -> Result<Context> {
        let mut context = ptr::null_mut();
        // SAFETY: `context` is valid for the write.
        check("cuDevicePrimaryCtxRetain", unsafe { (self.primary_ctx_retain)(&mut context, device) })?;
        Ok(Context(context))
    }

    /// `cuDevicePrimaryCtxRelease`
    ///
    /// # Safety
    /// Pairs with one retain; the caller uses nothing of the context afterwards.
    pub unsafe fn primary_context_release(&self, device: Device) -> Result<()> {
        // SAFETY: the caller's promise.
        check("cuDevicePrimaryCtxRelease", unsafe { (self.primary_ctx_release)(device) })
    }

    /// `cuCtxGetCurrent` of this thread.
    pub fn current_context(&self) -> Result<Option<Context>> {
        let mut context = ptr::null_mut();
        // SAFETY: `context` is valid for the write.
        check("cuCtxGetCurrent", unsafe { (self.ctx_get_current)(&mut context) })?;
        Ok((!context.is_null()).then_some(Context(context)))
    }

    /// `cuCtxPushCurrent`
    pub fn push_context(&self, context: Context) -> Result<()> {
        // SAFETY: a handle that the driver gave us; it refuses one that is no longer alive.
        check("cuCtxPushCurrent", unsafe { (self.ctx_push_current)(context.0) })
    }

    /// `cuCtxPopCurrent`
    pub fn pop_context(&self) -> Result<()> {
        let mut context = ptr::null_mut();
        // SAFETY: `context` is valid for the write.
        check("cuCtxPopCurrent", unsafe { (self.ctx_pop_current)(&mut context) })
    }
}

fn text_of(chars: &[c_char]) -> String {
    let bytes: Vec<u8> = chars.iter().map(|c| *c as u8).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
