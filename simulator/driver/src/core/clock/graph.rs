//! What has been enqueued, and what it comes after.

use crate::core::sched::Point;
use crate::platform::Site;
use std::sync::{Arc, OnceLock};

/// A node of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeId(pub(super) u32);

impl NodeId {
    /// The beginning of time.
    pub const START: NodeId = NodeId(0);
}

/// What happens at a node once all that it comes after has happened.
#[derive(Clone, Debug)]
pub enum Activity {
    /// What takes no time: events, stores to words, host functions, calls that wait.
    Instant,
    /// A host thread enqueues something.
    Queueing {
        /// The thread's number.
        thread: u64,
        /// In ns.
        time: u64,
    },
    /// A copy or fill.
    Copy(Copy),
    /// A kernel.
    Kernel(Kernel),
    /// A stream waits for a word: what it comes after is known once the wait has really passed.
    Wait(Option<NodeId>),
}

/// A copy, or with the same place twice perhaps a fill.
#[derive(Clone, Copy, Debug)]
pub struct Copy {
    /// Where from.
    pub from: Site,
    /// Where to.
    pub to: Site,
    /// Not 0: what copies nothing is not enqueued.
    pub bytes: u64,
    /// Whether either end is pageable host memory.
    pub pageable: bool,
}

/// A launch.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The kernel.
    pub name: Arc<str>,
    /// The device's number.
    pub device: usize,
    /// Blocks of the grid: so many multiprocessors are busy, at most.
    pub blocks: u64,
    /// How long it runs by itself.
    pub time: KernelTime,
}

/// How long a kernel runs.
#[derive(Clone, Debug)]
pub enum KernelTime {
    /// In ns.
    Fixed(u64),
    /// As long as the device takes for so many instructions of single threads, known when it has really run.
    Counted(Arc<OnceLock<u64>>),
}

impl Activity {
    /// Whether the report shows it and its enqueueing costs the host.
    pub fn takes_time(&self) -> bool {
        matches!(self, Activity::Copy(_) | Activity::Kernel(_))
    }
}

/// See [`Graph`].
#[derive(Debug)]
pub(super) struct Node {
    pub activity: Activity,
    /// Nodes that were added before it.
    pub after: Vec<NodeId>,
    /// Where its stream must really be for it to be complete; what isn't on a stream has none.
    pub point: Option<Point>,
}

/// All that was ever enqueued, in an order in which nothing comes before what it waits for.
pub(super) struct Graph {
    pub nodes: Vec<Node>,
}

impl Default for Graph {
    fn default() -> Graph {
        Graph { nodes: vec![Node { activity: Activity::Instant, after: Vec::new(), point: None }] }
    }
}

impl Graph {
    pub fn add(&mut self, node: Node) -> NodeId {
        let id = NodeId(u32::try_from(self.nodes.len()).expect("fewer than 2^32 operations"));
        self.nodes.push(node);
        id
    }

    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// What a wait came after.
    pub fn resolve(&mut self, id: NodeId, after: NodeId) {
        self.nodes[id.0 as usize].activity = Activity::Wait(Some(after));
    }

    pub fn cancel(&mut self, id: NodeId) {
        self.nodes[id.0 as usize].activity = Activity::Instant;
    }
}
