//! A mock device, for tests: the device's side of the ring protocol, step by step as `device-runtime/ring.h` takes them, and with
//! `device-runtime/target_ext.c`'s way of laying out an inline area.

use super::slot::Request;
use super::sync::{AtomicU32, AtomicU64, Ordering};
use super::window::Window;
use super::wire::{self, Bell, COMPACT_ITEMS, ITEM_ALIGN, ITEM_WORDS, MAX_INLINE_ITEMS, REPLY_WORDS, Turn};
use std::{ptr, slice};

/// A device whose threads post requests in a window of its own.
#[derive(Debug)]
pub struct MockDevice {
    /// The host's side of the window.
    pub window: Window,
    /// What the device rings.
    pub bell: Bell,
    turns: Box<[Turn]>,
}

/// The right to use a slot, once it is the ticket's turn.
#[derive(Debug)]
pub struct Ticket {
    slot: usize,
    number: u32,
}

/// A variable on the device that a request maps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its device address.
    pub address: u64,
    /// How it is mapped.
    pub kind: u16,
    /// Its contents.
    pub contents: Vec<u8>,
}

/// What a look at the reply has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// What has new contents.
    pub dirty: u32,
    /// The reply's other words.
    words: Vec<u64>,
}

/// What may stand in a slot that no device runtime has written.
#[derive(Clone, Debug)]
pub struct Garbage {
    /// `posted`
    pub posted: u64,
    /// `op`
    pub op: u32,
    /// `fn`, `mapnum`, `addrs`, `sizes` and `kinds`
    pub words: [u64; 5],
    /// `dev_num`
    pub dev_num: i32,
    /// `has_inline`
    pub has_inline: u32,
    /// The front of the slot's `rev_words`.
    pub items: Vec<u64>,
    /// The front of the inline area.
    pub area: Vec<u8>,
}

impl MockDevice {
    /// A device with `slots` slots, whose inline areas have `area_bytes` bytes each. Their memory is never freed.
    pub fn new(slots: usize, area_bytes: usize) -> MockDevice {
        let window = Window::over(
            Box::leak(Box::new(AtomicU32::new(0))),
            Box::leak((0..slots).map(|_| AtomicU64::new(0)).collect()),
            Box::leak((0..slots).map(|_| wire::Request::default()).collect()),
            Box::leak((0..slots).map(|_| wire::Words::default()).collect()),
            Box::leak((0..slots).map(|_| wire::Reply::default()).collect()),
            Box::leak(vec![0; slots * area_bytes].into()),
        );
        MockDevice { window, bell: Bell::default(), turns: (0..slots).map(|_| Turn::default()).collect() }
    }

    /// What tells a kernel of the window, as if this were its device: turns and bell are here.
    pub fn region(&self) -> wire::Region {
        self.window.region(self.turns.as_ptr() as u64, &self.bell)
    }

    /// All memory that such a kernel uses beside that, as addresses and sizes.
    pub fn memory(&self) -> [(u64, usize); 7] {
        let Window { posted, requests, words, replies, area_bytes, .. } = &self.window;
        let region = self.region();
        [
            (region.posted, size_of_val(*posted)),
            (region.requests, size_of_val(*requests)),
            (region.words, size_of_val(*words)),
            (region.replies, size_of_val(*replies)),
            (region.areas, posted.len() * area_bytes),
            (region.turns, size_of_val(&*self.turns)),
            (region.bell, size_of_val(&self.bell)),
        ]
    }

    /// Has all slots be where `tickets` requests have been served in each.
    pub fn skip(&mut self, tickets: u32) {
        for (slot, turn) in self.turns.iter().enumerate() {
            turn.next.store(tickets, Ordering::Relaxed);
            turn.serving.store(tickets, Ordering::Relaxed);
            let posted = wire::posted(tickets.wrapping_sub(1), 0, 0, 0);
            self.window.posted[slot].store(posted, Ordering::Relaxed);
            self.window.tickets[slot].store(tickets, Ordering::Relaxed);
            self.window.replies[slot].done_and_dirty.store(tickets.into(), Ordering::Relaxed);
        }
    }

