//! The scheduler's state machine: which operation of which queue may run. Pure: no threads, no waiting.

use super::first_use::FirstUse;
use super::virtual_time::Gone;
use super::work::{DomainId, Job, KernelControl, Point, QueueId, Task, Ticket, WaitWord, Work};
use crate::core::clock::{Clock, NodeId};
use crate::error::{Error, Result};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar};
use std::time::Instant;

/// How a queue orders itself against the legacy default stream of its context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The legacy default stream: runs after all earlier work of blocking queues.
    Legacy,
    /// Runs after all earlier work of the legacy default stream.
    Blocking,
    /// `CU_STREAM_NON_BLOCKING`: no order with it.
    NonBlocking,
}

pub(super) struct Operation {
    pub work: Work,
    /// Position among all operations of all queues; channels are served in this order.
    pub order: u64,
    /// Legacy-stream rules: must be reached first.
    pub after: Vec<Point>,
    /// On the virtual clock.
    pub node: NodeId,
}

pub(super) struct Running {
    pub what: String,
    pub kernel: Option<KernelControl>,
    pub since: Instant,
}

pub(super) struct Queue {
    /// What a report calls it.
    pub name: String,
    pub domain: DomainId,
    pub class: Class,
    pub channel: usize,
    pub submitted: u64,
    pub completed: u64,
    pub operations: VecDeque<Operation>,
    pub running: Option<Running>,
    /// Queues whose head has a point of this one in `after`.
    pub waiters: Vec<QueueId>,
    /// The stream was destroyed: goes when empty.
    pub retired: bool,
    /// The last operation on the virtual clock.
    pub last: NodeId,
    /// Notified at every completion.
    pub advanced: Arc<Condvar>,
}

impl Queue {
    /// Whether a mark that was enqueued before `order` waits for a kernel to end.
    fn has_mark_behind_kernel(&self, order: u64) -> bool {
        let runs_kernel = self.running.as_ref().is_some_and(|running| running.kernel.is_some());
        runs_kernel && self.operations.iter().any(|o| o.order < order && o.work.is_mark())
    }
}

pub(super) struct Domain {
    /// The sticky error, once its context is lost.
    pub dead: Option<Error>,
    pub legacy: QueueId,
    pub queues: Vec<QueueId>,
    /// Queues made so far, to deal out channels.
    pub made: usize,
    /// Hardware channels. A kernel with marks behind it takes one, and others get what is free; where there are 1 or 2, a pending wait
    /// holds up that of its queue (measured on an H200).
    pub channels: usize,
    /// What has been got ready for kernels.
    pub first_use: FirstUse,
    /// Notified when a wait or kernel of the domain begins or ends.
    pub changed: Arc<Condvar>,
    /// The last operations of destroyed streams on the virtual clock.
    pub gone: Gone,
}

pub(super) struct PendingWait {
    pub queue: QueueId,
    pub domain: DomainId,
    pub channel: usize,
    pub order: u64,
    pub word: WaitWord,
    pub since: Instant,
}

/// See the module.
#[derive(Default)]
pub struct State {
    pub(super) queues: HashMap<QueueId, Queue>,
    pub(super) domains: HashMap<DomainId, Domain>,
    /// Waits at the head of their queues, not yet satisfied.
    pub(super) waits: Vec<PendingWait>,
    /// Queues whose head may not start because channels are held up, since when.
    pub(super) held: HashMap<QueueId, Instant>,
    /// With a platform.
    pub(super) clock: Option<Clock>,
    next: u64,
}

impl State {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    pub(super) fn add_domain(&mut self, channels: usize) -> DomainId {
        let id = self.number();
        let domain = Domain {
            dead: None,
            legacy: 0,
            queues: Vec::new(),
            made: 0,
            channels,
            first_use: FirstUse::default(),
            changed: Arc::default(),
            gone: Gone::default(),
        };
        self.domains.insert(id, domain);
        let name = "default stream".to_owned();
        let legacy = self.add_queue(id, Class::Legacy, name).expect("the domain was just inserted");
        self.domains.get_mut(&id).expect("just inserted").legacy = legacy;
        id
    }

