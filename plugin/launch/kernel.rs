//! One target region, from launch to end.

use super::dims::{Dims, Requested, WARP};
use super::queue::{Queue, Want};
use super::repeat;
use super::stacks::{STACK_BYTES, Stacks};
use crate::abi::host;
use crate::device::Device;
use crate::driver::{ContextGuard, CudaError, Function, Order, Shape};
use crate::error::Result;
use crate::image::epilogue::TELL;
use crate::image::{KernelRef, Protocol};
use crate::reverse::source::Source;
use crate::reverse::{self, region, wait};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A region that is to run.
pub struct Plan {
    /// Its kernel.
    pub kernel: KernelRef,
    /// The device address of its arguments.
    variables: u64,
    dims: Dims,
}

impl Plan {
    /// A region of `kernel` with arguments at `variables` on the device, and teams and threads as its clauses want them.
    ///
    /// # Errors
    /// Those of the driver's occupancy calculator.
    pub fn new(device: &Device, kernel: KernelRef, variables: u64, wanted: Requested) -> Result<Plan> {
        let ask = |threads| {
            let _context = ContextGuard::enter(device.driver, device.context)?;
            device.driver.resident_blocks(kernel.function, threads * WARP, device.lowlat_pool())
        };
        let dims = wanted.fit(kernel.block_threads, |threads| {
            let residents = kernel.residents.of(threads, || ask(threads))?;
            Ok::<_, CudaError>(residents.saturating_mul(device.attrs.multiprocessors))
        })?;
        host::debug(|| {
            let (name, Dims { teams, threads }) = (&kernel.name, dims);
            format!(
                "  kernel {name}: launch [(teams: {teams}), 1, 1] [(lanes: {WARP}), (threads: {threads}), 1]"
            )
        });
        Ok(Plan { kernel, variables, dims })
    }

    /// How many soft stacks it needs.
    pub fn stacks(&self) -> u64 {
        u64::from(self.dims.teams) * u64::from(self.dims.threads)
    }

    /// The queue that it needs.
    pub fn want(&self, device: &Device) -> Want {
        want(device, self.kernel.requests)
    }
}

/// The queue that a kernel needs, one that may make `requests` or not. One that tells of its end gets no mark: it may wait for the
/// host, and the mark would hold a hardware channel meanwhile.
fn want(device: &Device, requests: Option<Protocol>) -> Want {
    Want {
        // The NULL stream waits for streams that are ordered with it. A kernel that may wait for the host must not hold it up: the
        // host may wait for the NULL stream.
        order: if requests.is_some() { Order::Apart } else { Order::AfterNull },
        end_word: device.uses_memory_operations() && requests != Some(Protocol::Ring { tells_end: true }),
        nested: reverse::serving().is_some(),
        serving: device.reverse.under_service(),
    }
}

/// A region that runs, or has run.
pub struct Region {
    /// Its kernel.
    pub kernel: KernelRef,
    /// What it was launched on.
    pub queue: Queue,
    /// Where its requests arrive, if it may make any.
    pub requests: Option<Box<dyn Source>>,
    stacks: Stacks,
}

impl Region {
    /// Launches a region. `waiter` names the thread that will look after it to the gate. The device's context is current.
    ///
    /// # Errors
    /// What the driver says when the kernel can't be launched.
    pub fn start(
        device: &'static Device,
        plan: Plan,
        mut queue: Queue,
        mut stacks: Stacks,
        waiter: u64,
    ) -> Result<Region> {
        let Plan { kernel, variables, dims: Dims { teams, threads } } = plan;
        let shape = Shape { grid: [teams, 1, 1], block: [WARP, threads, 1], shared: device.lowlat_pool() };
        let source = |protocol| device.reverse.source(device, protocol, &mut stacks, waiter);
        let requests = kernel.requests.map(source).transpose()?;
        let tells_end = requests.as_ref().is_some_and(|requests| requests.tells_end());
        let stack_bytes = if tells_end { STACK_BYTES - TELL } else { STACK_BYTES };
        let arguments = [variables, stacks.base(), stack_bytes];
        let mut repeats = std::mem::take(&mut queue.repeats);
        let (driver, stream, with) = (device.driver, queue.stream, (shape, arguments));
        let graph = match kernel.requests {
            // SAFETY: a kernel made by mkoffload takes these three words. The stacks live until it has ended, and so do the region's
            // variables, by libgomp's contract.
            None if queue.has_end_word() => unsafe { repeats.count(device, &kernel, &with, stream) },
            _ => None,
        };
        launch(device, &kernel.name, &queue, || match graph {
            // SAFETY: as above.
            Some(graph) => unsafe { repeat::launch(device, graph, &kernel, &with, stream) },
            // SAFETY: as above.
            None => unsafe { driver.launch(kernel.function, &shape, stream, &arguments) },
        })?;
        queue.repeats = repeats;
        queue.mark_end(device.driver, !tells_end)?;
        Ok(Region { kernel, queue, requests, stacks })
    }

