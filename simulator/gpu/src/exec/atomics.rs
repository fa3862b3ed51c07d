//! `atom` and `red`, on the host's atomics.

use super::context::{Context, Flow};
use super::half;
use super::lane::Lane;
use super::load_store::ATOMIC;
use super::map::lanes;
use crate::ir::{Handler, Inst, Slot};
use boomerang_ptx::types::{AtomicOp, Space, Type};
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering::SeqCst};

/// The unsigned integers that the host can update atomically.
pub(crate) trait Word: Lane + PartialEq {
    /// Replaces what is at `at` by `f` of it; gives the old value. All are sequentially consistent, which is at least what any
    /// PTX order asks; they pair with each other and with the host's own atomics on registered memory.
    ///
    /// # Safety
    /// `at` must be valid and aligned.
    unsafe fn update(at: *mut u8, f: impl FnMut(Self) -> Self) -> Self;
}

macro_rules! word {
    ($($ty:ty: $atomic:ty;)*) => {$(
        impl Word for $ty {
            #[inline(always)]
            unsafe fn update(at: *mut u8, mut f: impl FnMut($ty) -> $ty) -> $ty {
                // SAFETY: the caller's promise.
                let word = unsafe { <$atomic>::from_ptr(at.cast()) };
                let mut old = word.load(SeqCst);
                loop {
                    match word.compare_exchange_weak(old, f(old), SeqCst, SeqCst) {
                        Ok(_) => return old,
                        Err(now) => old = now,
                    }
                }
            }
        }
    )*};
}

word! { u16: AtomicU16; u32: AtomicU32; u64: AtomicU64; }

/// `d` (unless unused) gets what was at `a` + `imm`, which becomes `f(old, b, c)`; lane after lane.
///
/// Where nothing changes the split gives up the rest of its time slice, as by `nanosleep`: it has most likely failed to take a lock,
/// whose holder in its block can't go on before its own turn.
#[inline(always)]
fn update<T: Word, const SPACE: u8>(
    cx: &mut Context<'_>,
    i: &Inst,
    mask: u32,
    f: impl Fn(T, T, T) -> T,
) -> Flow {
    cx.refresh_views();
    cx.orderings += 1;
    let size = size_of::<T>() as u64;
    let effects = cx.effects;
    for lane in lanes(mask) {
        let addr = cx.lane::<u64>(i.a, lane).wrapping_add(i.imm);
        let (b, c) = (cx.lane::<T>(i.b, lane), cx.lane::<T>(i.c, lane));
        let at = match cx.translate::<SPACE>(i, lane, addr, size, size, ATOMIC) {
            Ok(at) => at,
            Err(fault) => return fault,
        };
        // SAFETY: `translate` checked the address and its alignment.
        let old = unsafe { T::update(at, |old| f(old, b, c)) };
        cx.watched = addr;
        if f(old, b, c) != old {
            cx.effects += 1;
            cx.warp.note_update(addr, lane as u32);
        }
        if i.d != Slot::UNUSED {
            cx.write_one(i.d, 1 << lane, old);
        }
    }
    if cx.effects == effects {
        cx.budget = 0;
    }
    Flow::Next
}

/// `f` of both halves.
fn pairs(a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    u32::from(f(a as u16, b as u16)) | u32::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16
}

/// The routine for an operation. `d` unused means `red`.
pub(crate) fn select(op: AtomicOp, ty: Type, space: Option<Space>) -> Option<Handler> {
    macro_rules! by {
        ($t:ty, $f:expr) => {{
            fn run<const SPACE: u8>(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
                update::<$t, SPACE>(cx, i, mask, $f)
            }
            use super::load_store::space;
            Some(match space {
                Some(Space::Shared) => run::<{ space::SHARED }> as Handler,
                Some(Space::Local) => run::<{ space::LOCAL }>,
                _ => run::<{ space::GENERIC }>,
            })
        }};
    }
    macro_rules! sized {
        ($f:expr) => {
            match ty.size() {
                2 => by!(u16, $f),
                4 => by!(u32, $f),
                8 => by!(u64, $f),
                _ => None,
            }
        };
    }
    use AtomicOp::*;
    use Type::*;
    match (op, ty) {
        (And, _) => sized!(|old, b, _| old & b),
        (Or, _) => sized!(|old, b, _| old | b),
        (Xor, _) => sized!(|old, b, _| old ^ b),
        (Exch, _) => sized!(|_, b, _| b),
        (Cas, _) => sized!(|old, b, c| if old == b { c } else { old }),
        (Add, F32) => by!(u32, |old, b, _| (f32::from_bits(old) + f32::from_bits(b)).to_bits()),
        (Add, F64) => by!(u64, |old, b, _| (f64::from_bits(old) + f64::from_bits(b)).to_bits()),
        (Add, F16) => by!(u16, |old, b, _| half::sum::<false>(old, b)),
        (Add, Bf16) => by!(u16, |old, b, _| half::sum::<true>(old, b)),
        (Add, F16x2) => by!(u32, |old, b, _| pairs(old, b, half::sum::<false>)),
        (Add, Bf16x2) => by!(u32, |old, b, _| pairs(old, b, half::sum::<true>)),
        (Add, _) if ty.is_float() => None,
        (Add, _) => sized!(|old, b, _| old.wrapping_add(b)),
        (Inc | Dec, _) if ty.size() != 4 || ty.is_float() => None,
        (Inc, _) => by!(u32, |old, b, _| if old >= b { 0 } else { old + 1 }),
        (Dec, _) => by!(u32, |old, b, _| if old == 0 || old > b { b } else { old - 1 }),
        (Min, S32) => by!(u32, |old, b, _| (old as i32).min(b as i32) as u32),
        (Max, S32) => by!(u32, |old, b, _| (old as i32).max(b as i32) as u32),
        (Min, S64) => by!(u64, |old, b, _| (old as i64).min(b as i64) as u64),
        (Max, S64) => by!(u64, |old, b, _| (old as i64).max(b as i64) as u64),
        (Min, U32 | U64) => sized!(|old, b, _| old.min(b)),
        (Max, U32 | U64) => sized!(|old, b, _| old.max(b)),
        _ => None,
    }
}