    pub(super) fn add_queue(&mut self, domain: DomainId, class: Class, name: String) -> Result<QueueId> {
        let id = self.number();
        let last = self.place_stream(domain, id);
        let owner = self.domains.get_mut(&domain).ok_or(Error::CONTEXT_IS_DESTROYED)?;
        let channel = owner.made % owner.channels;
        owner.made += 1;
        owner.queues.push(id);
        let queue = Queue {
            name,
            domain,
            class,
            channel,
            submitted: 0,
            completed: 0,
            operations: VecDeque::new(),
            running: None,
            waiters: Vec::new(),
            retired: false,
            last,
            advanced: Arc::default(),
        };
        self.queues.insert(id, queue);
        Ok(id)
    }

    /// A domain's sticky error.
    pub(super) fn check(&self, domain: DomainId) -> Result {
        match self.domains.get(&domain) {
            Some(domain) => domain.dead.map_or(Ok(()), Err),
            None => Err(Error::CONTEXT_IS_DESTROYED),
        }
    }

    /// Whether the queue has come that far; a queue that is gone has.
    pub(super) fn reached(&self, point: Point) -> bool {
        self.queues.get(&point.queue).is_none_or(|q| q.completed >= point.seq)
    }

    /// What a point waits for in the end: where its queue's head waits for another queue by the legacy
    /// rules, that queue.
    pub(super) fn bottom(&self, point: Point) -> Point {
        let head = self.queues.get(&point.queue).filter(|q| q.running.is_none());
        let head = head.and_then(|q| q.operations.front());
        match head.and_then(|o| o.after.iter().find(|p| !self.reached(**p))) {
            // Ends: what an operation waits for was submitted before it.
            Some(earlier) => self.bottom(*earlier),
            None => point,
        }
    }

    /// Where a queue stands now, if something is pending there.
    fn pending(&self, id: QueueId) -> Option<Point> {
        let queue = self.queues.get(&id)?;
        (queue.completed < queue.submitted).then_some(Point { queue: id, seq: queue.submitted })
    }

    /// Everything pending in a domain whose queue `include` accepts.
    pub(super) fn snapshot(&self, domain: DomainId, include: impl Fn(Class) -> bool) -> Vec<Point> {
        let Some(domain) = self.domains.get(&domain) else { return Vec::new() };
        let chosen = domain.queues.iter().filter(|id| self.queues.get(id).is_some_and(|q| include(q.class)));
        chosen.filter_map(|id| self.pending(*id)).collect()
    }

    /// What must be complete before the legacy rules call a queue's earlier work done.
    pub(super) fn before(&self, id: QueueId) -> Vec<Point> {
        let Some(queue) = self.queues.get(&id) else { return Vec::new() };
        match queue.class {
            Class::Legacy => self.snapshot(queue.domain, |c| c == Class::Blocking),
            Class::Blocking => {
                self.domains.get(&queue.domain).and_then(|d| self.pending(d.legacy)).into_iter().collect()
            }
            Class::NonBlocking => Vec::new(),
        }
    }

    /// Appends an operation. The caller pumps the queue.
    pub(super) fn push(&mut self, id: QueueId, work: Work) -> Result<Point> {
        let (mut after, order) = (self.before(id), self.number());
        let domain = self.queues.get(&id).ok_or(Error::INVALID_HANDLE)?.domain;
        self.check(domain)?;
        after.extend(self.held_back_by(domain));
        let node = self.place(id, &work);
        let queue = self.queues.get_mut(&id).expect("looked up above");
        queue.last = node;
        queue.operations.push_back(Operation { work, order, after, node });
        queue.submitted += 1;
        Ok(Point { queue: id, seq: queue.submitted })
    }

    /// Lets everything that may run now run, beginning with these queues.
    pub(super) fn pump(&mut self, first: Vec<QueueId>) -> Vec<Job> {
        let (mut todo, mut jobs) = (first, Vec::new());
        while let Some(id) = todo.pop() {
            while self.step(id, &mut todo, &mut jobs) {}
        }
        jobs
    }

