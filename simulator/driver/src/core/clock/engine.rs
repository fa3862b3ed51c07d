//! When everything in the graph happens: a simulation of discrete events.

use super::graph::{Activity, Copy, Graph, Kernel, KernelTime, NodeId};
use super::order::sequential;
use super::share::{Demand, fair};
use crate::platform::{Description, Site};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Times in ns.
type Time = u64;

/// How far a node has come.
#[derive(Clone, Debug, Default)]
struct Progress {
    /// So many of those it comes after have not happened yet.
    missing: u32,
    /// When the last of the others did.
    ready: Time,
    begin: Option<Time>,
    end: Option<Time>,
    /// Those that come after it.
    followers: Vec<NodeId>,
}

/// A copy or kernel under way.
#[derive(Debug)]
struct Flow {
    node: NodeId,
    /// The copy, if it is one.
    copy: Option<Copy>,
    demand: Demand,
    /// Until then it moves nothing: latency, launch.
    head: Time,
    /// What it moves per ns since `since`, when `rest` was left.
    rate: f64,
    since: Time,
    rest: f64,
}

impl Flow {
    /// When the rest is done if the rate stays. A millionth of a ns is what rounding has left.
    fn end(&self) -> Time {
        match self.rate > 0.0 {
            true => self.since.saturating_add((self.rest / self.rate - 1e-6).ceil().max(0.0) as Time),
            false => Time::MAX,
        }
    }

    fn set_rate(&mut self, rate: f64, now: Time) {
        // Only a change is a new beginning, so that what else happens meanwhile leaves no trace in the rounding.
        if rate != self.rate {
            self.rest = (self.rest - self.rate * (now - self.since) as f64).max(0.0);
            (self.rate, self.since) = (rate, now);
        }
    }
}

/// See the module. Its state is what holds at `now`.
pub(super) struct Engine {
    platform: &'static Description,
    /// What switches and then devices have to share.
    capacities: Vec<f64>,
    now: Time,
    /// Whether operations have been chosen to begin at `now`: one that is ready then and arrives later has missed that.
    chosen: bool,
    /// Nodes taken in from the graph.
    progress: Vec<Progress>,
    /// Ends of host threads' own time, and of flows' heads.
    agenda: BinaryHeap<Reverse<(Time, NodeId)>>,
    /// Operations that could begin but for others, or whose time isn't known.
    ready: Vec<NodeId>,
    flows: Vec<Flow>,
}

impl Engine {
    pub fn new(platform: &'static Description) -> Engine {
        let switches = platform.switches.iter().map(|switch| switch.bandwidth);
        let devices = platform.devices.iter().map(|device| f64::from(device.multiprocessors));
        Engine {
            platform,
            capacities: switches.chain(devices).collect(),
            now: 0,
            chosen: false,
            progress: Vec::new(),
            agenda: BinaryHeap::new(),
            ready: Vec::new(),
            flows: Vec::new(),
        }
    }

    /// Forgets all times: the next run computes them anew.
    pub fn restart(&mut self) {
        *self = Engine::new(self.platform);
    }

    /// When a node was reached, as far as that has been computed.
    pub fn end(&self, node: NodeId) -> Option<Time> {
        self.progress.get(node.0 as usize)?.end
    }

    /// When an operation could have begun but for others, when it began and when it ended; `None` if it did not.
    pub fn times(&self, node: NodeId) -> Option<(Time, Time, Time)> {
        let progress = self.progress.get(node.0 as usize)?;
        Some((progress.ready, progress.begin?, progress.end?))
    }

    /// Computes times until `target` is reached; without one, all.
    ///
    /// # Errors
    /// The operation that must really end first, as what it takes is unknown. Without a target, such
    /// operations never end.
    pub fn run(&mut self, graph: &Graph, target: Option<NodeId>) -> Result<(), NodeId> {
        if self.take_in(graph) {
            self.restart();
            self.take_in(graph);
        }
        loop {
            self.end_what_ends(graph);
            self.pass_waits(graph);
            if target.is_some_and(|target| self.end(target).is_some()) {
                return Ok(());
            }
            let unknown = self.begin_what_may(graph);
            if let (Some(unknown), Some(_)) = (unknown, target) {
                return Err(unknown);
            }
            let flows = self.flows.iter().map(Flow::end);
            let next = self.agenda.peek().map(|Reverse((time, _))| *time).into_iter().chain(flows).min();
            match next {
                Some(next) if next > self.now => (self.now, self.chosen) = (next, false),
                Some(_) => {}
                None => return Ok(()),
            }
        }
    }

