//! What the plugin calls in libgomp for OpenACC. A program that drives the plugin without libgomp has nothing like it.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::{self, NonNull};
use std::sync::OnceLock;

use libloading::os::unix::Library;

use super::{REGISTERED, libgomp_library};
use crate::openacc::profiling::{ApiInfo, ProfInfo};

/// libgomp's functions (oacc-plugin.h).
struct Functions {
    acc_thread: unsafe extern "C" fn() -> *mut c_void,
    goacc_thread: unsafe extern "C" fn() -> *mut Thread,
    default_dim: unsafe extern "C" fn(c_uint) -> c_int,
    dispatch: unsafe extern "C" fn(*mut ProfInfo, *mut c_void, *mut ApiInfo),
}

/// `struct goacc_thread` (oacc-int.h of libgomp 14 to 16), as far as it matters here.
#[repr(C)]
struct Thread {
    /// The base device, the device, the device bound before, and the mapped data.
    _unused: [*mut c_void; 4],
    prof_info: *mut ProfInfo,
    api_info: *mut ApiInfo,
}

fn functions() -> Option<&'static Functions> {
    static FUNCTIONS: OnceLock<Option<Functions>> = OnceLock::new();
    let find = || {
        let library = libgomp_library();
        let functions = find(&library);
        // As for the other functions of libgomp.
        std::mem::forget(library);
        functions
    };
    FUNCTIONS.get_or_init(find).as_ref().filter(|_| REGISTERED.get().is_none())
}

fn find(library: &Library) -> Option<Functions> {
    // SAFETY: the types are those of oacc-plugin.h, the same in libgomp 14 to 16.
    unsafe {
        Some(Functions {
            acc_thread: *library.get(b"GOMP_PLUGIN_acc_thread").ok()?,
            goacc_thread: *library.get(b"GOMP_PLUGIN_goacc_thread").ok()?,
            default_dim: *library.get(b"GOMP_PLUGIN_acc_default_dim").ok()?,
            dispatch: *library.get(b"GOMP_PLUGIN_goacc_profiling_dispatch").ok()?,
        })
    }
}

/// What `openacc_create_thread_data` gave libgomp for this thread, or null.
pub fn thread_data() -> *mut c_void {
    // SAFETY: takes nothing, and may be called on any thread.
    functions().map_or(ptr::null_mut(), |functions| unsafe { (functions.acc_thread)() })
}

/// Gangs, workers and vector length that GOMP_OPENACC_DIM asks for, 0 where it does not.
pub fn default_dims() -> [u32; 3] {
    let Some(functions) = functions() else { return [0; 3] };
    // SAFETY: there are three dimensions.
    [0, 1, 2].map(|dimension| u32::try_from(unsafe { (functions.default_dim)(dimension) }).unwrap_or(0))
}

/// A construct of this thread that callbacks of the program's are told about.
pub struct Profiled {
    functions: &'static Functions,
    prof_info: NonNull<ProfInfo>,
    api_info: NonNull<ApiInfo>,
}

/// The construct that this thread is at, if it is to be profiled.
pub fn profiled() -> Option<Profiled> {
    let functions = functions()?;
    // SAFETY: takes nothing; the result is null or this thread's own data, which nobody else writes.
    let thread = unsafe { (functions.goacc_thread)().as_ref() }?;
    Some(Profiled {
        functions,
        prof_info: NonNull::new(thread.prof_info)?,
        api_info: NonNull::new(thread.api_info)?,
    })
}

impl Profiled {
    /// Calls the program's callbacks for an event of CUDA's.
    ///
    /// # Safety
    /// `event` is an `acc_event_info` (acc_prof.h) of the kind that `event_type` says.
    pub unsafe fn dispatch<T>(&self, event_type: c_int, event: &mut T) {
        // SAFETY: both live until the construct ends, and this thread is inside of it.
        unsafe {
            self.prof_info.write(ProfInfo { event_type });
            self.api_info.write(ApiInfo { device_api: ApiInfo::CUDA });
        }
        // SAFETY: as above, and the caller's promise.
        unsafe {
            (self.functions.dispatch)(
                self.prof_info.as_ptr(),
                (&raw mut *event).cast(),
                self.api_info.as_ptr(),
            );
        }
    }
}
