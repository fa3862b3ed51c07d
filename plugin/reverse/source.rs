//! Where a region's requests arrive: in the slot of the device library that GCC links, or in the region's own window of slots.

use super::call;
use super::helpers::Offer;
use super::items::{Data, Items};
use super::region::Region;
use super::service::Serving;
use super::slot::WaitWord;
use super::window::{Malformed, Window};
use super::{Shared, wire};
use crate::abi::host;
use crate::device::{Device, registry};
use crate::driver::{CudaError, Driver, Stream, WaitFor};
use crate::error::{Error, Result};
use crate::openacc::queue::AsyncQueue;
use std::cell::Cell;
use std::sync::Arc;

/// Whether the driver took what was to be enqueued.
pub type Enqueued = std::result::Result<(), CudaError>;

/// A region's requests, as the thread sees them that looks after it.
pub trait Source: Send {
    /// Names the waiting thread to the gate.
    fn waiter(&self) -> u64;
    /// Serves a request, if this look finds one; says whether it did.
    ///
    /// # Errors
    /// When the request is malformed.
    fn serve_one(&self) -> Result<bool>;
    /// Whether a request may be there to be served.
    fn has_request(&self) -> bool;
    /// The same by a quick look, which [`serve_one`](Self::serve_one) follows. It may miss a request, but not for ever.
    fn glance(&self) -> bool;
    /// Whether, after the region's end, there is no request left and no other thread is in a block of its.
    fn is_quiet(&self) -> bool;
    /// The word that a stream wait watches, which every request changes.
    fn word(&self) -> &'static dyn WaitWord;
    /// Enqueues a wait until the word changes.
    ///
    /// # Errors
    /// Those of the stream memory operation.
    fn enqueue_wait(&self, waits: Stream) -> Enqueued;
    /// Whether the kernel is asked to say when it is about to end, and so wakes the thread by itself.
    fn tells_end(&self) -> bool;
    /// Whether it has said so: the driver is to be asked.
    fn says_end(&self) -> bool;
    /// Has the end of what is on `stream`, whose kernel doesn't tell of it, wake the thread.
    ///
    /// # Errors
    /// Those of the driver call.
    fn notice_end(&self, stream: Stream) -> Enqueued;
}

/// Has libgomp run the host's block for a request.
fn serve(device: &Device, data: &mut Data<'_>) {
    let request = data.request;
    let queue = AsyncQueue::request(data);
    // SAFETY: a device runtime posted the request, and its kernel waits for the reply; libgomp uses the queue only until it returns.
    let run = || unsafe { host::target_rev(&request, queue.as_c(), registry::devices()) };
    device.reverse.serve(Serving { device: device.ordinal }, run);
}

/// The slot, which all regions of the device share.
pub struct SlotSource {
    device: &'static Device,
    shared: &'static Shared,
    region: Arc<Region>,
}

impl SlotSource {
    /// The requests of `region`.
    pub fn new(device: &'static Device, shared: &'static Shared, region: Arc<Region>) -> SlotSource {
        SlotSource { device, shared, region }
    }

    fn copy(&self, copy: impl FnOnce(&Driver, Stream) -> Enqueued) -> Enqueued {
        self.device.staging.with(self.device.driver, true, |driver, staging| copy(driver, staging.stream))
    }
}

impl Source for SlotSource {
    fn waiter(&self) -> u64 {
        self.region.waiter
    }

    fn serve_one(&self) -> Result<bool> {
        let reverse = &self.device.reverse;
        let Some(claim) = reverse.regions.next_request(&self.region, &self.shared.slot) else {
            return Ok(false);
        };
        // SAFETY: the claim is this thread's, and with it what belongs to the slot.
        let (items, area) = unsafe { self.shared.fetched() };
        items.clear();
        if claim.request.mapnum != 0 {
            self.copy(|driver, stream| {
                items.fetch(driver, stream, &claim.request, area);
                Ok(())
            })?;
        }
        let mut data = Data { request: claim.request, items, area, dirty: 0 };
        serve(self.device, &mut data);
        if data.dirty != 0 {
            self.copy(|driver, stream| {
                for (to, bytes) in data.changed() {
                    // SAFETY: the area stays as it is until the stream has been waited for.
                    unsafe { driver.copy_to_device_async(to, bytes.as_ptr().cast(), bytes.len(), stream) }?;
                }
                driver.synchronize_stream(stream)
            })?;
        }
        claim.reply();
        if reverse.regions.are_several() {
            // Someone may be waiting for the slot to be idle again.
            self.device.gate.wake_others();
        }
        Ok(true)
    }

    fn has_request(&self) -> bool {
        self.region.has_mail() || self.shared.slot.has_request()
    }

