//! What the tests share: the driver as a C program sees it, and a context of one's own.

#![allow(dead_code)] // each test file uses its part

use cuda as _; // links the library

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::process::{Command, Output};
use std::ptr::{null, null_mut};
use std::time::{Duration, Instant};

pub type Handle = *mut c_void;
pub type HostFn = unsafe extern "C" fn(*mut c_void);

unsafe extern "C" {
    pub fn cuInit(flags: c_uint) -> u32;
    pub fn boomerangSimCounts(calls: *mut u64, instructions: *mut u64) -> u32;
    pub fn cuDriverGetVersion(version: *mut c_int) -> u32;
    pub fn cuGetErrorString(error: u32, text: *mut *const c_char) -> u32;
    pub fn cuGetProcAddress_v2(
        name: *const c_char,
        f: *mut Handle,
        version: c_int,
        flags: u64,
        status: *mut c_uint,
    ) -> u32;
    pub fn cuDeviceGet(device: *mut c_int, ordinal: c_int) -> u32;
    pub fn cuDeviceGetCount(count: *mut c_int) -> u32;
    pub fn cuDeviceGetName(name: *mut c_char, length: c_int, device: c_int) -> u32;
    pub fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_uint, device: c_int) -> u32;
    pub fn cuDevicePrimaryCtxRetain(context: *mut Handle, device: c_int) -> u32;
    pub fn cuDevicePrimaryCtxRelease_v2(device: c_int) -> u32;
    pub fn cuCtxCreate_v2(context: *mut Handle, flags: c_uint, device: c_int) -> u32;
    pub fn cuCtxDestroy_v2(context: Handle) -> u32;
    pub fn cuCtxSetCurrent(context: Handle) -> u32;
    pub fn cuCtxGetCurrent(context: *mut Handle) -> u32;
    pub fn cuCtxPushCurrent_v2(context: Handle) -> u32;
    pub fn cuCtxPopCurrent_v2(context: *mut Handle) -> u32;
    pub fn cuCtxSynchronize() -> u32;
    pub fn cuCtxEnablePeerAccess(peer: Handle, flags: c_uint) -> u32;
    pub fn cuCtxDisablePeerAccess(peer: Handle) -> u32;
    pub fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> u32;
    pub fn cuMemAlloc_v2(address: *mut u64, bytes: usize) -> u32;
    pub fn cuMemAllocManaged(address: *mut u64, bytes: usize, flags: c_uint) -> u32;
    pub fn cuMemAdvise(address: u64, bytes: usize, advice: c_uint, device: c_int) -> u32;
    pub fn cuMemAllocAsync(address: *mut u64, bytes: usize, stream: Handle) -> u32;
    pub fn cuMemFree_v2(address: u64) -> u32;
    pub fn cuMemFreeAsync(address: u64, stream: Handle) -> u32;
    pub fn cuMemHostAlloc(address: *mut *mut c_void, bytes: usize, flags: c_uint) -> u32;
    pub fn cuMemFreeHost(address: *mut c_void) -> u32;
    pub fn cuMemHostRegister_v2(address: *mut c_void, bytes: usize, flags: c_uint) -> u32;
    pub fn cuMemHostUnregister(address: *mut c_void) -> u32;
    pub fn cuMemHostGetDevicePointer_v2(device: *mut u64, host: *mut c_void, flags: c_uint) -> u32;
    pub fn cuMemGetAddressRange_v2(base: *mut u64, bytes: *mut usize, address: u64) -> u32;
    pub fn cuPointerGetAttribute(value: *mut c_void, attribute: c_uint, address: u64) -> u32;
    pub fn cuMemcpy(to: u64, from: u64, bytes: usize) -> u32;
    pub fn cuMemcpyHtoD_v2(to: u64, from: *const c_void, bytes: usize) -> u32;
    pub fn cuMemcpyDtoH_v2(to: *mut c_void, from: u64, bytes: usize) -> u32;
    pub fn cuMemcpyHtoDAsync_v2(to: u64, from: *const c_void, bytes: usize, stream: Handle) -> u32;
    pub fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: u64, bytes: usize, stream: Handle) -> u32;
    pub fn cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize) -> u32;
    pub fn cuMemcpy2D_v2(copy: *const Plane) -> u32;
    pub fn cuMemcpy3D_v2(copy: *const Volume) -> u32;
    pub fn cuMemsetD8_v2(to: u64, value: u8, count: usize) -> u32;
    pub fn cuMemsetD32_v2(to: u64, value: u32, count: usize) -> u32;
    pub fn cuMemsetD32Async(to: u64, value: u32, count: usize, stream: Handle) -> u32;
    pub fn cuLinkCreate_v2(count: c_uint, options: *const c_uint, values: *mut u64, link: *mut Handle)
    -> u32;
    pub fn cuLinkAddData_v2(
        link: Handle,
        kind: c_uint,
        data: *const c_void,
        bytes: usize,
        name: *const c_char,
        count: c_uint,
        options: *const c_uint,
        values: *mut u64,
    ) -> u32;
    pub fn cuLinkComplete(link: Handle, image: *mut *const c_void, bytes: *mut usize) -> u32;
    pub fn cuLinkDestroy(link: Handle) -> u32;
    pub fn cuModuleLoadData(module: *mut Handle, image: *const c_void) -> u32;
    pub fn cuModuleLoadDataEx(
        module: *mut Handle,
        image: *const c_void,
        count: c_uint,
        options: *const c_uint,
        values: *mut u64,
    ) -> u32;
    pub fn cuModuleUnload(module: Handle) -> u32;
    pub fn cuModuleGetFunction(function: *mut Handle, module: Handle, name: *const c_char) -> u32;
    pub fn cuModuleGetGlobal_v2(
        address: *mut u64,
        bytes: *mut usize,
        module: Handle,
        name: *const c_char,
    ) -> u32;
    pub fn cuFuncLoad(function: Handle) -> u32;
    pub fn cuLaunchKernel(
        function: Handle,
        gx: c_uint,
        gy: c_uint,
        gz: c_uint,
        bx: c_uint,
        by: c_uint,
        bz: c_uint,
        shared: c_uint,
        stream: Handle,
        parameters: *const *const c_void,
        extra: *const *const c_void,
    ) -> u32;
    pub fn cuLaunchHostFunc(stream: Handle, function: HostFn, data: *mut c_void) -> u32;
    pub fn cuStreamCreate(stream: *mut Handle, flags: c_uint) -> u32;
    pub fn cuStreamDestroy_v2(stream: Handle) -> u32;
    pub fn cuStreamQuery(stream: Handle) -> u32;
    pub fn cuStreamSynchronize(stream: Handle) -> u32;
    pub fn cuStreamWaitEvent(stream: Handle, event: Handle, flags: c_uint) -> u32;
    pub fn cuStreamWaitValue32_v2(stream: Handle, address: u64, value: u32, flags: c_uint) -> u32;
    pub fn cuStreamWaitValue64_v2(stream: Handle, address: u64, value: u64, flags: c_uint) -> u32;
    pub fn cuStreamBatchMemOp_v2(stream: Handle, count: c_uint, ops: *const MemOp, flags: c_uint) -> u32;
    pub fn cuStreamAddCallback(stream: Handle, f: Callback, data: *mut c_void, flags: c_uint) -> u32;
    pub fn cuDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int) -> u32;
    pub fn cuMemcpyPeer(to: u64, to_context: Handle, from: u64, from_context: Handle, bytes: usize) -> u32;
    pub fn cuMemcpyPeerAsync(
        to: u64,
        to_context: Handle,
        from: u64,
        from_context: Handle,
        bytes: usize,
        stream: Handle,
    ) -> u32;
    pub fn cuDeviceGetUuid_v2(uuid: *mut [u8; 16], device: c_int) -> u32;
    pub fn cuStreamWriteValue64_v2(stream: Handle, address: u64, value: u64, flags: c_uint) -> u32;
    pub fn cuEventCreate(event: *mut Handle, flags: c_uint) -> u32;
    pub fn cuEventDestroy_v2(event: Handle) -> u32;
    pub fn cuEventRecord(event: Handle, stream: Handle) -> u32;
    pub fn cuEventQuery(event: Handle) -> u32;
    pub fn cuEventSynchronize(event: Handle) -> u32;
    pub fn cuEventElapsedTime(milliseconds: *mut f32, start: Handle, end: Handle) -> u32;
}

