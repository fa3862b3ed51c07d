//! The heap of device code, the same for all images of a device, that `device-runtime/heap.c` gives out in blocks. Copies can reach it,
//! unlike that of the CUDA driver's `malloc`.
//!
//! It grows: a small extent is memory of the device's own, and what that has no room for lies in managed memory, which takes memory of the
//! device as kernels first touch its pages. How much that may become is all that is fixed.

use std::sync::{Mutex, PoisonError};

use super::copy;
use crate::abi::host;
use crate::device::Device;
use crate::driver::{DevicePtr, Module};
use crate::env;
use crate::error::Result;

/// The variable that tells `heap.c` where the heap is.
pub const VARIABLE: &std::ffi::CStr = c"__boomerang_heap";

// These are as in heap.c.
const HEAD_BYTES: usize = 131072;
const PAGES: usize = 4096;
const ARENAS: usize = 256;
const LARGE: u32 = 0x8000_0000;
const CLASS_SHIFT: u32 = 20;
const COUNT_MASK: u32 = 0xf_ffff;
/// Where words of `struct heap` begin, in bytes: the pages' states, the set of free pages.
const STATES_AT: usize = 16;
const FREE_PAGES_AT: usize = STATES_AT + 4 * PAGES;
/// Bytes of a page for each byte of a bitmap that has a bit for each block of the least size, 32 bytes.
const BITMAP_PART: usize = 256;

/// The least size of a page.
const LEAST_PAGE: usize = 16 << 10;
/// How many pages there are at least for each arena: it keeps one for each size of blocks that it has seen.
const ARENA_PAGES: usize = 16;
/// The size of the device's own memory, and the greatest part of the device's that it may be.
const OWN_BYTES: usize = 64 << 20;
const OWN_PART: usize = 64;
/// The part of the device's memory that the heap may become, and the most, where the user says nothing: a program that does not free may
/// fill that before it gets null, and the driver moves managed memory to the host where the rest of the program needs the device's.
const LIMIT_PART: usize = 4;
const MOST_BYTES: usize = 1 << 36;

/// What a kernel's first touch of managed memory takes of the device's (an H200: 4096 words that lie 16 MiB apart took 2.2 MiB each).
const TOUCH: usize = 2 << 20;
/// The part of managed memory that may be taken because arenas begin at different places.
const SPREAD_PART: usize = 64;
/// The most bytes of a bitmap in managed memory, whose pages are large: blocks of 64 bytes still fill one touch, and what lies behind the
/// last block of a page is not touched. All bitmaps are the device's own memory and cleared at first, 16 MiB at most.
const MOST_BITMAP: usize = 4096;

/// The heap of a device. Its memory is kept as long as the process lives: a later image may free what an earlier one has allocated.
#[derive(Debug, Default)]
pub struct Heap(Mutex<State>);

#[derive(Debug, Default, Clone, Copy)]
enum State {
    #[default]
    None,
    At(Place),
    /// There was no memory for it.
    Refused,
}

/// Where a heap is, as `heap.c` is told.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Place {
    /// The device's own memory, then managed memory.
    extents: [Extent; 2],
    checks: u32,
    unused: u32,
}

/// Where an extent is. All 0: there is none.
#[derive(Debug, Default, Clone, Copy)]
#[repr(C)]
struct Extent {
    head: DevicePtr,
    bitmaps: DevicePtr,
    memory: DevicePtr,
    pages: u32,
    page_shift: u32,
    bitmap_shift: u32,
    arenas: u32,
}

/// What an extent of a certain size looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    pages: usize,
    page_bytes: usize,
    bitmap_bytes: usize,
    arenas: usize,
}

/// What device code has allocated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Use {
    /// Blocks in use, and their bytes.
    blocks: u64,
    bytes: u64,
    /// The most bytes so far of pages that had blocks in use.
    peak: u64,
    /// Requests that the heap had no room for.
    refused: u32,
}

impl Heap {
    /// Tells a module, with which `heap.c` was linked, where the heap is. It is made for the first one. Where there is no memory for it,
    /// device code has the driver's malloc.
    ///
    /// # Errors
    /// When the driver refuses anything but the memory.
    pub fn attach(&self, device: &Device, module: Module) -> Result<()> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let State::None = *state {
            *state = make(device)?;
        }
        let State::At(place) = *state else { return Ok(()) };
        let (variable, bytes) = device.driver.global(module, VARIABLE)?;
        debug_assert_eq!(bytes, size_of::<Place>());
        // SAFETY: the value can be read.
        unsafe { copy::to_device(device, variable, (&raw const place).cast(), size_of::<Place>()) }
    }

    /// Tells, under GOMP_DEBUG, what device code has not freed and how much it had at most. No kernel runs.
    pub fn report(&self, device: &Device) {
        let state = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let State::At(place) = state else { return };
        host::debug(|| {
            let ordinal = device.ordinal;
            match place.in_use(device) {
                Ok(sum) => format!("device {ordinal}: {sum}"),
                Err(error) => format!("device {ordinal}: the heap cannot be read: {error}"),
            }
        });
    }
}

