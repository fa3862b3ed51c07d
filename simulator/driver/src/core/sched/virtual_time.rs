//! What the scheduler tells the virtual clock: what each operation comes after, and what calls wait for.
//!
//! Nothing here may depend on what is complete already: that would bring real time in. So an operation comes
//! after its stream's last one, complete or not.

use super::Scheduler;
use super::state::{Class, State};
use super::work::{DomainId, Point, QueueId, Ticket, Work};
use crate::core::clock::{Activity, NodeId, write_report};
use std::path::Path;

/// The last operations of streams that were destroyed.
pub(super) struct Gone {
    /// Of those that the legacy default stream comes after.
    blocking: NodeId,
    /// Of the others.
    free: NodeId,
}

impl Default for Gone {
    fn default() -> Gone {
        Gone { blocking: NodeId::START, free: NodeId::START }
    }
}

impl State {
    /// A new stream's beginning: its maker's present.
    pub(super) fn place_stream(&mut self, domain: DomainId, id: QueueId) -> NodeId {
        let Some(clock) = &mut self.clock else { return NodeId::START };
        let number = self.domains.get(&domain).map_or(0, |domain| domain.made);
        let name = if number == 0 { "default stream".to_owned() } else { format!("stream {number}") };
        clock.name_stream(id, &name);
        clock.here()
    }

    /// The last operations of a domain's streams of these classes.
    fn lasts(&self, domain: DomainId, include: impl Fn(Class) -> bool) -> Vec<NodeId> {
        let Some(domain) = self.domains.get(&domain) else { return Vec::new() };
        let streams = domain.queues.iter().filter_map(|id| self.queues.get(id)).filter(|q| include(q.class));
        let mut lasts: Vec<NodeId> = streams.map(|q| q.last).collect();
        for (class, last) in [(Class::Blocking, domain.gone.blocking), (Class::NonBlocking, domain.gone.free)]
        {
            lasts.extend(include(class).then_some(last));
        }
        lasts.retain(|last| *last != NodeId::START);
        lasts
    }

    /// All that a stream's next operation comes after, by its stream and the legacy rules.
    fn behind(&self, id: QueueId) -> Vec<NodeId> {
        let Some(queue) = self.queues.get(&id) else { return Vec::new() };
        let mut behind = match queue.class {
            Class::Legacy => self.lasts(queue.domain, |class| class == Class::Blocking),
            Class::Blocking => self.lasts(queue.domain, |class| class == Class::Legacy),
            Class::NonBlocking => Vec::new(),
        };
        behind.push(queue.last);
        behind
    }

    /// Puts an operation that is about to be appended to a queue on the clock.
    pub(super) fn place(&mut self, id: QueueId, work: &Work) -> NodeId {
        if self.clock.is_none() {
            return NodeId::START;
        }
        let mut after = self.behind(id);
        let activity = match work {
            Work::Task(task) => task.activity.clone(),
            Work::Wait(_) => Activity::Wait(None),
            Work::Write(..) | Work::Record(_) => Activity::Instant,
            Work::After(ticket) => {
                after.extend(ticket.node.get());
                Activity::Instant
            }
        };
        let seq = self.queues.get(&id).map_or(0, |q| q.submitted) + 1;
        let clock = self.clock.as_mut().expect("checked above");
        let node = clock.enqueue(activity, after, Point { queue: id, seq });
        if let Work::Record(ticket) = work {
            // A ticket is recorded once.
            let _ = ticket.node.set(node);
        }
        node
    }

    /// The calling thread has waited for these.
    fn waited_for(&mut self, nodes: Vec<NodeId>) {
        if let Some(clock) = &mut self.clock {
            clock.wait_for(nodes);
        }
    }

    /// A queue is about to go.
    pub(super) fn remember_last(&mut self, id: QueueId) {
        let (Some(clock), Some(queue)) = (&mut self.clock, self.queues.get(&id)) else { return };
        let Some(domain) = self.domains.get_mut(&queue.domain) else { return };
        let gone = match queue.class {
            Class::NonBlocking => &mut domain.gone.free,
            Class::Blocking | Class::Legacy => &mut domain.gone.blocking,
        };
        *gone = clock.meet(vec![*gone, queue.last]);
    }
}

/// What a call waits for, as the virtual clock sees it: fixed before the call waits.
pub(super) struct Awaited(Vec<NodeId>);

impl Awaited {
    /// All that a queue holds now, with what the legacy rules put before it.
    pub fn queue(state: &State, id: QueueId) -> Awaited {
        let Some(queue) = state.queues.get(&id) else { return Awaited(Vec::new()) };
        let before =
            (queue.class == Class::Legacy).then(|| state.lasts(queue.domain, |c| c == Class::Blocking));
        Awaited(before.into_iter().flatten().chain([queue.last]).collect())
    }

    /// All that a domain holds now.
    pub fn domain(state: &State, id: DomainId) -> Awaited {
        Awaited(state.lasts(id, |_| true))
    }

    /// An event's recording.
    pub fn ticket(ticket: &Ticket) -> Awaited {
        Awaited(ticket.node.get().copied().into_iter().collect())
    }

    /// The wait is over.
    pub fn over(self, state: &mut State) {
        state.waited_for(self.0);
    }
}

impl Scheduler {
    /// The calling thread has seen that an event's recording is complete.
    pub fn seen(&self, ticket: &Ticket) {
        Awaited::ticket(ticket).over(&mut self.lock());
    }

    /// When an event was recorded, in ns of virtual time; `None` without a platform. Waits, in real time, until
    /// that is known: a kernel whose instructions are counted must have run.
    pub fn virtual_time(&self, ticket: &Ticket) -> Option<u64> {
        let mut state = self.lock();
        loop {
            let (clock, node) = (state.clock.as_mut()?, ticket.node.get()?);
            match clock.time(*node) {
                Ok(time) => return Some(time),
                // No deadlock is looked for: a kernel may well compute for long.
                Err(point) => state = self.await_advance(state, point),
            }
        }
    }

    /// Writes the clock's report, if there is a clock.
    pub fn report(&self, file: &Path) {
        if let Some(clock) = &mut self.lock().clock {
            write_report(clock, file);
        }
    }
}
