//! Data races between the warps of a block, by the happens-before order: each warp has a vector clock, barriers join all of them,
//! and an atomic operation passes on what the fence before it saw to who has a fence after reading its word, as C11's fences do.
//! Accesses of one warp do not race with each other; its lanes run in lockstep where GCC's code counts on it.

use std::collections::HashMap;

/// How far each warp had got.
#[derive(Clone, Default)]
struct Clock(Vec<u32>);

impl Clock {
    fn join(&mut self, other: &Clock) {
        self.0.resize(self.0.len().max(other.0.len()), 0);
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }

    fn of(&self, warp: u32) -> u32 {
        self.0.get(warp as usize).copied().unwrap_or(0)
    }

    fn advance(&mut self, warp: u32) {
        self.0.resize(self.0.len().max(warp as usize + 1), 0);
        self.0[warp as usize] += 1;
    }
}

/// An ordinary access, as later ones may have to be told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Earlier {
    pub warp: u32,
    pub write: bool,
    /// The instruction.
    pub function: u32,
    pub pc: u32,
    /// Bytes of the word.
    bytes: u8,
    clock: u32,
}

/// The accesses of a 32-bit word that a later one may race with.
#[derive(Default)]
struct Word {
    write: Option<Earlier>,
    /// At most one of each warp.
    reads: Vec<Earlier>,
}

/// What a warp knows.
#[derive(Clone, Default)]
struct Knowledge {
    now: Clock,
    /// At its last fence: what its atomic operations pass on.
    fenced: Clock,
    /// What its next fence makes it know.
    read: Clock,
}

/// The clocks and accesses of a block.
#[derive(Default)]
pub(crate) struct Races {
    warps: Vec<Knowledge>,
    /// What was passed on by way of each word.
    passed: HashMap<u64, Clock>,
    /// What was passed on by way of memory that other blocks can access, and may come back from there through any word.
    abroad: Clock,
    /// What the warps that arrived at a barrier knew, by its number and generation.
    barriers: HashMap<(u32, u64), Clock>,
    words: HashMap<u64, Word>,
}

impl Races {
    /// For a block of so many warps.
    pub fn new(warps: usize) -> Races {
        let mut this = Races { warps: vec![Knowledge::default(); warps], ..Races::default() };
        (0..warps as u32).for_each(|w| this.warps[w as usize].now.advance(w));
        this
    }

    /// A warp arrives at a barrier.
    pub fn arrive(&mut self, warp: u32, barrier: u32, generation: u64) {
        let knowledge = &mut self.warps[warp as usize];
        self.barriers.entry((barrier, generation)).or_default().join(&knowledge.now);
        knowledge.now.advance(warp);
        // No warp can be farther behind.
        self.barriers.retain(|&(id, old), _| id != barrier || old + 2 > generation);
    }

    /// A warp leaves a barrier.
    pub fn leave(&mut self, warp: u32, barrier: u32, generation: u64) {
        if let Some(all) = self.barriers.get(&(barrier, generation)) {
            self.warps[warp as usize].now.join(all);
        }
    }

    /// A fence of a warp.
    pub fn fence(&mut self, warp: u32) {
        let Knowledge { now, fenced, read } = &mut self.warps[warp as usize];
        now.join(&std::mem::take(read));
        *fenced = now.clone();
        now.advance(warp);
    }

    /// A warp reads a word atomically. `abroad`: other blocks can access it.
    pub fn observe(&mut self, warp: u32, addr: u64, abroad: bool) {
        let known = self.passed.get(&(addr & !7));
        if let Some(known) = known.or(abroad.then_some(&self.abroad)) {
            self.warps[warp as usize].read.join(known);
        }
    }

    /// A warp writes a word atomically.
    pub fn pass_on(&mut self, warp: u32, addr: u64, abroad: bool) {
        let fenced = &self.warps[warp as usize].fenced;
        if !fenced.0.is_empty() {
            self.passed.entry(addr & !7).or_default().join(fenced);
            if abroad {
                self.abroad.join(fenced);
            }
        }
    }

    /// `size` bytes at `addr` are new memory.
    pub fn forget(&mut self, addr: u64, size: u64) {
        for word in (addr & !3..addr + size).step_by(4) {
            self.words.remove(&word);
        }
    }

    /// An ordinary access of `size` bytes; gives the one that it races with.
    pub fn access(
        &mut self,
        warp: u32,
        write: bool,
        addr: u64,
        size: u64,
        at: (u32, u32),
    ) -> Option<Earlier> {
        let now = &self.warps[warp as usize].now;
        let (function, pc) = at;
        for word in (addr & !3..addr + size).step_by(4) {
            let bytes =
                (0..4).filter(|b| (addr..addr + size).contains(&(word + b))).fold(0, |m, b| m | 1 << b);
            let this = Earlier { warp, write, function, pc, bytes, clock: now.of(warp) };
            let Word { write: last, reads } = self.words.entry(word).or_default();
            let unordered = |e: &&Earlier| e.warp != warp && e.bytes & bytes != 0 && e.clock > now.of(e.warp);
            let earlier =
                last.iter().find(unordered).or_else(|| reads.iter().filter(|_| write).find(unordered));
            if earlier.is_some() {
                return earlier.copied();
            }
            if write {
                *last = Some(this);
                reads.clear();
            } else if let Some(read) = reads.iter_mut().find(|read| read.warp == warp) {
                *read = Earlier { bytes: read.bytes | bytes, ..this };
            } else {
                reads.push(this);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: (u32, u32) = (0, 0);

    fn write(races: &mut Races, warp: u32, addr: u64, size: u64) -> bool {
        races.access(warp, true, addr, size, AT).is_some()
    }

    fn read(races: &mut Races, warp: u32, addr: u64) -> bool {
        races.access(warp, false, addr, 4, AT).is_some()
    }

    #[test]
    fn unordered_accesses_race_if_one_writes() {
        let mut races = Races::new(3);
        assert!(!read(&mut races, 0, 64) && !read(&mut races, 1, 64));
        assert!(!write(&mut races, 0, 128, 4) && !write(&mut races, 0, 128, 4));
        assert!(write(&mut races, 2, 64, 4) && read(&mut races, 1, 128));
    }

    #[test]
    fn bytes_of_a_word_are_told_apart() {
        let mut races = Races::new(2);
        assert!(!write(&mut races, 0, 64, 1) && !write(&mut races, 1, 65, 1));
        assert!(write(&mut races, 0, 64, 2));
    }

    #[test]
    fn a_barrier_orders_what_lies_on_its_two_sides() {
        let mut races = Races::new(2);
        assert!(!write(&mut races, 0, 64, 4));
        (0..2).for_each(|w| races.arrive(w, 0, 0));
        (0..2).for_each(|w| races.leave(w, 0, 0));
        assert!(!read(&mut races, 1, 64));
        assert!(write(&mut races, 0, 64, 4), "the read is behind the barrier, too");
    }

    #[test]
    fn a_lock_orders_its_holders_and_a_counter_without_fences_nobody() {
        let mut races = Races::new(2);
        for warp in 0..2 {
            races.fence(warp);
            races.observe(warp, 8, true);
            races.pass_on(warp, 8, true);
            races.fence(warp);
            assert!(!write(&mut races, warp, 64, 4));
            races.fence(warp);
            races.pass_on(warp, 8, true);
        }
        let mut races = Races::new(2);
        assert!(!write(&mut races, 0, 64, 4));
        races.pass_on(0, 8, true);
        races.observe(1, 8, true);
        assert!(write(&mut races, 1, 64, 4));
    }
}
