//! The driver table: which functions of the CUDA driver the plugin uses, which of them it cannot do without,
//! and where the library comes from.
//!
//! cudarc gives the types. Its loader is not used: it takes `libcuda.so` before `libcuda.so.1`, and the former is
//! the toolkit's stub on many build machines, it has no way to name a file, and it panics where a symbol is
//! missing.

use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use cudarc::driver::sys::{
    CUDA_KERNEL_NODE_PARAMS, CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUcontext, CUdevice, CUdevice_attribute,
    CUdeviceptr, CUevent, CUfunction, CUfunction_attribute, CUgraph, CUgraphExec, CUgraphNode, CUhostFn,
    CUjit_option, CUjitInputType, CUlimit, CUlinkState, CUmem_advise, CUmodule, CUoccupancyB2DSize,
    CUpointer_attribute, CUstream, CUstreamBatchMemOpParams, CUuuid,
};
use libloading::Library;

use crate::env::{self, DeviceChoice};

/// A driver function's result. Not cudarc's enumeration: a newer driver may return a code that it does not list.
pub(super) type Status = c_uint;

/// `CUstreamCallback` with a plain status.
pub(super) type StreamCallback = unsafe extern "C" fn(CUstream, Status, *mut c_void);

/// Why there is no driver table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadError {
    /// The library could not be loaded; holds the loader's own words.
    Library(String),
    /// The library lacks a function that the plugin needs.
    Symbol {
        /// Name of the missing function.
        symbol: &'static str,
    },
}

impl std::fmt::Display for LoadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LoadError::Library(why) => write!(f, "the CUDA driver library could not be loaded: {why}"),
            LoadError::Symbol { symbol } => write!(f, "the CUDA driver library has no function '{symbol}'"),
        }
    }
}

impl std::error::Error for LoadError {}

/// Declares the table. Each function has the names it is looked up by, best first.
macro_rules! table {
    (
        mandatory { $($m:ident [$($mn:literal),+] ($($ma:ty),*);)* }
        optional { $($o:ident [$($on:literal),+] ($($oa:ty),*);)* }
    ) => {
        /// The functions of a loaded driver.
        pub struct Driver {
            $(pub(super) $m: unsafe extern "C" fn($($ma),*) -> Status,)*
            $(pub(super) $o: Option<unsafe extern "C" fn($($oa),*) -> Status>,)*
        }

        /// Names of the functions without which the driver counts as absent, each with its alternatives.
        pub const MANDATORY: &[&[&str]] = &[$(&[$($mn),+]),*];

        /// Names of the functions that may be missing, each with its alternatives.
        pub const OPTIONAL: &[&[&str]] = &[$(&[$($on),+]),*];

        impl Driver {
            fn resolve(library: &Library) -> Result<Driver, LoadError> {
                Ok(Driver {
                    $($m: find(library, &[$($mn),+]).ok_or(LoadError::Symbol { symbol: [$($mn),+][0] })?,)*
                    $($o: find(library, &[$($on),+]),)*
                })
            }
        }
    };
}