    /// Draws a ticket for the slot of this warp.
    pub fn draw(&self, warp: usize) -> Ticket {
        let slot = warp % self.turns.len();
        Ticket { slot, number: self.turns[slot].next.fetch_add(1, Ordering::Relaxed) }
    }

    /// Whether it is the ticket's turn.
    pub fn has_turn(&self, ticket: &Ticket) -> bool {
        let Turn { serving, left, .. } = &self.turns[ticket.slot];
        // Acquire: pairs with `give_back` of the ticket before, or with the host's reply to one that nobody waits for.
        serving.load(Ordering::Acquire) == ticket.number
            || left.load(Ordering::Acquire) == ticket.number && self.done(ticket.slot) as u32 == ticket.number
    }

    /// Posts a request with what it maps, once and when it is the ticket's turn.
    pub fn post(&self, ticket: &Ticket, func: u64, variables: &[Variable]) {
        let posted = &self.window.posted[ticket.slot];
        let last = wire::ticket_byte(posted.load(Ordering::Relaxed));
        assert!(self.has_turn(ticket) && last == ticket.number as u8);
        let mapnum = variables.len();
        if mapnum == 0 && func >> wire::FN_BITS == 0 {
            // Release: pairs with the acquire in `Window::claim`.
            return posted.store(wire::posted(ticket.number, 0, 0, func), Ordering::Release);
        }
        if self.is_compact(func, variables) {
            let words = variables.iter().flat_map(words_of);
            for (word, bits) in self.window.words[ticket.slot].0.iter().zip(words) {
                // Release: pairs with the acquire in `compact::missing`.
                word.store(wire::word(ticket.number, bits), Ordering::Release);
            }
            // Relaxed: the words say themselves whose they are.
            return posted.store(wire::posted(ticket.number, mapnum as u8, 0, func), Ordering::Relaxed);
        }
        let arrays = mapnum * 18;
        let has_inline = mapnum != 0 && arrays.next_multiple_of(ITEM_ALIGN) <= self.window.area_bytes;
        if has_inline {
            let mut bytes: Vec<u8> = variables.iter().flat_map(|one| one.address.to_ne_bytes()).collect();
            bytes.extend(variables.iter().flat_map(|one| (one.contents.len() as u64).to_ne_bytes()));
            bytes.extend(variables.iter().flat_map(|one| one.kind.to_ne_bytes()));
            self.fill(ticket.slot, 0, &bytes);
            for (i, at) in self.inline(variables) {
                if wire::travels_to(variables[i].kind) {
                    self.fill(ticket.slot, at, &variables[i].contents);
                }
            }
        }
        let arrays = if mapnum == 0 { [0; 3] } else { [0x10, 0x20, 0x30].map(|base: u64| base << 32 | func) };
        let [addrs, sizes, kinds] = arrays;
        let request = Request { func, mapnum: mapnum as u64, addrs, sizes, kinds, dev_num: 0 };
        self.write(ticket.slot, &request, wire::OP_TARGET, has_inline.into());
        // Release: pairs with the acquire in `Window::claim`.
        posted.store(wire::posted(ticket.number, 0, 0, 0), Ordering::Release);
    }

    /// Rings the bell if the host is asleep; says whether it was. A device that waits does this again and again.
    pub fn ring_if_asleep(&self) -> bool {
        let asleep = self.bell.asleep[0].0.load(Ordering::Relaxed) != 0;
        if asleep {
            self.bell.ring();
        }
        asleep
    }

    /// The reply, if the ticket's request is served.
    pub fn reply(&self, ticket: &Ticket) -> Option<Reply> {
        // All by one access: the other words may be as old as before `done` was stored.
        let words = &self.window.replies[ticket.slot].words;
        let words = words.iter().map(|word| word.load(Ordering::Relaxed)).collect();
        let reply = self.done(ticket.slot);
        let dirty = (reply >> 32) as u32;
        (reply as u32 == ticket.number.wrapping_add(1)).then_some(Reply { dirty, words })
    }

