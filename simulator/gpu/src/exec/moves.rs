//! Moves between registers, and between their parts.

use super::alu::routine;
use super::context::{Context, Flow};
use super::lane::Lane;
use super::load_store::Truncated;
use crate::ir::{Handler, Inst};

/// Does nothing.
pub(crate) fn nop(_: &mut Context<'_>, _: &Inst, _: u32) -> Flow {
    Flow::Next
}

fn copy<T: Lane>(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    cx.map1(i, mask, |a: T| a)
}

/// `d` = `a`, of registers of that size.
pub(crate) fn select(size: u32) -> Handler {
    if size == 8 { copy::<u64> } else { copy::<u32> }
}

/// The low half of a 64-bit register, to a 32-bit one.
pub(crate) fn narrow(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    cx.map1(i, mask, |a: u64| a as u32)
}

/// A value of that size in a 32-bit register, extended to a 64-bit one.
pub(crate) fn select_widen(size: u32, signed: bool) -> Option<Handler> {
    match (size, signed) {
        (1, false) => routine!(u8 => u64, u64::from),
        (1, true) => routine!(i8 => i64, i64::from),
        (2, false) => routine!(u16 => u64, u64::from),
        (2, true) => routine!(i16 => i64, i64::from),
        (4, false) => routine!(u32 => u64, u64::from),
        (4, true) => routine!(i32 => i64, i64::from),
        _ => None,
    }
}

/// Bits of `a`, from `imm` on, as a value of the size of `D`.
fn part<A: Truncated, D: Truncated>(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    let shift = i.imm;
    cx.map1(i, mask, |a: A| D::truncate(a.bits() >> shift))
}

/// The routine that takes `to` bytes out of `from`.
pub(crate) fn select_part(from: u32, to: u32) -> Option<Handler> {
    Some(match (from, to) {
        (8, 4) => part::<u64, u32>,
        (8, 2) => part::<u64, u16>,
        (4, 2) => part::<u32, u16>,
        (4, 1) => part::<u32, u8>,
        (2, 1) => part::<u16, u8>,
        (8, 1) => part::<u64, u8>,
        _ => return None,
    })
}

/// `d` with the bits from `imm` on replaced by `a`.
fn put<A: Truncated, D: Truncated>(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    let shift = i.imm;
    let field = (u64::MAX >> (64 - 8 * size_of::<A>())) << shift;
    let update = Inst { b: i.d, ..*i };
    cx.map2(&update, mask, |part: A, old: D| D::truncate(old.bits() & !field | part.bits() << shift))
}

/// The routine that puts `from` bytes into a value of `to`.
pub(crate) fn select_put(from: u32, to: u32) -> Option<Handler> {
    Some(match (from, to) {
        (4, 8) => put::<u32, u64>,
        (2, 8) => put::<u16, u64>,
        (2, 4) => put::<u16, u32>,
        (1, 4) => put::<u8, u32>,
        (1, 2) => put::<u8, u16>,
        (1, 8) => put::<u8, u64>,
        _ => return None,
    })
}

/// `isspacep`: predicate `d` says whether the generic address `a` lies in the window that starts at `imm`; 0 stands for global
/// memory, which is all that is below the windows.
pub(crate) fn is_in_space(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    let window = i.imm;
    let a = cx.read::<u64>(i.a);
    let bits = super::map::lanes(mask).fold(0, |all, l| all | u32::from(a[l] >> 48 << 48 == window) << l);
    cx.write_predicate(i.d, mask, bits);
    Flow::Next
}
