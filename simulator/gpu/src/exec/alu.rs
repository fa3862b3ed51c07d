//! Integer arithmetic and logic.

use super::bits;
use super::context::{Context, Flow};
use super::lane::Lane;
use crate::ir::{Handler, Inst};
use boomerang_ptx::types::{Modifiers, Opcode, Part, Type};

/// Makes a routine of a function of one, two or three operands. The types are those of the operands, then of the result.
macro_rules! routine {
    ($a:ty => $d:ty, $f:expr) => {{
        fn run(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
            cx.map1::<$a, $d>(i, mask, $f)
        }
        Some(run as Handler)
    }};
    ($a:ty, $b:ty => $d:ty, $f:expr) => {{
        fn run(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
            cx.map2::<$a, $b, $d>(i, mask, $f)
        }
        Some(run as Handler)
    }};
    ($a:ty, $b:ty, $c:ty => $d:ty, $f:expr) => {{
        fn run(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
            cx.map3::<$a, $b, $c, $d>(i, mask, $f)
        }
        Some(run as Handler)
    }};
}
pub(crate) use routine;

/// A routine on the unsigned integers of a type's size.
macro_rules! by_size {
    ($ty:expr, |$($x:ident),+| $f:expr) => {
        match $ty.size() {
            1 | 2 => by_size!(@ u16, |$($x),+| $f),
            4 => by_size!(@ u32, |$($x),+| $f),
            8 => by_size!(@ u64, |$($x),+| $f),
            _ => None,
        }
    };
    (@ $t:ty, |$a:ident| $f:expr) => { routine!($t => $t, |$a: $t| -> $t { $f }) };
    (@ $t:ty, |$a:ident, $b:ident| $f:expr) => { routine!($t, $t => $t, |$a: $t, $b: $t| -> $t { $f }) };
    (@ $t:ty, |$a:ident, $b:ident, $c:ident| $f:expr) => {
        routine!($t, $t, $t => $t, |$a: $t, $b: $t, $c: $t| -> $t { $f })
    };
}

/// A routine on the integers of a type, signed or not.
macro_rules! by_type {
    ($ty:expr, |$($x:ident),+| $f:expr) => {
        match $ty {
            Type::S16 => by_size!(@ i16, |$($x),+| $f),
            Type::S32 => by_size!(@ i32, |$($x),+| $f),
            Type::S64 => by_size!(@ i64, |$($x),+| $f),
            _ => by_size!($ty, |$($x),+| $f),
        }
    };
}

/// Integers as the instructions see them.
trait Integer: Lane {
    fn mul_high(self, b: Self) -> Self;
    /// Division; hardware gives all ones when the divisor is 0.
    fn quotient(self, b: Self) -> Self;
    /// Remainder; the dividend when the divisor is 0.
    fn remainder(self, b: Self) -> Self;
    fn add_saturated(self, b: Self) -> Self;
    fn sub_saturated(self, b: Self) -> Self;
    fn shift_right(self, by: u32) -> Self;
    fn distance(self, b: Self) -> Self;
}

macro_rules! integer {
    ($($ty:ty: $wide:ty;)*) => {$(
        impl Integer for $ty {
            fn mul_high(self, b: $ty) -> $ty { ((self as $wide * b as $wide) >> <$ty>::BITS) as $ty }
            fn quotient(self, b: $ty) -> $ty { if b == 0 { !0 } else { self.wrapping_div(b) } }
            fn remainder(self, b: $ty) -> $ty { if b == 0 { self } else { self.wrapping_rem(b) } }
            fn add_saturated(self, b: $ty) -> $ty { self.saturating_add(b) }
            fn sub_saturated(self, b: $ty) -> $ty { self.saturating_sub(b) }
            fn shift_right(self, by: u32) -> $ty { self.checked_shr(by).unwrap_or(self >> (<$ty>::BITS - 1) >> 1 ) }
            fn distance(self, b: $ty) -> $ty { if self > b { self.wrapping_sub(b) } else { b.wrapping_sub(self) } }
        }
    )*};
}

integer! { u16: u32; i16: i32; u32: u64; i32: i64; u64: u128; i64: i128; }

