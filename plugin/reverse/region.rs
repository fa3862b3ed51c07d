//! A target region that runs and may make requests, and which of a device's regions a request belongs to.

use super::slot::{Claim, Slot};
use crate::driver::gate::Gate;
use std::ffi::c_void;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A number that no other waiting thread of the process has.
pub fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A running region.
#[derive(Debug)]
pub struct Region {
    /// Names the thread that serves its requests to the gate: the one that launched it, or whoever looks after regions with `nowait`.
    pub waiter: u64,
    gate: &'static Gate,
    /// The region's soft stacks: an address in there says that a request is this region's.
    stacks: Range<u64>,
    /// A request of this region that another thread claimed.
    mail: Mutex<Option<Claim<'static>>>,
    has_mail: AtomicBool,
}

impl Region {
    /// Whether another thread has claimed a request for it.
    pub fn has_mail(&self) -> bool {
        self.has_mail.load(Ordering::Relaxed)
    }

    fn mail(&self) -> MutexGuard<'_, Option<Claim<'static>>> {
        self.mail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_mail(&self) -> Option<Claim<'static>> {
        if !self.has_mail.load(Ordering::Relaxed) {
            return None;
        }
        self.has_mail.store(false, Ordering::Relaxed);
        self.mail().take()
    }

    fn deliver(&self, claim: Claim<'static>) {
        *self.mail() = Some(claim);
        // Relaxed suffices: the lock orders the request itself, the gate's lock orders this flag with a sleep.
        self.has_mail.store(true, Ordering::Relaxed);
        self.gate.wake(self.waiter);
    }

    /// A host function and its argument that wake the region's thread, for the driver to call behind the kernel.
    pub fn end_notice(self: &Arc<Self>) -> (unsafe extern "C" fn(*mut c_void), *mut c_void) {
        (on_end, Arc::into_raw(Arc::clone(self)).cast_mut().cast())
    }
}

/// Called by the driver, on a thread of its own, when the kernel has ended.
unsafe extern "C" fn on_end(region: *mut c_void) {
    // SAFETY: `end_notice` made this pointer from an Arc, and the driver calls once.
    let region = unsafe { Arc::from_raw(region.cast::<Region>()) };
    region.gate.wake(region.waiter);
}

/// The running regions of one device.
#[derive(Debug, Default)]
pub struct Regions(Mutex<Vec<Arc<Region>>>);

impl Regions {
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Region>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a region that is about to be launched with these soft stacks.
    pub fn enter(&self, gate: &'static Gate, stacks: Range<u64>, waiter: u64) -> Arc<Region> {
        let region = Arc::new(Region {
            waiter,
            gate,
            stacks,
            mail: Mutex::new(None),
            has_mail: AtomicBool::new(false),
        });
        self.lock().push(Arc::clone(&region));
        region
    }

    /// Removes a region that has ended.
    pub fn leave(&self, region: &Region) {
        self.lock().retain(|other| !std::ptr::eq(&**other, region));
    }

    /// Whether no region runs.
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Finds a request for `me`: one that another thread claimed for it, or the one in the slot. A request that turns out to
    /// be another region's goes to that one's thread. The device library that GCC links doesn't say who asks; the array of
    /// addresses lies on the requester's soft stack. Where it doesn't (nothing is mapped, or the request comes from within a
    /// SIMD region), any thread that serves this device may have it.
    pub fn next_request(&self, me: &Region, slot: &'static Slot) -> Option<Claim<'static>> {
        if let Some(claim) = me.take_mail() {
            return Some(claim);
        }
        let claim = slot.claim()?;
        let owner = self.lock().iter().find(|region| region.stacks.contains(&claim.request.addrs)).cloned();
        match owner {
            Some(owner) if !std::ptr::eq(&*owner, me) => {
                owner.deliver(claim);
                None
            }
            _ => Some(claim),
        }
    }

    /// Whether more than one region runs.
    pub fn are_several(&self) -> bool {
        self.lock().len() > 1
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::slot::Request;
    use super::*;

    fn request(addrs: u64) -> Request {
        Request { func: 1, mapnum: 1, addrs, sizes: 0, kinds: 0, dev_num: 0 }
    }

    fn leak<T>(value: T) -> &'static T {
        Box::leak(Box::new(value))
    }

    #[test]
    fn a_request_goes_to_the_region_whose_stack_it_comes_from() {
        let (gate, slot, regions) = (leak(Gate::new()), leak(Slot::default()), Regions::default());
        let first = regions.enter(gate, 0x1000..0x2000, next_id());
        let second = regions.enter(gate, 0x2000..0x3000, next_id());
        slot.post(request(0x2100));
        assert!(regions.next_request(&first, slot).is_none());
        assert!(!first.has_mail() && second.has_mail());
        let claim = regions.next_request(&second, slot).expect("delivered");
        assert_eq!(claim.request, request(0x2100));
        assert!(!slot.is_answered());
        claim.reply();
        assert!(slot.is_answered() && !second.has_mail());
    }

    #[test]
    fn a_request_from_no_known_stack_is_served_by_whoever_finds_it() {
        let (gate, slot, regions) = (leak(Gate::new()), leak(Slot::default()), Regions::default());
        let first = regions.enter(gate, 0x1000..0x2000, next_id());
        let _second = regions.enter(gate, 0x2000..0x3000, next_id());
        slot.post(request(0));
        regions.next_request(&first, slot).expect("served").reply();
        assert!(slot.is_answered());
    }

    #[test]
    fn a_region_that_left_gets_nothing() {
        let (gate, slot, regions) = (leak(Gate::new()), leak(Slot::default()), Regions::default());
        let first = regions.enter(gate, 0x1000..0x2000, next_id());
        let second = regions.enter(gate, 0x2000..0x3000, next_id());
        regions.leave(&first);
        slot.post(request(0x1100));
        regions.next_request(&second, slot).expect("served").reply();
        regions.leave(&second);
        assert!(regions.is_empty());
    }
}
