//! The host's side of a region's window of request slots (`include/rev_wire.h`).

use super::items::{Data, Items};
use super::slot::Request;
use super::wire;
use crate::device::Device;
use crate::driver::{CudaError, DevicePtr};
use crate::env;
use std::slice;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// Slots that one look takes in. A window of 1024 slots would take some microseconds to look through.
const CHUNK: usize = 64;

/// The slots of one region at a time. Several threads may serve it.
#[derive(Debug)]
pub struct Window {
    requests: &'static [wire::Request],
    replies: &'static [wire::Reply],
    areas: *mut u8,
    area_bytes: usize,
    /// `posted` of the request in each slot that a thread has claimed last.
    claimed: Box<[AtomicU32]>,
    /// Where the next look into each chunk begins: whoever was served last is looked at last.
    next: Box<[AtomicUsize]>,
    /// Counts looks; each begins with another chunk.
    looks: AtomicUsize,
    /// The chunk that the last request came from, where the next may be expected.
    hot: AtomicUsize,
}

// SAFETY: the inline areas are touched only by whoever holds a claim on their slot.
unsafe impl Send for Window {}
// SAFETY: as above.
unsafe impl Sync for Window {}

/// A request that its holder alone may serve.
#[must_use = "an unserved claim leaves the device spinning"]
#[derive(Debug)]
pub struct Claim<'a> {
    window: &'a Window,
    slot: usize,
    posted: u32,
    /// What the device asks for.
    pub request: Request,
    /// [`wire::OP_TARGET`] or [`wire::OP_USER`].
    pub op: u32,
    has_inline: bool,
}

/// What is wrong with a request, which the device's memory may have been corrupted into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The slot's number.
    pub slot: usize,
    /// The field, as `rev_wire.h` names it.
    pub field: &'static str,
    /// What it holds.
    pub value: u64,
}

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Malformed { slot, field, value } = self;
        write!(f, "malformed reverse-offload request in slot {slot}: {field} is {value:#x}")
    }
}

impl std::error::Error for Malformed {}

/// More items than any program maps; what is beyond is garbage.
const MOST_ITEMS: u64 = 1 << 24;

impl Window {
    /// Makes a window of `slots` slots, a power of two, and fills in the region in device memory at `region` that tells kernels
    /// of it. Its turns lie at `turns`.
    ///
    /// # Errors
    /// Those of the driver calls that make pinned memory and fill device memory.
    pub fn new(device: &Device, slots: usize, region: DevicePtr, turns: DevicePtr) -> Result<Window, CudaError> {
        assert!(slots.is_power_of_two() && slots <= wire::MAX_SLOTS);
        let area_bytes = env::settings().inline_bytes;
        let lines = slots * size_of::<wire::Request>();
        let driver = device.driver;
        let bell = &device.reverse.share(driver)?.bell;
        let memory = driver.host_alloc(2 * lines + slots * area_bytes)?.cast::<u8>();
        // SAFETY: the memory is as long as this, and zeroes are valid requests and replies; it is not freed before the window.
        let window = unsafe {
            memory.write_bytes(0, 2 * lines);
            Window::over(memory, slots, area_bytes)
        };
        let header = wire::Region {
            version: wire::VERSION,
            slot_mask: slots as u32 - 1,
            area_bytes: area_bytes as u32,
            reserved: 0,
            requests: memory as u64,
            replies: memory as u64 + lines as u64,
            areas: window.areas as u64,
            turns,
            bell: std::ptr::from_ref(bell) as u64,
        };
        device.staging.with(driver, false, |driver, staging| {
            driver.memset_async(turns, 0, slots * size_of::<wire::Turn>(), staging.stream)?;
            // SAFETY: the header is this long.
            unsafe { staging.to_device(driver, region, (&raw const header).cast(), size_of::<wire::Region>()) }
        })?;
        Ok(window)
    }

    /// The pinned memory that the window lies in, to be freed when nobody uses the window any more.
    pub fn memory(&self) -> usize {
        self.requests.as_ptr() as usize
    }

    /// # Safety
    /// `memory` holds `slots` requests, as many replies and as many areas, for ever.
    unsafe fn over(memory: *mut u8, slots: usize, area_bytes: usize) -> Window {
        let lines = slots * size_of::<wire::Request>();
        Window {
            // SAFETY: the caller's promise; only atomics touch them.
            requests: unsafe { slice::from_raw_parts(memory.cast(), slots) },
            // SAFETY: as above.
            replies: unsafe { slice::from_raw_parts(memory.add(lines).cast(), slots) },
            // SAFETY: as above.
            areas: unsafe { memory.add(2 * lines) },
            area_bytes,
            claimed: (0..slots).map(|_| AtomicU32::new(0)).collect(),
            next: (0..slots.div_ceil(CHUNK)).map(|_| AtomicUsize::new(0)).collect(),
            looks: AtomicUsize::new(0),
            hot: AtomicUsize::new(0),
        }
    }