fn make(device: &Device) -> Result<State> {
    let ordinal = device.ordinal;
    let wanted = env::settings().heap_bytes;
    let (_, memory) = device.driver.mem_info()?;
    let (own, managed) = sizes(wanted, memory);
    let managed = if managed == 0 { None } else { allocate_managed(device, managed) };
    let own = if managed.is_some() { own } else { wanted.unwrap_or(own) };

    let own = Layout::own(own);
    let managed_layout = managed.map(|(_, layout)| layout);
    // Head and bitmaps of each, then the memory of the first.
    let second_at = own.books_bytes();
    let memory_at = second_at + managed_layout.map_or(0, Layout::books_bytes);
    let bytes = memory_at + own.bytes();
    let heap = match device.driver.mem_alloc(bytes) {
        Ok(heap) => heap,
        Err(error) => {
            host::debug(|| format!("device {ordinal}: no heap of {bytes} bytes: {error}"));
            return Ok(State::Refused);
        }
    };
    copy::fill(device, heap, 0, memory_at)?;
    let first = own.at(heap, heap + memory_at as u64);
    first.set_all_free(device)?;
    let second =
        managed.map(|(address, layout)| layout.at(heap + second_at as u64, address)).unwrap_or_default();
    if managed.is_some() {
        second.set_all_free(device)?;
    }
    host::debug(|| {
        let (bytes, page_bytes) = (own.bytes(), own.page_bytes);
        let more = managed.map(|(_, Layout { pages, page_bytes, .. })| {
            format!(", and up to {} more of managed memory, in pages of {page_bytes}", pages * page_bytes)
        });
        let more = more.unwrap_or_default();
        format!("device {ordinal}: heap of {bytes} bytes for device code, in pages of {page_bytes}{more}")
    });
    Ok(State::At(Place { extents: [first, second], checks: env::settings().heap_check.into(), unused: 0 }))
}

/// The sizes of both extents in bytes, of what the user wants and what the device has. The second may be 0.
fn sizes(wanted: Option<usize>, memory: usize) -> (usize, usize) {
    let own = OWN_BYTES.min(memory / OWN_PART);
    let limit = wanted.unwrap_or((memory / LIMIT_PART).min(MOST_BYTES));
    match limit.saturating_sub(own) {
        ..LEAST_PAGE => (limit, 0),
        more => (own, more),
    }
}

/// Managed memory for an extent of this size, where kernels and the host can use it at the same time.
fn allocate_managed(device: &Device, bytes: usize) -> Option<(DevicePtr, Layout)> {
    let Device { driver, ordinal, .. } = device;
    if !device.attrs.concurrent_managed_access {
        return None;
    }
    let layout = Layout::managed(bytes);
    let told = |error| {
        host::debug(|| format!("device {ordinal}: {bytes} bytes of managed memory for the heap: {error}"))
    };
    let address = driver.mem_alloc_managed(layout.bytes()).map_err(told).ok()?;
    // Only sooner: pages that kernels touch come to the device either way.
    let _ = driver.prefer_device(address, layout.bytes(), *device.handle()).map_err(told);
    Some((address, layout))
}

impl Place {
    /// What of all extents is in use.
    fn in_use(self, device: &Device) -> Result<Use> {
        let mut sum = Use::default();
        for extent in self.extents.iter().filter(|extent| extent.head != 0) {
            let mut words = vec![0_u32; FREE_PAGES_AT / 4];
            // SAFETY: the words can be written.
            unsafe { copy::to_host(device, words.as_mut_ptr().cast(), extent.head, FREE_PAGES_AT) }?;
            sum.add(extent.in_use(&words));
        }
        Ok(sum)
    }
}

impl Extent {
    /// Puts all pages among the free ones. The head is all 0.
    fn set_all_free(&self, device: &Device) -> Result<()> {
        let words = free_pages(self.pages as usize);
        // SAFETY: the words can be read.
        unsafe {
            let to = self.head + FREE_PAGES_AT as u64;
            copy::to_device(device, to, words.as_ptr().cast(), size_of_val(&words[..]))
        }
    }

