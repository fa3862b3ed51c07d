//! Which device memory there is: what the program has, and what it has freed and is kept for its next allocations.
//!
//! Every block is an allocation of the driver's by itself (`cuMemAlloc`), never a part of a larger one. So it can be exported by CUDA
//! IPC, and `cuMemGetAddressRange` and checkers see it as they would without this pool. What makes the pool cheap is that nothing
//! here calls the driver: taking and freeing are searches in ordered maps, whose cost grows with the logarithm of the number of blocks.

use std::collections::{BTreeMap, BTreeSet};

use crate::driver::DevicePtr;

/// What sizes are multiples of, at least: the driver aligns allocations to it (CUDA C++ Programming Guide, device memory accesses).
const GRAIN: usize = 256;
/// What large sizes are multiples of: the size of a device's large pages.
const LARGE_PAGE: usize = 2 << 20;
/// The part of a block that may go to waste: one in so many bytes.
const WASTE: usize = 8;

/// The size of the block that is allocated for `bytes` bytes, so that requests of similar size can have it later: up to 2 KiB a
/// multiple of 256 bytes, then one of eight sizes between powers of two, and from 16 MiB on a multiple of 2 MiB. Less than 256 bytes
/// or an eighth are wasted. None where there is no such size.
pub fn class(bytes: usize) -> Option<usize> {
    let magnitude = 1 << bytes.max(1).ilog2();
    bytes.max(1).checked_next_multiple_of((magnitude / WASTE).clamp(GRAIN, LARGE_PAGE))
}

/// A block of device memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Block {
    /// Its size.
    bytes: usize,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The program has it, and asked for so many bytes.
    Used(usize),
    /// It can be used again. Blocks are numbered in the order in which they became so.
    Free(u64),
    /// As [`Free`](State::Free), once copies that were enqueued before have ended.
    Resting,
}

/// Why an address cannot be freed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    /// It is freed already.
    Twice,
    /// It lies within the block that starts here.
    Inside(DevicePtr),
    /// It lies in no block of the pool.
    Unknown,
}

/// What an address range is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// It lies in memory that the program has.
    Used,
    /// It starts in no block of the pool.
    Unknown,
    /// It starts in memory that the program has freed.
    Freed,
    /// It starts in an allocation of the program's and ends behind it.
    PastEnd {
        /// Where the allocation starts.
        start: DevicePtr,
        /// How many bytes the program asked for.
        bytes: usize,
    },
}

/// The blocks of one device.
#[derive(Debug, Default)]
pub struct Pool {
    /// All of them, by address.
    blocks: BTreeMap<DevicePtr, Block>,
    /// The free ones by size.
    by_size: BTreeSet<(usize, DevicePtr)>,
    /// The free ones by age.
    by_age: BTreeMap<u64, DevicePtr>,
    resting: Vec<DevicePtr>,
    /// Bytes of the free and the resting ones.
    kept: usize,
    /// How many bytes may be kept.
    cap: usize,
    /// Blocks that became free so far.
    freed: u64,
}

impl Pool {
    /// An empty pool that keeps at most `cap` bytes.
    pub fn new(cap: usize) -> Pool {
        Pool { cap, ..Pool::default() }
    }

    /// The size of the block to be allocated for `bytes` bytes: exact where blocks are not kept.
    pub fn size(&self, bytes: usize) -> usize {
        if self.cap == 0 { bytes } else { class(bytes).unwrap_or(bytes) }
    }

    /// Takes a free block for `bytes` bytes: the smallest that is large enough, of which no more than an eighth goes to waste.
    pub fn take(&mut self, bytes: usize) -> Option<DevicePtr> {
        let waste = if self.cap == 0 { 0 } else { bytes / WASTE };
        self.take_up_to(bytes, self.size(bytes).max(bytes.saturating_add(waste)))
    }

    /// As [`take`](Self::take), whatever goes to waste.
    pub fn take_any(&mut self, bytes: usize) -> Option<DevicePtr> {
        self.take_up_to(bytes, usize::MAX)
    }

    fn take_up_to(&mut self, bytes: usize, most: usize) -> Option<DevicePtr> {
        let &(_, address) = self.by_size.range((bytes, 0)..=(most, DevicePtr::MAX)).next()?;
        self.unlist(address).state = State::Used(bytes);
        Some(address)
    }

    /// Takes a free block off the lists.
    fn unlist(&mut self, address: DevicePtr) -> &mut Block {
        let block = self.blocks.get_mut(&address).expect("a listed block is in the pool");
        let State::Free(number) = block.state else { unreachable!("a listed block is free") };
        self.by_size.remove(&(block.bytes, address));
        self.by_age.remove(&number);
        self.kept -= block.bytes;
        block
    }

    /// Enters a block of `size` bytes that was allocated for `bytes` bytes.
    pub fn insert(&mut self, address: DevicePtr, size: usize, bytes: usize) {
        self.blocks.insert(address, Block { bytes: size, state: State::Used(bytes) });
    }

