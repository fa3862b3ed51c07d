//! A model of an extent of the device heap, `device-runtime/heap.c`, by the same names (two extents share nothing): every interleaving of a few threads, up to a bound on
//! preemptions, in the C11 memory model, which allows no less than PTX's for these relaxed atomics and fences. Run with
//! `RUSTFLAGS="--cfg loom" cargo test --release --test loom_heap`.
#![cfg(loom)]

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::Ordering::{AcqRel, Relaxed};
use loom::sync::atomic::{AtomicU32, fence};
use loom::thread;

/// Pages, and how many of them a word of a set has.
const PAGES: u32 = 4;
const WORD: u32 = 2;
const ALL: u32 = (1 << WORD) - 1;
const ARENAS: usize = 2;
/// Blocks of class 0 are half a page, those of class 1 a page.
const CLASSES: usize = 2;
const HALVES: u32 = 2;
const NONE: u32 = u32::MAX;

const LARGE: u32 = 0x8000_0000;
const CLASS_SHIFT: u32 = 20;
const COUNT_MASK: u32 = 0xf_ffff;

#[derive(Default)]
struct Set {
    summary: AtomicU32,
    words: [AtomicU32; (PAGES / WORD) as usize],
}

#[derive(Default)]
struct Heap {
    pages: u32,
    used: AtomicU32,
    states: [AtomicU32; PAGES as usize],
    free_pages: Set,
    room: [Set; CLASSES],
    current: [[AtomicU32; CLASSES]; ARENAS],
    bitmaps: [AtomicU32; PAGES as usize],
    /// What the owners of blocks write to.
    memory: [UnsafeCell<u32>; (PAGES * HALVES) as usize],
}

fn capacity(class: usize) -> u32 {
    HALVES - class as u32
}

fn class_halves(class: usize) -> u32 {
    1 + class as u32
}

fn is_of_class(state: u32, class: usize) -> bool {
    state >> CLASS_SHIFT == class as u32 + 1
}

fn fence_gpu() {
    fence(AcqRel);
}

/// What is there, and whether it was what was expected.
fn compare_exchange(word: &AtomicU32, expected: u32, value: u32) -> Result<u32, u32> {
    word.compare_exchange(expected, value, Relaxed, Relaxed)
}

fn run_bits(at: u32, end: u32) -> u32 {
    let bits = ALL << (at % WORD) & ALL;
    if end / WORD == at / WORD { bits & !(ALL << (end % WORD)) } else { bits }
}

/// The places in a run where a word begins, and its first.
fn words_of(first: u32, end: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(first), |at| Some((at / WORD + 1) * WORD)).take_while(move |at| *at < end)
}

impl Set {
    fn add_bits(&self, word: u32, bits: u32) {
        if self.words[word as usize].fetch_or(bits, Relaxed) == 0 {
            fence_gpu();
            self.summary.fetch_or(1 << word, Relaxed);
        }
    }

    fn add(&self, page: u32) {
        self.add_bits(page / WORD, 1 << (page % WORD));
    }

    fn add_run(&self, first: u32, end: u32) {
        words_of(first, end).for_each(|at| self.add_bits(at / WORD, run_bits(at, end)));
    }

    fn take(&self, seed: u32) -> u32 {
        let mut words = self.summary.load(Relaxed);
        while words != 0 {
            let word = words.trailing_zeros();
            let mut pages = self.words[word as usize].load(Relaxed);
            while pages != 0 {
                let from_seed = pages >> (seed % WORD) << (seed % WORD);
                let bit = if from_seed != 0 { from_seed } else { pages }.trailing_zeros();
                pages = self.words[word as usize].fetch_and(!(1 << bit), Relaxed);
                if pages >> bit & 1 != 0 {
                    return WORD * word + bit;
                }
            }
            self.summary.fetch_and(!(1 << word), Relaxed);
            fence_gpu();
            if self.words[word as usize].load(Relaxed) != 0 {
                self.summary.fetch_or(1 << word, Relaxed);
            }
            words &= words - 1;
        }
        NONE
    }
}

impl Heap {
    fn new(pages: u32) -> Heap {
        let heap = Heap { pages, ..Heap::default() };
        heap.free_pages.add_run(0, pages);
        heap
    }

