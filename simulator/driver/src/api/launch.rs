//! Launching kernels and host functions, and what fits on a multiprocessor.

use crate::c::{In, Out};
use crate::core::clock::{self, Activity, KernelTime};
use crate::core::module::{Function, find_function};
use crate::core::sched::{Channel, KernelControl, Task, Work, scheduler};
use crate::core::stream::find;
use crate::core::{copy, counts, graph, process};
use crate::error::{Error, Result};
use crate::platform;
use crate::types::{CUfunction, CUhostFn, CUlaunchConfig, CUoccupancyB2DSize, CUstream};
use boomerang_gpu::{FaultKind, Kernel, Launch, run_grid_observed};
use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

/// `cuLaunchKernel`
#[expect(clippy::too_many_arguments)] // the driver's parameters
pub fn kernel(
    function: CUfunction,
    gx: c_uint,
    gy: c_uint,
    gz: c_uint,
    bx: c_uint,
    by: c_uint,
    bz: c_uint,
    shared: c_uint,
    stream: CUstream,
    parameters: In<u64>,
    extra: In<u64>,
) -> Result {
    launch(function, [gx, gy, gz], [bx, by, bz], shared, stream, parameters, extra)
}

/// `cuLaunchKernelEx`: attributes beyond the dimensions aren't supported.
pub fn kernel_ex(
    config: In<CUlaunchConfig>,
    function: CUfunction,
    parameters: In<u64>,
    extra: In<u64>,
) -> Result {
    let c = config.get()?;
    if c.numAttrs != 0 {
        return Err(Error::NOT_SUPPORTED);
    }
    let (grid, block) = ([c.gridDimX, c.gridDimY, c.gridDimZ], [c.blockDimX, c.blockDimY, c.blockDimZ]);
    launch(function, grid, block, c.sharedMemBytes, c.hStream, parameters, extra)
}

/// `cuLaunchCooperativeKernel`: the device says that it can't (attribute 95).
#[expect(clippy::too_many_arguments)] // the driver's parameters
pub fn cooperative(
    function: CUfunction,
    _gx: c_uint,
    _gy: c_uint,
    _gz: c_uint,
    _bx: c_uint,
    _by: c_uint,
    _bz: c_uint,
    _shared: c_uint,
    _stream: CUstream,
    _parameters: In<u64>,
) -> Result {
    find_function(function)?;
    Err(Error::NOT_SUPPORTED)
}

fn launch(
    function: CUfunction,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    stream: CUstream,
    parameters: In<u64>,
    extra: In<u64>,
) -> Result {
    find(stream)?;
    submit(prepare(function, grid, block, shared, parameters, extra)?, stream)
}

/// Checks a launch and reads its parameters.
pub fn prepare(
    function: CUfunction,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    parameters: In<u64>,
    extra: In<u64>,
) -> Result<graph::Launch> {
    let found = find_function(function)?;
    check_dimensions(&found, grid, block, shared)?;
    let params = parameter_buffer(&found, parameters, extra)?;
    Ok(graph::Launch { function, grid, block, shared, params })
}

/// Has a stream run a kernel.
pub fn submit(launch: graph::Launch, stream: CUstream) -> Result {
    let graph::Launch { function, grid, block, shared, params } = launch;
    let (stream, function) = (find(stream)?, find_function(function)?);
    if !Arc::ptr_eq(&function.context, &stream.context) {
        return Err(Error::INVALID_HANDLE);
    }
    let counted = Arc::new(OnceLock::new());
    let activity = activity(&function, grid, &counted)?;
    // Relaxed: the flag orders nothing, see `cuFuncLoad`.
    if !function.loaded.load(Ordering::Relaxed) {
        scheduler().await_lazy_load(stream.context.domain, "cuLaunchKernel (loads the function)")?;
        function.loaded.store(true, Ordering::Relaxed);
    }
    scheduler().get_ready(stream.context.domain, function.needs);
    let kernel = function.kernel()?.clone();
    let what = format!("kernel {}", kernel.name());
    let control = KernelControl::default();
    let KernelControl { cancel, effects, explain } = control.clone();
    let context = Arc::clone(&stream.context);
    let body = move |start: Result| {
        start?;
        let launch = Launch { kernel: &kernel, grid, block, dynamic_shared: shared, params: &params };
        let outcome = run_grid_observed(&launch, &cancel, &effects);
        // A kernel that failed has no count; it must have one to be over.
        counted.get_or_init(|| outcome.as_ref().map_or(0, |stats| stats.thread_instructions));
        match outcome {
            Ok(stats) => {
                counts::add_instructions(stats.warp_instructions);
                Ok(())
            }
            // Its context is lost already, and why was said then.
            Err(fault) if fault.kind == FaultKind::Cancelled => {
                // Relaxed: the flag only asks for words.
                if explain.load(Ordering::Relaxed) {
                    eprintln!("boomerang-sim: {fault}");
                }
                Ok(())
            }
            Err(fault) => {
                context.report_fault(&fault);
                Err(Error(fault.kind.cuda_result()))
            }
        }
    };
    let task = Task {
        what,
        kernel: Some(control),
        activity,
        channel: Channel::Through,
        tell: false,
        body: Box::new(body),
    };
    scheduler().submit(stream.queue, Work::Task(task)).map(drop)
}

