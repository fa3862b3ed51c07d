//! The state that instructions work on while a warp runs: its registers, its place, what it may access.
//!
//! Safety of everything here rests on one invariant, kept by `lower`: a [`Slot`] of an instruction lies wholly in the
//! frames, or in the constants, of the function that the instruction belongs to, aligned for its type.

use super::block::BlockState;
use super::lane::Lane;
use super::warp::{Resume, VIEWS, Warp};
use crate::fault::FaultKind;
use crate::ir::{FULL, Guard, Inst, LANES, Slot};
use crate::launch::Grid;
use crate::mem::View;
use std::array;

/// What follows an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flow {
    /// The next instruction.
    Next,
    /// The instruction at [`Context::pc`], for the lanes of [`Context::mask`].
    Jump,
    /// The split can't go on, or is no more: another one's turn.
    Switch,
    /// [`Context::error`] says what went wrong.
    Fault,
}

/// What went wrong, before the place is added.
pub(crate) struct Error {
    pub kind: FaultKind,
    pub lane: u32,
    /// Address, size in bytes, and what was tried.
    pub access: Option<(u64, u32, String)>,
    pub note: String,
}

/// Lanes computed at a time: so many results stay in the host's vector registers. A register of the program that is both source and
/// destination has one slot, of which only the same lanes are overwritten that have been read.
const CHUNK: usize = 8;

/// A warp while it runs.
pub(crate) struct Context<'a> {
    /// Registers of the current function.
    pub frame: *mut u8,
    /// Constants of the current function.
    pub constants: *const u8,
    /// Index of the current frame.
    pub frame_index: u32,
    /// Index of the current function.
    pub function: u32,
    pub pc: u32,
    /// Lanes of the current split.
    pub mask: u32,
    /// Index of the innermost reconvergence that the split owes; [`crate::ir::NONE`] if none in this frame.
    pub join: u32,
    /// Whether the instruction at `pc` has waited.
    pub resume: Resume,
    pub warp: Box<Warp>,
    pub block: &'a mut BlockState,
    pub grid: &'a Grid,
    pub error: Option<Box<Error>>,
    /// Instructions left of the time slice.
    pub budget: u32,
    pub thread_instructions: u64,
    pub warp_instructions: u64,
    /// Changes made that others may see, since the split got its turn.
    pub effects: u32,
    /// Fences and ordered accesses since then.
    pub orderings: u32,
    /// The address last loaded or updated: what a split that makes no progress waits for.
    pub watched: u64,
    /// Changes made in the whole turn.
    pub turn_effects: u32,
}