    /// Tries the head of one queue; true if it is worth trying again.
    fn step(&mut self, id: QueueId, todo: &mut Vec<QueueId>, jobs: &mut Vec<Job>) -> bool {
        let Some(queue) = self.queues.get(&id) else { return false };
        if queue.running.is_some() {
            return false;
        }
        let Some(head) = queue.operations.front() else {
            if queue.retired {
                self.remove_queue(id);
            }
            return false;
        };
        if let Some(point) = head.after.iter().find(|p| !self.reached(**p)) {
            let earlier = point.queue;
            let waiters = &mut self.queues.get_mut(&earlier).expect("not reached, so it exists").waiters;
            if !waiters.contains(&id) {
                waiters.push(id);
            }
            return false;
        }
        let (domain, channel, order) = (queue.domain, queue.channel, head.order);
        if head.work.goes_through_channel() && self.is_held_up(id, queue, order) {
            self.held.entry(id).or_insert_with(Instant::now);
            return false;
        }
        match &head.work {
            Work::Wait(word) if !word.satisfied() => {
                if !self.waits.iter().any(|w| w.queue == id) {
                    let (word, since) = (*word, Instant::now());
                    self.waits.push(PendingWait { queue: id, domain, channel, order, word, since });
                    self.notify_domain(domain);
                }
                return false;
            }
            Work::Wait(wait) => {
                if let Some(clock) = &mut self.clock {
                    clock.pass(head.node, wait.word.host, |value| wait.accepts(value));
                }
                self.waits.retain(|w| w.queue != id);
                todo.extend(self.held.drain().map(|(queue, _)| queue));
            }
            Work::After(ticket) if ticket.done().is_none() => {
                let mut waiters = ticket.waiters.lock().expect("no panic under this lock");
                if !waiters.contains(&id) {
                    waiters.push(id);
                }
                return false;
            }
            Work::After(_) => {}
            Work::Write(word, value) => {
                word.store(*value);
                if let Some(clock) = &mut self.clock {
                    clock.store(word.host, *value, head.node);
                }
            }
            Work::Record(ticket) => todo.extend(ticket.complete(Ok(()))),
            Work::Task(_) => {
                jobs.push(self.start(id));
                return false;
            }
        }
        self.finish(id, todo);
        true
    }

    /// Whether there is no channel for the queue, because of what other queues sent there before.
    fn is_held_up(&self, id: QueueId, queue: &Queue, order: u64) -> bool {
        let Some(domain) = self.domains.get(&queue.domain) else { return false };
        let earlier_wait = |wait: &PendingWait| {
            wait.domain == queue.domain
                && wait.channel == queue.channel
                && wait.queue != id
                && wait.order < order
        };
        let others = domain.queues.iter().filter(|other| **other != id).filter_map(|id| self.queues.get(id));
        (domain.channels <= 2 && self.waits.iter().any(earlier_wait))
            || others.filter(|other| other.has_mark_behind_kernel(order)).count() >= domain.channels
    }

    fn start(&mut self, id: QueueId) -> Job {
        let queue = self.queues.get_mut(&id).expect("the caller saw it");
        let domain = queue.domain;
        let Some(Operation { work: Work::Task(Task { what, kernel, body, .. }), .. }) =
            queue.operations.pop_front()
        else {
            unreachable!("the caller saw a task at the head")
        };
        queue.running = Some(Running { what, kernel, since: Instant::now() });
        self.held.remove(&id);
        self.notify_domain(domain);
        Job { queue: id, start: Ok(()), body }
    }

    /// The head, never started on a thread, is complete.
    fn finish(&mut self, id: QueueId, todo: &mut Vec<QueueId>) {
        let queue = self.queues.get_mut(&id).expect("the caller saw it");
        queue.operations.pop_front();
        queue.completed += 1;
        queue.advanced.notify_all();
        todo.append(&mut queue.waiters);
        let domain = queue.domain;
        self.held.remove(&id);
        self.notify_domain(domain);
    }

