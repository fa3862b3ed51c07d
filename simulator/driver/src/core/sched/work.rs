//! What streams hold: operations, the tickets that events hand out, the words that waits watch.

use crate::core::clock::{Activity, NodeId};
use crate::error::{Error, Result};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::time::Instant;

/// A queue of the scheduler: one stream.
pub type QueueId = u64;
/// What shares a fate: the queues of one context.
pub type DomainId = u64;

/// A place in a queue, reached when the queue has completed `seq` operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// The queue.
    pub queue: QueueId,
    /// How many of its operations.
    pub seq: u64,
}

/// One operation of a queue.
pub enum Work {
    /// Something to execute on a thread.
    Task(Task),
    /// `cuStreamWaitValue`.
    Wait(WaitWord),
    /// `cuStreamWriteValue`.
    Write(Word, u64),
    /// `cuEventRecord`: completes the ticket.
    Record(Arc<Ticket>),
    /// `cuStreamWaitEvent`: passes once the ticket is complete.
    After(Arc<Ticket>),
}

/// What a task's body is told: go on, or that its context is lost.
pub type Start = Result;

/// Something to execute. Its body runs once, or is dropped when its context is lost before.
pub struct Task {
    /// What it is, for the reader of a report.
    pub what: String,
    /// A kernel's controls.
    pub kernel: Option<KernelControl>,
    /// What it is to the virtual clock.
    pub activity: Activity,
    /// What it has to do with the hardware channel of its stream.
    pub channel: Channel,
    /// Run the body even when the context is lost, to tell it so: `cuStreamAddCallback`.
    pub tell: bool,
    /// The work; an error loses the context.
    pub body: Box<dyn FnOnce(Start) -> Result + Send>,
}

/// What a task has to do with the hardware channels that streams share (measured on an H200, docs/driver.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// It goes through one: kernels, fills, host functions, small copies to the device. Behind a running kernel it is a mark, and holds
    /// the channel up until the kernel ends.
    Through,
    /// It does not: all other copies.
    Beside,
}

impl Work {
    /// Whether it holds up a channel while it is behind a running kernel.
    pub(super) fn is_mark(&self) -> bool {
        self.goes_through_channel() && !matches!(self, Work::Wait(_))
    }

    /// Whether channels that are held up hold it back.
    pub(super) fn goes_through_channel(&self) -> bool {
        match self {
            Work::Write(..) | Work::Wait(_) => true,
            Work::Task(task) => task.channel == Channel::Through,
            Work::Record(_) | Work::After(_) => false,
        }
    }
}

/// How the scheduler sees into a running kernel.
#[derive(Clone, Default)]
pub struct KernelControl {
    /// Raised to end it.
    pub cancel: Arc<AtomicBool>,
    /// Counts what it changes in memory; standing still means that it polls.
    pub effects: Arc<AtomicU64>,
    /// Whether it is to say, when it is cancelled, what its threads wait for.
    pub explain: Arc<AtomicBool>,
}

/// How a stream wait compares (`CUstreamWaitValue_flags`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// `(word - value) >= 0`, signed and cyclic.
    Geq,
    /// `word == value`.
    Eq,
    /// `word & value != 0`.
    And,
    /// `!(word | value) != 0`.
    Nor,
}

/// The word of a stream memory operation, checked when the operation was enqueued.
#[derive(Clone, Copy, Debug)]
pub struct Word {
    /// Where it lies in this process; aligned, and allocated until the operation has passed, because
    /// freeing waits for pending operations.
    pub host: usize,
    /// The address that the caller gave, for reports.
    pub address: u64,
    /// 64 bits or 32.
    pub wide: bool,
}

impl Word {
    /// Acquire: pairs with the release store of whoever satisfies the wait, so that what was written
    /// before it is seen by the operations behind the wait.
    pub fn load(&self) -> u64 {
        // SAFETY: the field's invariant: an aligned word of allocated memory, only accessed atomically here.
        unsafe {
            match self.wide {
                true => AtomicU64::from_ptr(self.host as *mut u64).load(Ordering::Acquire),
                false => AtomicU32::from_ptr(self.host as *mut u32).load(Ordering::Acquire).into(),
            }
        }
    }

