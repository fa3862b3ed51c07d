//! Waiting for the end of a region, and serving its requests meanwhile.

use super::slot::WaitWord;
use super::source::{Enqueued, Source};
use crate::device::Device;
use crate::driver::gate::Wake;
use crate::driver::{Event, Stream};
use crate::env::WaitPolicy;
use crate::error::Result;
use crate::launch::queue::Queue;
use std::time::{Duration, Instant};

/// How long the adaptive policy spins after the last activity. Covers a launch (10 us) and a run of requests (3 us each);
/// beyond it a sleep, whose end takes 20 us longer, no longer matters (docs/driver.md).
pub(crate) const SPIN: Duration = Duration::from_micros(50);
/// How often a spinning thread asks the driver whether the kernel has failed: then its end mark is never written.
pub(crate) const FAULT_CHECK: Duration = Duration::from_millis(1);
/// Turns of the loop between looks at the clock.
pub(crate) const TURNS: u32 = 32;
/// Shortest and longest nap.
const NAPS: (Duration, Duration) = (Duration::from_micros(10), Duration::from_micros(200));

/// Pauses that get longer while nothing happens. Where the driver has no event to wait for, a pause is all there is.
pub(crate) struct Naps(Duration);

impl Naps {
    /// Begins with the shortest.
    pub(crate) fn new() -> Naps {
        Naps(NAPS.0)
    }

    /// Pauses, for twice as long as the last time.
    pub(crate) fn take(&mut self) {
        std::thread::sleep(self.0);
        self.0 = (self.0 * 2).min(NAPS.1);
    }
}

/// How long a thread spins after the last activity.
pub(crate) fn spin_time(policy: WaitPolicy) -> Duration {
    match policy {
        WaitPolicy::Spin => Duration::MAX,
        WaitPolicy::Adaptive | WaitPolicy::Poll => SPIN,
        WaitPolicy::Block => Duration::ZERO,
    }
}

/// Sleeps in the device's gate until there may be something to do for `waiter`, which `ready` tells. The stream wait for `word` is put
/// on a stream by `enqueue`; `event` is the thread's own. Where sleeping is not allowed, or was ended for others, takes a nap: a kernel that
/// waits for a block which takes long rings the bell again and again.
///
/// # Errors
/// Those of the driver calls.
pub(crate) fn sleep(
    device: &'static Device,
    (waiter, word): (u64, &'static dyn WaitWord),
    ready: impl Fn() -> bool,
    enqueue: impl FnOnce(Stream) -> Enqueued,
    event: Event,
    naps: &mut Naps,
) -> Result<()> {
    let waits = device.reverse.share(device.driver)?.waits;
    let block = || {
        enqueue(waits)?;
        device.driver.record_event(event, waits)?;
        device.driver.synchronize_event(event)
    };
    if device.gate.sleep(waiter, word, &ready, block)? == Wake::Closed || !ready() {
        naps.take();
    }
    Ok(())
}

struct Waiter<'a> {
    device: &'static Device,
    queue: &'a Queue,
    requests: Option<&'a dyn Source>,
    /// Whether the driver was asked to wake this thread at the end of the kernel.
    end_noticed: bool,
    naps: Naps,
}

/// Waits until the kernel on `queue` has ended; serves its `requests`, if it may make any.
///
/// # Errors
/// What the driver says when the kernel has failed, or what is wrong with a request.
pub fn until_end(device: &'static Device, queue: &Queue, requests: Option<&dyn Source>) -> Result<()> {
    Waiter { device, queue, requests, end_noticed: false, naps: Naps::new() }.run()
}

impl Waiter<'_> {
    fn run(mut self) -> Result<()> {
        let spin = spin_time(self.device.wait_policy());
        let mut active = Instant::now();
        let mut checked = active;
        loop {
            let mut served = false;
            for _ in 0..TURNS {
                served |= self.serve_one()?;
                if self.has_ended()? {
                    return self.serve_rest();
                }
                std::hint::spin_loop();
            }
            let now = Instant::now();
            if served {
                active = now;
                self.naps = Naps::new();
            }
            if !self.tells_end() || now - checked >= FAULT_CHECK {
                checked = now;
                if self.device.driver.query_stream(self.queue.stream)? {
                    return self.serve_rest();
                }
            }
            if now - active >= spin {
                self.rest()?;
            }
        }
    }

    /// Whether the kernel's end is told of by its mark, or by the kernel itself.
    fn tells_end(&self) -> bool {
        self.queue.is_marked() || self.requests.is_some_and(Source::tells_end)
    }

    /// Whether the kernel has ended, as far as that is told of.
    fn has_ended(&self) -> Result<bool> {
        if self.requests.is_some_and(Source::says_end) {
            return Ok(self.device.driver.query_stream(self.queue.stream)?);
        }
        Ok(self.queue.has_ended())
    }

    fn serve_one(&self) -> Result<bool> {
        self.requests.map_or(Ok(false), Source::serve_one)
    }

    /// Serves what was posted as the region's last act, by requesters that didn't wait for the reply.
    fn serve_rest(&self) -> Result<()> {
        while self.requests.is_some_and(Source::has_request) {
            self.serve_one()?;
        }
        Ok(())
    }

    /// Gives the processor away until there may be something to do.
    fn rest(&mut self) -> Result<()> {
        let driver = self.device.driver;
        let event = self.queue.event;
        // Without an end mark the queue may share its channel, and nothing may be put behind its kernel.
        if !self.tells_end() || !self.device.uses_memory_operations() {
            self.naps.take();
            return Ok(());
        }
        let Some(requests) = self.requests else {
            driver.record_event(event, self.queue.stream)?;
            return Ok(driver.synchronize_event(event)?);
        };
        if !self.end_noticed && !requests.tells_end() {
            requests.notice_end(self.queue.stream)?;
            self.end_noticed = true;
        }
        let ready = || requests.has_request() || requests.says_end() || self.queue.has_ended();
        let enqueue = |waits| requests.enqueue_wait(waits);
        let word = (requests.waiter(), requests.word());
        sleep(self.device, word, ready, enqueue, event, &mut self.naps)
    }
}