    /// Gives back what a region used that has ended, and shows what it printed.
    ///
    /// # Errors
    /// Those of the driver calls.
    pub fn finish(self, device: &'static Device) -> Result<()> {
        let Region { kernel, queue, requests, stacks } = self;
        end(device, &kernel.name, queue, kernel.prints)?;
        // Before the next region may have the stacks and the window: no helper serves from it any more.
        drop(requests);
        device.launch.stacks.give_back(stacks);
        Ok(())
    }
}

/// Runs a region and returns when it has ended and its writes are visible.
///
/// # Errors
/// What the driver says when the kernel can't be launched or fails.
pub fn run(device: &'static Device, plan: Plan) -> Result<()> {
    let _context = ContextGuard::enter(device.driver, device.context)?;
    // The queue first: who waits for one holds no stacks.
    let queue = device.launch.queues.take(device.driver, plan.want(device))?;
    let stacks = device.launch.stacks.wait_for(device, plan.stacks())?;
    let region = Region::start(device, plan, queue, stacks, region::next_id())?;
    wait::until_end(device, &region.queue, region.requests.as_deref())?;
    region.finish(device)
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
    let mut queue = device.launch.queues.take(device.driver, want(device, None))?;
    let pool = &device.launch.stacks;
    let stacks = if with_stack { Some(pool.wait_for(device, 1)?) } else { None };
    let end_of_stack = stacks.as_ref().map(|stacks| stacks.base() + STACK_BYTES);
    let shape = Shape { grid: [1; 3], block: [1; 3], shared: 0 };
    launch(device, name, &queue, || {
        // SAFETY: the kernels that newlib and mkoffload make take this argument or none; the stack lives until it has ended.
        unsafe { device.driver.launch(function, &shape, queue.stream, end_of_stack.as_slice()) }
    })?;
    queue.mark_end(device.driver, true)?;
    wait::until_end(device, &queue, None)?;
    end(device, name, queue, true)?;
    stacks.into_iter().for_each(|stacks| pool.give_back(stacks));
    Ok(())
}

/// Launches a kernel by `enqueue`. What a failed one used is not used again: its context is lost.
fn launch(
    device: &'static Device,
    name: &Arc<str>,
    queue: &Queue,
    enqueue: impl FnOnce() -> std::result::Result<(), CudaError>,
) -> Result<()> {
    let state = &device.launch;
    // Before the stream looks at the NULL stream, which gets no copies while a kernel runs (`memory::small`).
    state.running.begin(name);
    queue
        .follow_null_stream(device.driver)
        .and_then(|()| enqueue())
        .inspect_err(|_| state.running.end(name))?;
    state.launched.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

/// Lets go of the queue of a kernel that has ended.
fn end(device: &'static Device, name: &Arc<str>, queue: Queue, prints: bool) -> Result<()> {
    if prints {
        // Has the driver print what the kernel printed (CUDA C++ Programming Guide, formatted output). It takes microseconds.
        device.driver.synchronize_stream(queue.stream)?;
    }
    device.small.settle(device);
    device.launch.running.end(name);
    device.launch.queues.give_back(queue);
    Ok(())
}