    /// Release: what earlier operations of the stream wrote is visible to whoever acquires the value.
    pub fn store(&self, value: u64) {
        // SAFETY: as in `load`.
        unsafe {
            match self.wide {
                true => AtomicU64::from_ptr(self.host as *mut u64).store(value, Ordering::Release),
                false => AtomicU32::from_ptr(self.host as *mut u32).store(value as u32, Ordering::Release),
            }
        }
    }
}

/// A word, and what it must come to.
#[derive(Clone, Copy, Debug)]
pub struct WaitWord {
    /// The word.
    pub word: Word,
    /// Compared with.
    pub value: u64,
    /// How.
    pub condition: Condition,
}

impl WaitWord {
    /// Whether the stream may go on.
    pub fn satisfied(&self) -> bool {
        self.accepts(self.word.load())
    }

    /// Whether the stream may go on once the word has this value.
    pub fn accepts(&self, now: u64) -> bool {
        let value = self.value;
        match (self.condition, self.word.wide) {
            (Condition::Geq, true) => now.wrapping_sub(value) as i64 >= 0,
            (Condition::Geq, false) => (now as u32).wrapping_sub(value as u32) as i32 >= 0,
            (Condition::Eq, true) => now == value,
            (Condition::Eq, false) => now as u32 == value as u32,
            (Condition::And, true) => now & value != 0,
            (Condition::And, false) => (now & value) as u32 != 0,
            (Condition::Nor, true) => !(now | value) != 0,
            (Condition::Nor, false) => !((now | value) as u32) != 0,
        }
    }
}

/// One recording of an event.
#[derive(Default)]
pub struct Ticket {
    done: OnceLock<(Instant, Result)>,
    /// Where it is on the virtual clock, if there is one, from the moment when it is enqueued.
    pub(super) node: OnceLock<NodeId>,
    /// Queues whose head is `After` this.
    pub(super) waiters: Mutex<Vec<QueueId>>,
    /// Waited on with the scheduler's lock.
    pub(super) reached: Condvar,
}

impl Ticket {
    /// When it was reached and whether its context lived; `None` while pending.
    pub fn done(&self) -> Option<(Instant, Result)> {
        self.done.get().copied()
    }

    /// Completes it; the caller pumps the queues returned.
    pub(super) fn complete(&self, result: Result) -> Vec<QueueId> {
        // Dropping a second completion is right: a ticket is recorded once.
        let _ = self.done.set((Instant::now(), result));
        self.reached.notify_all();
        std::mem::take(&mut *self.waiters.lock().expect("no panic under this lock"))
    }
}

/// A task taken from the head of a queue, to run on some thread.
pub struct Job {
    /// Its queue.
    pub queue: QueueId,
    /// `Err` when the context is lost and the body is only to be told.
    pub start: std::result::Result<(), Error>,
    /// What to run.
    pub body: Box<dyn FnOnce(Start) -> Result + Send>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(now: u64, condition: Condition, value: u64, wide: bool) -> bool {
        let cell = AtomicU64::new(now);
        let word = Word { host: cell.as_ptr() as usize, address: 0, wide };
        WaitWord { word, value, condition }.satisfied()
    }

    #[test]
    fn conditions_compare_as_cuda_h_defines_them() {
        assert!(holds(5, Condition::Geq, 5, true) && !holds(4, Condition::Geq, 5, true));
        assert!(holds(0, Condition::Geq, u64::MAX, true), "greater-or-equal is cyclic");
        assert!(holds(7 << 32 | 3, Condition::Eq, 3, false), "32-bit waits see the low word only");
        assert!(holds(6, Condition::And, 2, true) && !holds(4, Condition::And, 2, true));
        assert!(holds(1, Condition::Nor, 2, false) && !holds(0xffff_fff0, Condition::Nor, 0xf, false));
    }
}