    fn claim_run(&self, first: u32, end: u32) -> bool {
        for at in words_of(first, end) {
            let (word, bits) = (&self.free_pages.words[(at / WORD) as usize], run_bits(at, end));
            let mut seen = word.load(Relaxed);
            loop {
                if seen & bits != bits {
                    self.free_pages.add_run(first, at);
                    return false;
                }
                match compare_exchange(word, seen, seen & !bits) {
                    Ok(_) => break,
                    Err(found) => seen = found,
                }
            }
        }
        true
    }

    fn take_run(&self, count: u32) -> u32 {
        if count > self.pages - self.used.load(Relaxed) {
            return NONE;
        }
        let (mut first, mut free_pages, mut bits) = (self.pages, 0, 0);
        while first > 0 {
            if first % WORD == 0 || free_pages == 0 {
                bits = self.free_pages.words[((first - 1) / WORD) as usize].load(Relaxed);
            }
            first -= 1;
            if bits >> (first % WORD) & 1 == 0 {
                free_pages = 0;
                if bits == 0 {
                    first -= first % WORD;
                }
                continue;
            }
            free_pages += 1;
            if free_pages == count {
                if self.claim_run(first, first + count) {
                    return first;
                }
                first += count;
                free_pages = 0;
            }
        }
        NONE
    }

    fn give_pages(&self, first: u32, count: u32) {
        self.used.fetch_sub(count, Relaxed);
        fence_gpu();
        self.free_pages.add_run(first, first + count);
    }

    fn reserve(&self, page: u32, class: usize) -> u32 {
        let state = &self.states[page as usize];
        let mut seen = state.load(Relaxed);
        while is_of_class(seen, class) && seen & COUNT_MASK < capacity(class) {
            match compare_exchange(state, seen, seen + 1) {
                Ok(_) => return seen & COUNT_MASK,
                Err(found) => seen = found,
            }
        }
        NONE
    }

    fn take_reserved(&self, page: u32, class: usize, number: u32) -> Block {
        let exist = (1 << capacity(class)) - 1;
        let bitmap = &self.bitmaps[page as usize];
        let mut bit = number;
        loop {
            let seen = bitmap.fetch_or(1 << bit, Relaxed);
            if seen >> bit & 1 == 0 {
                break;
            }
            let mut seen = seen;
            while seen & exist == exist {
                thread::yield_now();
                seen = bitmap.load(Relaxed);
            }
            bit = (!seen & exist).trailing_zeros();
        }
        fence_gpu();
        Block { at: page * HALVES + bit * class_halves(class), halves: class_halves(class) }
    }

    fn bring_into_use(&self, page: u32, class: usize) {
        if page == NONE {
            return;
        }
        self.used.fetch_add(1, Relaxed);
        fence_gpu();
        self.states[page as usize].store((class as u32 + 1) << CLASS_SHIFT | 1, Relaxed);
    }

    fn reclaim(&self) {
        for page in 0..self.pages {
            let state = &self.states[page as usize];
            let seen = state.load(Relaxed);
            if seen != 0 && seen & (LARGE | COUNT_MASK) == 0 && compare_exchange(state, seen, 0).is_ok() {
                self.give_pages(page, 1);
            }
        }
    }

    fn may_have_page(&self, class: usize) -> bool {
        self.used.load(Relaxed) < self.pages || self.room[class].summary.load(Relaxed) != 0
    }

    /// The page and the number of the block.
    fn next_page(&self, arena: usize, class: usize) -> (u32, u32) {
        if !self.may_have_page(class) {
            return (NONE, 0);
        }
        loop {
            let page = self.room[class].take(arena as u32);
            if page == NONE {
                break;
            }
            let number = self.reserve(page, class);
            if number != NONE {
                return (page, number);
            }
        }
        let page = self.free_pages.take(arena as u32);
        self.bring_into_use(page, class);
        (page, 0)
    }

    /// As above.
    fn any_page(&self, class: usize) -> (u32, u32) {
        for page in 0..self.pages {
            let number = self.reserve(page, class);
            if number != NONE {
                return (page, number);
            }
        }
        self.reclaim();
        let page = self.take_run(1);
        self.bring_into_use(page, class);
        (page, 0)
    }

    fn take_from_another_page(
        &self,
        arena: usize,
        class: usize,
        seen: u32,
        thoroughly: bool,
    ) -> Option<Block> {
        let (page, number) = if thoroughly { self.any_page(class) } else { self.next_page(arena, class) };
        if page == NONE {
            return None;
        }
        if compare_exchange(&self.current[arena][class], seen, page + 1).is_err() {
            self.room[class].add(page);
        }
        Some(self.take_reserved(page, class, number))
    }

