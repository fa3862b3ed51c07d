//! Seeing a copy to the host arrive by its own words.
//!
//! A word that a stream writes behind a copy tells that the copy has ended, and takes one more driver call and a second way through the
//! device. So the words that a small copy is to overwrite are filled with a number first: what differs from it is the copy's.
//!
//! Why that is sound for aligned words of 4 bytes on x86-64:
//! - The fill comes before the copy: what the host has written before it enqueues work, the device finds.
//! - A word is written once and as a whole. The payload of a PCI Express write consists of double words (Base Specification, 2.2.5), and
//!   a cache line takes an aligned one at once. Whatever hands flags or descriptors of 4 bytes to a host counts on no less: network
//!   adapters, stream memory operations, NCCL's LL protocol.
//! - Every word is looked at. The packets and cache lines of one copy may come in any order.
//! - What a kernel wrote before, and made sure of by its end or by a fence of system scope, was there before the copy began.
//!
//! A copy may hold a word that is the number itself. It is never seen to arrive: whoever waits asks the driver after a while.

use std::sync::atomic::{AtomicU32, Ordering};

/// A copy that has not been seen to arrive.
pub struct Arrival<'a> {
    /// The words that have not been seen to differ from the filler.
    missing: &'a [AtomicU32],
    filler: u32,
}

impl<'a> Arrival<'a> {
    /// Fills the words that the copy will overwrite, before it is enqueued.
    pub fn expect(words: &'a [AtomicU32], filler: u32) -> Arrival<'a> {
        // Relaxed: the call that enqueues the copy comes after, for the device too.
        words.iter().for_each(|word| word.store(filler, Ordering::Relaxed));
        Arrival { missing: words, filler }
    }

    /// Whether every word is there.
    pub fn is_complete(&mut self) -> bool {
        while let [next, rest @ ..] = self.missing {
            // Acquire: what is read after this is not read before. It pairs with the device's write.
            if next.load(Ordering::Acquire) == self.filler {
                return false;
            }
            self.missing = rest;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FILLER: u32 = 7;

    proptest! {
        #[test]
        fn a_copy_is_complete_with_its_last_word_in_whatever_order_they_come(
            order in Just((0..16_usize).collect::<Vec<_>>()).prop_shuffle(),
        ) {
            let words: [AtomicU32; 16] = Default::default();
            let mut arrival = Arrival::expect(&words, FILLER);
            for (count, &next) in order.iter().enumerate() {
                prop_assert!(!arrival.is_complete(), "{count} of 16 words");
                words[next].store(next as u32 + FILLER + 1, Ordering::Relaxed);
            }
            prop_assert!(arrival.is_complete());
        }
    }

    #[test]
    fn what_was_there_before_is_not_taken_for_the_copy() {
        let words = [AtomicU32::new(1), AtomicU32::new(2)];
        assert!(!Arrival::expect(&words, FILLER).is_complete());
    }

    #[test]
    fn a_word_that_is_the_filler_is_never_seen_to_arrive() {
        let words: [AtomicU32; 2] = Default::default();
        let mut arrival = Arrival::expect(&words, FILLER);
        words[0].store(FILLER, Ordering::Relaxed);
        words[1].store(8, Ordering::Relaxed);
        assert!(!arrival.is_complete());
    }
}