    /// Takes in what the graph has got since. True if an operation's time to begin has gone by already: a thread
    /// enqueued it that is behind another one, which has asked for times.
    fn take_in(&mut self, graph: &Graph) -> bool {
        let (from, waiting) = (self.progress.len(), self.ready.len());
        self.progress.resize(graph.nodes.len(), Progress::default());
        for index in from..graph.nodes.len() {
            let id = NodeId(index as u32);
            for earlier in &graph.nodes[index].after {
                self.follow(id, *earlier);
            }
            if self.progress[index].missing == 0 {
                if let Some(at) = self.release(graph, id) {
                    self.finish(graph, id, at);
                }
            }
        }
        let late = |at: Time| at < self.now || (at == self.now && self.chosen);
        self.ready[waiting..].iter().any(|id| late(self.progress[id.0 as usize].ready))
    }

    /// Makes a node come after another one.
    fn follow(&mut self, id: NodeId, earlier: NodeId) {
        match self.end(earlier) {
            Some(end) => {
                let ready = &mut self.progress[id.0 as usize].ready;
                *ready = end.max(*ready);
            }
            None => {
                self.progress[earlier.0 as usize].followers.push(id);
                self.progress[id.0 as usize].missing += 1;
            }
        }
    }

    /// All that a node comes after has happened. Returns when the node itself does, if that has come.
    fn release(&mut self, graph: &Graph, id: NodeId) -> Option<Time> {
        let ready = self.progress[id.0 as usize].ready;
        match &graph.node(id).activity {
            Activity::Instant => Some(ready),
            Activity::Queueing { time, .. } => {
                self.progress[id.0 as usize].begin = Some(ready);
                let end = ready + time;
                if end <= self.now {
                    return Some(end);
                }
                self.agenda.push(Reverse((end, id)));
                None
            }
            Activity::Copy(_) | Activity::Kernel(_) | Activity::Wait(_) => {
                self.ready.push(id);
                None
            }
        }
    }

    /// A node has happened, and so has what comes after it at once.
    fn finish(&mut self, graph: &Graph, id: NodeId, at: Time) {
        let mut done = vec![(id, at)];
        while let Some((id, at)) = done.pop() {
            let progress = &mut self.progress[id.0 as usize];
            progress.end = Some(at);
            for follower in std::mem::take(&mut progress.followers) {
                let progress = &mut self.progress[follower.0 as usize];
                progress.ready = progress.ready.max(at);
                progress.missing -= 1;
                if progress.missing == 0 {
                    done.extend(self.release(graph, follower).map(|at| (follower, at)));
                }
            }
        }
    }

    /// Ends what ends at `now`.
    fn end_what_ends(&mut self, graph: &Graph) {
        while let Some(Reverse((time, id))) = self.agenda.peek().copied() {
            if time > self.now {
                break;
            }
            self.agenda.pop();
            // A flow's head ends by the choice of rates.
            if let Activity::Queueing { .. } = graph.node(id).activity {
                self.finish(graph, id, time);
            }
        }
        let now = self.now;
        let (ended, going): (Vec<Flow>, Vec<Flow>) =
            std::mem::take(&mut self.flows).into_iter().partition(|flow| flow.end() <= now);
        self.flows = going;
        for flow in ended {
            self.finish(graph, flow.node, now);
        }
    }

    /// Has streams go on whose waits have passed, or go on behind the store that they waited for.
    fn pass_waits(&mut self, graph: &Graph) {
        let passed = |id: &NodeId| matches!(graph.node(*id).activity, Activity::Wait(Some(_)));
        while let Some(place) = self.ready.iter().position(passed) {
            let id = self.ready.swap_remove(place);
            let Activity::Wait(Some(store)) = graph.node(id).activity else { unreachable!("found as such") };
            self.follow(id, store);
            if self.progress[id.0 as usize].missing == 0 {
                let ready = self.progress[id.0 as usize].ready;
                self.finish(graph, id, ready);
            }
        }
    }

