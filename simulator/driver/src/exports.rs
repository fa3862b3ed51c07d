//! Every symbol that the library exports: name, parameters, the function behind it. What stands here is
//! implemented; what isn't implemented doesn't stand here.
//!
//! The names are those that `cuda.h` maps the functions to (`cuMemAlloc` is `cuMemAlloc_v2`). The plain
//! name is exported as well where both take the same parameters; where the plain symbol of a real driver
//! is the 32-bit interface of CUDA 3 (`cuMemAlloc` with a 32-bit pointer), it is not.

use crate::api::{
    context, device, event, graph, init, launch, link, memcpy, memop, memory, memset, module, pool, stream,
};
use crate::c::{In, Out};
use crate::core::handle::Key;
use crate::error::CUresult;
use crate::guard::{When, enter};
use crate::types::*;
use std::ffi::{c_char, c_int, c_uint, c_void};

/// Makes the C symbols, and [`exports()`] with their addresses.
macro_rules! exports {
    ($($when:ident { $($name:ident $(, $alias:ident)*: $parameters:tt = $body:path;)* })*) => {
        $($(
            exports!(@symbol $when $name $parameters $body);
            $(exports!(@symbol $when $alias $parameters $body);)*
        )*)*

        /// Every exported symbol with its address, for `cuGetProcAddress`.
        pub fn exports() -> &'static [(&'static str, Key)] {
            static EXPORTS: std::sync::LazyLock<Vec<(&str, Key)>> = std::sync::LazyLock::new(|| vec![
                $($((stringify!($name), $name as *const () as Key),
                $((stringify!($alias), $alias as *const () as Key),)*)*)*
            ]);
            &EXPORTS
        }
    };
    (@symbol $when:ident $name:ident ($($parameter:ident: $type:ty),*) $body:path) => {
        /// See the CUDA driver API's description of this function.
        ///
        /// # Safety
        /// Pointers must be what that description asks for.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        pub unsafe extern "C" fn $name($($parameter: $type),*) -> CUresult {
            enter(stringify!($name), When::$when, || $body($($parameter),*))
        }
    };
}