table! {
    mandatory {
        init ["cuInit"] (c_uint);
        driver_get_version ["cuDriverGetVersion"] (*mut c_int);
        get_error_name ["cuGetErrorName"] (Status, *mut *const c_char);
        get_error_string ["cuGetErrorString"] (Status, *mut *const c_char);
        device_get_count ["cuDeviceGetCount"] (*mut c_int);
        device_get ["cuDeviceGet"] (*mut CUdevice, c_int);
        device_get_attribute ["cuDeviceGetAttribute"] (*mut c_int, CUdevice_attribute, CUdevice);
        device_get_name ["cuDeviceGetName"] (*mut c_char, c_int, CUdevice);
        device_total_mem ["cuDeviceTotalMem_v2"] (*mut usize, CUdevice);
        primary_ctx_retain ["cuDevicePrimaryCtxRetain"] (*mut CUcontext, CUdevice);
        primary_ctx_release ["cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxRelease"] (CUdevice);
        ctx_get_current ["cuCtxGetCurrent"] (*mut CUcontext);
        ctx_push_current ["cuCtxPushCurrent_v2"] (CUcontext);
        ctx_pop_current ["cuCtxPopCurrent_v2"] (*mut CUcontext);
        ctx_set_limit ["cuCtxSetLimit"] (CUlimit, usize);
        mem_alloc ["cuMemAlloc_v2"] (*mut CUdeviceptr, usize);
        mem_alloc_managed ["cuMemAllocManaged"] (*mut CUdeviceptr, usize, c_uint);
        mem_free ["cuMemFree_v2"] (CUdeviceptr);
        mem_host_alloc ["cuMemHostAlloc"] (*mut *mut c_void, usize, c_uint);
        mem_free_host ["cuMemFreeHost"] (*mut c_void);
        mem_get_info ["cuMemGetInfo_v2"] (*mut usize, *mut usize);
        mem_get_address_range ["cuMemGetAddressRange_v2"] (*mut CUdeviceptr, *mut usize, CUdeviceptr);
        pointer_get_attributes ["cuPointerGetAttributes"]
            (c_uint, *mut CUpointer_attribute, *mut *mut c_void, CUdeviceptr);
        memcpy_htod ["cuMemcpyHtoD_v2"] (CUdeviceptr, *const c_void, usize);
        memcpy_dtoh ["cuMemcpyDtoH_v2"] (*mut c_void, CUdeviceptr, usize);
        memcpy_htod_async ["cuMemcpyHtoDAsync_v2"] (CUdeviceptr, *const c_void, usize, CUstream);
        memcpy_dtoh_async ["cuMemcpyDtoHAsync_v2"] (*mut c_void, CUdeviceptr, usize, CUstream);
        memcpy_dtod_async ["cuMemcpyDtoDAsync_v2"] (CUdeviceptr, CUdeviceptr, usize, CUstream);
        memcpy_2d ["cuMemcpy2DUnaligned_v2"] (*const CUDA_MEMCPY2D);
        memcpy_2d_async ["cuMemcpy2DAsync_v2"] (*const CUDA_MEMCPY2D, CUstream);
        memcpy_3d ["cuMemcpy3D_v2"] (*const CUDA_MEMCPY3D);
        memset_d8_async ["cuMemsetD8Async"] (CUdeviceptr, u8, usize, CUstream);
        module_load_data ["cuModuleLoadData"] (*mut CUmodule, *const c_void);
        module_unload ["cuModuleUnload"] (CUmodule);
        module_get_function ["cuModuleGetFunction"] (*mut CUfunction, CUmodule, *const c_char);
        module_get_global ["cuModuleGetGlobal_v2"] (*mut CUdeviceptr, *mut usize, CUmodule, *const c_char);
        link_create ["cuLinkCreate_v2", "cuLinkCreate"]
            (c_uint, *mut CUjit_option, *mut *mut c_void, *mut CUlinkState);
        link_add_data ["cuLinkAddData_v2", "cuLinkAddData"]
            (CUlinkState, CUjitInputType, *mut c_void, usize, *const c_char, c_uint, *mut CUjit_option, *mut *mut c_void);
        link_complete ["cuLinkComplete"] (CUlinkState, *mut *mut c_void, *mut usize);
        link_destroy ["cuLinkDestroy"] (CUlinkState);
        func_get_attribute ["cuFuncGetAttribute"] (*mut c_int, CUfunction_attribute, CUfunction);
        occupancy_max_active_blocks ["cuOccupancyMaxActiveBlocksPerMultiprocessor"]
            (*mut c_int, CUfunction, c_int, usize);
        occupancy_max_potential_block_size ["cuOccupancyMaxPotentialBlockSize"]
            (*mut c_int, *mut c_int, CUfunction, CUoccupancyB2DSize, usize, c_int);
        launch_kernel ["cuLaunchKernel"]
            (CUfunction, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, CUstream, *mut *mut c_void, *mut *mut c_void);
        stream_create ["cuStreamCreate"] (*mut CUstream, c_uint);
        stream_destroy ["cuStreamDestroy_v2"] (CUstream);
        stream_query ["cuStreamQuery"] (CUstream);
        stream_synchronize ["cuStreamSynchronize"] (CUstream);
        stream_wait_event ["cuStreamWaitEvent"] (CUstream, CUevent, c_uint);
        event_create ["cuEventCreate"] (*mut CUevent, c_uint);
        event_destroy ["cuEventDestroy_v2"] (CUevent);
        event_record ["cuEventRecord"] (CUevent, CUstream);
        event_synchronize ["cuEventSynchronize"] (CUevent);
        stream_add_callback ["cuStreamAddCallback"] (CUstream, StreamCallback, *mut c_void, c_uint);
    }
    optional {
        device_get_uuid ["cuDeviceGetUuid_v2", "cuDeviceGetUuid"] (*mut CUuuid, CUdevice);
        mem_advise ["cuMemAdvise"] (CUdeviceptr, usize, CUmem_advise, CUdevice);
        launch_host_func ["cuLaunchHostFunc"] (CUstream, CUhostFn, *mut c_void);
        stream_wait_value_32 ["cuStreamWaitValue32_v2"] (CUstream, CUdeviceptr, u32, c_uint);
        stream_wait_value_64 ["cuStreamWaitValue64_v2"] (CUstream, CUdeviceptr, u64, c_uint);
        stream_write_value_32 ["cuStreamWriteValue32_v2"] (CUstream, CUdeviceptr, u32, c_uint);
        stream_write_value_64 ["cuStreamWriteValue64_v2"] (CUstream, CUdeviceptr, u64, c_uint);
        graph_create ["cuGraphCreate"] (*mut CUgraph, c_uint);
        graph_add_kernel_node ["cuGraphAddKernelNode_v2"]
            (*mut CUgraphNode, CUgraph, *const CUgraphNode, usize, *const CUDA_KERNEL_NODE_PARAMS);
        graph_instantiate ["cuGraphInstantiateWithFlags"] (*mut CUgraphExec, CUgraph, c_ulonglong);
        graph_exec_kernel_node_set_params ["cuGraphExecKernelNodeSetParams_v2"]
            (CUgraphExec, CUgraphNode, *const CUDA_KERNEL_NODE_PARAMS);
        graph_upload ["cuGraphUpload"] (CUgraphExec, CUstream);
        graph_launch ["cuGraphLaunch"] (CUgraphExec, CUstream);
        stream_batch_mem_op ["cuStreamBatchMemOp_v2"] (CUstream, c_uint, *mut CUstreamBatchMemOpParams, c_uint);
    }
}

