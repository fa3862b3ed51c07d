//! Waiting for the end of a region, and serving its requests meanwhile.

use super::region::Region;
use super::service::Serving;
use super::slot::Slot;
use crate::device::Device;
use crate::driver::call::WaitFor;
use crate::driver::gate::Wake;
use crate::driver::{CudaError, Stream};
use crate::env::WaitPolicy;
use crate::launch::queue::Queue;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long the adaptive policy spins after the last activity. Covers a launch (10 us) and a run of requests (3 us each);
/// beyond it a sleep, whose end takes 20 us longer, no longer matters (docs/driver.md).
const SPIN: Duration = Duration::from_micros(50);
/// How often a spinning thread asks the driver whether the kernel has failed: then its end mark is never written.
const FAULT_CHECK: Duration = Duration::from_millis(1);
/// Turns of the loop between looks at the clock.
const TURNS: u32 = 32;
/// Shortest and longest pause of the poll policy. Where the driver has no event to wait for, a pause is all there is.
const NAPS: (Duration, Duration) = (Duration::from_micros(10), Duration::from_micros(200));

/// What a region that may make requests needs on top.
struct Requests<'a> {
    region: &'a Arc<Region>,
    slot: &'static Slot,
    /// The device's stream for waits.
    waits: Stream,
}

struct Waiter<'a> {
    device: &'static Device,
    queue: &'a Queue,
    requests: Option<Requests<'a>>,
    /// Whether the driver was asked to wake this thread at the end of the kernel.
    end_noticed: bool,
    nap: Duration,
}

/// Waits until the kernel on `queue` has ended; serves the requests of `region`, if it may make any.
///
/// # Errors
/// What the driver says when the kernel has failed.
pub fn until_end(device: &'static Device, queue: &Queue, region: Option<&Arc<Region>>) -> Result<(), CudaError> {
    let requests =
        region.and_then(|region| device.reverse.shared().map(|(slot, waits)| Requests { region, slot, waits }));
    Waiter { device, queue, requests, end_noticed: false, nap: NAPS.0 }.run()
}

impl Waiter<'_> {
    fn run(mut self) -> Result<(), CudaError> {
        let spin = match self.device.wait_policy() {
            WaitPolicy::Spin => Duration::MAX,
            WaitPolicy::Adaptive | WaitPolicy::Poll => SPIN,
            WaitPolicy::Block => Duration::ZERO,
        };
        let mut active = Instant::now();
        let mut checked = active;
        loop {
            for _ in 0..TURNS {
                // Requests first: one that is posted as the last act of a region is served before the region ends.
                if self.serve_one()? {
                    active = Instant::now();
                    self.nap = NAPS.0;
                }
                if self.queue.has_ended() {
                    return Ok(());
                }
                std::hint::spin_loop();
            }
            let now = Instant::now();
            if !self.queue.has_end_word() || now - checked >= FAULT_CHECK {
                checked = now;
                if self.device.driver.query_stream(self.queue.stream)? {
                    return Ok(());
                }
            }
            if now - active >= spin {
                self.rest()?;
            }
        }
    }

    fn serve_one(&self) -> Result<bool, CudaError> {
        let Some(Requests { region, slot, .. }) = self.requests else { return Ok(false) };
        let reverse = &self.device.reverse;
        let Some(claim) = reverse.regions.next_request(region, slot) else { return Ok(false) };
        reverse.serve(claim, Serving { device: self.device.ordinal });
        if reverse.regions.are_several() {
            // Someone may be waiting for the slot to be idle again.
            self.device.gate.wake_others();
        }
        Ok(true)
    }

    /// Gives the processor away until there may be something to do.
    fn rest(&mut self) -> Result<(), CudaError> {
        let Device { driver, .. } = *self.device;
        let event = self.queue.event;
        if self.device.has_narrow_channels() {
            self.take_nap();
            return Ok(());
        }
        let Some(Requests { region, slot, waits }) = self.requests.as_ref() else {
            driver.record_event(event, self.queue.stream)?;
            return driver.synchronize_event(event);
        };
        if !self.device.uses_memory_operations() {
            self.take_nap();
            return Ok(());
        }
        if !self.end_noticed {
            let (function, argument) = region.end_notice();
            // SAFETY: the function takes this argument once, on any thread, and calls nothing of the driver.
            unsafe { driver.launch_host_function(self.queue.stream, function, argument) }?;
            self.end_noticed = true;
        }
        let ready = || region.is_ready() || slot.has_request() || self.queue.has_ended();
        let block = || {
            // Any request is not 0, and so is a cancellation.
            // SAFETY: the slot lives as long as the context.
            unsafe { driver.stream_wait_value_64(*waits, slot.address(), u64::MAX, WaitFor::And) }?;
            driver.record_event(event, *waits)?;
            driver.synchronize_event(event)
        };
        match self.device.gate.sleep(region.id, *slot, ready, block)? {
            Wake::Look => {}
            Wake::Closed => self.take_nap(),
        }
        Ok(())
    }

    fn take_nap(&mut self) {
        std::thread::sleep(self.nap);
        self.nap = (self.nap * 2).min(NAPS.1);
    }
}
