//! The state that instructions work on while a warp runs: its registers, its place, what it may access.
//!
//! Safety of everything here rests on one invariant, kept by `lower`: a [`Slot`] of an instruction lies wholly in the
//! frames, or in the constants, of the function that the instruction belongs to, aligned for its type.

use super::block::BlockState;
use super::lane::Lane;
use super::map::lanes;
use super::registers::{mark, mark_distance};
use super::warp::{Resume, VIEWS, Warp};
use crate::fault::FaultKind;
use crate::ir::{Guard, Inst, LANES, Slot};
use crate::launch::Grid;
use crate::mem::View;

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
    /// Lanes that have entered the current frame: what no one of them has need not be kept.
    pub everyone: u32,
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
    /// 8-byte loads of shared memory left of this turn that all lanes make at the same time.
    pub whole_loads: u32,
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
            everyone: 0,
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
            whole_loads: u32::MAX,
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
            true => function.constants.size(),
            false => function.frame_size as usize,
        };
        slot.offset() + size <= all
    }

    fn mark_address(&self, slot: Slot) -> *mut u8 {
        debug_assert!(self.holds(slot, 1));
        let base = if slot.is_constant() { self.constants } else { self.frame.cast_const() };
        base.wrapping_sub(mark_distance(slot.offset())).cast_mut()
    }

    /// The [`mark`] of a register or constant.
    #[inline(always)]
    pub(super) fn mark(&self, slot: Slot) -> u8 {
        // SAFETY: each register and constant has a mark, see `registers`.
        unsafe { *self.mark_address(slot) }
    }

    #[inline(always)]
    pub(super) fn set_mark(&mut self, slot: Slot, mark: u8) {
        debug_assert!(!slot.is_constant() && self.holds(slot, 1));
        // SAFETY: as above; `&mut self` makes the access the only one.
        unsafe { *self.frame.sub(mark_distance(slot.bits() as usize)) = mark };
    }

    /// Whether all lanes are known to have one value of a register or constant.
    #[inline(always)]
    pub fn is_uniform(&self, slot: Slot) -> bool {
        self.mark(slot) & mark::SAME != 0
    }

    /// Stores the value of a register for all lanes if only lane 0 has it, from now on at once.
    #[inline(always)]
    pub(super) fn spread(&self, slot: Slot) {
        if self.mark(slot) & mark::FIRST != 0 {
            self.spread_first(slot);
        }
    }

    #[inline(never)]
    fn spread_first(&self, slot: Slot) {
        debug_assert!(!slot.is_constant());
        // SAFETY: the module's invariant. No reference to the lanes lives: who gives one out spreads the value first, and what writes lane 0
        // alone takes `&mut self`. No other thread uses the frame.
        unsafe {
            let register = self.frame.add(slot.offset());
            if self.mark(slot) & mark::WIDE != 0 {
                let lanes = register.cast::<[u64; LANES]>();
                *lanes = [(*lanes)[0]; LANES];
            } else {
                let lanes = register.cast::<[u32; LANES]>();
                *lanes = [(*lanes)[0]; LANES];
            }
            *self.mark_address(slot) = mark::SAME | mark::ALL;
        }
    }

    /// What is stored of a register or constant: lane 0, and the others if it has been spread.
    #[inline(always)]
    pub(super) fn stored<T: Lane>(&self, slot: Slot) -> &[T::Slot; LANES] {
        debug_assert!(self.holds(slot, size_of::<[T::Slot; LANES]>()));
        // SAFETY: the module's invariant. Nothing writes the frame while the reference lives: `write` takes `&mut self`.
        unsafe { &*self.address(slot).cast() }
    }

    /// Where a register is stored.
    #[inline(always)]
    pub(super) fn stored_mut<T: Lane>(&mut self, slot: Slot) -> &mut [T::Slot; LANES] {
        debug_assert!(!slot.is_constant() && self.holds(slot, size_of::<[T::Slot; LANES]>()));
        // SAFETY: the module's invariant; `&mut self` makes the reference the only one.
        unsafe { &mut *self.frame.add(slot.bits() as usize).cast() }
    }

    /// A register or constant.
    #[inline(always)]
    pub fn read<T: Lane>(&self, slot: Slot) -> &[T::Slot; LANES] {
        self.spread(slot);
        self.stored::<T>(slot)
    }

    /// Lane 0 of a register or constant: all of one that is uniform.
    #[inline(always)]
    pub fn first<T: Lane>(&self, slot: Slot) -> T {
        T::get(self.stored::<T>(slot)[0])
    }

    /// One lane of a register or constant.
    #[inline(always)]
    pub fn lane<T: Lane>(&self, slot: Slot, lane: usize) -> T {
        let lane = if self.is_uniform(slot) { 0 } else { lane };
        T::get(self.stored::<T>(slot)[lane])
    }

    /// A register, to change some lanes of it.
    #[inline(always)]
    pub fn register<T: Lane>(&mut self, slot: Slot) -> &mut [T::Slot; LANES] {
        self.spread(slot);
        self.set_mark(slot, mark::OWN);
        self.stored_mut::<T>(slot)
    }

    /// Stores into the lanes of `mask`.
    #[inline(always)]
    pub fn write<T: Lane>(&mut self, slot: Slot, mask: u32, values: &[T::Slot; LANES]) {
        if mask == self.everyone {
            self.set_mark(slot, mark::OWN);
            *self.stored_mut::<T>(slot) = *values;
        } else {
            let register = self.register::<T>(slot);
            for lane in lanes(mask) {
                register[lane] = values[lane];
            }
        }
    }

    /// Stores one value for all lanes.
    #[inline(always)]
    pub(super) fn write_first<T: Lane>(&mut self, slot: Slot, value: T) {
        if self.mark(slot) & mark::ALL != 0 {
            *self.stored_mut::<T>(slot) = [value.put(); LANES];
            return;
        }
        self.stored_mut::<T>(slot)[0] = value.put();
        let wide = if size_of::<T::Slot>() == 8 { mark::WIDE } else { 0 };
        self.set_mark(slot, mark::SAME | mark::FIRST | wide);
    }

    /// Stores one value into the lanes of `mask`.
    #[inline(always)]
    pub fn write_one<T: Lane>(&mut self, slot: Slot, mask: u32, value: T) {
        if mask == self.everyone {
            self.write_first(slot, value);
        } else {
            let register = self.register::<T>(slot);
            for lane in lanes(mask) {
                register[lane] = value.put();
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
