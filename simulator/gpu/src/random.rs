//! Pseudo-random numbers for the order of things (xorshift64*, Vigna 2016).

/// A generator.
pub(crate) struct Random(u64);

impl Random {
    /// Seeded; any seed will do.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// The next number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16) % bound.max(1)
    }
}
