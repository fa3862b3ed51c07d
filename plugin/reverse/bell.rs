//! The doorbell of the ring protocol, as a word that a stream wait watches. The rules are in `include/rev_wire.h`.

use super::slot::WaitWord;
use super::sync::{Ordering, fence};
use super::wire::Bell;

impl Bell {
    /// The address that the device, and a stream operation, know the bell by: pinned memory has the same one everywhere.
    pub fn address(&self) -> u64 {
        (&raw const self.rung).addr() as u64
    }
}

impl WaitWord for Bell {
    fn arm(&self) -> bool {
        self.rung.store(0, Ordering::Relaxed);
        self.asleep.store(1, Ordering::Relaxed);
        // Pairs with the device's repeated look at `asleep` after it posted: whichever comes second sees the other. x86 needs a
        // full fence for the loads that follow, by which this thread looks for requests.
        fence(Ordering::SeqCst);
        true
    }

    fn disarm(&self) {
        self.asleep.store(0, Ordering::Relaxed);
    }

    fn cancel(&self) {
        self.rung.store(1, Ordering::Release);
    }
}