pub type Callback = unsafe extern "C" fn(Handle, u32, *mut c_void);

/// `CUstreamBatchMemOpParams`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct MemOp {
    pub operation: c_uint,
    pub address: u64,
    pub value: u64,
    pub flags: c_uint,
    pub alias: u64,
    pub padding: u64,
}

/// `CUDA_MEMCPY2D`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Plane {
    pub src_x: usize,
    pub src_y: usize,
    pub src_type: c_uint,
    pub src_host: *const c_void,
    pub src_device: u64,
    pub src_array: Handle,
    pub src_pitch: usize,
    pub dst_x: usize,
    pub dst_y: usize,
    pub dst_type: c_uint,
    pub dst_host: *mut c_void,
    pub dst_device: u64,
    pub dst_array: Handle,
    pub dst_pitch: usize,
    pub width: usize,
    pub height: usize,
}

/// `CUDA_MEMCPY3D`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Volume {
    pub src_x: usize,
    pub src_y: usize,
    pub src_z: usize,
    pub src_lod: usize,
    pub src_type: c_uint,
    pub src_host: *const c_void,
    pub src_device: u64,
    pub src_array: Handle,
    pub reserved0: Handle,
    pub src_pitch: usize,
    pub src_height: usize,
    pub dst_x: usize,
    pub dst_y: usize,
    pub dst_z: usize,
    pub dst_lod: usize,
    pub dst_type: c_uint,
    pub dst_host: *mut c_void,
    pub dst_device: u64,
    pub dst_array: Handle,
    pub reserved1: Handle,
    pub dst_pitch: usize,
    pub dst_height: usize,
    pub width: usize,
    pub height: usize,
    pub depth: usize,
}

