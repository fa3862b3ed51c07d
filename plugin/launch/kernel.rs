//! One target region, from launch to end.

use super::dims::{Dims, Limits, Requested, WARP};
use super::stacks::STACK_BYTES;
use crate::abi::host;
use crate::device::Device;
use crate::driver::{ContextGuard, Function, Order, Shape};
use crate::error::Result;
use crate::image::Kernel;
use crate::reverse::source::Source;
use crate::reverse::{self, wait};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Runs a region and returns when it has ended and its writes are visible. `vars` is the device address of its arguments.
///
/// # Errors
/// What the driver says when the kernel can't be launched or fails.
pub fn run(device: &'static Device, kernel: &Kernel, vars: u64, wanted: Requested) -> Result<()> {
    let Dims { teams, threads } = wanted.fit(Limits {
        registers: kernel.registers,
        block_threads: kernel.block_threads,
        device_registers: device.attrs.registers_per_multiprocessor,
        multiprocessors: device.attrs.multiprocessors,
    });
    host::debug(|| {
        let name = &kernel.name;
        format!("  kernel {name}: launch [(teams: {teams}), 1, 1] [(lanes: {WARP}), (threads: {threads}), 1]")
    });
    let _context = ContextGuard::enter(device.driver, device.context)?;
    let pool = &device.launch.stacks;
    let mut stacks = pool.take(device, u64::from(teams) * u64::from(threads))?;
    let shape = Shape { grid: [teams, 1, 1], block: [WARP, threads, 1], shared: device.lowlat_pool() };
    let requests =
        kernel.requests.map(|protocol| device.reverse.source(device, protocol, &mut stacks)).transpose()?;
    let arguments = [vars, stacks.base(), STACK_BYTES];
    // SAFETY: a kernel made by mkoffload takes these three words. The stacks live until it has ended, and so do the region's
    // variables, by libgomp's contract.
    unsafe {
        launch(device, &kernel.name, kernel.function, &shape, &arguments, kernel.prints, requests.as_deref())
    }?;
    // Before the next region may have the stacks and the window: no helper serves from it any more.
    drop(requests);
    pool.give_back(stacks);
    Ok(())
}

/// Runs a constructor or destructor kernel, which is told of as `name`: one thread. With `with_stack` it takes an argument, the end of
/// a soft stack.
///
/// # Errors
/// What the driver says when the kernel can't be launched or fails.
pub fn run_once(
    device: &'static Device,
    name: &Arc<str>,
    function: Function,
    with_stack: bool,
) -> Result<()> {
    let _context = ContextGuard::enter(device.driver, device.context)?;
    let pool = &device.launch.stacks;
    let stacks = if with_stack { Some(pool.take(device, 1)?) } else { None };
    let end = stacks.as_ref().map(|stacks| stacks.base() + STACK_BYTES);
    let shape = Shape { grid: [1; 3], block: [1; 3], shared: 0 };
    // SAFETY: the kernels that newlib and mkoffload make take this argument or none; the stack lives until it has ended.
    unsafe { launch(device, name, function, &shape, end.as_slice(), true, None) }?;
    stacks.into_iter().for_each(|stacks| pool.give_back(stacks));
    Ok(())
}

/// Launches a kernel and waits for its end. What a failed one used is not used again: its context is lost.
///
/// # Safety
/// As `Driver::launch`.
unsafe fn launch(
    device: &'static Device,
    name: &Arc<str>,
    function: Function,
    shape: &Shape,
    arguments: &[u64],
    prints: bool,
    requests: Option<&dyn Source>,
) -> Result<()> {
    let driver = device.driver;
    let state = &device.launch;
    // The NULL stream waits for streams that are ordered with it. A kernel that may wait for the host must not hold it up: the host
    // may wait for the NULL stream.
    let order = if requests.is_some() { Order::Apart } else { Order::AfterNull };
    let mut queue =
        state.queues.take(driver, order, device.uses_memory_operations(), reverse::serving().is_some())?;
    // Before the stream looks at the NULL stream, which gets no copies while a kernel runs (`memory::small`).
    state.running.begin(name);
    queue
        .follow_null_stream(driver)
        // SAFETY: the caller's promise.
        .and_then(|()| unsafe { driver.launch(function, shape, queue.stream, arguments) })
        .inspect_err(|_| state.running.end(name))?;
    queue.mark_end(driver)?;
    state.launched.fetch_add(1, Ordering::Relaxed);
    wait::until_end(device, &queue, requests)?;
    if prints {
        // Has the driver print what the kernel printed (CUDA C++ Programming Guide, formatted output). It takes microseconds.
        driver.synchronize_stream(queue.stream)?;
    }
    device.small.settle(device);
    state.running.end(name);
    state.queues.give_back(queue);
    Ok(())
}
