//! Graphs of one kernel.

use std::ffi::c_void;
use std::ptr;

use cudarc::driver::sys::{CUDA_KERNEL_NODE_PARAMS, CUgraphExec, CUgraphNode};

use super::call::{Function, Stream};
use super::module::Shape;
use super::status::{Result, check, missing};
use super::table::Driver;

/// A kernel that is launched as a graph (`CUgraphExec`). It lives as long as the context.
#[derive(Debug)]
pub struct Graph {
    exec: CUgraphExec,
    node: CUgraphNode,
}

// SAFETY: handles are numbers to us, never dereferenced; the driver takes them from any thread, one at a time.
unsafe impl Send for Graph {}

impl Driver {
    /// Whether the driver has graphs.
    pub fn has_graphs(&self) -> bool {
        self.graph_create.is_some()
            && self.graph_add_kernel_node.is_some()
            && self.graph_instantiate.is_some()
            && self.graph_exec_kernel_node_set_params.is_some()
            && self.graph_upload.is_some()
            && self.graph_launch.is_some()
    }

    /// `cuGraphCreate`, `cuGraphAddKernelNode`, `cuGraphInstantiateWithFlags` and, by way of `stream`, `cuGraphUpload`: the first launch would do
    /// that.
    ///
    /// # Safety
    /// As for [`Driver::launch`], each time that the graph is launched.
    pub unsafe fn make_graph(
        &self,
        function: Function,
        shape: &Shape,
        arguments: &[u64],
        stream: Stream,
    ) -> Result<Graph> {
        let (mut graph, mut node, mut exec) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        let call = "cuGraphCreate";
        let create = missing(call, self.graph_create)?;
        // SAFETY: `graph` is valid for the write; the flags must be 0.
        check(call, unsafe { create(&mut graph, 0) })?;
        let call = "cuGraphAddKernelNode";
        let add = missing(call, self.graph_add_kernel_node)?;
        with_params(function, shape, arguments, |params| {
            // SAFETY: `node` is valid for the write, there are no dependencies, and the driver copies parameters and arguments.
            check(call, unsafe { add(&mut node, graph, ptr::null(), 0, params) })
        })?;
        let call = "cuGraphInstantiateWithFlags";
        let instantiate = missing(call, self.graph_instantiate)?;
        // SAFETY: `exec` is valid for the write. The graph stays: its node names the kernel in what was made of it.
        check(call, unsafe { instantiate(&mut exec, graph, 0) })?;
        let call = "cuGraphUpload";
        let upload = missing(call, self.graph_upload)?;
        // SAFETY: takes handles.
        check(call, unsafe { upload(exec, stream.0) })?;
        Ok(Graph { exec, node })
    }

    /// `cuGraphExecKernelNodeSetParams`: changes what the kernel is launched with. `function` is still the same.
    ///
    /// # Safety
    /// As for [`Driver::make_graph`].
    pub unsafe fn set_graph(
        &self,
        graph: &Graph,
        function: Function,
        shape: &Shape,
        arguments: &[u64],
    ) -> Result<()> {
        let call = "cuGraphExecKernelNodeSetParams";
        let set = missing(call, self.graph_exec_kernel_node_set_params)?;
        with_params(function, shape, arguments, |params| {
            // SAFETY: the driver copies parameters and arguments; the rest is the caller's promise.
            check(call, unsafe { set(graph.exec, graph.node, params) })
        })
    }

    /// `cuGraphLaunch`
    ///
    /// # Safety
    /// What the kernel's arguments point at lives until it ends.
    pub unsafe fn launch_graph(&self, graph: &Graph, stream: Stream) -> Result<()> {
        let call = "cuGraphLaunch";
        let launch = missing(call, self.graph_launch)?;
        // SAFETY: takes handles; the rest is the caller's promise.
        check(call, unsafe { launch(graph.exec, stream.0) })
    }
}

/// Calls with the parameters of a node.
fn with_params<T>(
    function: Function,
    shape: &Shape,
    arguments: &[u64],
    call: impl FnOnce(*const CUDA_KERNEL_NODE_PARAMS) -> T,
) -> T {
    let mut places: Vec<*mut c_void> =
        arguments.iter().map(|argument| ptr::from_ref(argument).cast_mut().cast()).collect();
    let Shape { grid, block, shared } = *shape;
    call(&CUDA_KERNEL_NODE_PARAMS {
        func: function.0,
        gridDimX: grid[0],
        gridDimY: grid[1],
        gridDimZ: grid[2],
        blockDimX: block[0],
        blockDimY: block[1],
        blockDimZ: block[2],
        sharedMemBytes: shared,
        kernelParams: places.as_mut_ptr(),
        extra: ptr::null_mut(),
        kern: ptr::null_mut(),
        ctx: ptr::null_mut(),
    })
}