    /// Fetches the new contents of the variables of request `func`, once there is a reply.
    pub fn fetch(&self, ticket: &Ticket, func: u64, reply: &Reply, variables: &mut [Variable]) {
        let dirty = reply.dirty;
        if self.is_compact(func, variables) {
            let back = variables.iter_mut().filter(|variable| wire::travels_from(variable.kind));
            let back = back.flat_map(|variable| variable.contents.chunks_exact_mut(4));
            for (i, contents) in back.enumerate().filter(|(i, _)| dirty >> (i + 1) & 1 != 0) {
                let mut word = reply.words[i];
                if (word >> 32) as u32 != ticket.number.wrapping_add(1) {
                    word = self.window.replies[ticket.slot].words[i].load(Ordering::Relaxed);
                }
                assert_eq!((word >> 32) as u32, ticket.number.wrapping_add(1), "of another request");
                contents.copy_from_slice(&(word as u32).to_ne_bytes());
            }
            return;
        }
        for (i, at) in self.inline(variables) {
            if dirty >> i & 1 != 0 {
                let contents = &mut variables[i].contents;
                assert!(at + contents.len() <= self.window.area_bytes);
                // SAFETY: within the slot's area, which is the device's from the reply to the next post.
                unsafe {
                    ptr::copy_nonoverlapping(
                        self.window.area(ticket.slot).add(at),
                        contents.as_mut_ptr(),
                        contents.len(),
                    );
                }
            }
        }
    }

    /// Lets the next ticket have the slot. The request is served.
    pub fn give_back(&self, ticket: Ticket) {
        self.turns[ticket.slot].serving.store(ticket.number.wrapping_add(1), Ordering::Release);
    }

    /// Goes on without waiting for the reply: the next ticket may have the slot once the host has replied.
    pub fn leave(&self, ticket: Ticket) {
        self.turns[ticket.slot].left.store(ticket.number.wrapping_add(1), Ordering::Release);
    }

    /// Makes a request and returns when it is served, `variables` with their new contents. `pause` passes the time.
    pub fn request(&self, warp: usize, func: u64, variables: &mut [Variable], pause: impl Fn()) {
        let ticket = self.draw(warp);
        while !self.has_turn(&ticket) {
            pause();
        }
        self.post(&ticket, func, variables);
        let reply = loop {
            self.ring_if_asleep();
            match self.reply(&ticket) {
                Some(reply) => break reply,
                None => pause(),
            }
        };
        self.fetch(&ticket, func, &reply, variables);
        self.give_back(ticket);
    }

    /// The inline area of a slot. Nobody holds a claim, by the exclusive borrow.
    pub fn area(&mut self, slot: usize) -> &mut [u8] {
        // SAFETY: the area is this long, and neither side uses it.
        unsafe { slice::from_raw_parts_mut(self.window.area(slot), self.window.area_bytes) }
    }

    /// Writes anything into a slot. Nobody holds a claim, by the exclusive borrow.
    pub fn corrupt(&mut self, slot: usize, garbage: &Garbage) {
        let front = garbage.area.len().min(self.window.area_bytes);
        self.area(slot)[..front].copy_from_slice(&garbage.area[..front]);
        self.scribble(slot, garbage);
    }

    /// Writes anything into the words of a slot, at any time. Nobody else may use the slot.
    pub fn scribble(&self, slot: usize, garbage: &Garbage) {
        let [func, mapnum, addrs, sizes, kinds] = garbage.words;
        let request = Request { func, mapnum, addrs, sizes, kinds, dev_num: garbage.dev_num };
        self.write(slot, &request, garbage.op, garbage.has_inline);
        for (word, value) in self.window.words[slot].0.iter().zip(&garbage.items) {
            word.store(*value, Ordering::Relaxed);
        }
        self.window.posted[slot].store(garbage.posted, Ordering::Release);
    }