    /// The program frees a block. `rest`: copies to it may be under way.
    ///
    /// # Errors
    /// When it cannot be freed.
    pub fn free(&mut self, address: DevicePtr, rest: bool) -> Result<(), Wrong> {
        let Some((&start, block)) = self.blocks.range_mut(..=address).next_back() else {
            return Err(Wrong::Unknown);
        };
        if start != address {
            return Err(if block.holds(start, address) { Wrong::Inside(start) } else { Wrong::Unknown });
        }
        if !matches!(block.state, State::Used(_)) {
            return Err(Wrong::Twice);
        }
        block.state = State::Resting;
        self.kept += block.bytes;
        if rest {
            self.resting.push(address);
        } else {
            self.list(address);
        }
        Ok(())
    }

    /// Lists a block that rests as free.
    fn list(&mut self, address: DevicePtr) {
        let block = self.blocks.get_mut(&address).expect("a block that rests is in the pool");
        self.freed += 1;
        block.state = State::Free(self.freed);
        self.by_size.insert((block.bytes, address));
        self.by_age.insert(self.freed, address);
    }

    /// Lists one of the blocks that rest as free.
    fn rouse(&mut self) -> Option<DevicePtr> {
        let address = self.resting.pop()?;
        self.list(address);
        Some(address)
    }

    /// The copies that blocks had to wait for have ended.
    pub fn settle(&mut self) {
        while self.rouse().is_some() {}
    }

    /// Whether there are blocks that rest.
    pub fn has_resting(&self) -> bool {
        !self.resting.is_empty()
    }

    /// Bytes that are kept.
    pub fn kept(&self) -> usize {
        self.kept
    }

    /// Whether more is kept than may be.
    pub fn is_over_cap(&self) -> bool {
        self.kept > self.cap
    }

    /// Takes blocks out until no more than `cap` bytes are kept, those first that have been free for longest. The caller frees them, by
    /// calls that wait for copies under way.
    pub fn trim(&mut self) -> Vec<DevicePtr> {
        self.trim_to(self.cap)
    }

    /// As [`trim`](Self::trim), until nothing is kept.
    pub fn drain(&mut self) -> Vec<DevicePtr> {
        self.trim_to(0)
    }

    fn trim_to(&mut self, most: usize) -> Vec<DevicePtr> {
        let mut gone = Vec::new();
        while self.kept > most {
            let oldest = self.by_age.first_key_value().map(|(_, &address)| address);
            let Some(address) = oldest.or_else(|| self.rouse()) else { break };
            self.unlist(address);
            self.blocks.remove(&address);
            gone.push(address);
        }
        gone
    }

    /// What the range of `bytes` bytes, not 0, at `address` is.
    pub fn place(&self, address: DevicePtr, bytes: usize) -> Place {
        let Some((&start, block)) = self.blocks.range(..=address).next_back() else { return Place::Unknown };
        if !block.holds(start, address) {
            return Place::Unknown;
        }
        match block.state {
            State::Used(asked) if address.saturating_add(bytes as u64) > start + asked as u64 => {
                Place::PastEnd { start, bytes: asked }
            }
            State::Used(_) => Place::Used,
            State::Free(_) | State::Resting => Place::Freed,
        }
    }
}

