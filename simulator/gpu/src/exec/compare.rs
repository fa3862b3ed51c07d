//! Comparisons and selections.

use super::alu::routine;
use super::context::{Context, Flow};
use super::float::Float;
use super::half;
use super::lane::Lane;
use crate::ir::{Handler, Inst, LANES, Slot};
use boomerang_ptx::types::{BoolOp, Compare, Type};

/// A way to compare two values.
macro_rules! comparison {
    ($compare:expr, $ty:ty, $by:ident) => {{
        use Compare::*;
        match $compare {
            Eq => $by!(PartialEq::eq, $ty),
            Ne => $by!(|a, b| a != b && (*a == *a && *b == *b), $ty),
            Lt | Lo => $by!(PartialOrd::lt, $ty),
            Le | Ls => $by!(PartialOrd::le, $ty),
            Gt | Hi => $by!(PartialOrd::gt, $ty),
            Ge | Hs => $by!(PartialOrd::ge, $ty),
            Equ => $by!(|a, b| !(a != b && (*a == *a && *b == *b)), $ty),
            Neu => $by!(PartialEq::ne, $ty),
            Ltu => $by!(|a, b| !(a >= b), $ty),
            Leu => $by!(|a, b| !(a > b), $ty),
            Gtu => $by!(|a, b| !(a <= b), $ty),
            Geu => $by!(|a, b| !(a < b), $ty),
            Num => $by!(|a, b| *a == *a && *b == *b, $ty),
            Nan => $by!(|a, b| !(*a == *a && *b == *b), $ty),
        }
    }};
}

/// How a comparison's result is used: combined with predicate `c`, complemented, and its complement stored too.
///
/// In `imm`: bits 0 and 1 the operation (0 none, 1 and, 2 or, 3 xor), bit 2 complements `c`, the upper half is the frame offset
/// of the second destination, 0 for none.
pub(crate) fn usage(combine: Option<BoolOp>, complement: bool, second: u32) -> u64 {
    let op = match combine {
        None | Some(BoolOp::Popc) => 0,
        Some(BoolOp::And) => 1,
        Some(BoolOp::Or) => 2,
        Some(BoolOp::Xor) => 3,
    };
    op | u64::from(complement) << 2 | u64::from(second) << 32
}

impl Context<'_> {
    #[inline(always)]
    fn combined(&self, i: &Inst, bits: u32) -> (u32, u32) {
        let op = i.imm & 3;
        if op == 0 {
            return (bits, !bits);
        }
        let other = self.predicate(i.c) ^ if i.imm & 4 != 0 { !0 } else { 0 };
        match op {
            1 => (bits & other, !bits & other),
            2 => (bits | other, !bits | other),
            _ => (bits ^ other, !bits ^ other),
        }
    }

    #[inline(always)]
    fn finish_setp(&mut self, i: &Inst, mask: u32, bits: u32) -> Flow {
        let (first, second) = self.combined(i, bits);
        if i.d != Slot::UNUSED {
            self.write_predicate(i.d, mask, first);
        }
        if i.imm >> 32 != 0 {
            self.write_predicate(Slot::frame((i.imm >> 32) as usize), mask, second);
        }
        Flow::Next
    }

    fn finish_set(&mut self, i: &Inst, mask: u32, bits: u32, yes: u32) -> Flow {
        let (bits, _) = self.combined(i, bits);
        if bits & mask == mask || bits & mask == 0 {
            self.write_one(i.d, mask, if bits & mask == 0 { 0 } else { yes });
            return Flow::Next;
        }
        let out: [u32; LANES] = std::array::from_fn(|l| if bits >> l & 1 == 1 { yes } else { 0 });
        self.write::<u32>(i.d, mask, &out);
        Flow::Next
    }
}

macro_rules! by_lane_type {
    ($compare:expr, $ty:expr, $by:ident) => {
        match $ty {
            Type::S16 => comparison!($compare, i16, $by),
            Type::S32 => comparison!($compare, i32, $by),
            Type::S64 => comparison!($compare, i64, $by),
            Type::F32 => comparison!($compare, f32, $by),
            Type::F64 => comparison!($compare, f64, $by),
            Type::U16 | Type::B16 => comparison!($compare, u16, $by),
            Type::U32 | Type::B32 => comparison!($compare, u32, $by),
            Type::U64 | Type::B64 => comparison!($compare, u64, $by),
            _ => return None,
        }
    };
}

/// `setp`: predicate `d` (and the second destination) from comparing `a` and `b`. Halves are compared as floats they were
/// converted to: see `lower`.
#[allow(clippy::neg_cmp_op_on_partial_ord, reason = "the unordered comparisons are true for NaN")]
pub(crate) fn select_setp(compare: Compare, ty: Type) -> Option<Handler> {
    macro_rules! by {
        ($f:expr, $t:ty) => {{
            fn run(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
                let f: fn(&$t, &$t) -> bool = $f;
                let bits = cx.test2::<$t>(i, mask, |a, b| f(&a, &b));
                cx.finish_setp(i, mask, bits)
            }
            run as Handler
        }};
    }
    Some(by_lane_type!(compare, ty, by))
}