/// The routine of an integer instruction whose operands all have the type `ty`, or as noted there.
pub(crate) fn select(opcode: Opcode, ty: Type, m: &Modifiers) -> Option<Handler> {
    use Opcode::*;
    match opcode {
        Add | Sub | Mul | Mad if m.flags.sat && ty != Type::S32 => None,
        Add if m.flags.sat => routine!(i32, i32 => i32, |a: i32, b| a.add_saturated(b)),
        Sub if m.flags.sat => routine!(i32, i32 => i32, |a: i32, b| a.sub_saturated(b)),
        Add => by_size!(ty, |a, b| a.wrapping_add(b)),
        Sub => by_size!(ty, |a, b| a.wrapping_sub(b)),
        Mul | Mad if m.part == Some(Part::Wide) => wide(opcode, ty),
        Mul if m.part == Some(Part::Hi) => by_type!(ty, |a, b| a.mul_high(b)),
        Mul => by_size!(ty, |a, b| a.wrapping_mul(b)),
        Mad if m.part == Some(Part::Hi) && m.flags.sat => {
            routine!(i32, i32, i32 => i32, |a: i32, b, c| a.mul_high(b).saturating_add(c))
        }
        Mad if m.part == Some(Part::Hi) => by_type!(ty, |a, b, c| a.mul_high(b).wrapping_add(c)),
        Mad => by_size!(ty, |a, b, c| a.wrapping_mul(b).wrapping_add(c)),
        Mul24 | Mad24 => multiply24(opcode, ty, m.part == Some(Part::Hi)),
        Div => by_type!(ty, |a, b| a.quotient(b)),
        Rem => by_type!(ty, |a, b| a.remainder(b)),
        Abs => match ty.size() {
            2 => routine!(i16 => i16, i16::wrapping_abs),
            4 => routine!(i32 => i32, i32::wrapping_abs),
            _ => routine!(i64 => i64, i64::wrapping_abs),
        },
        Neg => by_size!(ty, |a| a.wrapping_neg()),
        Min if m.flags.relu => match ty {
            Type::S16 => routine!(i16, i16 => i16, |a: i16, b| a.min(b).max(0)),
            Type::S32 => routine!(i32, i32 => i32, |a: i32, b| a.min(b).max(0)),
            _ => None,
        },
        Max if m.flags.relu => match ty {
            Type::S16 => routine!(i16, i16 => i16, |a: i16, b| a.max(b).max(0)),
            Type::S32 => routine!(i32, i32 => i32, |a: i32, b| a.max(b).max(0)),
            _ => None,
        },
        Min => by_type!(ty, |a, b| a.min(b)),
        Max => by_type!(ty, |a, b| a.max(b)),
        Sad => by_type!(ty, |a, b, c| a.distance(b).wrapping_add(c)),
        And => by_size!(ty, |a, b| a & b),
        Or => by_size!(ty, |a, b| a | b),
        Xor => by_size!(ty, |a, b| a ^ b),
        Not => by_size!(ty, |a| !a),
        Cnot => by_size!(ty, |a| (a == 0).into()),
        Shl => match ty.size() {
            2 => routine!(u16, u32 => u16, |a, b| a.checked_shl(b).unwrap_or(0)),
            4 => routine!(u32, u32 => u32, |a, b| a.checked_shl(b).unwrap_or(0)),
            _ => routine!(u64, u32 => u64, |a, b| a.checked_shl(b).unwrap_or(0)),
        },
        Shr => match ty {
            Type::S16 => routine!(i16, u32 => i16, |a: i16, b| a.shift_right(b)),
            Type::S32 => routine!(i32, u32 => i32, |a: i32, b| a.shift_right(b)),
            Type::S64 => routine!(i64, u32 => i64, |a: i64, b| a.shift_right(b)),
            _ => match ty.size() {
                2 => routine!(u16, u32 => u16, |a, b| a.checked_shr(b).unwrap_or(0)),
                4 => routine!(u32, u32 => u32, |a, b| a.checked_shr(b).unwrap_or(0)),
                _ => routine!(u64, u32 => u64, |a, b| a.checked_shr(b).unwrap_or(0)),
            },
        },
        _ => bits::select(opcode, ty, m),
    }
}

fn wide(opcode: Opcode, ty: Type) -> Option<Handler> {
    let mad = opcode == Opcode::Mad;
    match (ty, mad) {
        (Type::U16, false) => routine!(u16, u16 => u32, |a, b| u32::from(a) * u32::from(b)),
        (Type::S16, false) => routine!(i16, i16 => i32, |a, b| i32::from(a) * i32::from(b)),
        (Type::U32, false) => routine!(u32, u32 => u64, |a, b| u64::from(a) * u64::from(b)),
        (Type::S32, false) => routine!(i32, i32 => i64, |a, b| i64::from(a) * i64::from(b)),
        (Type::U16, true) => {
            routine!(u16, u16, u32 => u32, |a, b, c: u32| (u32::from(a) * u32::from(b)).wrapping_add(c))
        }
        (Type::S16, true) => {
            routine!(i16, i16, i32 => i32, |a, b, c: i32| (i32::from(a) * i32::from(b)).wrapping_add(c))
        }
        (Type::U32, true) => {
            routine!(u32, u32, u64 => u64, |a, b, c: u64| (u64::from(a) * u64::from(b)).wrapping_add(c))
        }
        (Type::S32, true) => {
            routine!(i32, i32, i64 => i64, |a, b, c: i64| (i64::from(a) * i64::from(b)).wrapping_add(c))
        }
        _ => None,
    }
}

