//! Loads, stores, fences, and the check that every access passes.

use super::context::{Context, Error, Flow};
use super::lane::Lane;
use super::map::lanes;
use super::warp::Resume;
use crate::fault::FaultKind;
use crate::ir::{CODE_WINDOW, FULL, Inst, LANES, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};
use crate::mem::View;
use boomerang_ptx::types::Space;
use std::sync::atomic::{self, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

/// A value that memory can hold. Accesses are atomic, so that races are the simulated program's and not ours; they order
/// nothing, fences do that.
pub(crate) trait Stored: Lane {
    /// # Safety
    /// `at` must be valid for reads and aligned.
    unsafe fn load(at: *mut u8) -> Self;
    /// # Safety
    /// `at` must be valid for writes and aligned.
    unsafe fn store(self, at: *mut u8);
}

macro_rules! stored {
    ($($ty:ty: $atomic:ty, $bits:ty;)*) => {$(
        impl Stored for $ty {
            #[inline(always)]
            unsafe fn load(at: *mut u8) -> $ty {
                // SAFETY: the caller's promise.
                let bits = unsafe { <$atomic>::from_ptr(at.cast()) }.load(Relaxed);
                <$ty>::from_ne_bytes(bits.to_ne_bytes())
            }
            #[inline(always)]
            unsafe fn store(self, at: *mut u8) {
                // SAFETY: the caller's promise.
                unsafe { <$atomic>::from_ptr(at.cast()) }.store(<$bits>::from_ne_bytes(self.to_ne_bytes()), Relaxed);
            }
        }
    )*};
}

stored! {
    u8: AtomicU8, u8; i8: AtomicU8, u8;
    u16: AtomicU16, u16; i16: AtomicU16, u16;
    u32: AtomicU32, u32; i32: AtomicU32, u32;
    u64: AtomicU64, u64; i64: AtomicU64, u64;
}

/// A state space as a constant parameter of the routines.
pub(crate) mod space {
    pub const GENERIC: u8 = 0;
    pub const SHARED: u8 = 1;
    pub const LOCAL: u8 = 2;
    pub const PARAM: u8 = 3;
}

/// What an access does, for reports.
pub(crate) const READ: &str = "read";
pub(crate) const WRITE: &str = "write";
pub(crate) const ATOMIC: &str = "atomic update";

impl Context<'_> {
    /// The simulator's address of `size` bytes at `addr`, which must be a multiple of `align`, for `lane`; or the fault.
    #[inline(always)]
    pub fn translate<const SPACE: u8>(
        &mut self,
        i: &Inst,
        lane: usize,
        addr: u64,
        size: u64,
        align: u64,
        what: &'static str,
    ) -> Result<*mut u8, Flow> {
        if addr & (align - 1) != 0 {
            return Err(self.misaligned(lane, addr, size, align, what));
        }
        let found = match SPACE {
            space::SHARED => self.block.shared_pointer(addr, size),
            space::LOCAL => self.local_pointer(lane, addr, size),
            space::PARAM => self.grid.param_pointer(addr, size).filter(|_| what == READ),
            _ => {
                let view = *self.view_slot(i);
                if addr >= view.low && addr.wrapping_add(size) <= view.high {
                    return Ok(addr.wrapping_add(view.delta) as *mut u8);
                }
                self.find(i, lane, addr, size, what)
            }
        };
        found.ok_or_else(|| self.refuse(FaultKind::IllegalAddress, lane, addr, size, what))
    }

    /// Whether the lanes of `mask`, of which one accesses `address`, all access that place, so that one access is all.
    #[inline(always)]
    fn is_one_place<const SPACE: u8>(&self, i: &Inst, mask: u32, address: u64) -> bool {
        let alike = || {
            let bases = self.read::<u64>(i.a);
            mask == FULL && bases.iter().fold(0, |differ, base| differ | base ^ bases[0]) == 0
        };
        SPACE != space::LOCAL && address >> 48 << 48 != LOCAL_WINDOW && (self.is_uniform(i.a) || alike())
    }

    /// What to add to the addresses of all lanes for the simulator's, if none needs more than one look: they are aligned and, with the
    /// `size` bytes behind, in the allocation that the instruction found last.
    #[inline(always)]
    fn reach<const SPACE: u8>(
        &mut self,
        i: &Inst,
        bases: &[u64; LANES],
        size: u64,
        align: u64,
    ) -> Option<u64> {
        let View { low, high, delta } = match SPACE {
            space::GENERIC => *self.view_slot(i),
            space::SHARED => self.block.shared_view(),
            _ => return None,
        };
        let last = high.checked_sub(size)?;
        // All in one pass: a difference that is negative, as ends of allocations are far below 2^63, and bits that an alignment forbids.
        let (mut outside, mut bits) = (0, 0);
        for base in bases {
            let addr = base.wrapping_add(i.imm);
            outside |= addr.wrapping_sub(low) | last.wrapping_sub(addr);
            bits |= addr;
        }
        (outside >> 63 == 0 && bits & (align - 1) == 0).then_some(delta.wrapping_add(i.imm))
    }

    #[inline(never)]
    fn find(&mut self, i: &Inst, lane: usize, addr: u64, size: u64, what: &str) -> Option<*mut u8> {
        match addr >> 48 << 48 {
            SHARED_WINDOW => self.block.shared_pointer(addr - SHARED_WINDOW, size),
            LOCAL_WINDOW => self.local_pointer(lane, addr - LOCAL_WINDOW, size),
            PARAM_WINDOW => self.grid.param_pointer(addr - PARAM_WINDOW, size).filter(|_| what == READ),
            0 => {
                // Often another instruction has found it.
                let known =
                    self.warp.views.iter().find(|view| (view.low..view.high).contains(&addr)).copied();
                let view = known.or_else(|| self.grid.view(addr))?;
                *self.view_slot(i) = view;
                // An aligned read that begins inside may end behind, as no page ends there: string functions read whole words.
                let inside = addr.checked_add(size)? <= view.high || what == READ && addr % size == 0;
                inside.then(|| addr.wrapping_add(view.delta) as *mut u8)
            }
            _ => None,
        }
    }

    fn local_pointer(&mut self, lane: usize, addr: u64, size: u64) -> Option<*mut u8> {
        let each = self.grid.local_size() as usize;
        if addr.checked_add(size)? > each as u64 {
            return None;
        }
        let local = &mut self.warp.local;
        if local.is_empty() {
            *local = vec![0; LANES * each / 8];
        }
        Some(local.as_mut_ptr().cast::<u8>().wrapping_add(lane * each + addr as usize))
    }

    /// Reports an access that `lane` may not make.
    #[cold]
    pub fn refuse_access(
        &mut self,
        kind: FaultKind,
        lane: usize,
        addr: u64,
        size: u64,
        what: &str,
        note: String,
    ) -> Flow {
        let access = Some((addr, size as u32, what.to_string()));
        self.error = Some(Box::new(Error { kind, lane: lane as u32, access, note }));
        Flow::Fault
    }

    #[cold]
    fn misaligned(&mut self, lane: usize, addr: u64, size: u64, align: u64, what: &str) -> Flow {
        let flow = self.refuse(FaultKind::MisalignedAddress, lane, addr, size, what);
        if let Some(error) = &mut self.error {
            error.note = format!("the address must be a multiple of {align}");
        }
        flow
    }

    fn note_fence(&mut self) {
        self.orderings += 1;
        if let Some(races) = &mut self.block.races {
            races.fence(self.warp.index);
        }
    }

    #[cold]
    fn refuse(&mut self, kind: FaultKind, lane: usize, addr: u64, size: u64, what: &str) -> Flow {
        let note = match addr >> 48 << 48 {
            0 if addr < 4096 => "the address is null or near it",
            SHARED_WINDOW => "a generic address of shared memory",
            LOCAL_WINDOW => "a generic address of local memory",
            CODE_WINDOW => "the address of a function",
            0 if self.grid.memory().is_of_host(addr) => {
                "the host's memory, which no device can access: map it"
            }
            _ => "",
        };
        self.refuse_access(kind, lane, addr, size, what, note.into())
    }
}

