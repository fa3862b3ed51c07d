//! Counts that many threads change at once. Each thread has a part of its own, for a cache line that several processors write takes each
//! of them 0.1 us and more.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Parts of a tally; where there are more threads, some share one.
const PARTS: usize = 64;

thread_local! {
    static PART: usize = {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        NEXT.fetch_add(1, Ordering::Relaxed) % PARTS
    };
}

/// How many blocks are being served, and how many have been.
#[derive(Debug)]
pub struct Tally([Part; PARTS]);

/// What some threads have counted. Two cache lines: processors fetch them in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Part {
    /// Blocks that are being served.
    pub serving: AtomicUsize,
    /// Blocks that have been served.
    pub served: AtomicU64,
}

impl Default for Tally {
    fn default() -> Tally {
        Tally(std::array::from_fn(|_| Part::default()))
    }
}

impl Tally {
    /// The part that this thread counts in.
    pub fn part(&self) -> &Part {
        &self.0[PART.with(|part| *part)]
    }

    /// Blocks that are being served.
    pub fn serving(&self) -> usize {
        // SeqCst: see `State::serve`.
        self.0.iter().map(|part| part.serving.load(Ordering::SeqCst)).sum()
    }

    /// Blocks that have been served.
    pub fn served(&self) -> u64 {
        self.0.iter().map(|part| part.served.load(Ordering::Relaxed)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_more_threads_than_parts_count_is_in_the_sum() {
        let tally = Tally::default();
        std::thread::scope(|scope| {
            for _ in 0..2 * PARTS {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        tally.part().serving.fetch_add(1, Ordering::SeqCst);
                        tally.part().served.fetch_add(1, Ordering::Relaxed);
                    }
                    tally.part().serving.fetch_sub(999, Ordering::Relaxed);
                });
            }
        });
        assert_eq!((tally.serving(), tally.served()), (2 * PARTS, 2 * PARTS as u64 * 1000));
    }
}