pub const OK: u32 = 0;
pub const INVALID_VALUE: u32 = 1;
pub const OUT_OF_MEMORY: u32 = 2;
pub const NOT_INITIALIZED: u32 = 3;
pub const INVALID_DEVICE: u32 = 101;
pub const INVALID_CONTEXT: u32 = 201;
pub const INVALID_PTX: u32 = 218;
pub const INVALID_HANDLE: u32 = 400;
pub const NOT_FOUND: u32 = 500;
pub const NOT_READY: u32 = 600;
pub const ILLEGAL_ADDRESS: u32 = 700;
pub const LAUNCH_TIMEOUT: u32 = 702;
pub const CONTEXT_IS_DESTROYED: u32 = 709;
pub const NOT_PERMITTED: u32 = 800;
pub const NOT_SUPPORTED: u32 = 801;

pub const NON_BLOCKING: u32 = 1;
pub const EQ: u32 = 1;
pub const NULL_STREAM: Handle = null_mut();

/// A driver call that must succeed. The tests' pointers are valid for their calls.
macro_rules! ok {
    ($call:expr) => {
        assert_eq!(code!($call), 0, "{}", stringify!($call))
    };
}

/// A driver call's result code.
macro_rules! code {
    ($call:expr) => {{
        // SAFETY: the arguments are valid for the call, or invalid in a way that the driver must notice.
        unsafe { $call }
    }};
}

pub(crate) use {code, ok};

/// A context of one's own, current to the thread that made it.
pub struct Context(pub usize);

impl Context {
    pub fn new() -> Context {
        Context::on(0)
    }

    /// On another device than the first.
    pub fn on(ordinal: c_int) -> Context {
        let mut context = null_mut();
        ok!(cuInit(0));
        ok!(cuCtxCreate_v2(&mut context, 0, ordinal));
        Context(context as usize)
    }