/// What the names of kernels begin with that the plugin launches by itself: nobody wants to know what they cost.
const PLUGINS_OWN: &str = "__boomerang_";

/// What a launch is to the virtual clock; `counted` will hold the instructions of its threads.
fn activity(function: &Function, grid: [u32; 3], counted: &Arc<OnceLock<u64>>) -> Result<Activity> {
    let Some(platform) = platform::description()? else { return Ok(Activity::Instant) };
    let (name, device) = (function.kernel()?.name(), function.context.device.ordinal);
    if name.starts_with(PLUGINS_OWN) {
        return Ok(Activity::Instant);
    }
    let described = &platform.devices[device];
    let time = match platform.kernels.get(name) {
        Some(time) => KernelTime::Fixed(*time),
        None if described.rate.is_some() => KernelTime::Counted(Arc::clone(counted)),
        None if platform.require_costs => {
            let (file, key, device) = (&platform.file, "instructions_per_second", &described.name);
            eprintln!(
                "boomerang-sim: kernel {name} has no cost: {file} has no time for it and no {key} for {device}"
            );
            return Err(Error::NOT_SUPPORTED);
        }
        None => KernelTime::Fixed(0),
    };
    let blocks = grid.iter().map(|n| u64::from(*n)).product();
    Ok(Activity::Kernel(clock::Kernel { name: name.into(), device, blocks, time }))
}

/// The limits of a launch on sm_90.
fn check_dimensions(function: &Function, grid: [u32; 3], block: [u32; 3], shared: u32) -> Result {
    const MOST_BLOCKS: [u32; 3] = [i32::MAX as u32, 65535, 65535];
    const MOST_THREADS: [u32; 3] = [1024, 1024, 64];
    let within = |n: [u32; 3], most: [u32; 3]| n.iter().zip(most).all(|(n, m)| (1..=m).contains(n));
    if !within(grid, MOST_BLOCKS) || !within(block, MOST_THREADS) {
        return Err(Error::INVALID_VALUE);
    }
    let threads: u32 = block.iter().product();
    if threads > 1024 || shared > function.dynamic_shared.load(Ordering::Relaxed) {
        return Err(Error::INVALID_VALUE);
    }
    if threads > function.kernel()?.max_threads() {
        return Err(Error::LAUNCH_OUT_OF_RESOURCES);
    }
    Ok(())
}

/// The parameters as the kernel finds them, from a list of pointers to them or from a buffer.
fn parameter_buffer(function: &Function, parameters: In<u64>, extra: In<u64>) -> Result<Vec<u8>> {
    let kernel = function.kernel()?;
    let size = kernel.params_size() as usize;
    match (parameters.is_null(), extra.is_null()) {
        (false, false) => Err(Error::INVALID_VALUE),
        (true, true) if size > 0 => Err(Error::INVALID_VALUE),
        (true, true) => Ok(Vec::new()),
        (true, false) => {
            let (address, bytes) = buffer_of_extra(extra)?;
            if bytes < size {
                return Err(Error::INVALID_VALUE);
            }
            In::<u8>::from_address(address).bytes(bytes)
        }
        (false, true) => {
            let mut buffer = vec![0; size];
            for (i, param) in kernel.params().iter().enumerate() {
                let (offset, len) = (param.offset as usize, param.size as usize);
                let value = In::<u8>::from_address(parameters.at(i)?).bytes(len)?;
                buffer[offset..offset + len].copy_from_slice(&value);
            }
            Ok(buffer)
        }
    }
}

