//! The request slot of the device library that GCC links, one per device, in pinned host memory.
//!
//! The device's side is fixed (libgomp, `config/nvptx/target.c`): under a device-wide lock it fills the fields, stores `fn` with
//! release order at system scope, spins until `fn` is 0 and lets go of the lock. So at most one request is outstanding, and `fn`
//! says whether. The states of `fn`:
//!
//! | from | to | by |
//! |---|---|---|
//! | 0 or `CANCEL` | a request | the device |
//! | a request | 0 | the thread that claimed it, once it is served ([`Claim::reply`]) |
//! | 0 | `CANCEL` | anyone who wants a sleeping waiter to wake ([`WaitWord::cancel`]) |
//! | `CANCEL` | 0 | a waiter, before and after it sleeps ([`WaitWord::arm`], [`WaitWord::disarm`]) |
//!
//! A device that spins on "not 0" reads `CANCEL` as "not yet": a cancellation delays it until the waiter has woken, and a
//! request is never overwritten since both host transitions are compare-and-swaps. `tests/loom_slot.rs` checks this.

use super::sync::{AtomicI32, AtomicU32, AtomicU64, Ordering};

/// What `fn` holds while a waiter is being woken for a reason other than a request. No function has this address.
pub const CANCEL: u64 = u64::MAX;

/// A word that a stream wait watches, and how the host wakes such a wait.
pub trait WaitWord: Sync {
    /// Called before a thread looks for work a last time and then sleeps: clears what an earlier wake-up left, and says whether a
    /// stream wait would last. What wakes it from now on is not lost.
    fn arm(&self) -> bool;
    /// Called when the thread doesn't sleep any more, or doesn't after all.
    fn disarm(&self);
    /// Wakes the stream wait, whether it is already enqueued or about to be.
    fn cancel(&self);
}

/// The shared block. Layout: `struct rev_offload` of libgomp (six fields, 48 bytes); what follows is the host's own.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Slot {
    func: AtomicU64,
    mapnum: AtomicU64,
    addrs: AtomicU64,
    sizes: AtomicU64,
    kinds: AtomicU64,
    dev_num: AtomicI32,
    /// Host only: 1 while a thread owns the request, so that each is served once.
    claimed: AtomicU32,
}

/// What the device asks for: the arguments of `GOMP_PLUGIN_target_rev`. All addresses are device addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The device address of the block's function, the key under which libgomp finds the host's.
    pub func: u64,
    /// Number of mapped items, the length of the three arrays.
    pub mapnum: u64,
    /// Array of `mapnum` item addresses.
    pub addrs: u64,
    /// Array of `mapnum` sizes in bytes.
    pub sizes: u64,
    /// Array of `mapnum` 16-bit map kinds.
    pub kinds: u64,
    /// The OpenMP number of the device that asks.
    pub dev_num: i32,
}

/// The right to serve the request that is in the slot.
#[must_use = "an unserved claim leaves the device spinning"]
#[derive(Debug)]
pub struct Claim<'a> {
    slot: &'a Slot,
    /// The request.
    pub request: Request,
}

impl Slot {
    /// The address that the device, and a stream wait, know `fn` by: pinned memory has the same one everywhere.
    pub fn address(&self) -> u64 {
        (&raw const self.func).addr() as u64
    }

    /// Whether a request waits to be claimed. A hint: another thread may be faster.
    pub fn has_request(&self) -> bool {
        self.claimed.load(Ordering::Relaxed) == 0 && !matches!(self.func.load(Ordering::Relaxed), 0 | CANCEL)
    }

    /// Whether the slot holds neither a request, served or not, nor a cancellation.
    pub fn is_idle(&self) -> bool {
        self.func.load(Ordering::Relaxed) == 0
    }

    /// Takes the request in the slot, if there is one and nobody has it.
    pub fn claim(&self) -> Option<Claim<'_>> {
        if !self.has_request() {
            return None;
        }
        // Acquire pairs with the release in `reply`: whoever claims next sees that `func` went back to 0.
        self.claimed.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).ok()?;
        // Acquire pairs with the device's st.release.sys of `fn` (sm_70) or its membar.sys before it: the fields are complete.
        match self.func.load(Ordering::Acquire) {
            0 | CANCEL => {
                self.claimed.store(0, Ordering::Release);
                None
            }
            func => Some(Claim {
                slot: self,
                request: Request {
                    func,
                    mapnum: self.mapnum.load(Ordering::Relaxed),
                    addrs: self.addrs.load(Ordering::Relaxed),
                    sizes: self.sizes.load(Ordering::Relaxed),
                    kinds: self.kinds.load(Ordering::Relaxed),
                    dev_num: self.dev_num.load(Ordering::Relaxed),
                },
            }),
        }
    }

    /// The device's side of the protocol, for tests and for the mock device.
    pub fn post(&self, request: Request) {
        self.mapnum.store(request.mapnum, Ordering::Relaxed);
        self.addrs.store(request.addrs, Ordering::Relaxed);
        self.sizes.store(request.sizes, Ordering::Relaxed);
        self.kinds.store(request.kinds, Ordering::Relaxed);
        self.dev_num.store(request.dev_num, Ordering::Relaxed);
        // Release pairs with the acquire in `claim`.
        self.func.store(request.func, Ordering::Release);
    }

    /// What the device spins on after [`post`](Self::post).
    pub fn is_answered(&self) -> bool {
        // Acquire pairs with the release in `reply`.
        self.func.load(Ordering::Acquire) == 0
    }
}

impl Claim<'_> {
    /// Lets the device go on. The order matters: were the claim given up first, another thread could claim the same request.
    pub fn reply(self) {
        // Release pairs with the device's ld.acquire.sys: it sees what the served block wrote.
        self.slot.func.store(0, Ordering::Release);
        // Release pairs with the acquire in `claim`.
        self.slot.claimed.store(0, Ordering::Release);
    }
}

impl WaitWord for Slot {
    fn arm(&self) -> bool {
        self.disarm();
        self.is_idle()
    }

    fn disarm(&self) {
        // Relaxed: nothing is published by a cancellation, the gate's lock orders what it stands for.
        let _ = self.func.compare_exchange(CANCEL, 0, Ordering::Relaxed, Ordering::Relaxed);
    }

    fn cancel(&self) {
        // A request stored meanwhile wins: it wakes the waiter as well.
        let _ = self.func.compare_exchange(0, CANCEL, Ordering::Relaxed, Ordering::Relaxed);
    }
}

#[cfg(not(loom))]
const _: () = {
    use std::mem::{offset_of, size_of};
    // `struct rev_offload`, libgomp 13 to 16, config/nvptx/libgomp-nvptx.h.
    assert!(offset_of!(Slot, func) == 0);
    assert!(offset_of!(Slot, mapnum) == 8);
    assert!(offset_of!(Slot, addrs) == 16);
    assert!(offset_of!(Slot, sizes) == 24);
    assert!(offset_of!(Slot, kinds) == 32);
    assert!(offset_of!(Slot, dev_num) == 40);
    // One cache line, so that a poll of `fn` brings the whole request.
    assert!(size_of::<Slot>() == 64);
};
