//! Regions that nobody waits for: `target nowait`, whose tasks libgomp keeps.
//!
//! Such a region is launched at once by the thread that comes to it, or when it is given a queue. Then it belongs to the device's
//! *crew*. One thread of it is *on watch* and looks for the ends and the requests of all these regions ([`super::watch`]). Who
//! finds a request hands the watch on and then serves. So a block may take its time, and may wait for other such regions. The crew
//! has one thread more than it serves blocks at a time.
//!
//! A region belongs to one thread at a time, which gives it to the next under this module's lock: its blocks run one after another,
//! as those of a region that a thread waits for. The lock is held for changes of the lists only. The queues' lock and the gate's
//! are not taken under it, and it may be taken where libgomp's device lock is held: nothing that a thread on watch does needs that
//! lock, so it cannot wait for a block that does.

use super::kernel::{Plan, Region};
use super::queue::Queue;
use super::watch;
use crate::abi::host::{self, Task};
use crate::device::Device;
use crate::driver::ContextGuard;
use crate::error::{Error, Result};
use crate::reverse::region;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long the end of the program waits for regions. One of them may wait for the host, which does no more.
const GRACE: Duration = Duration::from_secs(10);

/// One device's regions that nobody waits for.
pub struct Tasks {
    state: Mutex<State>,
    /// Signalled when someone has to take the watch.
    relief: Condvar,
    /// Signalled when a region has ended, or the crew has failed.
    ended: Condvar,
    /// Whether the lists have got something that the thread on watch has not seen.
    news: AtomicBool,
    /// Names the thread on watch to the gate.
    pub(super) waiter: u64,
}

#[derive(Default)]
struct State {
    /// Regions that run and belong to nobody.
    running: Vec<Running>,
    /// Regions that have a queue and are to be launched.
    ready: VecDeque<Ready>,
    watched: bool,
    /// Threads of the crew that have nothing to do.
    spare: usize,
    /// Regions that have not ended, and how many of them may make requests.
    outstanding: usize,
    requesting: usize,
    /// Whether a thread waits for the end of all of them, and would be told of a failure.
    closing: bool,
    failure: Option<Error>,
}

impl State {
    fn is_idle(&self) -> bool {
        self.running.is_empty() && self.ready.is_empty()
    }
}

/// A region that runs.
pub(super) struct Running {
    /// The region.
    pub region: Region,
    /// What libgomp knows it by.
    pub task: Task,
    /// Whether its end wakes the thread on watch.
    pub noticed: bool,
    /// Whether the driver has said that it has ended.
    pub ended: bool,
}

impl Running {
    /// Whether its kernel is done, as far as is known.
    pub fn has_ended(&self) -> bool {
        self.ended || self.region.queue.has_ended()
    }

    /// Whether it has ended, and none of the program's code has to run for that.
    pub fn is_done(&self) -> bool {
        self.has_ended() && self.region.requests.as_ref().is_none_or(|requests| requests.is_quiet())
    }

    /// Whether it needs a thread that may run the program's code, or wait for it: for a request that a quick look finds, or to end, and is
    /// not done.
    pub fn needs_service(&self) -> bool {
        self.region.requests.as_ref().is_some_and(|requests| requests.glance() || self.has_ended())
    }

    /// Whether there is anything to do for it.
    pub fn may_need_a_look(&self) -> bool {
        self.has_ended()
            || self.says_end()
            || self.region.requests.as_ref().is_some_and(|requests| requests.has_request())
    }

    /// Whether its end is told of, by its mark or by the kernel itself; else the driver must be asked.
    pub fn tells_end(&self) -> bool {
        self.region.queue.is_marked()
            || self.region.requests.as_ref().is_some_and(|requests| requests.tells_end())
    }

    /// Whether its kernel says that it is about to end, and is not known to have ended.
    pub fn says_end(&self) -> bool {
        !self.ended && self.region.requests.as_ref().is_some_and(|requests| requests.says_end())
    }
}

/// A region that has a queue and is to be launched.
pub(super) struct Ready {
    plan: Plan,
    queue: Queue,
    task: Task,
}

impl Default for Tasks {
    fn default() -> Tasks {
        Tasks {
            state: Mutex::default(),
            relief: Condvar::new(),
            ended: Condvar::new(),
            news: AtomicBool::new(false),
            waiter: region::next_id(),
        }
    }
}

impl Tasks {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Launches a region, or has it launched when there is a queue for it, and returns. The host is told of its end.
    ///
    /// # Errors
    /// What the driver says when the kernel can't be launched.
    pub fn submit(&'static self, device: &'static Device, plan: Plan, task: Task) -> Result<()> {
        let _context = ContextGuard::enter(device.driver, device.context)?;
        let mut state = self.lock();
        state.outstanding += 1;
        state.requesting += usize::from(plan.kernel.requests.is_some());
        drop(state);
        let want = plan.want(device);
        let mut region = Some((plan, task));
        let queue = device.launch.queues.take_or(device.driver, want, || {
            let (plan, task) = region.take().expect("there is no queue for it yet");
            Box::new(move |queue| {
                self.add(device, |state| state.ready.push_back(Ready { plan, queue, task }));
            })
        })?;
        let (Some(queue), Some((plan, task))) = (queue, region) else { return Ok(()) };
        let launched = self.launch(device, Ready { plan, queue, task })?;
        self.add(device, |state| match launched {
            Ok(running) => state.running.push(running),
            Err(ready) => state.ready.push_front(ready),
        });
        Ok(())
    }