    /// The queue's running task has ended.
    pub(super) fn complete(&mut self, id: QueueId) -> Vec<Job> {
        let Some(queue) = self.queues.get_mut(&id) else { return Vec::new() };
        queue.running = None;
        queue.completed += 1;
        queue.advanced.notify_all();
        let mut todo = std::mem::take(&mut queue.waiters);
        let domain = queue.domain;
        todo.push(id);
        todo.extend(self.held.drain().map(|(queue, _)| queue));
        self.notify_domain(domain);
        self.pump(todo)
    }

    /// Pumps the queues whose waits have been satisfied.
    pub(super) fn poll(&mut self) -> Vec<Job> {
        let ready: Vec<QueueId> = self.waits.iter().filter(|w| w.word.satisfied()).map(|w| w.queue).collect();
        self.pump(ready)
    }

    /// Loses a context: nothing of it that hasn't begun will run, and its kernels are cancelled.
    /// Only the first error sticks.
    pub(super) fn poison(&mut self, id: DomainId, error: Error) -> Vec<Job> {
        let Some(domain) = self.domains.get_mut(&id) else { return Vec::new() };
        if domain.dead.is_some() {
            return Vec::new();
        }
        domain.dead = Some(error);
        self.waits.retain(|w| w.domain != id);
        let queues = domain.queues.clone();
        let (mut todo, mut jobs): (Vec<QueueId>, _) =
            (self.held.drain().map(|(q, _)| q).collect(), Vec::new());
        for queue_id in queues {
            let Some(queue) = self.queues.get_mut(&queue_id) else { continue };
            if let Some(control) = queue.running.as_ref().and_then(|r| r.kernel.as_ref()) {
                // Relaxed: the flag carries no data.
                control.cancel.store(true, std::sync::atomic::Ordering::Relaxed);
            }
            queue.completed += queue.operations.len() as u64;
            for operation in queue.operations.drain(..) {
                if let Some(clock) = &mut self.clock {
                    clock.cancel(operation.node);
                }
                match operation.work {
                    Work::Record(ticket) => todo.extend(ticket.complete(Err(error))),
                    Work::Task(Task { tell: true, body, .. }) => {
                        jobs.push(Job { queue: 0, start: Err(error), body });
                    }
                    Work::Task(_) | Work::Wait(_) | Work::Write(..) | Work::After(_) => {}
                }
            }
            queue.advanced.notify_all();
            todo.append(&mut queue.waiters);
            todo.push(queue_id);
        }
        self.notify_domain(id);
        jobs.extend(self.pump(todo));
        jobs
    }

    /// Marks a queue to go when it is empty. The caller pumps it.
    pub(super) fn retire(&mut self, id: QueueId) {
        if let Some(queue) = self.queues.get_mut(&id) {
            queue.retired = true;
            self.remember_last(id);
        }
    }

    fn remove_queue(&mut self, id: QueueId) {
        let Some(queue) = self.queues.remove(&id) else { return };
        if let Some(domain) = self.domains.get_mut(&queue.domain) {
            domain.queues.retain(|q| *q != id);
        }
    }

    pub(super) fn remove_domain(&mut self, id: DomainId) {
        let Some(domain) = self.domains.remove(&id) else { return };
        for queue in domain.queues {
            self.queues.remove(&queue);
        }
    }

    pub(super) fn kernel_runs(&self, domain: DomainId) -> bool {
        self.running(domain).any(|r| r.kernel.is_some())
    }

    pub(super) fn anything_runs(&self, domain: DomainId) -> bool {
        self.running(domain).next().is_some()
    }

    fn running(&self, domain: DomainId) -> impl Iterator<Item = &Running> {
        let queues = self.domains.get(&domain).map_or(&[][..], |d| &d.queues);
        queues.iter().filter_map(|q| self.queues.get(q)?.running.as_ref())
    }

    fn notify_domain(&self, id: DomainId) {
        if let Some(domain) = self.domains.get(&id) {
            domain.changed.notify_all();
        }
    }
}

/// A ticket that nobody has reached yet.
pub fn ticket() -> Arc<Ticket> {
    Arc::default()
}
