//! The virtual clock: when operations would begin and end on the machine that the platform description tells of.
//!
//! What streams and host threads do becomes a [graph](graph) of operations and of what each comes after. It
//! grows with the program's calls and holds no times. Times are a pure function of it, which the
//! [engine](engine) computes when somebody asks. So they depend neither on how long anything really takes nor
//! on which thread really came first, and asking changes nothing. `docs/cost-model.md` describes the model.

mod engine;
mod graph;
mod order;
mod report;
mod share;
mod summary;
#[cfg(test)]
mod tests;
mod trace;

pub use graph::{Activity, Copy, Kernel, KernelTime, NodeId};
pub use report::write as write_report;

use super::sched::{Point, QueueId};
use crate::platform::Description;
use engine::Engine;
use graph::{Graph, Node};
use std::cell::Cell;
use std::collections::HashMap;

thread_local! {
    /// Where this thread is: the node that its next call comes after.
    static HERE: Cell<NodeId> = const { Cell::new(NodeId::START) };
    /// This thread's number among those that have enqueued something.
    static NUMBER: Cell<Option<u64>> = const { Cell::new(None) };
}

/// See the module.
pub struct Clock {
    platform: &'static Description,
    graph: Graph,
    engine: Engine,
    /// What the report calls streams.
    streams: HashMap<QueueId, String>,
    /// Stores of `cuStreamWriteValue` that have been made, by the word's address here, in their order.
    stores: HashMap<usize, Vec<(NodeId, u64)>>,
    /// Host threads so far.
    threads: u64,
}

impl Clock {
    /// A clock that stands at 0.
    pub fn new(platform: &'static Description) -> Clock {
        Clock {
            platform,
            graph: Graph::default(),
            engine: Engine::new(platform),
            streams: HashMap::new(),
            stores: HashMap::new(),
            threads: 0,
        }
    }

    /// Names a stream for the report.
    pub fn name_stream(&mut self, queue: QueueId, name: &str) {
        self.streams.insert(queue, name.to_owned());
    }

    /// Where the calling thread is.
    pub fn here(&self) -> NodeId {
        HERE.get()
    }

    /// The calling thread enqueues an operation that comes `after` others; it will be complete when `point` is
    /// reached. A launch, copy or fill costs the thread the platform's queueing time.
    pub fn enqueue(&mut self, activity: Activity, mut after: Vec<NodeId>, point: Point) -> NodeId {
        if activity.takes_time() {
            let thread = NUMBER.get().unwrap_or_else(|| {
                self.threads += 1;
                self.threads
            });
            NUMBER.set(Some(thread));
            let queueing = Activity::Queueing { thread, time: self.platform.queueing };
            HERE.set(self.graph.add(Node { activity: queueing, after: vec![HERE.get()], point: None }));
        }
        after.push(HERE.get());
        self.graph.add(Node { activity, after, point: Some(point) })
    }

    /// A node that is reached when all of these are.
    pub fn meet(&mut self, nodes: Vec<NodeId>) -> NodeId {
        match nodes.as_slice() {
            [] => NodeId::START,
            [one] => *one,
            _ => self.graph.add(Node { activity: Activity::Instant, after: nodes, point: None }),
        }
    }

    /// The calling thread has waited for these, or has seen that they are done.
    pub fn wait_for(&mut self, mut nodes: Vec<NodeId>) {
        let here = HERE.get();
        // Who asks again and again learns nothing new.
        let known = &self.graph.node(here).after;
        nodes.retain(|node| *node != NodeId::START && *node != here && !known.contains(node));
        if !nodes.is_empty() {
            nodes.push(here);
            HERE.set(self.meet(nodes));
        }
    }

    /// A stream has really stored a word.
    pub fn store(&mut self, word: usize, value: u64, node: NodeId) {
        self.stores.entry(word).or_default().push((node, value));
    }

    /// A stream has really passed a wait, whose condition `accepts` values: it comes after the store by a
    /// stream since which the word has had such values, if there is one. What host and kernels store, no clock
    /// sees; but where the same value was stored twice running, somebody must have taken the first away.
    pub fn pass(&mut self, node: NodeId, word: usize, accepts: impl Fn(u64) -> bool) {
        let stores = self.stores.get(&word).map_or(&[][..], Vec::as_slice);
        let mut later = None;
        let lasted = |(_, value): &&(NodeId, u64)| accepts(*value) && later.replace(*value) != Some(*value);
        let since = stores.iter().rev().take_while(lasted).last();
        self.graph.resolve(node, since.map_or(NodeId::START, |(store, _)| *store));
    }

    /// An operation will never be executed: its context is lost.
    pub fn cancel(&mut self, node: NodeId) {
        self.graph.cancel(node);
        self.engine.restart();
    }

    /// When a node is reached, in ns.
    ///
    /// # Errors
    /// What must really be reached before this is known.
    pub fn time(&mut self, node: NodeId) -> Result<u64, Point> {
        self.engine.run(&self.graph, Some(node)).map_err(|unknown| {
            self.graph.nodes[unknown.0 as usize].point.expect("only operations take an unknown time")
        })?;
        Ok(self.engine.end(node).expect("it was run until then"))
    }

    /// Computes everything that can be known.
    fn settle(&mut self) {
        // Without a target nothing is unknown: what isn't yet, never ends.
        let _ = self.engine.run(&self.graph, None);
    }
}
