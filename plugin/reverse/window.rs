//! The host's side of a region's window of request slots (`include/rev_wire.h`).

use super::compact::{self, Places};
use super::items::{Data, Items};
use super::slot::Request;
use super::sync::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use super::wire;
use crate::device::Device;
use crate::driver::{CudaError, DevicePtr};
use crate::env;
use std::cell::UnsafeCell;
use std::slice;

/// Slots that one look takes in. A window of 1024 slots would take some microseconds to look through.
const CHUNK: usize = 64;

/// The slots of one region at a time. Several threads may serve it.
#[derive(Debug)]
pub struct Window {
    /// What the last team of the kernel sets to 1.
    end: &'static AtomicU32,
    pub(super) posted: &'static [AtomicU64],
    pub(super) requests: &'static [wire::Request],
    pub(super) words: &'static [wire::Words],
    pub(super) replies: &'static [wire::Reply],
    areas: *mut u8,
    pub(super) area_bytes: usize,
    /// How many requests of each slot have been claimed: the ticket + 1 of the last. All of its bits: a thread that comes late must
    /// not take one request for another.
    pub(super) tickets: Box<[AtomicU32]>,
    /// For each slot where the items of its compact request lie, once they were laid out. Not in the claim, which is moved about.
    places: Box<[UnsafeCell<Places>]>,
    /// For each slot how many looks have found a compact request of which words were missing.
    late: Box<[AtomicU32]>,
    /// Where the next look into each chunk begins, counting on and on: whoever was served last is looked at last.
    next: Box<[AtomicUsize]>,
    /// Counts looks; each begins with another chunk.
    looks: AtomicUsize,
    /// The chunk that the last request came from, where the next may be expected.
    hot: AtomicUsize,
}

// SAFETY: the inline areas and places are touched only by whoever holds a claim on their slot.
unsafe impl Send for Window {}
// SAFETY: as above.
unsafe impl Sync for Window {}

/// A request that its holder alone may serve.
#[must_use = "an unserved claim leaves the device spinning"]
#[derive(Debug)]
pub struct Claim<'a> {
    window: &'a Window,
    slot: usize,
    done: u32,
    /// What the device asks for.
    pub request: Request,
    /// [`wire::OP_TARGET`] or [`wire::OP_USER`].
    pub op: u32,
    has_inline: bool,
    is_compact: bool,
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

/// Looks that a compact request's words may be late by. They are stored before `posted`, which can overtake them by some nanoseconds; these
/// looks take a tenth of a second or more.
const MOST_LOOKS: u32 = 1 << 22;

impl Window {
    /// Makes a window of `slots` slots, a power of two, and fills in the region in device memory at `region` that tells kernels
    /// of it. Its turns lie at `turns`.
    ///
    /// # Errors
    /// Those of the driver calls that make pinned memory and fill device memory.
    pub fn new(
        device: &Device,
        slots: usize,
        region: DevicePtr,
        turns: DevicePtr,
    ) -> Result<Window, CudaError> {
        assert!(slots.is_power_of_two() && slots <= wire::MAX_SLOTS);
        let area_bytes = env::settings().inline_bytes;
        // The end word has a cache line of its own.
        let end = size_of::<wire::Request>();
        let words = end + slots * size_of::<AtomicU64>();
        let lines = slots * size_of::<wire::Request>();
        let items = words + 2 * lines;
        let areas = items + slots * size_of::<wire::Words>();
        let bytes = areas + slots * area_bytes;
        let driver = device.driver;
        let bell = &device.reverse.share(driver)?.bell;
        let memory = driver.host_alloc(bytes)?.cast::<u8>();
        // SAFETY: the memory is as long as this, its address a multiple of a page's size, and zeroes are valid for all that it holds;
        // it is not freed before the window. All but the areas holds atomics only; nothing else refers to those.
        let window = unsafe {
            memory.write_bytes(0, bytes);
            Window::over(
                &*memory.cast(),
                slice::from_raw_parts(memory.add(end).cast(), slots),
                slice::from_raw_parts(memory.add(words).cast(), slots),
                slice::from_raw_parts(memory.add(items).cast(), slots),
                slice::from_raw_parts(memory.add(words + lines).cast(), slots),
                slice::from_raw_parts_mut(memory.add(areas), slots * area_bytes),
            )
        };
        let header = window.region(turns, bell);
        device.staging.with(driver, false, |driver, staging| {
            driver.memset_async(turns, 0, slots * size_of::<wire::Turn>(), staging.stream)?;
            // SAFETY: the header is this long.
            unsafe {
                staging.to_device(driver, region, (&raw const header).cast(), size_of::<wire::Region>())
            }
        })?;
        Ok(window)
    }

