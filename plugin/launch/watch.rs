//! The crew that looks after regions that nobody waits for ([`super::tasks`]): one thread on watch, the others in served blocks or
//! idle.

use super::tasks::{Running, Tasks};
use crate::abi::host;
use crate::device::Device;
use crate::driver::{ContextGuard, Event};
use crate::error::Result;
use crate::image::Protocol;
use crate::reverse::helpers::{STACK_BYTES, VISIT};
use crate::reverse::slot::WaitWord;
use crate::reverse::source::{Source, enqueue_bell_wait, ring_at_end};
use crate::reverse::wait::{FAULT_CHECK, Naps, SPIN, TURNS, sleep, spin_time};
use std::convert::Infallible;
use std::ffi::c_void;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;
use std::time::Instant;

/// Starts a thread that is on watch at once.
///
/// # Errors
/// When the system has no thread.
pub fn start(device: &'static Device) -> io::Result<()> {
    let run = move || {
        let result = catch_unwind(AssertUnwindSafe(|| Watch::begin(device)?.run()));
        match result {
            Ok(Ok(never)) => match never {},
            Ok(Err(error)) => device.launch.tasks.fail(error),
            Err(_) => host::fatal("internal error in a thread for regions with nowait"),
        }
    };
    let builder = std::thread::Builder::new().name("boomerang-tasks".into()).stack_size(STACK_BYTES);
    builder.spawn(run).map(drop)
}

struct Watch {
    device: &'static Device,
    tasks: &'static Tasks,
    /// The regions that are this thread's.
    regions: Vec<Running>,
    /// Whether a region waits for memory.
    is_short: bool,
    naps: Naps,
    event: Event,
}

impl Watch {
    fn begin(device: &'static Device) -> Result<Watch> {
        let _context = ContextGuard::enter(device.driver, device.context)?;
        Ok(Watch {
            device,
            tasks: &device.launch.tasks,
            regions: Vec::new(),
            is_short: false,
            naps: Naps::new(),
            event: device.driver.create_event(true)?,
        })
    }

    /// Watches and serves until the process ends, or a kernel or a driver call fails.
    fn run(mut self) -> Result<Infallible> {
        loop {
            self.watch()?;
            self.tasks.wait_for_watch();
        }
    }

    /// Looks after all regions until one needs service, which this thread gives it.
    fn watch(&mut self) -> Result<()> {
        // Each time: a block may have left another context current.
        let _context = ContextGuard::enter(self.device.driver, self.device.context)?;
        let spin = spin_time(self.device.wait_policy());
        let mut active = Instant::now();
        let mut checked = active;
        loop {
            let mut acted = self.launch_ready()?;
            for _ in 0..TURNS {
                self.ask_driver(Running::says_end)?;
                acted |= self.finish_done()?;
                if let Some(asking) = self.regions.iter().position(Running::needs_service) {
                    let running = self.regions.remove(asking);
                    self.tasks.hand_over(self.device, std::mem::take(&mut self.regions));
                    return self.serve(running);
                }
                std::hint::spin_loop();
            }
            let now = Instant::now();
            if acted {
                active = now;
                self.naps = Naps::new();
            }
            if self.regions.is_empty() && now - active >= spin.min(SPIN) && self.tasks.pause_watch() {
                active = Instant::now();
                continue;
            }
            if self.must_ask() || now - checked >= FAULT_CHECK {
                checked = now;
                self.ask_driver(|_| true)?;
                if self.is_short {
                    // Those who have memory may not be this thread's.
                    self.tasks.look_again();
                }
            }
            if now - active >= spin {
                self.rest()?;
            }
        }
    }

    /// Takes over new regions, and launches those that have got a queue; says whether there were any.
    fn launch_ready(&mut self) -> Result<bool> {
        if !self.tasks.take_news(&mut self.regions) {
            return Ok(false);
        }
        self.is_short = false;
        while let Some(ready) = self.tasks.next_ready() {
            match self.tasks.launch(self.device, ready)? {
                Ok(running) => self.regions.push(running),
                Err(ready) => {
                    self.tasks.postpone(ready);
                    self.is_short = true;
                    break;
                }
            }
        }
        Ok(true)
    }