impl<'a> Context<'a> {
    /// For one turn of `warp`; no split is loaded yet.
    pub fn new(warp: Box<Warp>, block: &'a mut BlockState, grid: &'a Grid) -> Context<'a> {
        Context {
            frame: std::ptr::null_mut(),
            constants: std::ptr::null(),
            frame_index: 0,
            function: 0,
            pc: 0,
            mask: 0,
            join: 0,
            resume: Resume::Fresh,
            warp,
            block,
            grid,
            error: None,
            budget: 0,
            thread_instructions: 0,
            warp_instructions: 0,
            effects: 0,
            orderings: 0,
            watched: 0,
            turn_effects: 0,
        }
    }

    fn address(&self, slot: Slot) -> *const u8 {
        let base = if slot.is_constant() { self.constants } else { self.frame.cast_const() };
        base.wrapping_add(slot.offset())
    }

    /// Whether `size` bytes at a slot lie in what its function has.
    fn holds(&self, slot: Slot, size: usize) -> bool {
        let function = &self.grid.program().functions[self.function as usize];
        let all = match slot.is_constant() {
            true => size_of_val(&function.constants[..]),
            false => function.frame_size as usize,
        };
        slot.offset() + size <= all
    }

    /// A register or constant.
    #[inline(always)]
    pub fn read<T: Lane>(&self, slot: Slot) -> &[T::Slot; LANES] {
        debug_assert!(self.holds(slot, size_of::<[T::Slot; LANES]>()));
        // SAFETY: the module's invariant. Nothing writes the frame while the reference lives: `write` takes `&mut self`.
        unsafe { &*self.address(slot).cast() }
    }

    /// One lane of a register or constant.
    #[inline(always)]
    pub fn lane<T: Lane>(&self, slot: Slot, lane: usize) -> T {
        T::get(self.read::<T>(slot)[lane])
    }

    /// A register.
    #[inline(always)]
    pub fn register<T: Lane>(&mut self, slot: Slot) -> &mut [T::Slot; LANES] {
        debug_assert!(!slot.is_constant() && self.holds(slot, size_of::<[T::Slot; LANES]>()));
        // SAFETY: the module's invariant; `&mut self` makes the reference the only one.
        unsafe { &mut *self.frame.add(slot.offset()).cast() }
    }

    /// Stores into the lanes of `mask`.
    #[inline(always)]
    pub fn write<T: Lane>(&mut self, slot: Slot, mask: u32, values: &[T::Slot; LANES]) {
        let register = self.register::<T>(slot);
        if mask == FULL {
            *register = *values;
        } else {
            for lane in lanes(mask) {
                register[lane] = values[lane];
            }
        }
    }

    /// A predicate or constant predicate.
    #[inline(always)]
    pub fn predicate(&self, slot: Slot) -> u32 {
        debug_assert!(self.holds(slot, size_of::<u32>()));
        // SAFETY: the module's invariant.
        unsafe { *self.address(slot).cast() }
    }

    /// Stores the bits of `mask` into a predicate.
    #[inline(always)]
    pub fn write_predicate(&mut self, slot: Slot, mask: u32, value: u32) {
        debug_assert!(!slot.is_constant() && self.holds(slot, size_of::<u32>()));
        // SAFETY: the module's invariant; `&mut self` makes the access the only one.
        let register = unsafe { &mut *self.frame.add(slot.offset()).cast::<u32>() };
        *register = *register & !mask | value & mask;
    }

    /// The lanes of the split for which a guard holds.
    #[inline(always)]
    pub fn guarded(&self, guard: Guard) -> u32 {
        self.mask & (self.predicate(guard.slot) ^ guard.flip)
    }

    /// `d = f(a)`, lane by lane.
    #[inline(always)]
    pub fn map1<A: Lane, D: Lane>(&mut self, i: &Inst, mask: u32, f: impl Fn(A) -> D) -> Flow {
        if mask == FULL {
            for at in (0..LANES).step_by(CHUNK) {
                let a = self.read::<A>(i.a);
                let out: [_; CHUNK] = array::from_fn(|l| f(A::get(a[at + l])).put());
                self.register::<D>(i.d)[at..at + CHUNK].copy_from_slice(&out);
            }
        } else {
            for l in lanes(mask) {
                let value = f(self.lane(i.a, l));
                self.register::<D>(i.d)[l] = value.put();
            }
        }
        Flow::Next
    }

    /// `d = f(a, b)`, lane by lane.
    #[inline(always)]
    pub fn map2<A: Lane, B: Lane, D: Lane>(&mut self, i: &Inst, mask: u32, f: impl Fn(A, B) -> D) -> Flow {
        if mask == FULL {
            for at in (0..LANES).step_by(CHUNK) {
                let (a, b) = (self.read::<A>(i.a), self.read::<B>(i.b));
                let out: [_; CHUNK] = array::from_fn(|l| f(A::get(a[at + l]), B::get(b[at + l])).put());
                self.register::<D>(i.d)[at..at + CHUNK].copy_from_slice(&out);
            }
        } else {
            for l in lanes(mask) {
                let value = f(self.lane(i.a, l), self.lane(i.b, l));
                self.register::<D>(i.d)[l] = value.put();
            }
        }
        Flow::Next
    }

    /// `d = f(a, b, c)`, lane by lane.
    #[inline(always)]
    pub fn map3<A: Lane, B: Lane, C: Lane, D: Lane>(
        &mut self,
        i: &Inst,
        mask: u32,
        f: impl Fn(A, B, C) -> D,
    ) -> Flow {
        if mask == FULL {
            for at in (0..LANES).step_by(CHUNK) {
                let (a, b, c) = (self.read::<A>(i.a), self.read::<B>(i.b), self.read::<C>(i.c));
                let out: [_; CHUNK] =
                    array::from_fn(|l| f(A::get(a[at + l]), B::get(b[at + l]), C::get(c[at + l])).put());
                self.register::<D>(i.d)[at..at + CHUNK].copy_from_slice(&out);
            }
        } else {
            for l in lanes(mask) {
                let value = f(self.lane(i.a, l), self.lane(i.b, l), self.lane(i.c, l));
                self.register::<D>(i.d)[l] = value.put();
            }
        }
        Flow::Next
    }

    /// The bits of `f(a, b)`, for the lanes of `mask` at least.
    #[inline(always)]
    pub fn test2<A: Lane>(&self, i: &Inst, mask: u32, f: impl Fn(A, A) -> bool) -> u32 {
        let (a, b) = (self.read::<A>(i.a), self.read::<A>(i.b));
        if mask == FULL {
            bits(array::from_fn(|l| f(A::get(a[l]), A::get(b[l]))))
        } else {
            lanes(mask).fold(0, |all, l| all | u32::from(f(A::get(a[l]), A::get(b[l]))) << l)
        }
    }

    /// Reports that `lane` did something it may not.
    #[cold]
    pub fn fail(&mut self, kind: FaultKind, lane: usize, note: impl Into<String>) -> Flow {
        self.error = Some(Box::new(Error { kind, lane: lane as u32, access: None, note: note.into() }));
        Flow::Fault
    }

    /// Forgets cached views if some may be wrong. To be called before each use of [`Context::view_slot`].
    #[inline(always)]
    pub fn refresh_views(&mut self) {
        let generation = self.grid.memory().generation();
        if generation != self.warp.views_generation {
            self.warp.views_generation = generation;
            self.warp.views = [View::EMPTY; VIEWS];
        }
    }

    /// The cached view for an instruction.
    #[inline(always)]
    pub fn view_slot(&mut self, i: &Inst) -> &mut View {
        let address = std::ptr::from_ref(i) as usize / size_of::<Inst>();
        &mut self.warp.views[address % VIEWS]
    }
}

/// The mask of the lanes that are `true`.
#[inline(always)]
pub(crate) fn bits(flags: [bool; LANES]) -> u32 {
    let mut mask = 0;
    for first in (0..LANES).step_by(8) {
        // The product's top byte gets bit 0 of byte `k` as its bit `k`.
        let bytes = u64::from_le_bytes(array::from_fn(|k| flags[first + k].into()));
        mask |= (bytes.wrapping_mul(0x0102_0408_1020_4080) >> 56) << first;
    }
    mask as u32
}

/// The lanes of a mask, ascending.
#[inline(always)]
pub(crate) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        (rest != 0).then(|| {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            lane
        })
    })
}
