//! Threads that serve requests beside those that launched the regions (`GOMP_REVERSE_OFFLOAD_THREADS`).
//!
//! Each region whose requests come in a window is *offered* to the device's helpers while it runs. A helper visits one offer after
//! another and serves what it finds there; [`Window::claim`] sees to it that each request is served once. While no region runs, helpers
//! are parked; between requests they wait as launching threads do, by spinning first and then in the gate.

use super::items::Items;
use super::region;
use super::source::{enqueue_bell_wait, serve_from};
use super::wait::{Naps, TURNS, sleep, spin_time};
use super::window::Window;
use crate::abi::host;
use crate::device::Device;
use crate::driver::gate::Gate;
use crate::driver::{ContextGuard, Event};
use crate::env;
use crate::error::{Error, Result};
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Instant;

/// Requests of a region that a thread of ours serves in one go, at most, before it looks after other regions.
pub(crate) const VISIT: usize = 64;
/// Bytes of the stack of a thread of ours, on which the program's blocks run: what a program's first thread usually has.
pub(crate) const STACK_BYTES: usize = 8 << 20;

/// One device's helpers.
#[derive(Debug)]
pub struct Helpers {
    state: Mutex<State>,
    /// Signalled when there is an offer after there was none.
    offered: Condvar,
    /// Counts changes of the offers.
    changes: AtomicU64,
    /// Names all helpers to the gate: to wake one of them is to wake whichever sleeps.
    waiter: u64,
}

#[derive(Debug, Default)]
struct State {
    started: bool,
    offers: Vec<Arc<Offer>>,
}

/// A region that runs, offered to the helpers.
#[derive(Debug)]
pub struct Offer {
    window: Arc<Window>,
    /// Whether the offer holds. Helpers read it for as long as their visit lasts, and withdrawing it writes: it waits for them.
    holds: RwLock<bool>,
}

impl Default for Helpers {
    fn default() -> Self {
        Helpers {
            state: Mutex::default(),
            offered: Condvar::new(),
            changes: AtomicU64::new(0),
            waiter: region::next_id(),
        }
    }
}

impl Helpers {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has helpers serve requests from `window` too, until the offer is withdrawn. None where the user wants no helpers.
    pub fn offer(&self, device: &'static Device, window: &Arc<Window>) -> Option<Arc<Offer>> {
        let wanted = env::settings().helpers;
        if wanted == 0 {
            return None;
        }
        let offer = Arc::new(Offer { window: Arc::clone(window), holds: RwLock::new(true) });
        let mut state = self.lock();
        state.offers.push(Arc::clone(&offer));
        self.changes.fetch_add(1, Ordering::Relaxed);
        if !std::mem::replace(&mut state.started, true) {
            (0..wanted).for_each(|number| start(device, number));
        }
        self.offered.notify_all();
        Some(offer)
    }

    /// Ends an offer, and returns when no helper serves from its window any more.
    pub fn withdraw(&self, gate: &Gate, offer: &Arc<Offer>) {
        let mut state = self.lock();
        state.offers.retain(|other| !Arc::ptr_eq(other, offer));
        self.changes.fetch_add(1, Ordering::Relaxed);
        drop(state);
        *offer.holds.write().unwrap_or_else(PoisonError::into_inner) = false;
        // A helper that sleeps might do so for the sake of this region alone.
        gate.wake(self.waiter);
    }