    /// Launches a region, unless it has to wait for memory that others will give back. The device's context is current.
    ///
    /// # Errors
    /// What the driver says when the kernel can't be launched.
    pub(super) fn launch(
        &self,
        device: &'static Device,
        ready: Ready,
    ) -> Result<std::result::Result<Running, Ready>> {
        let (name, pool) = (Arc::clone(&ready.plan.kernel.name), &device.launch.stacks);
        let are_coming = pool.are_coming(device);
        let stacks = match pool.take(device, ready.plan.stacks()) {
            Err(Error::OutOfMemory { .. }) if are_coming => return Ok(Err(ready)),
            stacks => stacks?,
        };
        let Ready { plan, queue, task } = ready;
        let queue = device.launch.queues.fit(device.driver, plan.want(device), queue)?;
        let region = Region::start(device, plan, queue, stacks, self.waiter)
            .map_err(|error| device.kernel_failed(&name, error))?;
        Ok(Ok(Running { region, task, noticed: false, ended: false }))
    }

    /// Changes the lists, and sees to it that someone looks at them.
    fn add(&'static self, device: &'static Device, change: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        change(&mut state);
        if !state.watched {
            return self.relieve(device, state);
        }
        // Relaxed, as in all uses of this flag: the lock orders what it stands for.
        self.news.store(true, Ordering::Relaxed);
        drop(state);
        device.gate.wake(self.waiter);
    }

    /// Has a thread take the watch, which nobody has.
    fn relieve(&'static self, device: &'static Device, mut state: MutexGuard<'_, State>) {
        if state.spare > 0 {
            self.relief.notify_one();
            return;
        }
        match watch::start(device) {
            Ok(()) => {
                state.watched = true;
                self.news.store(true, Ordering::Relaxed);
            }
            Err(error) => {
                drop(state);
                host::fatal(&format!("no thread can be had for regions with nowait: {error}"));
            }
        }
    }

    /// Adds the regions that run and belong to nobody to those of the thread on watch. Says whether there is anything new, among them
    /// regions that are to be launched.
    pub(super) fn take_news(&self, regions: &mut Vec<Running>) -> bool {
        let news = self.news.swap(false, Ordering::Relaxed);
        if news {
            regions.append(&mut self.lock().running);
        }
        news
    }

    /// Whether [`take_news`](Self::take_news) would say so.
    pub(super) fn has_news(&self) -> bool {
        self.news.load(Ordering::Relaxed)
    }

    /// Has the thread on watch, which is the caller, look again.
    pub(super) fn look_again(&self) {
        self.news.store(true, Ordering::Relaxed);
    }

    /// The next region that is to be launched.
    pub(super) fn next_ready(&self) -> Option<Ready> {
        self.lock().ready.pop_front()
    }

    /// Has a region launched later.
    pub(super) fn postpone(&self, ready: Ready) {
        self.lock().ready.push_front(ready);
    }

    /// Hands on the watch, and what the caller watched.
    pub(super) fn hand_over(&'static self, device: &'static Device, mut regions: Vec<Running>) {
        let mut state = self.lock();
        state.running.append(&mut regions);
        state.watched = false;
        if !state.is_idle() {
            self.relieve(device, state);
        }
    }

    /// Gives a region that still runs to whoever is on watch next.
    pub(super) fn put_back(&self, device: &Device, running: Running) {
        let mut state = self.lock();
        state.running.push(running);
        // Otherwise the caller may be the next.
        if state.watched {
            self.news.store(true, Ordering::Relaxed);
            drop(state);
            device.gate.wake(self.waiter);
        }
    }

    /// Where there is nothing to look after, ends the caller's watch until there is; says whether that was so.
    pub(super) fn pause_watch(&self) -> bool {
        let mut state = self.lock();
        let idle = state.is_idle();
        if idle {
            state.watched = false;
            self.wait_in(state);
        }
        idle
    }

    /// Waits until there is something to look after that nobody does. The caller is on watch then.
    pub(super) fn wait_for_watch(&self) {
        self.wait_in(self.lock());
    }

    fn wait_in(&self, mut state: MutexGuard<'_, State>) {
        state.spare += 1;
        while state.watched || state.is_idle() {
            state = self.relief.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.spare -= 1;
        state.watched = true;
        self.news.store(true, Ordering::Relaxed);
    }

    /// Notes that a region has ended, one that could make requests or not, and the host knows.
    pub(super) fn completed(&self, requests: bool) {
        let mut state = self.lock();
        state.outstanding -= 1;
        state.requesting -= usize::from(requests);
        // A signal is a system call, also where nobody waits.
        if state.closing {
            self.ended.notify_all();
        }
    }

    /// Ends the program where the crew has failed, unless a thread ends it already: that one gets the error.
    pub(super) fn fail(&self, error: Error) {
        let mut state = self.lock();
        let closing = state.closing;
        state.failure = Some(if closing { error.clone() } else { Error::Lost });
        self.ended.notify_all();
        drop(state);
        if !closing && !error.is_quiet() {
            host::fatal(&error.to_string());
        }
    }

    /// Waits at the end of the program until all regions have ended, as they would have with libgomp's own plugin, but no longer than
    /// [`GRACE`]. Not for those that may make requests: libgomp holds its device lock, which it needs to serve them.
    ///
    /// # Errors
    /// Why the crew has failed.
    pub fn wait_for_end(&self) -> Result<()> {
        let mut state = self.lock();
        state.closing = true;
        let goes_on =
            |state: &mut State| state.outstanding > 0 && state.requesting == 0 && state.failure.is_none();
        let waited = self.ended.wait_timeout_while(state, GRACE, goes_on);
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.closing = false;
        state.failure.clone().filter(|error| !error.is_quiet()).map_or(Ok(()), Err)
    }
}
