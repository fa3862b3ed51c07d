//! Graphs of kernels in a line.

use super::launch::{prepare, submit};
use crate::c::{In, Out};
use crate::core::graph::{self, Launch};
use crate::core::{context, stream};
use crate::error::{Error, Result};
use crate::types::{CUDA_KERNEL_NODE_PARAMS, CUgraph, CUgraphExec, CUgraphNode, CUstream};
use std::ffi::c_uint;

/// `cuGraphCreate`
pub fn create(graph: Out<CUgraph>, flags: c_uint) -> Result {
    context::current()?;
    graph.require()?;
    if flags != 0 {
        return Err(Error::INVALID_VALUE);
    }
    graph.set(graph::create())
}

/// `cuGraphDestroy`
pub fn destroy(graph: CUgraph) -> Result {
    graph::destroy(graph)
}

fn launch_of(parameters: In<CUDA_KERNEL_NODE_PARAMS>) -> Result<Launch> {
    let p = parameters.get()?;
    let (grid, block) = ([p.gridDimX, p.gridDimY, p.gridDimZ], [p.blockDimX, p.blockDimY, p.blockDimZ]);
    let (list, extra) = (In::from_address(p.kernelParams), In::from_address(p.extra));
    prepare(p.func, grid, block, p.sharedMemBytes, list, extra)
}

/// `cuGraphAddKernelNode`. Nodes run one behind the other, whatever they depend on.
pub fn add_kernel_node(
    node: Out<CUgraphNode>,
    graph: CUgraph,
    dependencies: In<CUgraphNode>,
    count: usize,
    parameters: In<CUDA_KERNEL_NODE_PARAMS>,
) -> Result {
    let graph = graph::find(graph)?;
    node.require()?;
    if !dependencies.list(count)?.into_iter().all(|other| graph.has(other)) {
        return Err(Error::INVALID_VALUE);
    }
    node.set(graph.add(launch_of(parameters)?))
}

/// `cuGraphInstantiateWithFlags`
pub fn instantiate(exec: Out<CUgraphExec>, graph: CUgraph, flags: u64) -> Result {
    context::current()?;
    exec.require()?;
    if flags != 0 {
        return Err(Error::NOT_SUPPORTED);
    }
    exec.set(graph::instantiate(&*graph::find(graph)?))
}

/// `cuGraphExecDestroy`
pub fn destroy_exec(exec: CUgraphExec) -> Result {
    graph::destroy_exec(exec)
}

/// `cuGraphExecKernelNodeSetParams`
pub fn set_kernel_node(
    exec: CUgraphExec,
    node: CUgraphNode,
    parameters: In<CUDA_KERNEL_NODE_PARAMS>,
) -> Result {
    graph::find_exec(exec)?.set(node, launch_of(parameters)?)
}

/// `cuGraphUpload`: there is nothing to get ready.
pub fn upload(exec: CUgraphExec, stream: CUstream) -> Result {
    stream::find(stream)?;
    graph::find_exec(exec).map(drop)
}

/// `cuGraphLaunch`
pub fn launch(exec: CUgraphExec, stream: CUstream) -> Result {
    stream::find(stream)?;
    graph::find_exec(exec)?.launches().into_iter().try_for_each(|launch| submit(launch, stream))
}