    fn glance(&self) -> bool {
        self.has_request()
    }

    fn is_quiet(&self) -> bool {
        // Each request is waited for.
        true
    }

    fn word(&self) -> &'static dyn WaitWord {
        &self.shared.slot
    }

    fn enqueue_wait(&self, waits: Stream) -> Enqueued {
        let address = self.shared.slot.address();
        // Any request is not 0, and so is a cancellation.
        // SAFETY: the slot lives as long as the context.
        unsafe { self.device.driver.stream_wait_value_64(waits, address, u64::MAX, WaitFor::And) }
    }

    fn tells_end(&self) -> bool {
        false
    }

    fn says_end(&self) -> bool {
        false
    }

    fn notice_end(&self, stream: Stream) -> Enqueued {
        // By the host: a stream's write to the word could overwrite another region's request.
        let (function, argument) = self.region.end_notice();
        // SAFETY: the function takes this argument once, on any thread, and calls nothing of the driver.
        unsafe { self.device.driver.launch_host_function(stream, function, argument) }
    }
}

impl Drop for SlotSource {
    fn drop(&mut self) {
        self.device.reverse.regions.leave(&self.region);
    }
}

/// A region's own window of slots.
pub struct RingSource {
    device: &'static Device,
    shared: &'static Shared,
    window: Arc<Window>,
    /// That helpers serve it as well, where there are any.
    offer: Option<Arc<Offer>>,
    tells_end: bool,
    waiter: u64,
    items: Cell<Items>,
}

impl RingSource {
    /// The requests that come in `window`, of a kernel that `tells_end` or not.
    pub fn new(
        device: &'static Device,
        shared: &'static Shared,
        window: Arc<Window>,
        tells_end: bool,
        waiter: u64,
    ) -> RingSource {
        let offer = device.reverse.helpers.offer(device, &window);
        RingSource { device, shared, window, offer, tells_end, waiter, items: Cell::default() }
    }
}

impl Drop for RingSource {
    fn drop(&mut self) {
        if let Some(offer) = &self.offer {
            self.device.reverse.helpers.withdraw(&self.device.gate, offer);
        }
    }
}

/// Enqueues a wait until the bell rings.
///
/// # Errors
/// Those of the stream memory operation.
pub fn enqueue_bell_wait(device: &Device, shared: &'static Shared, waits: Stream) -> Enqueued {
    // SAFETY: the bell lives as long as the context.
    unsafe { device.driver.stream_wait_value_32(waits, shared.bell.address(), 1, WaitFor::And) }
}

/// Has the end of what is on `stream` ring the bell.
///
/// # Errors
/// Those of the stream memory operation.
pub fn ring_at_end(device: &Device, stream: Stream) -> Enqueued {
    let bell = &device.reverse.share(device.driver)?.bell;
    // SAFETY: the bell lives as long as the context.
    unsafe { device.driver.stream_write_value_32(stream, bell.address(), 1) }
}

/// Serves a request that has come in `window`, if this look finds one; says whether it did. `items`: memory to work in.
///
/// # Errors
/// When the request is malformed.
pub fn serve_from(device: &Device, window: &Window, items: &mut Items) -> Result<bool> {
    let reject = |malformed: Malformed| Error::Argument(malformed.to_string());
    let Some(mut claim) = window.claim().map_err(reject)? else { return Ok(false) };
    if claim.op == wire::OP_USER {
        let (opcode, data) = claim.call().map_err(reject)?;
        call::serve(device, opcode, data)?;
        claim.reply(0);
        return Ok(true);
    }
    let mut data = claim.data(items).map_err(reject)?;
    serve(device, &mut data);
    let dirty = data.dirty;
    claim.reply(dirty);
    Ok(true)
}

impl Source for RingSource {
    fn waiter(&self) -> u64 {
        self.waiter
    }

    fn serve_one(&self) -> Result<bool> {
        let mut items = self.items.take();
        let served = serve_from(self.device, &self.window, &mut items);
        self.items.set(items);
        served
    }

    fn has_request(&self) -> bool {
        self.window.has_request()
    }

    fn glance(&self) -> bool {
        self.window.glance()
    }

    fn is_quiet(&self) -> bool {
        self.offer.is_none() && !self.window.has_request()
    }

    fn word(&self) -> &'static dyn WaitWord {
        &self.shared.bell
    }

    fn enqueue_wait(&self, waits: Stream) -> Enqueued {
        enqueue_bell_wait(self.device, self.shared, waits)
    }

    fn tells_end(&self) -> bool {
        self.tells_end
    }

    fn says_end(&self) -> bool {
        self.window.says_end()
    }

    fn notice_end(&self, stream: Stream) -> Enqueued {
        ring_at_end(self.device, stream)
    }
}
