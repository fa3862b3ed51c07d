//! Reverse offload: kernels that ask the host to run a block for them.
//!
//! A kernel's request arrives in its [`source`]: the device's one [`slot`] with the device library that GCC links, one of many in
//! the region's [`window`] with our device runtime. The thread that launched the region finds it while it [`wait`]s for the end,
//! and [`service`]s it.

pub mod bell;
pub mod call;
pub mod compact;
pub mod ending;
pub mod helpers;
pub mod items;
pub mod mock;
pub mod region;
pub mod service;
pub mod slot;
pub mod source;
pub mod sync;
pub mod tally;
pub mod wait;
pub mod window;
pub mod wire;

pub use service::{Serving, serving};

use crate::device::Device;
use crate::driver::{CudaError, DevicePtr, Driver, Order, Stream};
use crate::error::Result;
use crate::image::Protocol;
use crate::launch::stacks::Stacks;
use helpers::Helpers;
use items::Items;
use region::Regions;
use slot::Slot;
use source::{RingSource, SlotSource, Source};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use tally::Tally;
use wire::Bell;

/// What a device and its host threads share, in pinned memory, and the stream for waits on it.
#[derive(Debug)]
pub struct Shared {
    /// Where kernels with the device library that GCC links post.
    pub slot: Slot,
    /// What kernels with our device runtime ring.
    pub bell: Bell,
    /// At most one wait is pending on it.
    pub waits: Stream,
    /// Where the data of the slot's request is fetched to: whoever holds the claim on the slot holds these.
    fetched: UnsafeCell<(Items, [u8; FETCHED_BYTES])>,
}

/// Bytes of data that are fetched at once for a request in the slot.
const FETCHED_BYTES: usize = 16 * 1024;

// SAFETY: `fetched` is used by whoever holds the claim on the slot, one thread at a time; the rest is atomics and a handle.
unsafe impl Sync for Shared {}
// SAFETY: nothing in it belongs to a thread.
unsafe impl Send for Shared {}

impl Shared {
    /// The data of the slot's request, and the area that it lies in.
    ///
    /// # Safety
    /// The caller holds the claim on the slot and lets go of these before it.
    #[expect(clippy::mut_from_ref, reason = "the claim makes the borrow exclusive")]
    unsafe fn fetched(&self) -> (&mut Items, &mut [u8]) {
        // SAFETY: the caller's promise.
        let (items, area) = unsafe { &mut *self.fetched.get() };
        (items, area)
    }
}

/// One device's part in reverse offload.
#[derive(Debug, Default)]
pub struct State {
    shared: OnceLock<&'static Shared>,
    attaching: Mutex<()>,
    has_slot: AtomicBool,
    /// The regions whose requests come through the slot.
    pub regions: Regions,
    /// Further threads that serve requests which come in windows.
    pub helpers: Helpers,
    tally: Tally,
}

impl State {
    /// Has an image post its requests in the slot: stores the slot's address in the image's `__gomp_rev_offload_var`. The device's
    /// context is current.
    ///
    /// # Errors
    /// Those of the driver calls that make pinned memory and a stream, and of the copy.
    pub fn attach(&self, device: &Device, variable: DevicePtr) -> std::result::Result<(), CudaError> {
        let address = self.share(device.driver)?.slot.address();
        // Relaxed: who launches a kernel of the image has been told of it since.
        self.has_slot.store(true, Ordering::Relaxed);
        // SAFETY: the variable is a pointer in device memory.
        unsafe { device.driver.copy_to_device(variable, (&raw const address).cast(), size_of::<DevicePtr>()) }
    }

    /// What the device shares with the host, made when it is first needed. The device's context is current.
    ///
    /// # Errors
    /// Those of the driver calls that make pinned memory and a stream.
    pub fn share(&self, driver: &Driver) -> std::result::Result<&'static Shared, CudaError> {
        if let Some(shared) = self.shared.get() {
            return Ok(shared);
        }
        let _one = self.attaching.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shared) = self.shared.get() {
            return Ok(shared);
        }
        let shared = Shared {
            slot: Slot::default(),
            bell: Bell::default(),
            waits: driver.create_stream(Order::Apart)?,
            fetched: UnsafeCell::new((Items::default(), [0; FETCHED_BYTES])),
        };
        let memory = driver.host_alloc(size_of::<Shared>())?.cast::<Shared>();
        // SAFETY: pinned memory is page-aligned and large enough; it is never freed while the context lives, and after this
        // line only the atomics in it change.
        let shared = unsafe {
            memory.write(shared);
            &*memory
        };
        Ok(self.shared.get_or_init(|| shared))
    }

    /// Whether the requests of some image come through the slot.
    pub fn has_slot(&self) -> bool {
        self.has_slot.load(Ordering::Relaxed)
    }

    /// Where the requests of a region arrive that is about to be launched with these soft stacks. `waiter` names the thread that will
    /// serve them to the gate.
    ///
    /// # Errors
    /// Those of the driver calls that make what is missing.
    pub fn source(
        &self,
        device: &'static Device,
        protocol: Protocol,
        stacks: &mut Stacks,
        waiter: u64,
    ) -> Result<Box<dyn Source>> {
        let shared = self.share(device.driver)?;
        Ok(match protocol {
            Protocol::Slot => {
                let region = self.regions.enter(&device.gate, stacks.addresses(), waiter);
                Box::new(SlotSource::new(device, shared, region))
            }
            Protocol::Ring { tells_end } => {
                let window = stacks.window(device)?;
                window.begin();
                Box::new(RingSource::new(device, shared, window, tells_end, waiter))
            }
        })
    }

    /// Serves a request on this thread: runs the host's block for it. Does not return where another thread ends the program.
    pub fn serve(&self, serving: Serving, block: impl FnOnce()) {
        // SeqCst, as the look whether the program ends, and in `ending::begin`: either this thread sees that it ends, or the end sees
        // this thread.
        let tally = self.tally.part();
        tally.serving.fetch_add(1, Ordering::SeqCst);
        if ending::is_elsewhere() {
            tally.serving.fetch_sub(1, Ordering::Relaxed);
            ending::stay();
        }
        service::serve(serving, block);
        tally.serving.fetch_sub(1, Ordering::Relaxed);
        tally.served.fetch_add(1, Ordering::Relaxed);
    }

    /// Blocks that are being served. Their kernels wait for them.
    pub fn under_service(&self) -> usize {
        self.tally.serving()
    }

    /// Requests served so far.
    pub fn served(&self) -> u64 {
        self.tally.served()
    }
}