    /// Ends the regions that are done and need no service; says whether there were any.
    fn finish_done(&mut self) -> Result<bool> {
        let mut acted = false;
        while let Some(done) = self.regions.iter().position(Running::is_done) {
            let running = self.regions.remove(done);
            self.finish(running)?;
            acted = true;
        }
        if acted && self.is_short {
            self.tasks.look_again();
        }
        Ok(acted)
    }

    fn finish(&self, running: Running) -> Result<()> {
        let Running { region, task, .. } = running;
        let (name, requests) = (Arc::clone(&region.kernel.name), region.requests.is_some());
        region.finish(self.device).map_err(|error| self.device.kernel_failed(&name, error))?;
        task.complete();
        self.tasks.completed(requests);
        Ok(())
    }

    /// Serves requests of a region, which is this thread's alone and no longer watched, and ends it if it is done.
    fn serve(&mut self, running: Running) -> Result<()> {
        let failed = |error| self.device.kernel_failed(&running.region.kernel.name, error);
        let requests = running.region.requests.as_deref().expect("it made a request");
        let mut served = 0;
        while served < VISIT && requests.serve_one().map_err(failed)? {
            served += 1;
        }
        if running.has_ended() && !requests.has_request() {
            return self.finish(running);
        }
        self.tasks.put_back(self.device, running);
        Ok(())
    }

    /// Whether nothing tells of the end of a region.
    fn must_ask(&self) -> bool {
        self.regions.iter().any(|running| !running.tells_end())
    }

    /// Asks the driver which of these regions are done, and so whether a kernel has failed.
    fn ask_driver(&mut self, of: impl Fn(&Running) -> bool) -> Result<()> {
        for Running { region, ended, .. } in self.regions.iter_mut().filter(|running| of(running)) {
            let done = self.device.driver.query_stream(region.queue.stream);
            *ended |= done.map_err(|error| self.device.kernel_failed(&region.kernel.name, error.into()))?;
        }
        Ok(())
    }

    /// Gives the processor away until there may be something to do.
    fn rest(&mut self) -> Result<()> {
        if !self.device.uses_memory_operations() || self.must_ask() {
            self.naps.take();
        } else {
            self.notice_ends().and_then(|()| self.sleep()).map_err(|error| match self.regions.first() {
                Some(first) => self.device.kernel_failed(&first.region.kernel.name, error),
                None => error,
            })?;
        }
        Ok(())
    }

    /// Has the ends of all regions wake this thread whose kernels don't.
    fn notice_ends(&mut self) -> Result<()> {
        let (device, driver) = (self.device, self.device.driver);
        let marked = |running: &Running| running.region.queue.is_marked();
        for Running { region, noticed, .. } in self.regions.iter_mut().filter(|running| marked(running)) {
            if std::mem::replace(noticed, true) {
                continue;
            }
            let stream = region.queue.stream;
            if device.reverse.has_slot() {
                // This thread may have to watch the slot, which a stream must not write to.
                // SAFETY: the function takes a device, and those live as long as the process.
                unsafe {
                    driver.launch_host_function(stream, on_end, ptr::from_ref(device).cast_mut().cast())
                }?;
            } else {
                ring_at_end(device, stream)?;
            }
        }
        Ok(())
    }

    fn sleep(&mut self) -> Result<()> {
        let (device, tasks) = (self.device, self.tasks);
        let shared = device.reverse.share(device.driver)?;
        // Requests in the slot ring no bell.
        let in_slot =
            self.regions.iter().find(|running| running.region.kernel.requests == Some(Protocol::Slot));
        let slot = in_slot.and_then(|running| running.region.requests.as_deref());
        let word = slot.map_or(&shared.bell as &dyn WaitWord, Source::word);
        let ready = || tasks.has_news() || self.regions.iter().any(Running::may_need_a_look);
        let enqueue = |waits| match slot {
            Some(slot) => slot.enqueue_wait(waits),
            None => enqueue_bell_wait(device, shared, waits),
        };
        sleep(device, (tasks.waiter, word), ready, enqueue, self.event, &mut self.naps)
    }
}

/// Called by the driver, on a thread of its own, when a region has ended.
unsafe extern "C" fn on_end(device: *mut c_void) {
    // SAFETY: `notice_ends` passes a device that lives as long as the process.
    let device = unsafe { &*device.cast::<Device>() };
    device.gate.wake(device.launch.tasks.waiter);
}