/// Address and size out of a list ended by `CU_LAUNCH_PARAM_END`.
fn buffer_of_extra(extra: In<u64>) -> Result<(u64, usize)> {
    const END: u64 = 0;
    const BUFFER_POINTER: u64 = 1;
    const BUFFER_SIZE: u64 = 2;
    let (mut address, mut bytes) = (0, 0);
    for i in (0..).step_by(2) {
        match extra.at(i)? {
            END => break,
            BUFFER_POINTER => address = extra.at(i + 1)?,
            BUFFER_SIZE => bytes = In::<usize>::from_address(extra.at(i + 1)?).get()?,
            _ => return Err(Error::INVALID_VALUE),
        }
    }
    Ok((address, bytes))
}

/// `cuLaunchHostFunc`
pub fn host_function(stream: CUstream, function: Option<CUhostFn>, data: *mut c_void) -> Result {
    let stream = find(stream)?;
    let function = function.ok_or(Error::INVALID_VALUE)?;
    let data = data as usize;
    let body = move || {
        // SAFETY: the program promises the function and its data to be callable until it has run.
        process::host_function(|| unsafe { function(data as *mut c_void) });
        Ok(())
    };
    scheduler().submit(stream.queue, copy::task("host function", Channel::Through, body)).map(drop)
}

/// Blocks of a kernel that fit on a multiprocessor of sm_90.
fn resident(kernel: &Kernel, threads: u32, dynamic_shared: usize) -> u32 {
    const THREADS: u32 = 2048;
    const BLOCKS: u32 = 32;
    const REGISTERS: u32 = 65536;
    const SHARED: usize = 228 << 10;
    /// Shared memory that the system takes for every block.
    const RESERVED: usize = 1 << 10;
    if threads == 0 || threads > kernel.max_threads() {
        return 0;
    }
    let warps = threads.div_ceil(32);
    let by_registers = REGISTERS / (kernel.registers().max(1).next_multiple_of(8) * 32 * warps);
    let by_shared = SHARED / (kernel.static_shared() as usize + dynamic_shared + RESERVED);
    BLOCKS.min(THREADS / (warps * 32)).min(by_registers).min(by_shared as u32)
}

/// `cuOccupancyMaxActiveBlocksPerMultiprocessor`
pub fn active_blocks(blocks: Out<c_int>, function: CUfunction, threads: c_int, shared: usize) -> Result {
    let function = find_function(function)?;
    let threads = u32::try_from(threads).ok().filter(|n| *n > 0).ok_or(Error::INVALID_VALUE)?;
    blocks.set(resident(function.kernel()?, threads, shared) as c_int)
}

/// `cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags`
pub fn active_blocks_with_flags(
    blocks: Out<c_int>,
    function: CUfunction,
    threads: c_int,
    shared: usize,
    flags: c_uint,
) -> Result {
    if flags > 1 {
        return Err(Error::INVALID_VALUE);
    }
    active_blocks(blocks, function, threads, shared)
}

/// `cuOccupancyMaxPotentialBlockSize`: the block size that keeps most threads resident, the largest of several.
pub fn potential_block_size(
    grid: Out<c_int>,
    block: Out<c_int>,
    function: CUfunction,
    shared_of_block: Option<CUoccupancyB2DSize>,
    shared: usize,
    limit: c_int,
) -> Result {
    let function = find_function(function)?;
    grid.require()?;
    block.require()?;
    let kernel = function.kernel()?;
    let most = kernel.max_threads();
    let most = u32::try_from(limit).ok().filter(|n| (1..most).contains(n)).unwrap_or(most);
    let blocks = |threads: u32| {
        // SAFETY: the program promises a function of the block size.
        let shared = shared_of_block.map_or(shared, |f| unsafe { f(threads as c_int) });
        resident(kernel, threads, shared)
    };
    let sizes = (1..=most.div_ceil(32)).map(|warps| (warps * 32).min(most));
    let best = sizes.max_by_key(|threads| blocks(*threads) * threads).unwrap_or(1);
    let multiprocessors = function.context.device.gpu.config().multiprocessors;
    grid.set((blocks(best) * multiprocessors) as c_int)?;
    block.set(best as c_int)
}

/// `cuOccupancyMaxPotentialBlockSizeWithFlags`
pub fn potential_block_size_with_flags(
    grid: Out<c_int>,
    block: Out<c_int>,
    function: CUfunction,
    shared_of_block: Option<CUoccupancyB2DSize>,
    shared: usize,
    limit: c_int,
    flags: c_uint,
) -> Result {
    if flags > 1 {
        return Err(Error::INVALID_VALUE);
    }
    potential_block_size(grid, block, function, shared_of_block, shared, limit)
}