/// Looks up the first of `names` that `library` has.
fn find<F: Copy>(library: &Library, names: &[&str]) -> Option<F> {
    names.iter().find_map(|name| {
        // SAFETY: every use of `find` is in `table!`, whose types are those of the CUDA driver API's header for
        // the named symbol; all of them are function pointers, so `F` has the size of the symbol's address.
        unsafe { library.get::<F>(name.as_bytes()) }.ok().map(|symbol| *symbol)
    })
}

static DRIVER: OnceLock<Result<Driver, LoadError>> = OnceLock::new();

/// The driver, loaded on first use. The library stays loaded until the process ends: the driver starts threads
/// and installs exit handlers of its own.
///
/// # Errors
/// Why there is none: no library, or one without a function of [`MANDATORY`].
pub fn driver() -> Result<&'static Driver, LoadError> {
    DRIVER.get_or_init(load).as_ref().map_err(Clone::clone)
}

/// The driver if some thread has loaded it, without loading it.
pub(super) fn loaded() -> Option<&'static Driver> {
    DRIVER.get().and_then(|driver| driver.as_ref().ok())
}

fn load() -> Result<Driver, LoadError> {
    let library = match env::settings().device {
        // The name that the stock plugin and the CUDA runtime load, too.
        DeviceChoice::Auto => open("libcuda.so.1".as_ref())?,
        DeviceChoice::Simulator => open(&simulator_path()?)?,
    };
    let driver = Driver::resolve(&library)?;
    std::mem::forget(library);
    Ok(driver)
}

fn open(path: &Path) -> Result<Library, LoadError> {
    // SAFETY: loading runs the library's initialisers. The name is the CUDA driver's or the simulator's, chosen by
    // the user's own environment; both may be loaded at any time and from any thread.
    unsafe { Library::new(path) }.map_err(|error| {
        // libloading's own words hide the loader's, which say what the user needs to know.
        let source = std::error::Error::source(&error).map(ToString::to_string);
        LoadError::Library(source.unwrap_or_else(|| error.to_string()))
    })
}

/// The simulator's library: `BOOMERANG_SIMULATOR`, else `../simulator/libcuda.so` seen from the plugin's folder.
fn simulator_path() -> Result<PathBuf, LoadError> {
    if let Some(path) = &env::settings().simulator {
        return Ok(path.clone());
    }
    let plugin = crate::abi::host::plugin_path().ok_or_else(|| {
        LoadError::Library("the plugin's own folder is unknown; set BOOMERANG_SIMULATOR".into())
    })?;
    let folder = plugin.parent().unwrap_or(Path::new("."));
    Ok(folder.join("../simulator/libcuda.so"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_is_listed_once() {
        let mut names: Vec<_> = MANDATORY.iter().chain(OPTIONAL).copied().flatten().collect();
        let listed = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), listed);
    }

    #[test]
    fn a_library_without_the_driver_api_is_refused_by_name_of_the_missing_function() {
        let library = open("libc.so.6".as_ref()).expect("libc is always there");
        let refused = Driver::resolve(&library).err();
        assert_eq!(refused, Some(LoadError::Symbol { symbol: "cuInit" }));
    }

    #[test]
    fn a_missing_library_is_reported_in_the_loaders_words() {
        let Err(LoadError::Library(why)) = open("/nonexistent/libcuda.so.1".as_ref()) else {
            panic!("loaded a file that does not exist")
        };
        assert!(why.contains("/nonexistent/libcuda.so.1"), "{why}");
    }
}
