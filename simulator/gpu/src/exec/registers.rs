//! Memory for the registers of an activation, or for a function's constants, with a mark for each that says whether lanes differ: those
//! that entered the activation, no other ever looks.
//!
//! The marks are bytes before the first register, backwards: that of the register at offset `n` is `1 + n / REGISTER_ALIGN` bytes before.
//! So the address of the registers leads to both. Predicates have none that means anything.

use super::map::lanes;
use crate::ir::{LANES, Line, REGISTER_ALIGN};
use std::cell::RefCell;

/// What a mark says, in bits.
pub(crate) mod mark {
    /// Lanes may have different values.
    pub const OWN: u8 = 0;
    /// All lanes have one value.
    pub const SAME: u8 = 1;
    /// Only lane 0 has it stored.
    pub const FIRST: u8 = 2;
    /// It has 64 bits.
    pub const WIDE: u8 = 4;
    /// The next value that all lanes have is to be stored for all, as the last was wanted so. Goes with [`SAME`].
    pub const ALL: u8 = 8;
}

/// The distance from the first register down to the mark of the one at `offset`.
#[inline(always)]
pub(crate) fn mark_distance(offset: usize) -> usize {
    1 + offset / REGISTER_ALIGN
}

/// Bytes of a word of all lanes.
pub(crate) const WORD: usize = 8 * LANES;
/// [`Line`]s of such a word.
const WORD_LINES: usize = WORD / size_of::<Line>();
/// Lanes of a word in a [`Line`].
const LINE_LANES: usize = LANES / WORD_LINES;

/// See the module.
#[derive(Default)]
pub(crate) struct Registers {
    /// Marks, then registers.
    lines: Box<[Line]>,
    /// Lines of marks.
    marks: usize,
}

/// Register memory kept for reuse by each thread, by the logarithm of its size; so a call allocates nothing.
const KEPT: usize = 64;

thread_local! {
    static POOL: RefCell<[Vec<Box<[Line]>>; 32]> = const { RefCell::new([const { Vec::new() }; 32]) };
}

/// Lines that the marks of registers of that many lines take.
fn mark_lines(lines: usize) -> usize {
    (lines * size_of::<Line>() / REGISTER_ALIGN).div_ceil(size_of::<Line>())
}

/// A line of marks.
fn marks(mark: u8) -> Line {
    Line([u64::from_ne_bytes([mark; 8]); 8])
}

impl Registers {
    /// Registers of `bytes` in all. They hold anything, and are marked as if that were one thing for all lanes: so a word that is written
    /// in parts, each the same in all lanes, is.
    pub fn take(bytes: u32) -> Registers {
        let lines = bytes as usize / size_of::<Line>();
        let marked = mark_lines(lines);
        let class = (marked + lines).max(1).next_power_of_two();
        let kept = POOL.with_borrow_mut(|pool| pool[class.trailing_zeros() as usize].pop());
        let mut lines = kept.unwrap_or_else(|| vec![Line([0; 8]); class].into_boxed_slice());
        lines[..marked].fill(marks(mark::SAME));
        Registers { lines, marks: marked }
    }

    /// Keeps what [`Registers::take`] gave for the next.
    pub fn give(self) {
        if self.lines.is_empty() {
            return;
        }
        POOL.with_borrow_mut(|pool| {
            let kept = &mut pool[self.lines.len().trailing_zeros() as usize];
            if kept.len() < KEPT {
                kept.push(self.lines);
            }
        });
    }

    /// Constants, each stored for all lanes.
    pub fn constants(constants: &[Line]) -> Registers {
        let marked = mark_lines(constants.len());
        let lines = [&vec![marks(mark::SAME); marked], constants].concat().into();
        Registers { lines, marks: marked }
    }

    /// Bytes of registers.
    pub fn size(&self) -> usize {
        size_of_val(&self.lines[self.marks..])
    }

    /// The first register, behind the marks.
    pub fn first(&self) -> *const u8 {
        self.lines.as_ptr().wrapping_add(self.marks).cast()
    }

    /// The first register.
    pub fn first_mut(&mut self) -> *mut u8 {
        self.lines.as_mut_ptr().wrapping_add(self.marks).cast()
    }

    fn mark(&mut self, byte: usize) -> &mut u8 {
        let at = self.marks * size_of::<Line>() - mark_distance(byte);
        let Line(words) = &mut self.lines[at / size_of::<Line>()];
        // SAFETY: 64 bytes are as good as eight words.
        let bytes: &mut [u8; 64] = unsafe { &mut *words.as_mut_ptr().cast() };
        &mut bytes[at % size_of::<Line>()]
    }

    /// The lines of the word at `byte`.
    fn word(&mut self, byte: usize) -> &mut [Line] {
        let line = self.marks + byte / size_of::<Line>();
        &mut self.lines[line..line + WORD_LINES]
    }

    /// Copies the word at `from_byte` of `from`, for the lanes `mask`, to the word at `byte`. `all`: no other lane will look at it.
    pub fn copy_word(&mut self, byte: usize, from: &mut Registers, from_byte: usize, mask: u32, all: bool) {
        let mark = *from.mark(from_byte);
        let source = from.word(from_byte);
        let of_lane = |lane: usize| source[lane / LINE_LANES].0[lane % LINE_LANES];
        let one = if mark == mark::OWN { mask.trailing_zeros() as usize } else { 0 };
        match all {
            true if mark != mark::OWN || mask.is_power_of_two() => {
                *self.mark(byte) = mark::SAME | mark::FIRST | mark::WIDE;
                self.word(byte)[0].0[0] = of_lane(one);
            }
            true => {
                *self.mark(byte) = mark::OWN;
                self.word(byte).copy_from_slice(source);
            }
            false => {
                if std::mem::replace(self.mark(byte), mark::OWN) & mark::FIRST != 0 {
                    let word = self.word(byte);
                    word.fill(Line([word[0].0[0]; 8]));
                }
                for lane in lanes(mask) {
                    let value = of_lane(if mark == mark::OWN { lane } else { 0 });
                    self.word(byte)[lane / LINE_LANES].0[lane % LINE_LANES] = value;
                }
            }
        }
    }
}