/// `set`: register `d` gets all ones (1.0 with `float`) where the comparison holds, else 0.
#[allow(clippy::neg_cmp_op_on_partial_ord, reason = "the unordered comparisons are true for NaN")]
pub(crate) fn select_set(compare: Compare, ty: Type, float: bool) -> Option<Handler> {
    macro_rules! by_integer {
        ($f:expr, $t:ty) => {{
            fn run(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
                let f: fn(&$t, &$t) -> bool = $f;
                let bits = cx.test2::<$t>(i, mask, |a, b| f(&a, &b));
                cx.finish_set(i, mask, bits, u32::MAX)
            }
            run as Handler
        }};
    }
    macro_rules! by_float {
        ($f:expr, $t:ty) => {{
            fn run(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
                let f: fn(&$t, &$t) -> bool = $f;
                let bits = cx.test2::<$t>(i, mask, |a, b| f(&a, &b));
                cx.finish_set(i, mask, bits, 1f32.to_bits())
            }
            run as Handler
        }};
    }
    Some(if float { by_lane_type!(compare, ty, by_float) } else { by_lane_type!(compare, ty, by_integer) })
}

/// What is done to operands before they are compared, if anything: a half becomes a float, a subnormal zero where asked.
pub(crate) fn select_widen(ty: Type, flush: bool) -> Option<Handler> {
    match ty {
        // The least normal number is 2^-14.
        Type::F16 if flush => {
            routine!(u16 => f32, |a| half::to_f32(if a & 0x7c00 == 0 { a & 0x8000 } else { a }))
        }
        Type::F16 => routine!(u16 => f32, half::to_f32),
        Type::Bf16 if flush => routine!(u16 => f32, |a| half::bf16_to_f32(a).flushed()),
        Type::Bf16 => routine!(u16 => f32, half::bf16_to_f32),
        Type::F32 if flush => routine!(f32 => f32, Float::flushed),
        _ => None,
    }
}

fn select_lanes<T: Lane>(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    let p = cx.predicate(i.c) ^ i.imm as u32;
    if p & mask == mask || p & mask == 0 {
        let chosen = if p & mask == 0 { i.b } else { i.a };
        return cx.map1(&Inst { a: chosen, ..*i }, mask, |value: T| value);
    }
    let (a, b) = (cx.read::<T>(i.a), cx.read::<T>(i.b));
    let out = std::array::from_fn(|l| if p >> l & 1 == 1 { a[l] } else { b[l] });
    cx.write::<T>(i.d, mask, &out);
    Flow::Next
}

/// `selp`: `d` gets `a` where predicate `c`, complemented by `imm`, holds, else `b`.
pub(crate) fn select_selp(size: u32) -> Handler {
    if size == 8 { select_lanes::<u64> } else { select_lanes::<u32> }
}

/// `slct`: `d` gets `a` where `c` is not negative, else `b`. A negative subnormal counts as zero where it is to be flushed.
pub(crate) fn select_slct(size: u32, float: bool, flush: bool) -> Option<Handler> {
    match (size, float) {
        (8, true) if flush => {
            routine!(u64, u64, f32 => u64, |a, b, c| if c.flushed() >= 0.0 { a } else { b })
        }
        (2, true) if flush => {
            routine!(u16, u16, f32 => u16, |a, b, c| if c.flushed() >= 0.0 { a } else { b })
        }
        (_, true) if flush => {
            routine!(u32, u32, f32 => u32, |a, b, c| if c.flushed() >= 0.0 { a } else { b })
        }
        (8, false) => routine!(u64, u64, i32 => u64, |a, b, c| if c >= 0 { a } else { b }),
        (8, true) => routine!(u64, u64, f32 => u64, |a, b, c| if c >= 0.0 { a } else { b }),
        (2, false) => routine!(u16, u16, i32 => u16, |a, b, c| if c >= 0 { a } else { b }),
        (2, true) => routine!(u16, u16, f32 => u16, |a, b, c| if c >= 0.0 { a } else { b }),
        (_, false) => routine!(u32, u32, i32 => u32, |a, b, c| if c >= 0 { a } else { b }),
        (_, true) => routine!(u32, u32, f32 => u32, |a, b, c| if c >= 0.0 { a } else { b }),
    }
}

/// Operations on predicates: `d` = `a` op `b`, `imm.0` complements `a`, `imm.1` complements `b`.
macro_rules! predicates {
    ($($name:ident $f:expr;)*) => {$(
        pub(crate) fn $name(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
            let (flip_a, flip_b) = i.pair();
            let f: fn(u32, u32) -> u32 = $f;
            let value = f(cx.predicate(i.a) ^ flip_a, cx.predicate(i.b) ^ flip_b);
            cx.write_predicate(i.d, mask, value);
            Flow::Next
        }
    )*};
}

predicates! {
    predicate_and |a, b| a & b;
    predicate_or |a, b| a | b;
    predicate_xor |a, b| a ^ b;
    predicate_copy |a, _| a;
    predicate_not |a, _| !a;
}