    /// Whether a request waits to be claimed.
    pub fn has_request(&self) -> bool {
        self.requests.iter().zip(&self.claimed).any(|(request, claimed)| {
            request.posted.load(Ordering::Relaxed) != claimed.load(Ordering::Relaxed)
        })
    }

    /// Takes a request, if this look finds one: it takes in one chunk of slots, each time another, and then the one where the last
    /// request was. In a chunk, whoever was served last is looked at last. So a request waits for at most as many others as there
    /// are slots (a multiple of 64), besides those with an earlier ticket in its own slot.
    ///
    /// # Errors
    /// When the device wrote what no device runtime writes; nothing outside the slot was read then.
    pub fn claim(&self) -> Result<Option<Claim<'_>>, Malformed> {
        let chunk = self.looks.fetch_add(1, Ordering::Relaxed) % self.next.len();
        let hot = self.hot.load(Ordering::Relaxed);
        let found = self.claim_in(chunk).or_else(|| if hot == chunk { None } else { self.claim_in(hot) });
        found.map(|(slot, posted)| self.read(slot, posted)).transpose()
    }

    fn claim_in(&self, chunk: usize) -> Option<(usize, u32)> {
        let first = chunk * CHUNK;
        let slots = CHUNK.min(self.requests.len() - first);
        let start = self.next[chunk].load(Ordering::Relaxed);
        for step in 0..slots {
            let slot = first + (start + step) % slots;
            let (request, claimed) = (&self.requests[slot], &self.claimed[slot]);
            let before = claimed.load(Ordering::Relaxed);
            if request.posted.load(Ordering::Relaxed) == before {
                continue;
            }
            // Acquire: pairs with the device's st.release.sys of `posted` (before sm_70 the membar.sys before it).
            let posted = request.posted.load(Ordering::Acquire);
            // Acquire: pairs with the release of the thread that claimed the slot's last request.
            if claimed.compare_exchange(before, posted, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                self.next[chunk].store(start + step + 1, Ordering::Relaxed);
                self.hot.store(chunk, Ordering::Relaxed);
                return Some((slot, posted));
            }
        }
        None
    }

    fn read(&self, slot: usize, posted: u32) -> Result<Claim<'_>, Malformed> {
        let request = &self.requests[slot];
        let bad = |field, value| Malformed { slot, field, value };
        let op = request.op.load(Ordering::Relaxed);
        if op != wire::OP_TARGET && op != wire::OP_USER {
            return Err(bad("op", op.into()));
        }
        let mapnum = request.mapnum.load(Ordering::Relaxed);
        if mapnum > MOST_ITEMS {
            return Err(bad("mapnum", mapnum));
        }
        let has_inline = request.has_inline.load(Ordering::Relaxed);
        if has_inline > 1 {
            return Err(bad("has_inline", has_inline.into()));
        }
        Ok(Claim {
            window: self,
            slot,
            posted,
            request: Request {
                func: request.func.load(Ordering::Relaxed),
                mapnum,
                addrs: request.addrs.load(Ordering::Relaxed),
                sizes: request.sizes.load(Ordering::Relaxed),
                kinds: request.kinds.load(Ordering::Relaxed),
                dev_num: request.dev_num.load(Ordering::Relaxed),
            },
            op,
            has_inline: has_inline == 1,
        })
    }
}

impl Claim<'_> {
    /// The request's data; `items` is filled with what travelled.
    ///
    /// # Errors
    /// When the device says that more travelled than fits.
    pub fn data<'a>(&'a mut self, items: &'a mut Items) -> Result<Data<'a>, Malformed> {
        let Window { areas, area_bytes, .. } = *self.window;
        // SAFETY: the slot's area, which only the holder of its claim touches until the reply.
        let area = unsafe { slice::from_raw_parts_mut(areas.add(self.slot * area_bytes), area_bytes) };
        items.clear();
        if self.has_inline && !items.read(self.request.mapnum, area) {
            return Err(Malformed { slot: self.slot, field: "mapnum", value: self.request.mapnum });
        }
        Ok(Data { request: self.request, items, area, dirty: 0 })
    }

    /// Lets the device go on. `dirty`: the items that have new contents in the slot's area.
    pub fn reply(self, dirty: u32) {
        let done = u64::from(self.posted) | u64::from(dirty) << 32;
        // Release: pairs with the device's ld.acquire.sys. What the served block wrote is seen after it.
        self.window.replies[self.slot].done_and_dirty.store(done, Ordering::Release);
    }
}