    fn write(&self, slot: usize, request: &Request, op: u32, has_inline: u32) {
        let words = &self.window.requests[slot];
        let set = |word: &AtomicU64, value| word.store(value, Ordering::Relaxed);
        set(&words.func, request.func);
        set(&words.mapnum, request.mapnum);
        set(&words.addrs, request.addrs);
        set(&words.sizes, request.sizes);
        set(&words.kinds, request.kinds);
        let set = |word: &AtomicU32, value| word.store(value, Ordering::Relaxed);
        set(&words.op, op);
        set(&words.has_inline, has_inline);
        words.dev_num.store(request.dev_num, Ordering::Relaxed);
    }

    /// The first word of a slot's reply.
    fn done(&self, slot: usize) -> u64 {
        // Acquire: pairs with the release in `Claim::reply`.
        self.window.replies[slot].done_and_dirty.load(Ordering::Acquire)
    }

    /// Whether a request for these variables is of the compact form.
    fn is_compact(&self, func: u64, variables: &[Variable]) -> bool {
        let fits = |variable: &Variable| {
            let Variable { address, kind, contents } = variable;
            address >> wire::ADDRESS_BITS == 0
                && kind >> wire::KIND_BITS == 0
                && (!variable.travels() || matches!(contents.len(), 4 | 8) && address % 4 == 0)
        };
        let back =
            variables.iter().filter(|variable| variable.travels() && wire::travels_from(variable.kind));
        let back: usize = back.map(|variable| variable.contents.len() / 4).sum();
        let items = variables.len();
        (1..=COMPACT_ITEMS).contains(&items)
            && (items * 18).next_multiple_of(ITEM_ALIGN) + items * ITEM_ALIGN <= self.window.area_bytes
            && func >> wire::FN_BITS == 0
            && func != 0
            && variables.iter().all(fits)
            && back <= REPLY_WORDS
    }

    fn fill(&self, slot: usize, at: usize, bytes: &[u8]) {
        assert!(at + bytes.len() <= self.window.area_bytes);
        // SAFETY: within the slot's area, which is the device's while nobody holds a claim on the slot.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.window.area(slot).add(at), bytes.len()) };
    }

    /// The variables that travel inline, by number, and where each lies in the area.
    fn inline(&self, variables: &[Variable]) -> Vec<(usize, usize)> {
        let mut at = (variables.len() * 18).next_multiple_of(ITEM_ALIGN);
        let mut inline = Vec::new();
        for (i, variable) in variables.iter().enumerate().take(MAX_INLINE_ITEMS) {
            let taken = variable.contents.len().next_multiple_of(ITEM_ALIGN);
            if variable.travels() && at + taken <= self.window.area_bytes {
                inline.push((i, at));
                at += taken;
            }
        }
        inline
    }
}

impl Variable {
    /// Whether it travels with a request that it fits into.
    fn travels(&self) -> bool {
        self.address != 0
            && !self.contents.is_empty()
            && (wire::travels_to(self.kind) || wire::travels_from(self.kind))
    }
}

/// The words of an item of a compact request, without the ticket.
fn words_of(variable: &Variable) -> [u32; ITEM_WORDS] {
    let Variable { address, kind, contents } = variable;
    let size = contents.len() as u64;
    let words = if variable.travels() { contents.len() as u32 / 4 } else { 0 };
    let head = (address >> 32) as u32 | u32::from(*kind) << 16 | words << (16 + wire::KIND_BITS);
    let mut last = [size as u32, (size >> 32) as u32];
    if variable.travels() {
        last = [0; 2];
        if wire::travels_to(*kind) {
            for (word, bytes) in last.iter_mut().zip(contents.chunks_exact(4)) {
                *word = u32::from_ne_bytes(bytes.try_into().expect("4 bytes"));
            }
        }
    }
    [*address as u32, head, last[0], last[1]]
}
