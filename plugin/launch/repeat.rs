//! Kernels that are launched again and again.
//!
//! A kernel that a queue has launched some times before (`BOOMERANG_GRAPHS`) is launched as a graph, which is sooner enqueued: by a C program
//! an empty region takes 5.8 us so, and 8.0 with `cuLaunchKernel` (an H200). To make the graph takes 50 us. Neither waits for running kernels
//! or pending stream waits, graphs on several streams run at once, and they are ordered with the NULL stream as kernels are (docs/driver.md).
//!
//! A graph is taken to hold a hardware channel until it ends, as a mark behind a kernel does: with 12 to 24 graphs that waited for the host
//! programs hung. So only kernels that have a mark anyway become graphs.

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
    /// Launches a kernel, as a graph when it is time and it may be one. The device's context is current.
    ///
    /// # Errors
    /// When the driver refuses.
    ///
    /// # Safety
    /// As for `Driver::launch`.
    pub unsafe fn launch(
        &mut self,
        device: &Device,
        kernel: &KernelRef,
        with: &With,
        stream: Stream,
        may_be_graph: bool,
    ) -> Result<(), CudaError> {
        let (driver, function, (shape, arguments)) = (device.driver, kernel.function, with);
        // SAFETY: the caller's promise.
        let graph = if may_be_graph { unsafe { self.graph(device, kernel, with) } } else { None };
        let Some((graph, has)) = graph else {
            // SAFETY: the caller's promise.
            return unsafe { driver.launch(function, shape, stream, arguments) };
        };
        if has != with {
            // SAFETY: the caller's promise.
            unsafe { driver.set_graph(graph, function, shape, arguments) }?;
            *has = *with;
        }
        // SAFETY: the caller's promise.
        unsafe { driver.launch_graph(graph, stream) }
    }

    /// Counts a launch, and gives the kernel's graph if there is one. Makes it when it is time.
    ///
    /// # Safety
    /// As for `Driver::make_graph`.
    unsafe fn graph(
        &mut self,
        device: &Device,
        kernel: &KernelRef,
        with: &With,
    ) -> Option<&mut (Graph, With)> {
        let after = device.graphs_after()?;
        let index = self.find(kernel)?;
        let Repeat { launches, graph, .. } = &mut self.0[index];
        *launches = launches.saturating_add(1);
        if *launches == after {
            // SAFETY: the caller's promise.
            let made = unsafe { device.driver.make_graph(kernel.function, &with.0, &with.1) };
            // Where it can't be made, the kernel is launched as before, and what is wrong told of then.
            *graph = made.ok().map(|graph| (graph, *with));
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
