//! Graphs: kernels that are launched one behind the other.

use super::handle::Table;
use crate::error::{Error, Result};
use crate::types::{CUfunction, CUgraph, CUgraphExec, CUgraphNode};
use std::sync::{Arc, Mutex, MutexGuard};

static GRAPHS: Table<Graph> = Table::new(0x64a9);
static EXECS: Table<Graph> = Table::new(0x64ae);
/// Only for the handles of nodes, which live in their graph.
static NODES: Table<()> = Table::new(0x64a0);

/// A kernel, and what it is launched with.
#[derive(Clone)]
pub struct Launch {
    /// The kernel.
    pub function: CUfunction,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of each.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory of each.
    pub shared: u32,
    /// The parameters as the kernel finds them.
    pub params: Vec<u8>,
}

/// A graph, or one that can be launched. Its nodes, in the order in which they run: that in which they were added.
#[derive(Default)]
pub struct Graph(Mutex<Vec<(CUgraphNode, Launch)>>);

impl Graph {
    fn nodes(&self) -> MutexGuard<'_, Vec<(CUgraphNode, Launch)>> {
        self.0.lock().expect("no panic under this lock")
    }

    /// Adds a node.
    pub fn add(&self, launch: Launch) -> CUgraphNode {
        let node = CUgraphNode(NODES.reserve());
        self.nodes().push((node, launch));
        node
    }

    /// Whether it has such a node.
    pub fn has(&self, node: CUgraphNode) -> bool {
        self.nodes().iter().any(|(other, _)| *other == node)
    }

    /// Changes what a node launches.
    pub fn set(&self, node: CUgraphNode, launch: Launch) -> Result {
        let mut nodes = self.nodes();
        let (_, old) = nodes.iter_mut().find(|(other, _)| *other == node).ok_or(Error::INVALID_VALUE)?;
        *old = launch;
        Ok(())
    }

    /// What it launches.
    pub fn launches(&self) -> Vec<Launch> {
        self.nodes().iter().map(|(_, launch)| launch.clone()).collect()
    }
}

/// A new graph without nodes.
pub fn create() -> CUgraph {
    let handle = GRAPHS.reserve();
    GRAPHS.insert(handle, Arc::default());
    CUgraph(handle)
}

/// The graph of a handle.
pub fn find(handle: CUgraph) -> Result<Arc<Graph>> {
    GRAPHS.get(handle.0).ok_or(Error::INVALID_VALUE)
}

/// Ends a graph; what was instantiated from it lives on.
pub fn destroy(handle: CUgraph) -> Result {
    GRAPHS.remove(handle.0).map(drop).ok_or(Error::INVALID_VALUE)
}

/// Makes a graph that can be launched out of one as it is now.
pub fn instantiate(graph: &Graph) -> CUgraphExec {
    let handle = EXECS.reserve();
    EXECS.insert(handle, Arc::new(Graph(Mutex::new(graph.nodes().clone()))));
    CUgraphExec(handle)
}

/// The launchable graph of a handle.
pub fn find_exec(handle: CUgraphExec) -> Result<Arc<Graph>> {
    EXECS.get(handle.0).ok_or(Error::INVALID_VALUE)
}

/// Ends a launchable graph.
pub fn destroy_exec(handle: CUgraphExec) -> Result {
    EXECS.remove(handle.0).map(drop).ok_or(Error::INVALID_VALUE)
}
