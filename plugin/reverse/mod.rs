//! Reverse offload: kernels that ask the host to run a block for them.
//!
//! A kernel's request arrives in the device's [`slot`]; the thread that launched the [`region`] finds it while it [`wait`]s
//! for the end, and [`service`]s it.

pub mod region;
pub mod service;
pub mod slot;
pub mod sync;
pub mod wait;

pub use service::{Serving, serving};

use crate::device::Device;
use crate::driver::{CudaError, DevicePtr, Driver, Stream};
use region::Regions;
use slot::{Claim, Slot};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// One device's part in reverse offload.
#[derive(Debug, Default)]
pub struct State {
    shared: OnceLock<(&'static Slot, Stream)>,
    attaching: Mutex<()>,
    /// The regions that may make requests.
    pub regions: Regions,
    serving: AtomicUsize,
    served: AtomicU64,
}

impl State {
    /// Has an image post its requests where this device's threads look: stores the slot's address in the image's
    /// `__gomp_rev_offload_var`. The device's context is current.
    ///
    /// # Errors
    /// Those of the driver calls that make pinned memory and a stream, and of the copy.
    pub fn attach(&self, device: &Device, variable: DevicePtr) -> Result<(), CudaError> {
        let slot = self.share(device.driver)?;
        let address = slot.address();
        // SAFETY: the variable is a pointer in device memory.
        unsafe { device.driver.copy_to_device(variable, (&raw const address).cast(), size_of::<DevicePtr>()) }
    }

    fn share(&self, driver: &Driver) -> Result<&'static Slot, CudaError> {
        let _one = self.attaching.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((slot, _)) = self.shared.get() {
            return Ok(slot);
        }
        let waits = driver.create_stream()?;
        let slot = driver.host_alloc(size_of::<Slot>())?.cast::<Slot>();
        // SAFETY: pinned memory is page-aligned and large enough; it is never freed while the context lives, and after this
        // line only the slot's atomics touch it.
        let slot: &'static Slot = unsafe {
            slot.write(Slot::default());
            &*slot
        };
        Ok(self.shared.get_or_init(|| (slot, waits)).0)
    }

    /// The slot and the stream for waits on it, once an image that makes requests is loaded.
    pub fn shared(&self) -> Option<(&'static Slot, Stream)> {
        self.shared.get().copied()
    }

    /// Serves a request on this thread.
    pub fn serve(&self, claim: Claim<'_>, serving: Serving) {
        self.serving.fetch_add(1, Ordering::Relaxed);
        service::serve(claim, serving);
        self.serving.fetch_sub(1, Ordering::Relaxed);
        self.served.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether a kernel waits for a reply.
    pub fn is_serving(&self) -> bool {
        self.serving.load(Ordering::Relaxed) > 0
    }

    /// Requests served so far.
    pub fn served(&self) -> u64 {
        self.served.load(Ordering::Relaxed)
    }
}