    /// What `words`, the head up to the set of free pages, says of the extent's use.
    fn in_use(&self, words: &[u32]) -> Use {
        let (peak, refused) = (words[1], words[2]);
        let mut sum = Use { peak: u64::from(peak) << self.page_shift, refused, ..Use::default() };
        for state in &words[STATES_AT / 4..][..self.pages as usize] {
            let (blocks, bytes) = match state {
                0 => continue,
                large if large & LARGE != 0 => (1, u64::from(large & !LARGE) << self.page_shift),
                small => {
                    let blocks = u64::from(small & COUNT_MASK);
                    (blocks, blocks * class_bytes((small >> CLASS_SHIFT) - 1))
                }
            };
            sum.blocks += blocks;
            sum.bytes += bytes;
        }
        sum
    }
}

impl Layout {
    /// For this many bytes of the device's own memory, or a little less.
    fn own(bytes: usize) -> Layout {
        let page_bytes = bytes.div_ceil(PAGES).next_power_of_two().max(LEAST_PAGE);
        let pages = (bytes / page_bytes).max(1);
        let arenas = 1 << (pages / ARENA_PAGES).clamp(1, ARENAS).ilog2();
        Layout { pages, page_bytes, bitmap_bytes: page_bytes / BITMAP_PART, arenas }
    }

    /// For this many bytes of managed memory, or a little less.
    fn managed(bytes: usize) -> Layout {
        let Layout { pages, page_bytes, bitmap_bytes, arenas } = Layout::own(bytes);
        let few = (bytes / SPREAD_PART / TOUCH).max(1);
        Layout {
            pages,
            page_bytes,
            bitmap_bytes: bitmap_bytes.min(MOST_BITMAP),
            arenas: arenas.min(1 << few.ilog2()),
        }
    }

    fn bytes(self) -> usize {
        self.pages * self.page_bytes
    }

    /// Bytes of head and bitmaps.
    fn books_bytes(self) -> usize {
        (HEAD_BYTES + self.pages * self.bitmap_bytes).next_multiple_of(256)
    }

    /// An extent like this at these addresses.
    fn at(self, head: DevicePtr, memory: DevicePtr) -> Extent {
        Extent {
            head,
            bitmaps: head + HEAD_BYTES as u64,
            memory,
            pages: self.pages as u32,
            page_shift: self.page_bytes.ilog2(),
            bitmap_shift: self.bitmap_bytes.ilog2(),
            arenas: self.arenas as u32,
        }
    }
}

/// The set of so many pages: its summary, its words.
fn free_pages(pages: usize) -> Vec<u32> {
    let bits = |count: usize| {
        (0..count.div_ceil(32)).map(move |word| match count - 32 * word {
            32.. => u32::MAX,
            rest => (1 << rest) - 1,
        })
    };
    let mut summary: Vec<u32> = bits(pages.div_ceil(32)).collect();
    summary.resize(PAGES / 32 / 32, 0);
    summary.into_iter().chain(bits(pages)).collect()
}

impl Use {
    fn add(&mut self, other: Use) {
        self.blocks += other.blocks;
        self.bytes += other.bytes;
        self.peak += other.peak;
        self.refused += other.refused;
    }
}

impl std::fmt::Display for Use {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Use { blocks, bytes, peak, refused } = self;
        write!(
            f,
            "device code has not freed {blocks} blocks of {bytes} bytes; its heap had {peak} bytes in use at most"
        )?;
        if *refused > 0 {
            write!(f, ", and no room for {refused} requests (see BOOMERANG_HEAP)")?;
        }
        Ok(())
    }
}

