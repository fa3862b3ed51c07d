//! The doorbell of the ring protocol, as a word that a stream wait watches. The rules are in `include/rev_wire.h`.

use super::slot::WaitWord;
use super::sync::{Ordering, fence};
use super::wire::Bell;

impl Bell {
    fn set_asleep(&self, asleep: u32) {
        for copy in &self.asleep {
            copy.0.store(asleep, Ordering::Relaxed);
        }
    }

    /// The address that the device, and a stream operation, know the bell by: pinned memory has the same one everywhere.
    pub fn address(&self) -> u64 {
        (&raw const self.rung).addr() as u64
    }

    /// Rings it, as the device and streams do by a plain store.
    pub fn ring(&self) {
        // Release: pairs with the exchange in `arm`. An exchange as well, though a store would do: loom doesn't order a store with
        // exchanges that came before.
        self.rung.swap(1, Ordering::Release);
    }
}

impl WaitWord for Bell {
    fn arm(&self) -> bool {
        // Acquire: pairs with whoever rang, device, stream or host. What this thread looks at next is at least as new as what
        // the ring that it wipes out was for.
        self.rung.swap(0, Ordering::Acquire);
        self.set_asleep(1);
        // Pairs with the device's repeated look at `asleep` after it posted: whichever comes second sees the other. x86 needs a
        // full fence for the loads that follow, by which this thread looks for requests.
        fence(Ordering::SeqCst);
        true
    }

    fn disarm(&self) {
        self.set_asleep(0);
    }

    fn cancel(&self) {
        self.ring();
    }
}