impl Block {
    fn holds(&self, start: DevicePtr, address: DevicePtr) -> bool {
        address - start < self.bytes as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    const MIB: usize = 1 << 20;

    /// A pool with blocks for these many bytes each, at multiples of 1 GiB, which the program has freed in this order.
    fn freed(cap: usize, sizes: &[usize]) -> Pool {
        let mut pool = Pool::new(cap);
        for (i, &bytes) in sizes.iter().enumerate() {
            pool.insert(address(i), pool.size(bytes), bytes);
            pool.free(address(i), false).expect("it is in use");
        }
        pool
    }

    fn address(i: usize) -> DevicePtr {
        (i as DevicePtr + 1) << 30
    }

    #[test]
    fn sizes_that_differ_little_are_one_class() {
        assert_eq!([1, 256, 257, 2048].map(class), [256, 256, 512, 2048].map(Some));
        assert_eq!([2049, 4096, 4097, 5000].map(class), [2304, 4096, 4608, 5120].map(Some));
        assert_eq!(class(16 * MIB + 1), Some(18 * MIB));
        assert_eq!(class(1000 * MIB), Some(1000 * MIB));
        assert_eq!(class(usize::MAX), None);
    }

    proptest! {
        #[test]
        fn a_class_wastes_less_than_an_eighth_or_256_bytes(bytes in 1_usize..1 << 45) {
            let class = class(bytes).expect("it exists");
            prop_assert!(class >= bytes && class - bytes < (bytes / WASTE).max(GRAIN));
            prop_assert_eq!(class % GRAIN, 0);
        }
    }

    #[test]
    fn a_block_is_used_again_for_requests_of_similar_size_only() {
        let mut pool = freed(usize::MAX, &[64 * MIB, 4096]);
        assert_eq!(pool.take(32 * MIB), None);
        assert_eq!(pool.take(65 * MIB), None);
        assert_eq!(pool.take(60 * MIB), Some(address(0)));
        assert_eq!(pool.take(60 * MIB), None, "it is in use");
        assert_eq!(pool.take_any(1), Some(address(1)));
    }

    #[test]
    fn of_several_blocks_the_smallest_is_taken() {
        let mut pool = freed(usize::MAX, &[66 * MIB, 64 * MIB, 68 * MIB]);
        assert_eq!(pool.take(63 * MIB), Some(address(1)));
    }

    #[test]
    fn what_has_been_free_for_longest_goes_first() {
        let mut pool = freed(5 * MIB, &[2 * MIB, MIB, 2 * MIB]);
        assert!(!pool.is_over_cap());
        pool.insert(address(3), MIB, MIB);
        pool.free(address(3), false).expect("it is in use");
        assert!(pool.is_over_cap());
        assert_eq!(pool.trim(), [address(0)]);
        assert_eq!(pool.drain(), [address(1), address(2), address(3)]);
        assert_eq!(pool.drain(), []);
    }

    #[test]
    fn without_a_cap_nothing_is_kept_and_sizes_are_exact() {
        let mut pool = freed(0, &[1000]);
        assert_eq!(pool.size(1000), 1000);
        assert!(pool.is_over_cap());
        assert_eq!(pool.take(999), None);
        assert_eq!(pool.trim(), [address(0)]);
    }

    #[test]
    fn what_rests_is_not_used_again_until_copies_have_ended() {
        let mut pool = Pool::new(usize::MAX);
        pool.insert(address(0), 4096, 4096);
        pool.free(address(0), true).expect("it is in use");
        assert!(pool.has_resting());
        assert_eq!(pool.take(4096), None);
        assert_eq!(pool.free(address(0), true), Err(Wrong::Twice));
        pool.settle();
        assert_eq!(pool.take(4096), Some(address(0)));
    }

    #[test]
    fn wrong_frees_are_told_apart() {
        let mut pool = freed(usize::MAX, &[4096, 4096]);
        assert_eq!(pool.take(4096), Some(address(0)));
        assert_eq!(pool.free(address(0) + 8, false), Err(Wrong::Inside(address(0))));
        assert_eq!(pool.free(address(0) + 4096, false), Err(Wrong::Unknown));
        assert_eq!(pool.free(8, false), Err(Wrong::Unknown));
        assert_eq!(pool.free(address(1), false), Err(Wrong::Twice));
        assert_eq!(pool.free(address(0), false), Ok(()));
    }

    #[test]
    fn ranges_are_judged_by_what_the_program_asked_for() {
        let mut pool = Pool::new(usize::MAX);
        pool.insert(0x1000, 256, 100);
        assert_eq!(pool.place(0x1000, 100), Place::Used);
        assert_eq!(pool.place(0x1000, 101), Place::PastEnd { start: 0x1000, bytes: 100 });
        assert_eq!(pool.place(0x1040, 100), Place::PastEnd { start: 0x1000, bytes: 100 });
        assert_eq!(pool.place(0x1000, usize::MAX), Place::PastEnd { start: 0x1000, bytes: 100 });
        assert_eq!(pool.place(0x1100, 100), Place::Unknown);
        assert_eq!(pool.place(0xfff, 1), Place::Unknown);
        pool.free(0x1000, false).expect("it is in use");
        assert_eq!(pool.place(0x1010, 1), Place::Freed);
    }

    proptest! {
        /// Against a model: whatever the program does, no two live blocks are one, each is large enough, and the books balance.
        #[test]
        fn no_history_gives_one_block_to_two_owners(
            steps in prop::collection::vec((0_u8..5, 1_usize..100_000), 1..200),
        ) {
            let (mut pool, mut live, mut sizes) = (Pool::new(300_000), Vec::new(), HashMap::new());
            for (what, number) in steps {
                match what {
                    0 | 1 => {
                        let at = pool.take(number).unwrap_or_else(|| {
                            let at = address(sizes.len());
                            let size = pool.size(number);
                            pool.insert(at, size, number);
                            sizes.insert(at, size);
                            at
                        });
                        prop_assert!(sizes[&at] >= number && !live.contains(&at));
                        live.push(at);
                    }
                    2 | 3 if !live.is_empty() => {
                        let at = live.swap_remove(number % live.len());
                        prop_assert_eq!(pool.free(at, what == 3), Ok(()));
                    }
                    _ => {
                        if number % 2 == 0 { pool.settle() }
                        for at in pool.trim() {
                            prop_assert!(!live.contains(&at));
                        }
                        prop_assert!(!pool.is_over_cap());
                    }
                }
                let kept: usize = pool.blocks.values().filter(|b| !matches!(b.state, State::Used(_))).map(|b| b.bytes).sum();
                prop_assert_eq!(pool.kept, kept);
                prop_assert_eq!(pool.blocks.len() - live.len(), pool.by_size.len() + pool.resting.len());
                prop_assert_eq!(pool.by_size.len(), pool.by_age.len());
            }
        }
    }
}