/// As `class_bytes` of `heap.c`.
fn class_bytes(class: u32) -> u64 {
    match class {
        0..3 => u64::from(32 + 16 * class),
        _ => u64::from((class - 3) % 4 + 5) << ((class - 3) / 4 + 4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_more_than_a_small_part_of_the_devices_memory_is_managed() {
        assert_eq!(sizes(None, 80 << 30), (OWN_BYTES, (20 << 30) - OWN_BYTES));
        assert_eq!(sizes(None, 2 << 30), (32 << 20, 480 << 20));
        assert_eq!(sizes(None, 1 << 40), (OWN_BYTES, MOST_BYTES - OWN_BYTES));
        assert_eq!(sizes(Some(1 << 30), 2 << 30), (32 << 20, 992 << 20));
        for limit in [131072, OWN_BYTES, OWN_BYTES + LEAST_PAGE - 1] {
            assert_eq!(sizes(Some(limit), 80 << 30), (limit, 0));
        }
    }

    #[test]
    fn a_larger_extent_has_more_pages_and_then_larger_ones() {
        let layout = |bytes| Layout::own(bytes);
        let shape = |layout: Layout| (layout.pages, layout.page_bytes, layout.bitmap_bytes, layout.arenas);
        assert_eq!(shape(layout(131072)), (8, LEAST_PAGE, 64, 1));
        assert_eq!(shape(layout(1)), (1, LEAST_PAGE, 64, 1));
        assert_eq!(shape(layout(OWN_BYTES)), (PAGES, LEAST_PAGE, 64, ARENAS));
        assert_eq!(shape(layout(OWN_BYTES + 1)), (PAGES / 2, 2 * LEAST_PAGE, 128, 128));
        assert_eq!(shape(layout(MOST_BYTES)), (PAGES, 1 << 24, 1 << 16, ARENAS));
    }

    #[test]
    fn managed_memory_has_small_bitmaps_and_few_arenas() {
        for (bytes, arenas) in
            [(LEAST_PAGE, 1), (255 << 20, 1), (1 << 30, 8), (35 << 30, 128), (MOST_BYTES, ARENAS)]
        {
            let layout = Layout::managed(bytes);
            assert_eq!(layout.arenas, arenas, "{bytes}");
            assert!(arenas == 1 || arenas * TOUCH * SPREAD_PART <= bytes);
            assert!(layout.books_bytes() <= HEAD_BYTES + (16 << 20));
        }
        let most = Layout::managed(MOST_BYTES);
        assert_eq!(8 * most.bitmap_bytes * 64, TOUCH);
    }

    #[test]
    fn all_pages_are_free_at_first_and_no_others() {
        for pages in [1, 31, 32, 33, 1000, PAGES] {
            let words = free_pages(pages);
            let (summary, words) = words.split_at(PAGES / 32 / 32);
            assert_eq!(words.iter().map(|word| word.count_ones() as usize).sum::<usize>(), pages);
            assert!(
                words.len() <= PAGES / 32
                    && words.iter().all(|word| word.trailing_ones() + word.leading_zeros() >= 32)
            );
            assert_eq!(summary.iter().map(|word| word.count_ones() as usize).sum::<usize>(), words.len());
        }
    }

    #[test]
    fn use_is_summed_up_from_the_pages_states() {
        let extent = Layout::own(1 << 20).at(0x10000, 0x40000);
        let mut words = vec![0_u32; FREE_PAGES_AT / 4];
        words[1] = 9;
        words[2] = 2;
        words[STATES_AT / 4] = 1 << CLASS_SHIFT | 3;
        words[STATES_AT / 4 + 1] = 4 << CLASS_SHIFT | 2;
        words[STATES_AT / 4 + 2] = 5 << CLASS_SHIFT;
        words[STATES_AT / 4 + 63] = LARGE | 2;
        let expected = Use { blocks: 6, bytes: 3 * 32 + 2 * 80 + 2 * 16384, peak: 9 * 16384, refused: 2 };
        let mut sum = extent.in_use(&words);
        assert_eq!(sum, expected);
        sum.add(expected);
        let text = sum.to_string();
        assert!(text.contains("12 blocks of 66048 bytes") && text.contains("no room for 4"), "{text}");
    }

    #[test]
    fn the_layout_is_the_one_that_the_device_code_counts_on() {
        let source = include_str!("../../device-runtime/heap.c");
        for (name, value) in [
            ("HEAP_HEAD_BYTES", HEAD_BYTES.to_string()),
            ("PAGES", PAGES.to_string()),
            ("ARENAS", ARENAS.to_string()),
            ("LARGE", format!("{LARGE:#x}")),
            ("CLASS_SHIFT", CLASS_SHIFT.to_string()),
            ("COUNT_MASK", format!("{COUNT_MASK:#x}")),
        ] {
            assert!(source.contains(&format!("#define {name} {value}\n")), "{name} {value}");
        }
        for (member, at) in [("used", 0), ("peak", 4), ("refused", 8), ("states", STATES_AT)] {
            assert!(source.contains(&format!("offsetof (struct heap, {member}) == {at}")), "{member}");
        }
        assert!(source.contains("offsetof (struct heap, free_pages) == 16 + 4 * PAGES"));
        assert!(source.contains(&format!("sizeof (struct place) == {}", size_of::<Place>())));
    }
}
