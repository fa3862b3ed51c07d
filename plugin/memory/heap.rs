//! The heap of device code: one piece of memory, the same for all images of a device, that `device-runtime/heap.c` gives out in
//! blocks. Copies can reach it, unlike that of the CUDA driver's `malloc`.

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
/// Bytes of a page for each byte of its bitmap: a bit for 32 bytes.
const BITMAP_PART: usize = 256;

/// The least size of a page.
const LEAST_PAGE: usize = 16 << 10;
/// How many pages there are at least for each arena: it keeps one for each size of blocks that it has seen.
const ARENA_PAGES: usize = 16;
/// The heap's size where the user gives none, and the greatest part of the device's memory that this may be.
const DEFAULT_BYTES: usize = 64 << 20;
const DEFAULT_PART: usize = 64;

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
    head: DevicePtr,
    bitmaps: DevicePtr,
    memory: DevicePtr,
    pages: u32,
    page_shift: u32,
    arenas: u32,
    checks: u32,
}

/// What a heap of a certain size looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    pages: usize,
    page_bytes: usize,
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
            let mut words = vec![0_u32; FREE_PAGES_AT / 4];
            // SAFETY: the words can be written.
            match unsafe { copy::to_host(device, words.as_mut_ptr().cast(), place.head, FREE_PAGES_AT) } {
                Ok(()) => format!("device {ordinal}: {}", place.layout().in_use(&words)),
                Err(error) => format!("device {ordinal}: the heap cannot be read: {error}"),
            }
        });
    }
}

fn make(device: &Device) -> Result<State> {
    let (_, memory) = device.driver.mem_info()?;
    let layout = Layout::of(size(env::settings().heap_bytes, memory));
    let bytes = layout.pages_at() + layout.bytes();
    let heap = match device.driver.mem_alloc(bytes) {
        Ok(heap) => heap,
        Err(error) => {
            host::debug(|| format!("device {}: no heap of {bytes} bytes: {error}", device.ordinal));
            return Ok(State::Refused);
        }
    };
    copy::fill(device, heap, 0, layout.pages_at())?;
    let free_pages = layout.free_pages();
    // SAFETY: the words can be read.
    unsafe {
        let to = heap + FREE_PAGES_AT as u64;
        copy::to_device(device, to, free_pages.as_ptr().cast(), size_of_val(&free_pages[..]))
    }?;
    host::debug(|| {
        let (bytes, page_bytes) = (layout.bytes(), layout.page_bytes);
        format!("device {}: heap of {bytes} bytes for device code, in pages of {page_bytes}", device.ordinal)
    });
    Ok(State::At(layout.at(heap, env::settings().heap_check)))
}

/// The heap's size in bytes, of what the user wants and what the device has.
fn size(wanted: Option<usize>, memory: usize) -> usize {
    wanted.unwrap_or(DEFAULT_BYTES.min(memory / DEFAULT_PART))
}

impl Place {
    fn layout(self) -> Layout {
        Layout { pages: self.pages as usize, page_bytes: 1 << self.page_shift }
    }
}

impl Layout {
    /// For this many bytes or a little less.
    fn of(bytes: usize) -> Layout {
        let page_bytes = bytes.div_ceil(PAGES).next_power_of_two().max(LEAST_PAGE);
        Layout { pages: (bytes / page_bytes).max(1), page_bytes }
    }

    fn bytes(self) -> usize {
        self.pages * self.page_bytes
    }

    /// Where the pages begin: behind the head and the bitmaps.
    fn pages_at(self) -> usize {
        (HEAD_BYTES + self.bytes() / BITMAP_PART).next_multiple_of(256)
    }

    fn arenas(self) -> usize {
        1 << (self.pages / ARENA_PAGES).clamp(1, ARENAS).ilog2()
    }

    /// A heap like this at an address.
    fn at(self, head: DevicePtr, checks: bool) -> Place {
        Place {
            head,
            bitmaps: head + HEAD_BYTES as u64,
            memory: head + self.pages_at() as u64,
            pages: self.pages as u32,
            page_shift: self.page_bytes.ilog2(),
            arenas: self.arenas() as u32,
            checks: u32::from(checks),
        }
    }

    /// The set of all pages: its summary, its words.
    fn free_pages(self) -> Vec<u32> {
        let bits = |count: usize| {
            (0..count.div_ceil(32)).map(move |word| match count - 32 * word {
                32.. => u32::MAX,
                rest => (1 << rest) - 1,
            })
        };
        let mut summary: Vec<u32> = bits(self.pages.div_ceil(32)).collect();
        summary.resize(PAGES / 32 / 32, 0);
        summary.into_iter().chain(bits(self.pages)).collect()
    }

    /// What `words`, the head up to the set of free pages, says of the heap's use.
    fn in_use(self, words: &[u32]) -> Use {
        let (peak, refused) = (words[1], words[2]);
        let mut sum = Use { peak: u64::from(peak) * self.page_bytes as u64, refused, ..Use::default() };
        for state in &words[STATES_AT / 4..][..self.pages] {
            let (blocks, bytes) = match state {
                0 => continue,
                large if large & LARGE != 0 => (1, u64::from(large & !LARGE) * self.page_bytes as u64),
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
    fn the_size_is_what_the_user_wants_or_a_small_part_of_the_devices_memory() {
        assert_eq!(size(None, 80 << 30), DEFAULT_BYTES);
        assert_eq!(size(None, 2 << 30), 32 << 20);
        assert_eq!(size(Some(1 << 30), 2 << 30), 1 << 30);
    }

    #[test]
    fn a_larger_heap_has_more_pages_and_then_larger_ones() {
        let layout = |pages, page_bytes| Layout { pages, page_bytes };
        assert_eq!(Layout::of(131072), layout(8, LEAST_PAGE));
        assert_eq!(Layout::of(1), layout(1, LEAST_PAGE));
        assert_eq!(Layout::of(DEFAULT_BYTES), layout(PAGES, LEAST_PAGE));
        assert_eq!(Layout::of(DEFAULT_BYTES + 1), layout(PAGES / 2, 2 * LEAST_PAGE));
        assert_eq!(Layout::of(1 << 36), layout(PAGES, 1 << 24));
        for layout in [131072, DEFAULT_BYTES, 1 << 30].map(Layout::of) {
            assert!(layout.arenas().is_power_of_two() && layout.arenas() <= ARENAS);
            assert_eq!(layout.pages_at() % 256, 0);
        }
        assert_eq!(Layout::of(DEFAULT_BYTES).arenas(), ARENAS);
    }

    #[test]
    fn all_pages_are_free_at_first_and_no_others() {
        for pages in [1, 31, 32, 33, 1000, PAGES] {
            let words = Layout { pages, page_bytes: LEAST_PAGE }.free_pages();
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
        let layout = Layout::of(1 << 20);
        let mut words = vec![0_u32; FREE_PAGES_AT / 4];
        words[1] = 9;
        words[2] = 2;
        words[STATES_AT / 4] = 1 << CLASS_SHIFT | 3;
        words[STATES_AT / 4 + 1] = 4 << CLASS_SHIFT | 2;
        words[STATES_AT / 4 + 2] = 5 << CLASS_SHIFT;
        words[STATES_AT / 4 + 63] = LARGE | 2;
        let expected = Use { blocks: 6, bytes: 3 * 32 + 2 * 80 + 2 * 16384, peak: 9 * 16384, refused: 2 };
        assert_eq!(layout.in_use(&words), expected);
        let text = expected.to_string();
        assert!(text.contains("6 blocks of 33024 bytes") && text.contains("no room for 2"), "{text}");
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