    /// Begins what may begin at `now`, and shares out what those under way use. Returns an operation, if there
    /// is one, that could begin but takes an unknown time.
    fn begin_what_may(&mut self, graph: &Graph) -> Option<NodeId> {
        self.chosen = true;
        let (mut unknown, mut held) = (None, Vec::new());
        let mut ready = std::mem::take(&mut self.ready);
        ready.sort_by_cached_key(|id| (self.progress[id.0 as usize].ready, rank(graph, *id)));
        for id in ready {
            match &graph.node(id).activity {
                Activity::Copy(copy) => {
                    let under_way = self.flows.iter().filter_map(|flow| flow.copy.as_ref());
                    if under_way.chain(&held).any(|earlier| sequential(copy, earlier)) {
                        held.push(*copy);
                        self.ready.push(id);
                    } else {
                        self.begin_copy(id, *copy);
                    }
                }
                Activity::Kernel(kernel) => {
                    if !self.begin_kernel(id, kernel) {
                        unknown.get_or_insert(id);
                        self.ready.push(id);
                    }
                }
                Activity::Wait(_) => {
                    unknown.get_or_insert(id);
                    self.ready.push(id);
                }
                Activity::Instant | Activity::Queueing { .. } => unreachable!("these begin when released"),
            }
        }
        let now = self.now;
        let moving = |flow: &&mut Flow| flow.head <= now;
        let demands: Vec<Demand> =
            self.flows.iter_mut().filter(moving).map(|flow| flow.demand.clone()).collect();
        let rates = fair(&demands, &self.capacities);
        for (flow, rate) in self.flows.iter_mut().filter(moving).zip(rates) {
            flow.set_rate(rate, now);
        }
        unknown
    }

    fn start(&mut self, node: NodeId, copy: Option<Copy>, head: Time, rest: f64, demand: Demand) {
        let head = self.now + head;
        self.progress[node.0 as usize].begin = Some(self.now);
        self.agenda.push(Reverse((head, node)));
        self.flows.push(Flow { node, copy, demand, head, rate: 0.0, since: head, rest });
    }

    fn begin_copy(&mut self, id: NodeId, copy: Copy) {
        let Some(link) = self.platform.links.get(&(copy.from, copy.to)) else {
            // Within host memory there may be none; such a copy is over at once.
            return self.start(id, Some(copy), 0, 0.0, Demand { most: 1.0, through: None });
        };
        let speed = if copy.pageable { link.pageable } else { link.direct };
        let demand = Demand { most: speed.bandwidth, through: link.switch };
        self.start(id, Some(copy), speed.latency, copy.bytes as f64, demand);
    }

    /// False if its time isn't known yet.
    fn begin_kernel(&mut self, id: NodeId, kernel: &Kernel) -> bool {
        let device = &self.platform.devices[kernel.device];
        let all = u64::from(device.multiprocessors);
        let busy = kernel.blocks.min(all) as f64;
        let alone = match &kernel.time {
            KernelTime::Fixed(time) => *time as f64,
            KernelTime::Counted(count) => {
                let (Some(count), Some(rate)) = (count.get(), device.rate) else { return false };
                // The multiprocessor that has most blocks, each of which has as many instructions as any other.
                let blocks = kernel.blocks.div_ceil(all) as f64;
                *count as f64 / kernel.blocks as f64 * blocks / (rate / all as f64)
            }
        };
        let through = Some(self.platform.switches.len() + kernel.device);
        self.start(id, None, device.launch, alone * busy, Demand { most: busy, through });
        true
    }
}

/// Which of two operations comes first that are ready at the same time: the order of their enqueueing may be
/// that of two threads of which neither was before the other, so what they are decides as far as it can.
fn rank(graph: &Graph, id: NodeId) -> (u8, Site, Site, u64, u64, NodeId) {
    let node = graph.node(id);
    let queue = node.point.map_or(0, |point| point.queue);
    match &node.activity {
        Activity::Copy(copy) => (0, copy.from, copy.to, copy.bytes, queue, id),
        Activity::Kernel(kernel) => (1, Site::Device(kernel.device), Site::Host, kernel.blocks, queue, id),
        _ => (2, Site::Host, Site::Host, 0, queue, id),
    }
}