    /// What tells kernels of the window.
    pub(super) fn region(&self, turns: DevicePtr, bell: &wire::Bell) -> wire::Region {
        wire::Region {
            version: wire::VERSION,
            slot_mask: self.posted.len() as u32 - 1,
            area_bytes: self.area_bytes as u32,
            ended_teams: 0,
            posted: self.posted.as_ptr() as u64,
            requests: self.requests.as_ptr() as u64,
            replies: self.replies.as_ptr() as u64,
            areas: self.areas as u64,
            turns,
            bell: std::ptr::from_ref(bell) as u64,
            end: std::ptr::from_ref(self.end) as u64,
            words: self.words.as_ptr() as u64,
        }
    }

    /// The pinned memory that the window lies in, to be freed when nobody uses the window any more.
    pub fn memory(&self) -> usize {
        std::ptr::from_ref(self.end).addr()
    }

    /// A window of these requests, words, replies and areas, as many of each.
    pub(super) fn over(
        end: &'static AtomicU32,
        posted: &'static [AtomicU64],
        requests: &'static [wire::Request],
        words: &'static [wire::Words],
        replies: &'static [wire::Reply],
        areas: &'static mut [u8],
    ) -> Window {
        let slots = posted.len();
        assert!([requests.len(), words.len(), replies.len()] == [slots; 3] && areas.len() % slots == 0);
        Window {
            end,
            posted,
            requests,
            words,
            replies,
            areas: areas.as_mut_ptr(),
            area_bytes: areas.len() / slots,
            tickets: (0..slots).map(|_| AtomicU32::new(0)).collect(),
            places: (0..slots).map(|_| UnsafeCell::default()).collect(),
            late: (0..slots).map(|_| AtomicU32::new(0)).collect(),
            next: (0..slots.div_ceil(CHUNK)).map(|_| AtomicUsize::new(0)).collect(),
            looks: AtomicUsize::new(0),
            hot: AtomicUsize::new(0),
        }
    }

    /// The inline area of a slot, [`Window::area_bytes`] long.
    pub(super) fn area(&self, slot: usize) -> *mut u8 {
        assert!(slot < self.requests.len());
        // SAFETY: the areas are as many as the slots.
        unsafe { self.areas.add(slot * self.area_bytes) }
    }

    /// A kernel is about to be launched with this window.
    pub fn begin(&self) {
        // Relaxed: the launch orders it before whatever the kernel does.
        self.end.store(0, Ordering::Relaxed);
    }

    /// Whether the kernel has said that it is about to end. Not all do.
    pub fn says_end(&self) -> bool {
        // Relaxed: it says nothing of other memory. A thread that is about to sleep has armed the bell before, with acquire order.
        self.end.load(Ordering::Relaxed) != 0
    }

    /// Whether a request waits to be claimed.
    pub fn has_request(&self) -> bool {
        (0..self.next.len()).any(|chunk| self.has_request_in(chunk))
    }

