//! First-fit allocation of address ranges.

use std::collections::BTreeMap;

/// The free ranges of an address range.
pub(super) struct Arena {
    /// Start to length, never adjacent.
    free: BTreeMap<u64, u64>,
}

impl Arena {
    /// All of `len` bytes from `base` is free.
    pub fn new(base: u64, len: u64) -> Arena {
        Arena { free: BTreeMap::from([(base, len)]) }
    }

    /// Takes `len` bytes at a multiple of `align`, a power of two.
    pub fn take(&mut self, len: u64, align: u64) -> Option<u64> {
        let (start, size, at) = self.free.iter().find_map(|(&start, &size)| {
            let at = start.checked_next_multiple_of(align)?;
            (at - start <= size && size - (at - start) >= len).then_some((start, size, at))
        })?;
        self.free.remove(&start);
        if at > start {
            self.free.insert(start, at - start);
        }
        let rest = start + size - (at + len);
        if rest > 0 {
            self.free.insert(at + len, rest);
        }
        Some(at)
    }

    /// Gives back what `take` gave.
    pub fn give(&mut self, at: u64, len: u64) {
        let mut range = (at, len);
        let below = self.free.range(..at).next_back().map(|(&before, &size)| (before, size));
        if let Some((before, size)) = below.filter(|(before, size)| before + size == at) {
            self.free.remove(&before);
            range = (before, size + len);
        }
        if let Some(size) = self.free.remove(&(at + len)) {
            range.1 += size;
        }
        self.free.insert(range.0, range.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_back_joins_its_neighbours() {
        let mut arena = Arena::new(0x1000, 0x1000);
        let parts: Vec<_> = (0..4).map(|_| arena.take(0x400, 256).unwrap()).collect();
        assert_eq!(arena.take(1, 1), None);
        for i in [1, 3, 0, 2] {
            arena.give(parts[i], 0x400);
        }
        assert_eq!(arena.take(0x1000, 256), Some(0x1000));
    }

    #[test]
    fn alignment_leaves_the_gap_free() {
        let mut arena = Arena::new(0x100, 0x2000);
        assert_eq!(arena.take(0x100, 0x1000), Some(0x1000));
        assert_eq!(arena.take(0xf00, 0x100), Some(0x100));
        assert_eq!(arena.take(0x1000, 1), Some(0x1100));
    }
}
