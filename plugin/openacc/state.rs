//! What a device keeps for OpenACC.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::property::Texts;
use crate::device::Device;
use crate::driver::{CudaError, Driver, Event, Stream};
use crate::env::WaitPolicy;

/// How long the adaptive policy asks the driver before it sleeps: a sleep ends 20 us late, which no longer matters then.
const SPIN: Duration = Duration::from_micros(50);

/// One device's part in OpenACC.
#[derive(Debug, Default)]
pub struct State {
    /// What the program was told of the device.
    pub(super) texts: Texts,
    queues: AtomicUsize,
    /// Events that no thread uses now.
    events: Mutex<Vec<Event>>,
}

impl State {
    /// Counts a queue that was made.
    pub(super) fn queue_made(&self) {
        self.queues.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a queue that has ended.
    pub(super) fn queue_ended(&self) {
        self.queues.fetch_sub(1, Ordering::Relaxed);
    }

    /// Before a copy that is not asynchronous: waits for the asynchronous queues, if there are any. With the stock plugin the
    /// NULL stream, which it copies on, does.
    ///
    /// # Errors
    /// What the driver says, which may be that a kernel has failed.
    pub fn join(&self, device: &Device) -> Result<(), CudaError> {
        if self.has_queues() { self.finish(device) } else { Ok(()) }
    }

    /// Whether there are asynchronous queues.
    pub fn has_queues(&self) -> bool {
        // Relaxed: it is about queues that this thread knows of.
        self.queues.load(Ordering::Relaxed) > 0
    }

    /// Waits for the NULL stream, and so for every stream that is ordered with it.
    ///
    /// # Errors
    /// As [`State::join`].
    pub(super) fn finish(&self, device: &Device) -> Result<(), CudaError> {
        let waited = self.mark_and_wait(device);
        // Has the driver print what kernels printed (CUDA C++ Programming Guide, formatted output). A failure is told of by this
        // call, as GCC's tests want it, whatever call met it first.
        device.driver.synchronize_stream(Stream::NULL)?;
        waited
    }

    fn mark_and_wait(&self, device: &Device) -> Result<(), CudaError> {
        let event = self.take(device.driver)?;
        // An operation of the NULL stream, which as such comes after what other streams got before.
        device.driver.record_event(event, Stream::NULL)?;
        wait(device, event)?;
        self.give_back(event);
        Ok(())
    }

    fn take(&self, driver: &Driver) -> Result<Event, CudaError> {
        let free = self.events.lock().unwrap_or_else(PoisonError::into_inner).pop();
        free.map_or_else(|| driver.create_event(true), Ok)
    }

    fn give_back(&self, event: Event) {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }
}

/// Waits for an event that was recorded last on the NULL stream.
fn wait(device: &Device, event: Event) -> Result<(), CudaError> {
    let spin = match device.wait_policy() {
        WaitPolicy::Block => Duration::ZERO,
        WaitPolicy::Adaptive | WaitPolicy::Poll => SPIN,
        WaitPolicy::Spin => Duration::MAX,
    };
    let started = Instant::now();
    while started.elapsed() < spin {
        if device.driver.query_stream(Stream::NULL)? {
            return Ok(());
        }
        std::hint::spin_loop();
    }
    device.driver.synchronize_event(event)
}