/// The lanes that make an 8-byte access to shared memory first (docs/driver.md, Shared memory).
const LOWER_HALF: u32 = 0xffff;

/// `ld`: `d` gets what is at `a` + `imm`; `c`'s bits are the alignment.
///
/// Lanes in a row with one address share one access, as on hardware: code whose lanes run in lockstep relies on all seeing the same value.
/// There is one exception on hardware, and here under a seed: between the two halves of a warp that loads 8 bytes each from
/// shared memory, another warp may come.
pub(crate) fn load<T: Stored, const SPACE: u8>(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    if size_of::<T>() < 8 || matches!(SPACE, space::LOCAL | space::PARAM) {
        return load_at_once::<T, SPACE>(cx, i, mask);
    }
    if let Resume::Half = cx.resume {
        cx.resume = Resume::Fresh;
        return load_at_once::<T, SPACE>(cx, i, mask & !LOWER_HALF);
    }
    let address = cx.lane::<u64>(i.a, mask.trailing_zeros() as usize).wrapping_add(i.imm);
    let is_shared = SPACE == space::SHARED || address >> 48 << 48 == SHARED_WINDOW;
    if !is_shared || mask & LOWER_HALF == 0 || mask & !LOWER_HALF == 0 || cx.whole_loads == u32::MAX {
        return load_at_once::<T, SPACE>(cx, i, mask);
    }
    if let Some(left) = cx.whole_loads.checked_sub(1) {
        cx.whole_loads = left;
        return load_at_once::<T, SPACE>(cx, i, mask);
    }
    match load_at_once::<T, SPACE>(cx, i, mask & LOWER_HALF) {
        Flow::Next => {
            // Once a turn, which ends here.
            (cx.resume, cx.budget, cx.whole_loads) = (Resume::Half, 0, u32::MAX);
            Flow::Jump
        }
        fault => fault,
    }
}