    fn has_request_in(&self, chunk: usize) -> bool {
        let first = chunk * CHUNK;
        let slots = first..self.posted.len().min(first + CHUNK);
        let differ = |(posted, tickets): (&AtomicU64, &AtomicU32)| {
            wire::ticket_byte(posted.load(Ordering::Relaxed)) != tickets.load(Ordering::Relaxed) as u8
        };
        self.posted[slots.clone()].iter().zip(&self.tickets[slots]).any(differ)
    }

    /// The same for one chunk of slots, each time another, and the one where the last request was. The next [`claim`](Self::claim)
    /// looks where this has found one.
    pub fn glance(&self) -> bool {
        let chunk = self.looks.fetch_add(1, Ordering::Relaxed) % self.next.len();
        let hot = self.hot.load(Ordering::Relaxed);
        let found = [chunk, hot].into_iter().find(|&chunk| self.has_request_in(chunk));
        if let Some(chunk) = found {
            self.hot.store(chunk, Ordering::Relaxed);
        }
        found.is_some()
    }

    /// Takes a request, if this look finds one: it takes in one chunk of slots, each time another, and then the one where the last
    /// request was. In a chunk, whoever was served last is looked at last. So where one thread serves, a request waits for fewer
    /// others than there are slots, rounded up to a multiple of 64, besides those with an earlier ticket in its own slot: each of the
    /// 63 others in its chunk at most once, and for each look at its chunk one from every other chunk. With several threads it is as
    /// many times that at most: between two steps of a chunk's turn, each may serve one request that the turn has just passed.
    ///
    /// # Errors
    /// When the device wrote what no device runtime writes; nothing outside the slot was read then.
    pub fn claim(&self) -> Result<Option<Claim<'_>>, Malformed> {
        let chunk = self.looks.fetch_add(1, Ordering::Relaxed) % self.next.len();
        let hot = self.hot.load(Ordering::Relaxed);
        let found = self.claim_in(chunk).or_else(|| if hot == chunk { None } else { self.claim_in(hot) });
        found.map(|(slot, posted, done)| self.read(slot, posted, done)).transpose()
    }

    /// The slot, its `posted` and what is `done` with its service.
    fn claim_in(&self, chunk: usize) -> Option<(usize, u64, u32)> {
        let first = chunk * CHUNK;
        let slots = CHUNK.min(self.posted.len() - first);
        let start = self.next[chunk].load(Ordering::Relaxed);
        for step in 0..slots {
            // A power of two, as the whole window is.
            let slot = first + ((start + step) & (slots - 1));
            let (posted, tickets) = (&self.posted[slot], &self.tickets[slot]);
            // Acquire: pairs with the release of the thread that claimed the slot's last request, so that `posted` isn't read older
            // than that thread has read it.
            let before = tickets.load(Ordering::Acquire);
            if wire::ticket_byte(posted.load(Ordering::Relaxed)) == before as u8 {
                continue;
            }
            // Acquire: pairs with the device's st.release.sys of `posted`, or the fence.acq_rel.sys before it (before sm_70 membar.sys).
            let posted = posted.load(Ordering::Acquire);
            let done = before.wrapping_add(1);
            if wire::items(posted) != 0 && self.is_late(slot, posted, done) {
                continue;
            }
            // Release: pairs with the acquire above.
            if tickets.compare_exchange(before, done, Ordering::Release, Ordering::Relaxed).is_ok() {
                // The turn goes forward only, also where a thread comes late.
                self.next[chunk].fetch_max(start + step + 1, Ordering::Relaxed);
                self.hot.store(chunk, Ordering::Relaxed);
                return Some((slot, posted, done));
            }
        }
        None
    }

    /// The words that `posted` announces.
    fn words(&self, slot: usize, posted: u64) -> &[AtomicU64] {
        let words = &self.words[slot].0;
        &words[..words.len().min(wire::items(posted) * wire::ITEM_WORDS)]
    }

    /// Whether to look for a compact request again: not all its words are there that `posted` announces. Not for ever, for they never come where
    /// a device writes garbage.
    fn is_late(&self, slot: usize, posted: u64, done: u32) -> bool {
        wire::ticket_byte(posted) == done as u8
            && compact::missing(self.words(slot, posted), done).is_some()
            && self.late[slot].fetch_add(1, Ordering::Relaxed) < MOST_LOOKS
    }

    fn read(&self, slot: usize, posted: u64, done: u32) -> Result<Claim<'_>, Malformed> {
        let bad = |field, value| Malformed { slot, field, value };
        let items = wire::items(posted);
        if wire::ticket_byte(posted) != done as u8 || items > wire::COMPACT_ITEMS {
            return Err(bad("posted", posted));
        }
        let claim = |request, op, has_inline, is_compact| Claim {
            window: self,
            slot,
            done,
            request,
            op,
            has_inline,
            is_compact,
        };
        let (func, dev_num) = (wire::func(posted), wire::dev_num(posted));
        if items != 0 {
            if let Some(word) = compact::missing(self.words(slot, posted), done) {
                return Err(bad("word", word));
            }
            self.late[slot].store(0, Ordering::Relaxed);
            let [addrs, sizes, kinds] = compact::ARRAYS;
            let request = Request { func, mapnum: items as u64, addrs, sizes, kinds, dev_num };
            return Ok(claim(request, wire::OP_TARGET, false, true));
        }
        if func != 0 {
            let request = Request { func, mapnum: 0, addrs: 0, sizes: 0, kinds: 0, dev_num };
            return Ok(claim(request, wire::OP_TARGET, false, false));
        }
        let request = &self.requests[slot];
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
        let request = Request {
            func: request.func.load(Ordering::Relaxed),
            mapnum,
            addrs: request.addrs.load(Ordering::Relaxed),
            sizes: request.sizes.load(Ordering::Relaxed),
            kinds: request.kinds.load(Ordering::Relaxed),
            dev_num: request.dev_num.load(Ordering::Relaxed),
        };
        Ok(claim(request, op, has_inline == 1, false))
    }
}