    /// The offers that hold now, once there are any.
    fn wait_for_offers(&self) -> (Vec<Arc<Offer>>, u64) {
        let mut state = self.lock();
        while state.offers.is_empty() {
            state = self.offered.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        // Under the lock, so the number belongs to these offers.
        (state.offers.clone(), self.changes.load(Ordering::Relaxed))
    }

    fn have_changed_since(&self, changes: u64) -> bool {
        // Relaxed: a helper that is late looks in vain at an offer that doesn't hold. One that is about to sleep is woken through the
        // gate's lock; one that goes to sleep is rung for by a region that is offered later.
        self.changes.load(Ordering::Relaxed) != changes
    }
}

impl Offer {
    /// Serves requests from the window, if the offer holds; says whether there were any.
    ///
    /// # Errors
    /// When a request is malformed.
    fn visit(&self, device: &Device, items: &mut Items) -> Result<bool> {
        // Not where it is being withdrawn.
        let Ok(holds) = self.holds.try_read() else { return Ok(false) };
        let mut served = 0;
        while *holds && served < VISIT && serve_from(device, &self.window, items)? {
            served += 1;
        }
        Ok(served > 0)
    }
}

fn start(device: &'static Device, number: usize) {
    let builder = std::thread::Builder::new().name(format!("boomerang-{number}")).stack_size(STACK_BYTES);
    let run = move || {
        let helper = Helper { device, items: Items::default(), naps: Naps::new() };
        match helper.run() {
            // The thread that launched the region gets the driver's error as well, and knows which kernel it comes from.
            Err(Error::Cuda(_)) => {}
            Err(error) if error.is_quiet() => {}
            Err(error) => host::fatal(&error.to_string()),
            Ok(never) => match never {},
        }
    };
    if let Err(error) = builder.spawn(run) {
        host::error(&format!(
            "no thread can be had for reverse offload (GOMP_REVERSE_OFFLOAD_THREADS): {error}"
        ));
    }
}

struct Helper {
    device: &'static Device,
    items: Items,
    naps: Naps,
}

impl Helper {
    /// Serves until the process ends, or a driver call fails.
    fn run(mut self) -> Result<Infallible> {
        let device = self.device;
        // What a served block copies goes to this device.
        let _context = ContextGuard::enter(device.driver, device.context)?;
        let event = device.driver.create_event(true)?;
        let spin = spin_time(device.wait_policy());
        let mut active = Instant::now();
        loop {
            let (offers, changes) = device.reverse.helpers.wait_for_offers();
            while !device.reverse.helpers.have_changed_since(changes) {
                let mut served = false;
                for _ in 0..TURNS {
                    for offer in &offers {
                        served |= offer.visit(device, &mut self.items)?;
                    }
                    std::hint::spin_loop();
                }
                let now = Instant::now();
                if served {
                    active = now;
                    self.naps = Naps::new();
                } else if now - active >= spin {
                    self.rest(&offers, changes, event)?;
                }
            }
        }
    }

    /// Gives the processor away until there may be something to do.
    fn rest(&mut self, offers: &[Arc<Offer>], changes: u64, event: Event) -> Result<()> {
        let device = self.device;
        if !device.uses_memory_operations() {
            self.naps.take();
            return Ok(());
        }
        let shared = device.reverse.share(device.driver)?;
        let helpers = &device.reverse.helpers;
        let ready =
            || helpers.have_changed_since(changes) || offers.iter().any(|offer| offer.window.has_request());
        let enqueue = |waits| enqueue_bell_wait(device, shared, waits);
        sleep(device, (helpers.waiter, &shared.bell), ready, enqueue, event, &mut self.naps)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::mock::MockDevice;
    use super::*;
    use std::sync::atomic::AtomicBool;
    use std::sync::mpsc;

    fn offer(helpers: &Helpers) -> Arc<Offer> {
        let window = Arc::new(MockDevice::new(1, 64).window);
        let offer = Arc::new(Offer { window, holds: RwLock::new(true) });
        helpers.lock().offers.push(Arc::clone(&offer));
        offer
    }

    #[test]
    fn a_region_is_left_only_when_no_helper_serves_from_its_window_any_more() {
        let (helpers, gate) = (Helpers::default(), Gate::default());
        let offer = offer(&helpers);
        let served = AtomicBool::new(false);
        let (visits, visited) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _visit = offer.holds.read().expect("no panic");
                visits.send(()).expect("the test waits");
                (0..1000).for_each(|_| std::thread::yield_now());
                served.store(true, Ordering::Relaxed);
            });
            visited.recv().expect("sent once");
            helpers.withdraw(&gate, &offer);
            assert!(served.load(Ordering::Relaxed));
        });
        assert!(!*offer.holds.read().expect("no panic"), "a late helper must not serve");
    }

    #[test]
    fn a_helper_that_knows_some_offers_learns_of_every_change() {
        let (helpers, gate) = (Helpers::default(), Gate::default());
        let first = offer(&helpers);
        let (offers, changes) = helpers.wait_for_offers();
        assert_eq!(offers.len(), 1);
        assert!(!helpers.have_changed_since(changes));
        helpers.withdraw(&gate, &first);
        assert!(helpers.have_changed_since(changes));
    }
}