fn load_at_once<T: Stored, const SPACE: u8>(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    cx.refresh_views();
    let (size, align) = (size_of::<T>() as u64, u64::from(i.c.bits()));
    let first = mask.trailing_zeros() as usize;
    let address = cx.lane::<u64>(i.a, first).wrapping_add(i.imm);
    cx.watched = address;
    if cx.is_one_place::<SPACE>(i, mask, address) {
        return match cx.translate::<SPACE>(i, first, address, size, align, READ) {
            Ok(at) => {
                // SAFETY: `translate` checked the address and its alignment.
                let value = unsafe { T::load(at) };
                cx.write_one(i.d, mask, value);
                Flow::Next
            }
            Err(fault) => fault,
        };
    }
    let bases = *cx.read::<u64>(i.a);
    if let Some(delta) = (mask == FULL).then(|| cx.reach::<SPACE>(i, &bases, size, align)).flatten() {
        let (mut out, mut value) = ([T::Slot::default(); LANES], T::Slot::default());
        for lane in 0..LANES {
            if lane == 0 || bases[lane] != bases[lane - 1] {
                // SAFETY: `reach` checked the address and its alignment.
                value = unsafe { T::load(bases[lane].wrapping_add(delta) as *mut u8) }.put();
            }
            out[lane] = value;
        }
        cx.write::<T>(i.d, FULL, &out);
        return Flow::Next;
    }
    let (mut last, mut value) = (!bases[first], None);
    for lane in lanes(mask) {
        if bases[lane] != last || SPACE == space::LOCAL {
            let addr = bases[lane].wrapping_add(i.imm);
            match cx.translate::<SPACE>(i, lane, addr, size, align, READ) {
                // SAFETY: `translate` checked the address and its alignment.
                Ok(at) => value = Some(unsafe { T::load(at) }),
                Err(fault) => return fault,
            }
            // An address in a lane's own window means something else to the next lane.
            last = if addr >> 48 << 48 == LOCAL_WINDOW { !bases[lane] } else { bases[lane] };
        }
        cx.register::<T>(i.d)[lane] = value.expect("the first lane loads").put();
    }
    Flow::Next
}

/// `st`: `b` goes to `a` + `imm`; `c`'s bits are the alignment. Of lanes in a row with one address the last stores.
pub(crate) fn store<T: Stored, const SPACE: u8>(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    cx.refresh_views();
    cx.effects += 1;
    let (size, align) = (size_of::<T>() as u64, u64::from(i.c.bits()));
    let last = LANES - 1 - mask.leading_zeros() as usize;
    let address = cx.lane::<u64>(i.a, last).wrapping_add(i.imm);
    let mut rest = if cx.is_one_place::<SPACE>(i, mask, address) { 1 << last } else { mask };
    let bases = (rest == FULL).then(|| *cx.read::<u64>(i.a));
    if let Some((bases, delta)) = bases.and_then(|b| Some((b, cx.reach::<SPACE>(i, &b, size, align)?))) {
        let values = cx.read::<T>(i.b);
        for lane in 0..LANES {
            if lane == LANES - 1 || bases[lane] != bases[lane + 1] {
                // SAFETY: `reach` checked the address and its alignment.
                unsafe { T::get(values[lane]).store(bases[lane].wrapping_add(delta) as *mut u8) };
            }
        }
        return Flow::Next;
    }
    while rest != 0 {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        let base = cx.lane::<u64>(i.a, lane);
        let addr = base.wrapping_add(i.imm);
        let own = SPACE == space::LOCAL || addr >> 48 << 48 == LOCAL_WINDOW;
        if !own && rest != 0 && cx.lane::<u64>(i.a, rest.trailing_zeros() as usize) == base {
            continue;
        }
        let value = cx.lane::<T>(i.b, lane);
        match cx.translate::<SPACE>(i, lane, addr, size, align, WRITE) {
            // SAFETY: `translate` checked the address and its alignment.
            Ok(at) => unsafe { value.store(at) },
            Err(fault) => return fault,
        }
    }
    Flow::Next
}