    /// Makes it current to another thread.
    pub fn enter(&self) {
        ok!(cuCtxSetCurrent(self.0 as Handle));
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            ok!(cuCtxDestroy_v2(self.0 as Handle));
        }
    }
}

pub fn stream(flags: u32) -> usize {
    let mut stream = null_mut();
    ok!(cuStreamCreate(&mut stream, flags));
    stream as usize
}

pub fn event(flags: u32) -> usize {
    let mut event = null_mut();
    ok!(cuEventCreate(&mut event, flags));
    event as usize
}

pub fn device_memory(bytes: usize) -> u64 {
    let mut address = 0;
    ok!(cuMemAlloc_v2(&mut address, bytes));
    address
}

/// Pinned words, all 0.
pub fn pinned(words: usize) -> &'static [std::sync::atomic::AtomicU64] {
    let mut address = null_mut();
    ok!(cuMemHostAlloc(&mut address, 8 * words, 0));
    // SAFETY: allocated, zeroed and never freed by the tests that use it so.
    unsafe { std::slice::from_raw_parts(address.cast(), words) }
}

pub fn address(word: &std::sync::atomic::AtomicU64) -> u64 {
    word.as_ptr() as u64
}

pub fn release(word: &std::sync::atomic::AtomicU64, value: u64) {
    word.store(value, std::sync::atomic::Ordering::Release);
}

/// Has `stream` wait until the word is 1.
pub fn hold(stream: usize, word: &std::sync::atomic::AtomicU64) {
    ok!(cuStreamWaitValue64_v2(stream as Handle, address(word), 1, EQ));
}

/// Runs `call` on another thread of the same context: whether it blocks; then calls `unblock` and returns the code of the call.
/// A thread blocks that sleeps for long. One that only waits for a processor does not, however busy the machine is.
pub fn blocks(context: &Context, call: impl FnOnce() -> u32 + Send, unblock: impl FnOnce()) -> (bool, u32) {
    std::thread::scope(|scope| {
        let (sender, receiver) = std::sync::mpsc::channel();
        let thread = scope.spawn(move || {
            sender.send(std::fs::read_link("/proc/thread-self").unwrap()).unwrap();
            context.enter();
            call()
        });
        let status = std::path::Path::new("/proc").join(receiver.recv().unwrap()).join("stat");
        let sleeps = || {
            let status = std::fs::read_to_string(&status).unwrap_or_default();
            status.rsplit(')').next().is_some_and(|fields| fields.trim_start().starts_with('S'))
        };
        let (begin, mut awake) = (Instant::now(), Instant::now());
        while !thread.is_finished()
            && awake.elapsed() < Duration::from_millis(150)
            && begin.elapsed() < Duration::from_secs(10)
        {
            if !sleeps() {
                awake = Instant::now();
            }
            std::thread::yield_now();
        }
        let blocked = !thread.is_finished();
        unblock();
        (blocked, thread.join().unwrap())
    })
}

/// Waits until `condition` holds; fails after ten seconds.
pub fn eventually(condition: impl Fn() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < Duration::from_secs(10), "it never came true");
        std::thread::yield_now();
    }
}

/// Runs the test of that name in a process of its own with these variables; `None` inside that process.
pub fn in_child(test: &str, variables: &[(&str, &str)]) -> Option<Output> {
    const MARK: &str = "BOOMERANG_TEST_CHILD";
    if std::env::var_os(MARK).is_some() {
        return None;
    }
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new(program);
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(MARK, "1");
    Some(command.envs(variables.iter().copied()).output().unwrap())
}

/// As [`in_child`]; the child must succeed. True in the parent.
pub fn passed_in_child(test: &str, variables: &[(&str, &str)]) -> bool {
    let Some(output) = in_child(test, variables) else { return false };
    assert!(output.status.success(), "{output:?}");
    true
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub const NO_NAMES: *const c_char = null();