    fn take_block(&self, arena: usize, class: usize, thoroughly: bool) -> Option<Block> {
        let seen = self.current[arena][class].load(Relaxed);
        match if seen != 0 { self.reserve(seen - 1, class) } else { NONE } {
            NONE => self.take_from_another_page(arena, class, seen, thoroughly),
            number => Some(self.take_reserved(seen - 1, class, number)),
        }
    }

    fn take_large(&self, count: u32, thoroughly: bool) -> Option<Block> {
        if thoroughly {
            self.reclaim();
        }
        let first = self.take_run(count);
        if first == NONE {
            return None;
        }
        self.used.fetch_add(count, Relaxed);
        fence_gpu();
        self.states[first as usize].store(LARGE | count, Relaxed);
        Some(Block { at: first * HALVES, halves: count * HALVES })
    }

    /// Gives back the block that begins there: whether one did.
    fn free_block(&self, arena: usize, at: u32) -> bool {
        let (page, in_page) = (at / HALVES, at % HALVES);
        let state = &self.states[page as usize];
        let mut seen = state.load(Relaxed);
        if seen & LARGE != 0 {
            if in_page != 0 || compare_exchange(state, seen, 0).is_err() {
                return false;
            }
            self.give_pages(page, seen & !LARGE);
            return true;
        }
        if seen == 0 {
            return false;
        }
        let class = (seen >> CLASS_SHIFT) as usize - 1;
        let block = in_page / class_halves(class);
        if block * class_halves(class) != in_page || block >= capacity(class) {
            return false;
        }
        let current = self.current[arena][class].load(Relaxed);
        fence_gpu();
        if self.bitmaps[page as usize].fetch_and(!(1 << block), Relaxed) >> block & 1 == 0 {
            return false;
        }
        fence_gpu();
        let left = loop {
            let left = if seen & COUNT_MASK == 1 && current != page + 1 { 0 } else { seen - 1 };
            match compare_exchange(state, seen, left) {
                Ok(_) => break left,
                Err(found) => seen = found,
            }
        };
        if left == 0 {
            self.give_pages(page, 1);
        } else if seen & COUNT_MASK == capacity(class) && current != page + 1 {
            self.room[class].add(page);
        }
        true
    }
}

/// A block as its owner has it.
struct Block {
    at: u32,
    halves: u32,
}

impl Block {
    fn halves(&self) -> impl Iterator<Item = usize> {
        (self.at..self.at + self.halves).map(|half| half as usize)
    }
}

impl Heap {
    /// What a program does with a block: it is the only one to use it. loom sees accesses that nothing orders.
    fn write(&self, block: &Block, value: u32) {
        // SAFETY: the block has one owner; loom checks that.
        block.halves().for_each(|half| self.memory[half].with_mut(|word| unsafe { *word = value }));
    }

    fn check(&self, block: &Block, value: u32) {
        // SAFETY: as above.
        block.halves().for_each(|half| self.memory[half].with(|word| assert_eq!(unsafe { *word }, value)));
    }

    fn allocate(&self, arena: usize, class: usize, value: u32) -> Option<Block> {
        let block = [false, true].into_iter().find_map(|way| self.take_block(arena, class, way))?;
        self.write(&block, value);
        Some(block)
    }

    fn allocate_large(&self, count: u32, value: u32) -> Option<Block> {
        let block = [false, true].into_iter().find_map(|way| self.take_large(count, way))?;
        self.write(&block, value);
        Some(block)
    }

    fn free(&self, arena: usize, block: Block, value: u32) {
        self.check(&block, value);
        assert!(self.free_block(arena, block.at), "a block in use is one");
    }

    /// All is free again, and joined: one block takes all pages.
    fn assert_whole(&self) {
        let all = self.allocate_large(self.pages, 99).expect("nothing is in use");
        assert_eq!(self.used.load(Relaxed), self.pages);
        self.free(0, all, 99);
        assert_eq!(self.used.load(Relaxed), 0);
        assert!(self.bitmaps.iter().all(|bits| bits.load(Relaxed) == 0));
    }
}

/// Runs the threads of a model, with all interleavings of up to so many preemptions.
fn check<const N: usize>(preemptions: usize, pages: u32, threads: [fn(&Heap); N], after: fn(&Heap)) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(move || {
        let heap = Arc::new(Heap::new(pages));
        let running = threads.map(|body| {
            let heap = Arc::clone(&heap);
            thread::spawn(move || body(&heap))
        });
        running.into_iter().for_each(|thread| thread.join().unwrap());
        after(&heap);
    });
}