/// The product of the low 24 bits, of which the low 32 or (`hi`) the bits from 16 on count.
fn multiply24(opcode: Opcode, ty: Type, hi: bool) -> Option<Handler> {
    fn unsigned(a: u32, b: u32) -> u64 {
        u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff)
    }
    fn signed(a: u32, b: u32) -> u64 {
        let extend = |x: u32| i64::from((x << 8) as i32 >> 8);
        (extend(a) * extend(b)) as u64
    }
    match (opcode, ty.is_signed(), hi) {
        (Opcode::Mul24, false, false) => routine!(u32, u32 => u32, |a, b| unsigned(a, b) as u32),
        (Opcode::Mul24, false, true) => routine!(u32, u32 => u32, |a, b| (unsigned(a, b) >> 16) as u32),
        (Opcode::Mul24, true, false) => routine!(u32, u32 => u32, |a, b| signed(a, b) as u32),
        (Opcode::Mul24, true, true) => routine!(u32, u32 => u32, |a, b| (signed(a, b) >> 16) as u32),
        (_, false, false) => {
            routine!(u32, u32, u32 => u32, |a, b, c| (unsigned(a, b) as u32).wrapping_add(c))
        }
        (_, false, true) => {
            routine!(u32, u32, u32 => u32, |a, b, c| ((unsigned(a, b) >> 16) as u32).wrapping_add(c))
        }
        (_, true, false) => routine!(u32, u32, u32 => u32, |a, b, c| (signed(a, b) as u32).wrapping_add(c)),
        (_, true, true) => {
            routine!(u32, u32, u32 => u32, |a, b, c| ((signed(a, b) >> 16) as u32).wrapping_add(c))
        }
    }
}

/// `dp4a` (`imm.1` is 0) and `dp2a`: the products of the bytes of `a` with those of `b` (with its halves for `dp2a`: `imm.1` is 1,
/// or 2 for the upper bytes), added to `c`. Bit 0 of `imm.0`: `a` is signed, bit 1: `b` is.
pub(crate) fn dot(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    let (signs, form) = i.pair();
    let byte = |x: u32, n: u32, signed: bool| {
        let b = (x >> (8 * n)) as u8;
        if signed { i32::from(b as i8) } else { i32::from(b) }
    };
    let half = |x: u32, n: u32, signed: bool| {
        let h = (x >> (16 * n)) as u16;
        if signed { i32::from(h as i16) } else { i32::from(h) }
    };
    let (sa, sb) = (signs & 1 != 0, signs & 2 != 0);
    cx.map3(i, mask, |a: u32, b: u32, c: u32| {
        let sum: i32 = match form {
            0 => (0..4).fold(0, |s, n| s + byte(a, n, sa) * byte(b, n, sb)),
            _ => {
                let first = if form == 2 { 2 } else { 0 };
                (0..2).fold(0i32, |s, n| s.wrapping_add(half(a, n, sa).wrapping_mul(byte(b, first + n, sb))))
            }
        };
        c.wrapping_add(sum as u32)
    })
}

/// Additions and subtractions with carry: the carry is predicate `imm.1`; bit 0 of `imm.0`: takes it in, bit 1: gives it out,
/// bit 2: subtracts.
pub(crate) fn carry<T: Lane + Carry>(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    let (form, flag) = i.pair();
    let flag = crate::ir::Slot::frame(flag as usize);
    let (takes, gives, subtracts) = (form & 1 != 0, form & 2 != 0, form & 4 != 0);
    let old = if takes { cx.predicate(flag) } else { 0 };
    let mut new = 0;
    for lane in super::map::lanes(mask) {
        let (a, b) = (cx.lane::<T>(i.a, lane), cx.lane::<T>(i.b, lane));
        let (value, out) = a.with_carry(b, old >> lane & 1 == 1, subtracts);
        cx.write_one(i.d, 1 << lane, value);
        new |= u32::from(out) << lane;
    }
    if gives {
        cx.write_predicate(flag, mask, new);
    }
    Flow::Next
}

/// Integers that add with carry.
pub(crate) trait Carry {
    fn with_carry(self, b: Self, carry: bool, subtract: bool) -> (Self, bool)
    where
        Self: Sized;
}

macro_rules! carry {
    ($($ty:ty)*) => {$(
        impl Carry for $ty {
            fn with_carry(self, b: $ty, carry: bool, subtract: bool) -> ($ty, bool) {
                let (first, one) = if subtract { self.overflowing_sub(b) } else { self.overflowing_add(b) };
                let (last, two) = if subtract {
                    first.overflowing_sub(carry.into())
                } else {
                    first.overflowing_add(carry.into())
                };
                (last, one | two)
            }
        }
    )*};
}

carry! { u32 u64 }