impl Claim<'_> {
    /// The request's data; `items` is filled with what travelled.
    ///
    /// # Errors
    /// When the device says that more travelled than fits, or that something travelled as it can't.
    pub fn data<'a>(&'a mut self, items: &'a mut Items) -> Result<Data<'a>, Malformed> {
        let slot = self.slot;
        // SAFETY: the slot's area, which only the holder of its claim touches until the reply.
        let area = unsafe { slice::from_raw_parts_mut(self.window.area(slot), self.window.area_bytes) };
        items.clear();
        if self.is_compact {
            let words = &self.window.words[slot].0[..self.request.mapnum as usize * wire::ITEM_WORDS];
            let bad = |bits: u32| Malformed { slot, field: "word", value: bits.into() };
            let places = compact::unfold(words, items, area).map_err(bad)?;
            // SAFETY: only the holder of the claim touches the slot's.
            unsafe { *self.window.places[slot].get() = places };
        } else if self.has_inline && !items.read(self.request.mapnum, area) {
            return Err(Malformed { slot, field: "mapnum", value: self.request.mapnum });
        }
        Ok(Data { request: self.request, items, area, dirty: 0 })
    }

    /// Opcode and data of a call of the public device API.
    ///
    /// # Errors
    /// When the device says what no call can be.
    pub fn call(&mut self) -> Result<(u32, &mut [u8]), Malformed> {
        let (slot, Request { func, mapnum, .. }) = (self.slot, self.request);
        let opcode = u32::try_from(func).map_err(|_| Malformed { slot, field: "fn", value: func })?;
        // SAFETY: as in `data`.
        let area = unsafe { slice::from_raw_parts_mut(self.window.area(slot), self.window.area_bytes) };
        let data = area.get_mut(..mapnum as usize);
        Ok((opcode, data.ok_or(Malformed { slot, field: "mapnum", value: mapnum })?))
    }

    /// Lets the device go on. `dirty`: the items that have new contents in the slot's area.
    pub fn reply(self, dirty: u32) {
        let reply = &self.window.replies[self.slot];
        let mut dirty = dirty;
        if self.is_compact {
            // SAFETY: as in `data`.
            let area = unsafe { slice::from_raw_parts(self.window.area(self.slot), self.window.area_bytes) };
            // SAFETY: as in `data`.
            let places = unsafe { &*self.window.places[self.slot].get() };
            dirty = compact::reply(places, dirty, area, &reply.words, self.done);
        }
        let done = u64::from(self.done) | u64::from(dirty) << 32;
        // Release: pairs with the device's ld.acquire.sys. What the served block wrote is seen after it, and the reply's words.
        reply.done_and_dirty.store(done, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::mock::{MockDevice, Ticket, Variable};
    use super::*;
    use std::thread;

    const TO: u16 = 1;
    const TOFROM: u16 = 3;

    /// Two variables of the requester `func`, of `size` bytes each.
    fn variables(func: u64, size: usize) -> [Variable; 2] {
        let address = (func + 1) << 16;
        [(address, TOFROM), (address | 0x8000, TO)].map(|(address, kind)| {
            let contents = func.to_ne_bytes().into_iter().cycle().take(size).collect();
            Variable { address, kind, contents }
        })
    }

    /// Tells all threads of a test when one of them panics, for they wait for one another.
    #[derive(Default)]
    struct Alarm(AtomicU32);

    impl Alarm {
        fn pause(&self) {
            assert_eq!(self.0.load(Ordering::Relaxed), 0, "another thread has panicked");
            thread::yield_now();
        }
    }

    struct Watch<'a>(&'a Alarm);

    impl Drop for Watch<'_> {
        fn drop(&mut self) {
            self.0.0.fetch_or(thread::panicking().into(), Ordering::Relaxed);
        }
    }

    /// Serves a request: whatever comes back has each byte inverted.
    fn serve(mut claim: Claim<'_>, items: &mut Items) -> u64 {
        let func = claim.request.func;
        let mut data = claim.data(items).expect("well-formed");
        let [changed, constant] = variables(func, 24);
        for variable in [&changed, &constant] {
            let mut bytes = [0; 24];
            assert!(data.give(&mut bytes, variable.address));
            assert_eq!(bytes.as_slice(), variable.contents, "of another requester");
        }
        let inverted: Vec<u8> = changed.contents.iter().map(|byte| !byte).collect();
        assert!(data.take(changed.address, &inverted));
        assert!(!data.take(constant.address, &constant.contents));
        let dirty = data.dirty;
        claim.reply(dirty);
        func
    }

    /// `warps` threads of a device make `requests` requests each, which `servers` threads serve.
    fn run(slots: usize, warps: usize, requests: usize, servers: usize) {
        let device = MockDevice::new(slots, 128);
        let served: Vec<AtomicU32> = (0..warps * requests).map(|_| AtomicU32::new(0)).collect();
        let (left, alarm) = (AtomicUsize::new(warps * requests), Alarm::default());
        thread::scope(|scope| {
            for _ in 0..servers {
                scope.spawn(|| {
                    let _watch = Watch(&alarm);
                    let mut items = Items::default();
                    while left.load(Ordering::Relaxed) != 0 {
                        let Some(claim) = device.window.claim().expect("well-formed") else {
                            alarm.pause();
                            continue;
                        };
                        served[serve(claim, &mut items) as usize].fetch_add(1, Ordering::Relaxed);
                        left.fetch_sub(1, Ordering::Relaxed);
                    }
                });
            }
            for warp in 0..warps {
                let (device, alarm) = (&device, &alarm);
                scope.spawn(move || {
                    let _watch = Watch(alarm);
                    for func in (warp * requests..(warp + 1) * requests).map(|func| func as u64) {
                        let mut own = variables(func, 24);
                        device.request(warp, func, &mut own, || alarm.pause());
                        let [mut changed, constant] = variables(func, 24);
                        changed.contents.iter_mut().for_each(|byte| *byte = !*byte);
                        assert_eq!(own, [changed, constant], "the reply of request {func}");
                    }
                });
            }
        });
        assert!(served.iter().all(|times| times.load(Ordering::Relaxed) == 1));
        assert!(!device.window.has_request());
    }

    #[test]
    fn each_request_is_served_once_and_its_reply_arrives_where_it_came_from() {
        run(16, 16, 500, 1);
        run(16, 16, 500, 4);
        run(256, 24, 300, 3);
    }

    #[test]
    fn more_requesters_than_slots_take_turns() {
        run(1, 8, 200, 3);
        run(16, 40, 100, 4);
    }

    #[test]
    fn what_a_requester_leaves_behind_is_served_before_the_next_of_its_slot() {
        let device = MockDevice::new(1, 64);
        let first = device.draw(0);
        device.post(&first, 1, &[]);
        device.leave(first);
        let second = device.draw(0);
        assert!(!device.has_turn(&second));
        device.window.claim().expect("well-formed").expect("posted").reply(0);
        assert!(device.has_turn(&second));
        device.post(&second, 2, &[]);
        let claim = device.window.claim().expect("well-formed").expect("posted");
        assert_eq!(claim.request.func, 2);
        assert_eq!(device.reply(&second), None);
        claim.reply(0);
        assert_eq!(device.reply(&second).map(|reply| reply.dirty), Some(0));
    }

    #[test]
    fn a_wrapped_ticket_is_a_request_like_any_other() {
        let mut device = MockDevice::new(1, 64);
        device.skip(u32::MAX - 1);
        for func in 0..3 {
            let ticket = device.draw(0);
            device.post(&ticket, func, &[]);
            device.window.claim().expect("well-formed").expect("posted").reply(0);
            assert_eq!(device.reply(&ticket).map(|reply| reply.dirty), Some(0));
            device.give_back(ticket);
        }
    }

    /// A saturated window: the slots for which `busy` holds get the next request as soon as the last is served. Returns how many
    /// others were served, at most, between a request's post and its own service.
    fn longest_wait(slots: usize, rounds: usize, busy: impl Fn(usize) -> bool) -> usize {
        let device = MockDevice::new(slots, 64);
        let mut posted: Vec<Option<(Ticket, usize)>> = (0..slots).map(|_| None).collect();
        let (mut served, mut longest) = (0, 0);
        for _ in 0..rounds {
            for slot in (0..slots).filter(|slot| busy(*slot)) {
                posted[slot].get_or_insert_with(|| {
                    let ticket = device.draw(slot);
                    device.post(&ticket, slot as u64, &[]);
                    (ticket, served)
                });
            }
            let Some(claim) = device.window.claim().expect("well-formed") else {
                // This look went to a chunk without requests.
                continue;
            };
            let slot = claim.request.func as usize;
            claim.reply(0);
            let (ticket, since) = posted[slot].take().expect("only what is posted is served");
            device.give_back(ticket);
            longest = longest.max(served - since);
            served += 1;
        }
        posted.iter().flatten().map(|(_, since)| served - since).fold(longest, usize::max)
    }

    #[test]
    fn no_request_waits_for_as_many_others_as_there_are_slots_rounded_up_to_64() {
        for slots in [1usize, 16, 64, 128, 256, 1024] {
            let bound = slots.next_multiple_of(CHUNK);
            for (what, longest) in [
                ("all", longest_wait(slots, 20 * bound, |_| true)),
                (
                    "one chunk and one slot",
                    longest_wait(slots, 20 * bound, |slot| slot < CHUNK || slot == slots - 1),
                ),
                ("every 37th", longest_wait(slots, 20 * bound, |slot| slot % 37 == 0)),
                ("all but one chunk", longest_wait(slots, 20 * bound, |slot| slot / CHUNK != 1)),
            ] {
                assert!(longest < bound, "{slots} slots, {what} busy: {longest} others were served first");
            }
        }
    }
}
