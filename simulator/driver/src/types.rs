//! The C types of `cuda.h` that cross the boundary.

use std::ffi::{c_char, c_int, c_uint, c_void};

/// A device's ordinal.
pub type CUdevice = c_int;
/// An address valid on the device (and, for pinned and managed memory, on the host).
pub type CUdeviceptr = u64;

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// Never dereferenced: the value is a key of a table.
        #[repr(transparent)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct $name(pub usize);
    )*};
}

handles! {
    /// A context.
    CUcontext;
    /// A stream, or 0 (legacy default), 1 (legacy), 2 (per thread).
    CUstream;
    /// An event.
    CUevent;
    /// A loaded module.
    CUmodule;
    /// A kernel of a module.
    CUfunction;
    /// A link in progress.
    CUlinkState;
    /// A memory pool.
    CUmemoryPool;
    /// A graph.
    CUgraph;
    /// A node of a graph.
    CUgraphNode;
    /// A graph that can be launched.
    CUgraphExec;
}

/// The function that a host function or callback runs; see `cuLaunchHostFunc`.
pub type CUhostFn = unsafe extern "C" fn(*mut c_void);
/// See `cuStreamAddCallback`.
pub type CUstreamCallback = unsafe extern "C" fn(CUstream, c_uint, *mut c_void);
/// Dynamic shared memory as a function of the block size; see `cuOccupancyMaxPotentialBlockSize`.
pub type CUoccupancyB2DSize = unsafe extern "C" fn(c_int) -> usize;

/// A device's or an object's identity.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUuuid {
    /// The 16 bytes.
    pub bytes: [u8; 16],
}

/// `CU_MEMORYTYPE_HOST`.
pub const MEMORYTYPE_HOST: c_uint = 1;
/// `CU_MEMORYTYPE_DEVICE`.
pub const MEMORYTYPE_DEVICE: c_uint = 2;
/// `CU_MEMORYTYPE_UNIFIED`.
pub const MEMORYTYPE_UNIFIED: c_uint = 4;

/// `CUDA_MEMCPY2D`.
#[repr(C)]
#[allow(non_snake_case, missing_docs)] // the names and meanings are cuda.h's
#[derive(Clone, Copy)]
pub struct CUDA_MEMCPY2D {
    pub srcXInBytes: usize,
    pub srcY: usize,
    pub srcMemoryType: c_uint,
    pub srcHost: u64,
    pub srcDevice: CUdeviceptr,
    pub srcArray: u64,
    pub srcPitch: usize,
    pub dstXInBytes: usize,
    pub dstY: usize,
    pub dstMemoryType: c_uint,
    pub dstHost: u64,
    pub dstDevice: CUdeviceptr,
    pub dstArray: u64,
    pub dstPitch: usize,
    pub WidthInBytes: usize,
    pub Height: usize,
}

/// `CUDA_MEMCPY3D` and, with contexts in the reserved words, `CUDA_MEMCPY3D_PEER`.
#[repr(C)]
#[allow(non_snake_case, missing_docs)] // the names and meanings are cuda.h's
#[derive(Clone, Copy)]
pub struct CUDA_MEMCPY3D {
    pub srcXInBytes: usize,
    pub srcY: usize,
    pub srcZ: usize,
    pub srcLOD: usize,
    pub srcMemoryType: c_uint,
    pub srcHost: u64,
    pub srcDevice: CUdeviceptr,
    pub srcArray: u64,
    pub srcContext: CUcontext,
    pub srcPitch: usize,
    pub srcHeight: usize,
    pub dstXInBytes: usize,
    pub dstY: usize,
    pub dstZ: usize,
    pub dstLOD: usize,
    pub dstMemoryType: c_uint,
    pub dstHost: u64,
    pub dstDevice: CUdeviceptr,
    pub dstArray: u64,
    pub dstContext: CUcontext,
    pub dstPitch: usize,
    pub dstHeight: usize,
    pub WidthInBytes: usize,
    pub Height: usize,
    pub Depth: usize,
}

/// One operation of `cuStreamBatchMemOp`: the members that wait and write share.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUstreamBatchMemOp {
    /// `CUstreamBatchMemOpType`.
    pub operation: c_uint,
    /// The word waited for or written.
    pub address: CUdeviceptr,
    /// 32-bit operations use the low half.
    pub value: u64,
    /// As in the single calls.
    pub flags: c_uint,
    /// For the driver's own use.
    pub alias: CUdeviceptr,
    /// The union is six 64-bit words.
    pub padding: u64,
}

/// `CUlaunchConfig`; attributes are opaque here.
#[repr(C)]
#[allow(non_snake_case, missing_docs)] // the names and meanings are cuda.h's
#[derive(Clone, Copy)]
pub struct CUlaunchConfig {
    pub gridDimX: c_uint,
    pub gridDimY: c_uint,
    pub gridDimZ: c_uint,
    pub blockDimX: c_uint,
    pub blockDimY: c_uint,
    pub blockDimZ: c_uint,
    pub sharedMemBytes: c_uint,
    pub hStream: CUstream,
    pub attrs: *const c_void,
    pub numAttrs: c_uint,
}

/// `CUDA_KERNEL_NODE_PARAMS` (`_v2`).
#[repr(C)]
#[allow(non_snake_case, missing_docs)] // the names and meanings are cuda.h's
#[derive(Clone, Copy)]
pub struct CUDA_KERNEL_NODE_PARAMS {
    pub func: CUfunction,
    pub gridDimX: c_uint,
    pub gridDimY: c_uint,
    pub gridDimZ: c_uint,
    pub blockDimX: c_uint,
    pub blockDimY: c_uint,
    pub blockDimZ: c_uint,
    pub sharedMemBytes: c_uint,
    pub kernelParams: u64,
    pub extra: u64,
    pub kern: u64,
    pub ctx: CUcontext,
}

/// A C string out of the driver.
pub type CString = *const c_char;

const _: () = {
    // The sizes that a C compiler gives these structures on a 64-bit machine.
    assert!(size_of::<CUDA_MEMCPY2D>() == 128);
    assert!(size_of::<CUDA_MEMCPY3D>() == 200);
    assert!(size_of::<CUstreamBatchMemOp>() == 48);
    assert!(size_of::<CUlaunchConfig>() == 56);
    assert!(size_of::<CUDA_KERNEL_NODE_PARAMS>() == 72);
};