/// `ld.param` in a function: `d` gets part of word `a`, from bit `imm`.
pub(crate) fn load_word<T: Truncated>(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    let shift = i.imm;
    cx.map1(i, mask, |word: u64| T::truncate(word >> shift))
}

/// `st.param`: part of word `d`, from bit `imm`, becomes `b`.
pub(crate) fn store_word<T: Truncated>(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    let (shift, part) = (i.imm, u64::MAX >> (64 - 8 * size_of::<T>()));
    let update = Inst { a: i.d, ..*i };
    cx.map2(&update, mask, |word: u64, value: T| word & !(part << shift) | value.bits() << shift)
}

/// A value that is part of a word.
pub(crate) trait Truncated: Lane {
    fn truncate(word: u64) -> Self;
    fn bits(self) -> u64;
}

macro_rules! truncated {
    ($($ty:ty: $unsigned:ty;)*) => {$(
        impl Truncated for $ty {
            fn truncate(word: u64) -> $ty { word as $ty }
            fn bits(self) -> u64 { u64::from(self as $unsigned) }
        }
    )*};
}

truncated! { u8: u8; i8: u8; u16: u16; i16: u16; u32: u32; i32: u32; u64: u64; i64: u64; }

/// Picks a routine of type `$f<T, SPACE>`.
macro_rules! select {
    ($f:ident, $size:expr, $signed:expr, $space:expr) => {{
        use $crate::exec::load_store::space;
        macro_rules! in_space {
            ($t:ty) => {
                match $space {
                    Some(Space::Shared) => $f::<$t, { space::SHARED }>,
                    Some(Space::Local) => $f::<$t, { space::LOCAL }>,
                    Some(Space::Param) => $f::<$t, { space::PARAM }>,
                    _ => $f::<$t, { space::GENERIC }>,
                }
            };
        }
        match ($size, $signed) {
            (1, false) => Some(in_space!(u8)),
            (1, true) => Some(in_space!(i8)),
            (2, false) => Some(in_space!(u16)),
            (2, true) => Some(in_space!(i16)),
            (4, false) => Some(in_space!(u32)),
            (4, true) => Some(in_space!(i32)),
            (8, _) => Some(in_space!(u64)),
            _ => None,
        }
    }};
}

/// The load of `size` bytes from a state space.
pub(crate) fn select_load(size: u32, signed: bool, space: Option<Space>) -> Option<crate::ir::Handler> {
    select!(load, size, signed, space)
}

/// The store of `size` bytes into a state space.
pub(crate) fn select_store(size: u32, space: Option<Space>) -> Option<crate::ir::Handler> {
    select!(store, size, false, space)
}

/// [`load_word`] for a type.
pub(crate) fn select_load_word(size: u32, signed: bool) -> Option<crate::ir::Handler> {
    Some(match (size, signed) {
        (1, false) => load_word::<u8>,
        (1, true) => load_word::<i8>,
        (2, false) => load_word::<u16>,
        (2, true) => load_word::<i16>,
        (4, false) => load_word::<u32>,
        (4, true) => load_word::<i32>,
        (8, _) => load_word::<u64>,
        _ => return None,
    })
}

/// [`store_word`] for a type.
pub(crate) fn select_store_word(size: u32) -> Option<crate::ir::Handler> {
    Some(match size {
        1 => store_word::<u8>,
        2 => store_word::<u16>,
        4 => store_word::<u32>,
        8 => store_word::<u64>,
        _ => return None,
    })
}

/// A fence of any scope and order, and what stands beside ordered accesses. Pairs with the fences of other warps, and with the
/// host's own acquire loads and release stores of registered memory.
pub(crate) fn fence(cx: &mut Context<'_>, _: &Inst, _: u32) -> Flow {
    cx.note_fence();
    atomic::fence(atomic::Ordering::SeqCst);
    Flow::Next
}

/// What stands behind an acquire load (and before a release store): on these accesses, which are relaxed atomics, such a fence gives
/// the order. Pairs as [`fence`] does.
pub(crate) fn fence_acquire_release(cx: &mut Context<'_>, _: &Inst, _: u32) -> Flow {
    cx.note_fence();
    atomic::fence(atomic::Ordering::AcqRel);
    Flow::Next
}

/// Marks a relaxed or volatile access: it orders nothing, but whoever does only such things is waiting for someone.
pub(crate) fn note_ordering(cx: &mut Context<'_>, _: &Inst, _: u32) -> Flow {
    cx.orderings += 1;
    Flow::Next
}