#[test]
fn threads_of_one_arena_never_get_the_same_block_and_all_comes_back() {
    fn twice(heap: &Heap, value: u32) {
        let one = heap.allocate(0, 0, value);
        let two = heap.allocate(0, 0, value + 1);
        // None only while the other thread is about to put its page into use.
        for (block, value) in [(one, value), (two, value + 1)] {
            if let Some(block) = block {
                heap.free(0, block, value);
            }
        }
    }
    check(3, 2, [|heap| twice(heap, 1), |heap| twice(heap, 11)], Heap::assert_whole);
}

#[test]
fn threads_of_two_arenas_share_the_last_page() {
    fn once(heap: &Heap, arena: usize, value: u32) {
        let block = heap.allocate(arena, 0, value);
        // None only while the other thread is about to give its page back.
        if let Some(block) = block {
            heap.free(arena, block, value);
        }
    }
    check(3, 1, [|heap| once(heap, 0, 1), |heap| once(heap, 1, 2)], Heap::assert_whole);
}

#[test]
fn a_page_changes_its_class_only_when_none_of_its_blocks_is_in_use() {
    fn of_class(heap: &Heap, class: usize, value: u32) {
        for value in [value, value + 1] {
            if let Some(block) = heap.allocate(class, class, value) {
                heap.free(class, block, value);
            }
        }
    }
    check(2, 1, [|heap| of_class(heap, 0, 1), |heap| of_class(heap, 1, 11)], Heap::assert_whole);
}

#[test]
fn a_block_that_another_arena_frees_is_given_out_again_with_all_that_was_done_before() {
    /// The other thread's block, by way of a word of its own.
    fn hand_over(heap: &Heap) {
        let first = heap.allocate(0, 0, 1).expect("room");
        let second = heap.allocate(0, 0, 2).expect("room");
        // Release: pairs with the acquire below. The blocks lie at 0 and 1, whatever their order.
        heap.current[1][1].store(100 + first.at, loom::sync::atomic::Ordering::Release);
        if let Some(third) = heap.allocate(0, 0, 3) {
            heap.free(0, third, 3);
        }
        heap.free(0, second, 2);
    }
    fn free_others(heap: &Heap) {
        let word = loop {
            match heap.current[1][1].load(loom::sync::atomic::Ordering::Acquire) {
                0 => thread::yield_now(),
                word => break word,
            }
        };
        heap.free(1, Block { at: word - 100, halves: 1 }, 1);
    }
    check(2, 1, [hand_over, free_others], |heap| {
        heap.current[1][1].store(0, Relaxed);
        heap.assert_whole();
    });
}

#[test]
fn of_two_threads_that_free_one_block_one_does() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(4);
    for large in [false, true] {
        builder.check(move || {
            let heap = Arc::new(Heap::new(2));
            let block = if large { heap.allocate_large(2, 1) } else { heap.allocate(0, 0, 1) };
            let at = block.expect("room").at;
            let other = {
                let heap = Arc::clone(&heap);
                thread::spawn(move || heap.free_block(1, at))
            };
            let mine = heap.free_block(0, at);
            assert!(mine != other.join().unwrap(), "one and not the other");
            heap.assert_whole();
        });
    }
}

#[test]
fn runs_of_pages_do_not_overlap_and_are_joined_again() {
    fn run(heap: &Heap, count: u32, value: u32) {
        if let Some(block) = heap.allocate_large(count, value) {
            heap.free(0, block, value);
        }
    }
    check(2, 4, [|heap| run(heap, 3, 1), |heap| run(heap, 3, 2)], Heap::assert_whole);
    check(2, 4, [|heap| run(heap, 2, 1), |heap| run(heap, 3, 2)], Heap::assert_whole);
}

#[test]
fn a_large_block_and_small_ones_share_the_pages() {
    fn large(heap: &Heap) {
        if let Some(block) = heap.allocate_large(2, 1) {
            heap.free(0, block, 1);
        }
    }
    fn small(heap: &Heap) {
        let one = heap.allocate(0, 0, 2);
        let two = heap.allocate(1, 1, 3);
        for (arena, block, value) in [(0, one, 2), (1, two, 3)] {
            if let Some(block) = block {
                heap.free(arena, block, value);
            }
        }
    }
    check(3, 3, [large, small], Heap::assert_whole);
}
