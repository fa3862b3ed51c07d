//! Kernels that are launched again and again.
//!
//! A kernel that a queue has launched some times before (`BOOMERANG_GRAPHS`) is launched as a graph, which is sooner enqueued: by a C program
//! an empty region takes 5.8 us so, and 8.0 with `cuLaunchKernel` (an H200). To make the graph takes 50 us. Graphs on several streams run at
//! once, and are ordered with the NULL stream as kernels are (docs/driver.md).
//!
//! Programs hung in which graphs were made while others waited for the host, though one kernel that waits holds nothing up. Why is not known. So
//! a graph is made while no kernel runs, and only kernels that have a mark behind them become graphs: they hold a hardware channel anyway,
//! and kernels that make requests have none.

use crate::device::Device;
use crate::driver::{CudaError, Graph, Shape, Stream};
use crate::image::KernelRef;

/// The most kernels that a queue counts the launches of. A graph takes 0.1 MiB of device memory (an H200).
const MOST: usize = 16;

/// What one queue has launched.
#[derive(Default)]
pub struct Repeats(Vec<Repeat>);

impl std::fmt::Debug for Repeats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} kernels", self.0.len())
    }
}

struct Repeat {
    kernel: KernelRef,
    launches: u32,
    /// The graph, with what it launches the kernel with.
    graph: Option<(Graph, With)>,
}

/// What a kernel is launched with: shape and arguments.
pub type With = (Shape, [u64; 3]);

impl Repeats {
    /// Counts a launch of a kernel, before it counts as running, and gives the kernel's graph if there is one. Makes it when it is time.
    /// The device's context is current.
    ///
    /// # Safety
    /// As for `Driver::make_graph`.
    pub unsafe fn count(
        &mut self,
        device: &Device,
        kernel: &KernelRef,
        with: &With,
        stream: Stream,
    ) -> Option<&mut (Graph, With)> {
        let after = device.graphs_after()?;
        let index = self.find(kernel)?;
        let Repeat { launches, graph, .. } = &mut self.0[index];
        *launches = launches.saturating_add(1);
        if *launches == after {
            let make = || {
                let (driver, (shape, arguments)) = (device.driver, with);
                // SAFETY: the caller's promise.
                let make = || unsafe { driver.make_graph(kernel.function, shape, arguments, stream) };
                device.gate.run_blocking(make)
            };
            match device.launch.running.if_none(make) {
                // Where it can't be made, the kernel is launched as before, and what is wrong told of then.
                Some(made) => *graph = made.ok().map(|graph| (graph, *with)),
                // Next time.
                None => *launches -= 1,
            }
        }
        graph.as_mut()
    }

    /// Where launches of a kernel are counted. If there is no more room, in place of the one without a graph that was launched least.
    fn find(&mut self, kernel: &KernelRef) -> Option<usize> {
        let known = self.0.iter().position(|repeat| repeat.kernel.is(kernel));
        if known.is_some() {
            return known;
        }
        let new = Repeat { kernel: kernel.clone(), launches: 0, graph: None };
        if self.0.len() < MOST {
            self.0.push(new);
            return Some(self.0.len() - 1);
        }
        let without = (0..MOST).filter(|&index| self.0[index].graph.is_none());
        let index = without.min_by_key(|&index| self.0[index].launches)?;
        self.0[index] = new;
        Some(index)
    }
}

/// Launches a kernel by its graph.
///
/// # Errors
/// When the driver refuses.
///
/// # Safety
/// As for `Driver::launch`.
pub unsafe fn launch(
    device: &Device,
    (graph, has): &mut (Graph, With),
    kernel: &KernelRef,
    with: &With,
    stream: Stream,
) -> Result<(), CudaError> {
    if has != with {
        // SAFETY: the caller's promise.
        unsafe { device.driver.set_graph(graph, kernel.function, &with.0, &with.1) }?;
        *has = *with;
    }
    // SAFETY: the caller's promise.
    unsafe { device.driver.launch_graph(graph, stream) }
}