exports! {
    Always {
        cuGetErrorName: (error: CUresult, name: Out<CString>) = init::error_name;
        cuGetErrorString: (error: CUresult, text: Out<CString>) = init::error_string;
        boomerangSimCounts: (calls: Out<u64>, instructions: Out<u64>) = init::counts;
    }

    Alive {
        cuInit: (flags: c_uint) = init::init;
        cuDriverGetVersion: (version: Out<c_int>) = init::version;
        cuGetProcAddress: (symbol: In<c_char>, function: Out<Key>, version: c_int, flags: u64) = init::proc_address;
        cuGetProcAddress_v2: (symbol: In<c_char>, function: Out<Key>, version: c_int, flags: u64, status: Out<c_uint>)
            = init::proc_address_v2;
    }

    Initialized {
        // Devices
        cuDeviceGet: (device: Out<CUdevice>, ordinal: c_int) = device::get;
        cuDeviceGetCount: (count: Out<c_int>) = device::count;
        cuDeviceGetName: (name: Out<u8>, length: c_int, device: CUdevice) = device::name;
        cuDeviceGetUuid, cuDeviceGetUuid_v2: (uuid: Out<CUuuid>, device: CUdevice) = device::uuid;
        cuDeviceTotalMem_v2: (bytes: Out<usize>, device: CUdevice) = device::total_memory;
        cuDeviceGetAttribute: (value: Out<c_int>, attribute: c_uint, device: CUdevice) = device::attribute;
        cuDeviceGetPCIBusId: (id: Out<u8>, length: c_int, device: CUdevice) = device::pci_bus_id;
        cuDeviceGetByPCIBusId: (device: Out<CUdevice>, id: In<c_char>) = device::by_pci_bus_id;
        cuDeviceCanAccessPeer: (can: Out<c_int>, device: CUdevice, peer: CUdevice) = device::can_access_peer;
        cuDeviceGetP2PAttribute: (value: Out<c_int>, attribute: c_uint, from: CUdevice, to: CUdevice)
            = device::p2p_attribute;
        cuDeviceGetDefaultMemPool: (pool: Out<CUmemoryPool>, device: CUdevice) = pool::of_device;
        cuDeviceGetMemPool: (pool: Out<CUmemoryPool>, device: CUdevice) = pool::of_device;

        // Contexts
        cuDevicePrimaryCtxRetain: (context: Out<CUcontext>, device: CUdevice) = context::primary_retain;
        cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2: (device: CUdevice) = context::primary_release;
        cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2: (device: CUdevice) = context::primary_reset;
        cuDevicePrimaryCtxGetState: (device: CUdevice, flags: Out<c_uint>, active: Out<c_int>)
            = context::primary_state;
        cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags_v2: (device: CUdevice, flags: c_uint)
            = context::primary_set_flags;
        cuCtxCreate, cuCtxCreate_v2: (context: Out<CUcontext>, flags: c_uint, device: CUdevice) = context::create;
        cuCtxDestroy, cuCtxDestroy_v2: (context: CUcontext) = context::destroy;
        cuCtxPushCurrent, cuCtxPushCurrent_v2: (context: CUcontext) = context::push;
        cuCtxPopCurrent, cuCtxPopCurrent_v2: (context: Out<CUcontext>) = context::pop;
        cuCtxSetCurrent: (context: CUcontext) = context::set_current;
        cuCtxGetCurrent: (context: Out<CUcontext>) = context::get_current;
        cuCtxGetDevice: (device: Out<CUdevice>) = context::get_device;
        cuCtxGetFlags: (flags: Out<c_uint>) = context::get_flags;
        cuCtxGetId: (context: CUcontext, id: Out<u64>) = context::get_id;
        cuCtxGetApiVersion: (context: CUcontext, version: Out<c_uint>) = context::api_version;
        cuCtxGetLimit: (value: Out<usize>, limit: c_uint) = context::get_limit;
        cuCtxSetLimit: (limit: c_uint, value: usize) = context::set_limit;
        cuCtxGetStreamPriorityRange: (least: Out<c_int>, greatest: Out<c_int>) = context::priority_range;
        cuCtxSynchronize: () = context::synchronize;
        cuCtxEnablePeerAccess: (peer: CUcontext, flags: c_uint) = context::enable_peer_access;
        cuCtxDisablePeerAccess: (peer: CUcontext) = context::disable_peer_access;

        // Memory
        cuMemGetInfo_v2: (free: Out<usize>, total: Out<usize>) = memory::info;
        cuMemAlloc_v2: (address: Out<CUdeviceptr>, bytes: usize) = memory::alloc;
        cuMemAllocPitch_v2: (address: Out<CUdeviceptr>, pitch: Out<usize>, width: usize, height: usize,
            element: c_uint) = memory::alloc_pitch;
        cuMemAllocManaged: (address: Out<CUdeviceptr>, bytes: usize, flags: c_uint) = memory::alloc_managed;
        cuMemAdvise: (address: CUdeviceptr, bytes: usize, advice: c_uint, device: CUdevice) = memory::advise;
        cuMemFree_v2: (address: CUdeviceptr) = memory::free;
        cuMemAllocHost_v2: (address: Out<u64>, bytes: usize) = memory::alloc_host;
        cuMemHostAlloc: (address: Out<u64>, bytes: usize, flags: c_uint) = memory::host_alloc;
        cuMemFreeHost: (address: u64) = memory::free_host;
        cuMemHostRegister_v2: (address: u64, bytes: usize, flags: c_uint) = memory::host_register;
        cuMemHostUnregister: (address: u64) = memory::host_unregister;
        cuMemHostGetDevicePointer_v2: (device: Out<CUdeviceptr>, host: u64, flags: c_uint)
            = memory::host_device_pointer;
        cuMemHostGetFlags: (flags: Out<c_uint>, address: u64) = memory::host_flags;
        cuMemGetAddressRange_v2: (base: Out<CUdeviceptr>, bytes: Out<usize>, address: CUdeviceptr)
            = memory::address_range;
        cuPointerGetAttribute: (value: Out<c_void>, attribute: c_uint, address: CUdeviceptr)
            = memory::pointer_attribute;
        cuPointerGetAttributes: (count: c_uint, attributes: In<c_uint>, values: In<Out<c_void>>,
            address: CUdeviceptr) = memory::pointer_attributes;
        cuMemAllocAsync: (address: Out<CUdeviceptr>, bytes: usize, stream: CUstream) = pool::alloc_async;
        cuMemAllocFromPoolAsync: (address: Out<CUdeviceptr>, bytes: usize, pool: CUmemoryPool, stream: CUstream)
            = pool::alloc_from_pool_async;
        cuMemFreeAsync: (address: CUdeviceptr, stream: CUstream) = pool::free_async;
        cuMemPoolSetAttribute: (pool: CUmemoryPool, attribute: c_uint, value: In<u64>) = pool::set_attribute;
        cuMemPoolGetAttribute: (pool: CUmemoryPool, attribute: c_uint, value: Out<u64>) = pool::get_attribute;
        cuMemPoolTrimTo: (pool: CUmemoryPool, keep: usize) = pool::trim;

        // Copies
        cuMemcpy: (to: CUdeviceptr, from: CUdeviceptr, bytes: usize) = memcpy::unified;
        cuMemcpyAsync: (to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream) = memcpy::unified_async;
        cuMemcpyHtoD_v2: (to: CUdeviceptr, from: u64, bytes: usize) = memcpy::to_device;
        cuMemcpyHtoDAsync_v2: (to: CUdeviceptr, from: u64, bytes: usize, stream: CUstream)
            = memcpy::to_device_async;
        cuMemcpyDtoH_v2: (to: u64, from: CUdeviceptr, bytes: usize) = memcpy::to_host;
        cuMemcpyDtoHAsync_v2: (to: u64, from: CUdeviceptr, bytes: usize, stream: CUstream) = memcpy::to_host_async;
        cuMemcpyDtoD_v2: (to: CUdeviceptr, from: CUdeviceptr, bytes: usize) = memcpy::on_device;
        cuMemcpyDtoDAsync_v2: (to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream)
            = memcpy::on_device_async;
        cuMemcpyPeer: (to: CUdeviceptr, to_context: CUcontext, from: CUdeviceptr, from_context: CUcontext,
            bytes: usize) = memcpy::peer;
        cuMemcpyPeerAsync: (to: CUdeviceptr, to_context: CUcontext, from: CUdeviceptr, from_context: CUcontext,
            bytes: usize, stream: CUstream) = memcpy::peer_async;
        cuMemcpy2D_v2: (copy: In<CUDA_MEMCPY2D>) = memcpy::plane;
        cuMemcpy2DUnaligned_v2: (copy: In<CUDA_MEMCPY2D>) = memcpy::plane_unaligned;
        cuMemcpy2DAsync_v2: (copy: In<CUDA_MEMCPY2D>, stream: CUstream) = memcpy::plane_async;
        cuMemcpy3D_v2: (copy: In<CUDA_MEMCPY3D>) = memcpy::volume;
        cuMemcpy3DAsync_v2: (copy: In<CUDA_MEMCPY3D>, stream: CUstream) = memcpy::volume_async;
        cuMemcpy3DPeer: (copy: In<CUDA_MEMCPY3D>) = memcpy::volume_peer;
        cuMemcpy3DPeerAsync: (copy: In<CUDA_MEMCPY3D>, stream: CUstream) = memcpy::volume_peer_async;
        cuMemsetD8_v2: (to: CUdeviceptr, value: u8, count: usize) = memset::d8;
        cuMemsetD16_v2: (to: CUdeviceptr, value: u16, count: usize) = memset::d16;
        cuMemsetD32_v2: (to: CUdeviceptr, value: u32, count: usize) = memset::d32;
        cuMemsetD8Async: (to: CUdeviceptr, value: u8, count: usize, stream: CUstream) = memset::d8_async;
        cuMemsetD16Async: (to: CUdeviceptr, value: u16, count: usize, stream: CUstream) = memset::d16_async;
        cuMemsetD32Async: (to: CUdeviceptr, value: u32, count: usize, stream: CUstream) = memset::d32_async;
        cuMemsetD2D8_v2: (to: CUdeviceptr, pitch: usize, value: u8, width: usize, height: usize) = memset::d2d8;
        cuMemsetD2D8Async: (to: CUdeviceptr, pitch: usize, value: u8, width: usize, height: usize,
            stream: CUstream) = memset::d2d8_async;

        // Linking, modules, functions
        cuLinkCreate, cuLinkCreate_v2: (count: c_uint, options: In<c_uint>, values: In<u64>, link: Out<CUlinkState>)
            = link::create;
        cuLinkAddData, cuLinkAddData_v2: (link: CUlinkState, kind: c_uint, data: In<u8>, bytes: usize,
            name: In<c_char>, count: c_uint, options: In<c_uint>, values: In<u64>) = link::add_data;
        cuLinkComplete: (link: CUlinkState, image: Out<u64>, bytes: Out<usize>) = link::complete;
        cuLinkDestroy: (link: CUlinkState) = link::destroy;
        cuModuleLoad: (module: Out<CUmodule>, path: In<c_char>) = module::load_file;
        cuModuleLoadData: (module: Out<CUmodule>, image: In<u8>) = module::load;
        cuModuleLoadDataEx: (module: Out<CUmodule>, image: In<u8>, count: c_uint, options: In<c_uint>,
            values: In<u64>) = module::load_with_options;
        cuModuleUnload: (module: CUmodule) = module::unload;
        cuModuleGetFunction: (function: Out<CUfunction>, module: CUmodule, name: In<c_char>) = module::function;
        cuModuleGetGlobal_v2: (address: Out<CUdeviceptr>, bytes: Out<usize>, module: CUmodule, name: In<c_char>)
            = module::global;
        cuModuleGetLoadingMode: (mode: Out<c_uint>) = module::loading_mode;
        cuFuncLoad: (function: CUfunction) = module::load_function;
        cuFuncIsLoaded: (state: Out<c_uint>, function: CUfunction) = module::is_loaded;
        cuFuncGetModule: (module: Out<CUmodule>, function: CUfunction) = module::of_function;
        cuFuncGetName: (name: Out<CString>, function: CUfunction) = module::name;
        cuFuncGetAttribute: (value: Out<c_int>, attribute: c_uint, function: CUfunction) = module::attribute;
        cuFuncSetAttribute: (function: CUfunction, attribute: c_uint, value: c_int) = module::set_attribute;
        cuFuncSetCacheConfig: (function: CUfunction, preference: c_uint) = module::set_cache_config;

        // Launching
        cuLaunchKernel: (function: CUfunction, gx: c_uint, gy: c_uint, gz: c_uint, bx: c_uint, by: c_uint,
            bz: c_uint, shared: c_uint, stream: CUstream, parameters: In<u64>, extra: In<u64>) = launch::kernel;
        cuLaunchKernelEx: (config: In<CUlaunchConfig>, function: CUfunction, parameters: In<u64>, extra: In<u64>)
            = launch::kernel_ex;
        cuLaunchCooperativeKernel: (function: CUfunction, gx: c_uint, gy: c_uint, gz: c_uint, bx: c_uint,
            by: c_uint, bz: c_uint, shared: c_uint, stream: CUstream, parameters: In<u64>) = launch::cooperative;
        cuLaunchHostFunc: (stream: CUstream, function: Option<CUhostFn>, data: *mut c_void) = launch::host_function;
        cuOccupancyMaxActiveBlocksPerMultiprocessor: (blocks: Out<c_int>, function: CUfunction, threads: c_int,
            shared: usize) = launch::active_blocks;
        cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags: (blocks: Out<c_int>, function: CUfunction,
            threads: c_int, shared: usize, flags: c_uint) = launch::active_blocks_with_flags;
        cuOccupancyMaxPotentialBlockSize: (grid: Out<c_int>, block: Out<c_int>, function: CUfunction,
            shared_of_block: Option<CUoccupancyB2DSize>, shared: usize, limit: c_int)
            = launch::potential_block_size;
        cuOccupancyMaxPotentialBlockSizeWithFlags: (grid: Out<c_int>, block: Out<c_int>, function: CUfunction,
            shared_of_block: Option<CUoccupancyB2DSize>, shared: usize, limit: c_int, flags: c_uint)
            = launch::potential_block_size_with_flags;

        // Graphs
        cuGraphCreate: (graph: Out<CUgraph>, flags: c_uint) = graph::create;
        cuGraphDestroy: (graph: CUgraph) = graph::destroy;
        cuGraphAddKernelNode_v2: (node: Out<CUgraphNode>, graph: CUgraph, dependencies: In<CUgraphNode>,
            count: usize, parameters: In<CUDA_KERNEL_NODE_PARAMS>) = graph::add_kernel_node;
        cuGraphInstantiateWithFlags: (exec: Out<CUgraphExec>, graph: CUgraph, flags: u64) = graph::instantiate;
        cuGraphExecDestroy: (exec: CUgraphExec) = graph::destroy_exec;
        cuGraphExecKernelNodeSetParams_v2: (exec: CUgraphExec, node: CUgraphNode,
            parameters: In<CUDA_KERNEL_NODE_PARAMS>) = graph::set_kernel_node;
        cuGraphUpload: (exec: CUgraphExec, stream: CUstream) = graph::upload;
        cuGraphLaunch: (exec: CUgraphExec, stream: CUstream) = graph::launch;

        // Streams
        cuStreamCreate: (stream: Out<CUstream>, flags: c_uint) = stream::create;
        cuStreamCreateWithPriority: (stream: Out<CUstream>, flags: c_uint, priority: c_int)
            = stream::create_with_priority;
        cuStreamDestroy, cuStreamDestroy_v2: (stream: CUstream) = stream::destroy;
        cuStreamQuery: (stream: CUstream) = stream::query;
        cuStreamSynchronize: (stream: CUstream) = stream::synchronize;
        cuStreamWaitEvent: (stream: CUstream, event: CUevent, flags: c_uint) = stream::wait_event;
        cuStreamAddCallback: (stream: CUstream, callback: Option<CUstreamCallback>, data: *mut c_void,
            flags: c_uint) = stream::add_callback;
        cuStreamGetCtx: (stream: CUstream, context: Out<CUcontext>) = stream::context;
        cuStreamGetFlags: (stream: CUstream, flags: Out<c_uint>) = stream::flags;
        cuStreamGetPriority: (stream: CUstream, priority: Out<c_int>) = stream::priority;

        // Stream memory operations
        cuStreamWaitValue32, cuStreamWaitValue32_v2: (stream: CUstream, address: CUdeviceptr, value: u32,
            flags: c_uint) = memop::wait32;
        cuStreamWaitValue64, cuStreamWaitValue64_v2: (stream: CUstream, address: CUdeviceptr, value: u64,
            flags: c_uint) = memop::wait64;
        cuStreamWriteValue32, cuStreamWriteValue32_v2: (stream: CUstream, address: CUdeviceptr, value: u32,
            flags: c_uint) = memop::write32;
        cuStreamWriteValue64, cuStreamWriteValue64_v2: (stream: CUstream, address: CUdeviceptr, value: u64,
            flags: c_uint) = memop::write64;
        cuStreamBatchMemOp, cuStreamBatchMemOp_v2: (stream: CUstream, count: c_uint,
            operations: In<CUstreamBatchMemOp>, flags: c_uint) = memop::batch;

        // Events
        cuEventCreate: (event: Out<CUevent>, flags: c_uint) = event::create;
        cuEventDestroy, cuEventDestroy_v2: (event: CUevent) = event::destroy;
        cuEventRecord: (event: CUevent, stream: CUstream) = event::record;
        cuEventRecordWithFlags: (event: CUevent, stream: CUstream, flags: c_uint) = event::record_with_flags;
        cuEventQuery: (event: CUevent) = event::query;
        cuEventSynchronize: (event: CUevent) = event::synchronize;
        cuEventElapsedTime, cuEventElapsedTime_v2: (milliseconds: Out<f32>, start: CUevent, end: CUevent)
            = event::elapsed;

        // Profilers find nothing to do here.
        cuProfilerStart: () = init::profiler;
        cuProfilerStop: () = init::profiler;
    }
}
