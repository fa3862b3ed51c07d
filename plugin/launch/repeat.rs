//! Kernels that are launched again and again.
//!
//! A kernel that a queue has launched some times before (`BOOMERANG_GRAPHS`) is launched as a graph, which is sooner enqueued: by a C program
//! an empty region takes 5.8 us so, and 8.0 with `cuLaunchKernel` (an H200). To make the graph takes 50 us. Neither waits for running kernels
//! or pending stream waits, graphs on several streams run at once, and they are ordered with the NULL stream as kernels are (docs/driver.md).

use crate::device::Device;
use crate::driver::{CudaError, Graph, Shape, Stream};
use crate::image::KernelRef;

/// The most kernels that a queue counts the launches of. A graph takes some memory.
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
    shape: Shape,
    launches: u32,
    /// The graph, with the arguments that it has.
    graph: Option<(Graph, [u64; 3])>,
}

impl Repeats {
    /// Counts a launch that is about to be, and makes the graph when it is time. The device's context is current.
    ///
    /// # Safety
    /// As for `Driver::make_graph`.
    pub unsafe fn count(
        &mut self,
        device: &Device,
        kernel: &KernelRef,
        shape: &Shape,
        arguments: &[u64; 3],
    ) -> Option<Ready<'_>> {
        let after = device.graphs_after()?;
        let known = self.0.iter().position(|repeat| repeat.kernel.is(kernel) && repeat.shape == *shape);
        let index = match known {
            Some(index) => index,
            None if self.0.len() == MOST => return None,
            None => {
                self.0.push(Repeat { kernel: kernel.clone(), shape: *shape, launches: 0, graph: None });
                self.0.len() - 1
            }
        };
        let Repeat { kernel, shape, launches, graph } = &mut self.0[index];
        *launches = launches.saturating_add(1);
        if *launches == after {
            // Where it can't be made, the kernel is launched as before, and whatever is wrong told of then.
            // SAFETY: the caller's promise.
            let made = unsafe { device.driver.make_graph(kernel.function, shape, arguments) };
            *graph = made.ok().map(|graph| (graph, *arguments));
        }
        graph.as_mut().map(|(graph, arguments)| Ready { graph, arguments, kernel, shape })
    }
}

/// A kernel that can be launched as a graph.
pub struct Ready<'a> {
    graph: &'a Graph,
    arguments: &'a mut [u64; 3],
    kernel: &'a KernelRef,
    shape: &'a Shape,
}

impl Ready<'_> {
    /// Launches it.
    ///
    /// # Errors
    /// When the driver refuses.
    ///
    /// # Safety
    /// As for `Driver::launch`.
    pub unsafe fn launch(
        self,
        device: &Device,
        stream: Stream,
        arguments: &[u64; 3],
    ) -> Result<(), CudaError> {
        if self.arguments != arguments {
            // SAFETY: the caller's promise.
            unsafe { device.driver.set_graph(self.graph, self.kernel.function, self.shape, arguments) }?;
            *self.arguments = *arguments;
        }
        // SAFETY: the caller's promise.
        unsafe { device.driver.launch_graph(self.graph, stream) }
    }
}
