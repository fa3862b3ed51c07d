//! `cvt`.

use super::alu::routine;
use super::context::{Context, Flow};
use super::half;
use super::load_store::Truncated;
use crate::ir::{Handler, Inst};
use boomerang_ptx::types::{Modifiers, Rounding, Type};
use std::cmp::Ordering;

/// A value on its way from one type to another; both hold every value of their types exactly.
#[derive(Clone, Copy)]
enum Value {
    Integer(i128),
    Float(f64),
}

/// How to convert, packed into the `imm` of an instruction.
#[derive(Clone, Copy)]
struct Conversion {
    to: Type,
    from: Type,
    rounding: Option<Rounding>,
    flush: bool,
    saturate: bool,
    relu: bool,
    /// What is too large becomes the largest finite value.
    finite: bool,
}

const TYPES: [Type; 17] = {
    use Type::*;
    [U8, U16, U32, U64, S8, S16, S32, S64, B8, B16, B32, B64, F16, Bf16, Tf32, F32, F64]
};
const ROUNDINGS: [Option<Rounding>; 10] = {
    use Rounding::*;
    [None, Some(Rn), Some(Rz), Some(Rm), Some(Rp), Some(Rna), Some(Rni), Some(Rzi), Some(Rmi), Some(Rpi)]
};

fn index_of<T: PartialEq>(list: &[T], item: T) -> Option<u64> {
    list.iter().position(|x| *x == item).map(|at| at as u64)
}

impl Conversion {
    fn encode(self) -> Option<u64> {
        let (to, from) = (index_of(&TYPES, self.to)?, index_of(&TYPES, self.from)?);
        let flags = [self.flush, self.saturate, self.relu, self.finite];
        let flags = flags.iter().zip(0..).fold(0, |all, (&flag, bit)| all | u64::from(flag) << bit);
        Some(to | from << 8 | index_of(&ROUNDINGS, self.rounding)? << 16 | flags << 24)
    }

    fn decode(imm: u64) -> Conversion {
        let flag = |bit: u32| imm >> (24 + bit) & 1 == 1;
        Conversion {
            to: TYPES[imm as usize & 0xff],
            from: TYPES[(imm >> 8) as usize & 0xff],
            rounding: ROUNDINGS[(imm >> 16) as usize & 0xff],
            flush: flag(0),
            saturate: flag(1),
            relu: flag(2),
            finite: flag(3),
        }
    }

    fn apply(self, value: Value) -> u64 {
        if self.to.is_float() { self.to_float(value) } else { self.to_integer(value) }
    }

    fn to_integer(self, value: Value) -> u64 {
        let bits = 8 * self.to.size();
        let (min, max) = match self.to.is_signed() {
            true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
            false => (0, (1i128 << bits) - 1),
        };
        let result = match value {
            Value::Integer(v) if self.saturate => v.clamp(min, max),
            Value::Integer(v) => v,
            // PTX ISA, `cvt`: what NaN becomes depends on the widths.
            Value::Float(x) if x.is_nan() => match self.from == Type::F64 || bits == 64 {
                true => 1i128 << (bits - 1),
                false => 0,
            },
            // Out of range, it is clamped, with or without `.sat`.
            Value::Float(x) => (integral(x, self.rounding) as i128).clamp(min, max),
        };
        match (self.to.is_signed(), bits) {
            (true, 8) => result as i8 as u64,
            (true, 16) => result as i16 as u64,
            (false, 8) => result as u8 as u64,
            (false, 16) => result as u16 as u64,
            _ => result as u64,
        }
    }

    fn to_float(self, value: Value) -> u64 {
        let value = match value {
            Value::Float(x) if self.to == self.from || self.integral() => {
                Value::Float(integral(x, self.rounding))
            }
            other => other,
        };
        match value {
            Value::Float(x) if x.is_nan() && self.saturate => self.adjusted(Value::Float(0.0)),
            value => self.adjusted(value),
        }
    }

    fn integral(self) -> bool {
        use Rounding::*;
        matches!(self.rounding, Some(Rni | Rzi | Rmi | Rpi))
    }

    /// Rounds to the destination's format; saturates.
    fn adjusted(self, value: Value) -> u64 {
        let clamp = |x: f64| match () {
            () if self.saturate => x.clamp(0.0, 1.0),
            () if self.relu && x <= 0.0 => 0.0,
            () => x,
        };
        let value = match value {
            Value::Float(x) => Value::Float(clamp(x)),
            Value::Integer(v) if self.saturate => Value::Integer(v.clamp(0, 1)),
            other => other,
        };
        match self.to {
            Type::F64 => match value {
                Value::Float(x) => x.to_bits(),
                Value::Integer(v) => {
                    let near = v as f64;
                    directed(near, (near as i128).cmp(&v), self.rounding).to_bits()
                }
            },
            Type::F32 | Type::Tf32 => {
                let near = match value {
                    Value::Float(x) if x.is_nan() => f32::from_bits(0x7fff_ffff),
                    Value::Float(x) => {
                        let near = x as f32;
                        let order = f64::from(near).partial_cmp(&x).expect("no NaN");
                        directed(near, order, self.rounding)
                    }
                    Value::Integer(v) => {
                        let near = v as f32;
                        directed(near, (near as i128).cmp(&v), self.rounding)
                    }
                };
                let flush = self.flush && near.abs() < f32::MIN_POSITIVE;
                let near = if flush { 0f32.copysign(near) } else { near };
                match self.to {
                    // Ties away from zero at the 13 bits that the format lacks.
                    Type::Tf32 if near.is_finite() => {
                        u64::from(near.to_bits().wrapping_add(0x1000) & !0x1fff)
                    }
                    _ => u64::from(near.to_bits()),
                }
            }
            small => {
                let x = match value {
                    Value::Float(x) => x,
                    Value::Integer(v) => odd(v),
                };
                let bits = small_float(x, small, self.rounding);
                // The bits of infinity less one are those of the largest finite value.
                let infinity = if small == Type::F16 { 0x7c00 } else { 0x7f80 };
                u64::from(if self.finite && bits & 0x7fff == infinity { bits - 1 } else { bits })
            }
        }
    }
}

/// `x` rounded to an integral value; to nearest even where nothing else is said.
fn integral(x: f64, rounding: Option<Rounding>) -> f64 {
    use Rounding::*;
    match rounding {
        Some(Rz | Rzi) => x.trunc(),
        Some(Rm | Rmi) => x.floor(),
        Some(Rp | Rpi) => x.ceil(),
        Some(Rni) => x.round_ties_even(),
        _ => x,
    }
}

/// A float and its neighbours.
pub(super) trait Neighbours: Copy {
    fn is_positive(self) -> bool;
    fn is_negative(self) -> bool;
    /// The next float in that direction (`next_up` and `next_down` of Rust 1.86).
    fn neighbour(self, up: bool) -> Self;
}

macro_rules! neighbours {
    ($($ty:ty)*) => {$(
        impl Neighbours for $ty {
            fn is_positive(self) -> bool {
                self > 0.0
            }

            fn is_negative(self) -> bool {
                self < 0.0
            }

            fn neighbour(self, up: bool) -> $ty {
                match self.to_bits() {
                    _ if self == 0.0 && up => <$ty>::from_bits(1),
                    _ if self == 0.0 => -<$ty>::from_bits(1),
                    bits if (self > 0.0) == up => <$ty>::from_bits(bits + 1),
                    bits => <$ty>::from_bits(bits - 1),
                }
            }
        }
    )*};
}

neighbours! { f32 f64 }

/// From the nearest value, given how it compares with the exact one, the one in the direction asked.
fn directed<F: Neighbours>(near: F, order: Ordering, rounding: Option<Rounding>) -> F {
    match (rounding, order) {
        (Some(Rounding::Rp), Ordering::Less) => near.neighbour(true),
        (Some(Rounding::Rm), Ordering::Greater) => near.neighbour(false),
        (Some(Rounding::Rz), Ordering::Greater) if near.is_positive() => near.neighbour(false),
        (Some(Rounding::Rz), Ordering::Less) if near.is_negative() => near.neighbour(true),
        _ => near,
    }
}

/// An integer as a double rounded to odd, so that it can be rounded again to a shorter format.
fn odd(v: i128) -> f64 {
    let near = v as f64;
    match (near as i128).cmp(&v) {
        Ordering::Less if near.to_bits() & 1 == 0 => near.neighbour(true),
        Ordering::Greater if near.to_bits() & 1 == 0 => near.neighbour(false),
        _ => near,
    }
}

fn small_float(x: f64, ty: Type, rounding: Option<Rounding>) -> u16 {
    let narrow = if ty == Type::F16 { half::from_f64 } else { half::bf16_from_f64 };
    let widen = if ty == Type::F16 { half::to_f32 } else { half::bf16_to_f32 };
    let near = narrow(x);
    let away = f64::from(widen(near)).abs() > x.abs();
    // The magnitude's successor and predecessor are the neighbours of the bits.
    match rounding {
        Some(Rounding::Rz) if away => near - 1,
        Some(Rounding::Rm) if away && x > 0.0 => near - 1,
        Some(Rounding::Rp) if away && x < 0.0 => near - 1,
        Some(Rounding::Rm) if x < 0.0 && !away && f64::from(widen(near)) != x => near + 1,
        Some(Rounding::Rp) if x > 0.0 && !away && f64::from(widen(near)) != x => near + 1,
        _ => near,
    }
}

fn input(ty: Type, bits: u64, flush: bool) -> Value {
    use Type::*;
    match ty {
        U8 | B8 => Value::Integer(bits as u8 as i128),
        U16 | B16 => Value::Integer(bits as u16 as i128),
        U32 | B32 => Value::Integer(bits as u32 as i128),
        S8 => Value::Integer(bits as i8 as i128),
        S16 => Value::Integer(bits as i16 as i128),
        S32 => Value::Integer(bits as i32 as i128),
        S64 => Value::Integer(bits as i64 as i128),
        F16 => Value::Float(half::to_f32(bits as u16).into()),
        Bf16 => Value::Float(half::bf16_to_f32(bits as u16).into()),
        F32 | Tf32 => {
            let x = f32::from_bits(bits as u32);
            let x = if flush && x.abs() < f32::MIN_POSITIVE { 0f32.copysign(x) } else { x };
            Value::Float(x.into())
        }
        F64 => Value::Float(f64::from_bits(bits)),
        _ => Value::Integer(bits as i128),
    }
}

/// Any conversion.
fn general<A: Truncated, D: Truncated>(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    let conversion = Conversion::decode(i.imm);
    cx.map1(i, mask, |a: A| D::truncate(conversion.apply(input(conversion.from, a.bits(), conversion.flush))))
}

/// The routine of a conversion, and its `imm`.
pub(crate) fn select(to: Type, from: Type, m: &Modifiers) -> Option<(Handler, u64)> {
    if let Some(run) = common(to, from, m) {
        return Some((run, 0));
    }
    let conversion = Conversion {
        to,
        from,
        rounding: m.rounding,
        flush: m.flags.ftz,
        saturate: m.flags.sat,
        relu: m.flags.relu,
        finite: m.flags.satfinite,
    };
    let imm = conversion.encode()?;
    let run: Handler = match (from.size() == 8, to.size() == 8) {
        (false, false) => general::<u32, u32>,
        (false, true) => general::<u32, u64>,
        (true, false) => general::<u64, u32>,
        (true, true) => general::<u64, u64>,
    };
    Some((run, imm))
}

/// Routines of their own for the conversions that programs are full of.
fn common(to: Type, from: Type, m: &Modifiers) -> Option<Handler> {
    if m.flags.sat || m.flags.ftz || m.flags.relu || m.flags.satfinite {
        return None;
    }
    macro_rules! to_integer {
        ($from:ty) => {
            match to {
                Type::U8 | Type::B8 => routine!($from => u8, |a| a as u8),
                Type::S8 => routine!($from => i8, |a| a as i8),
                Type::U16 | Type::B16 => routine!($from => u16, |a| a as u16),
                Type::S16 => routine!($from => i16, |a| a as i16),
                Type::U32 | Type::B32 => routine!($from => u32, |a| a as u32),
                Type::S32 => routine!($from => i32, |a| a as i32),
                Type::U64 | Type::B64 => routine!($from => u64, |a| a as u64),
                Type::S64 => routine!($from => i64, |a| a as i64),
                Type::F32 if m.rounding == Some(Rounding::Rn) => routine!($from => f32, |a| a as f32),
                Type::F64 if matches!(m.rounding, None | Some(Rounding::Rn)) => routine!($from => f64, |a| a as f64),
                _ => None,
            }
        };
    }
    match from {
        Type::U8 | Type::B8 => to_integer!(u8),
        Type::S8 => to_integer!(i8),
        Type::U16 | Type::B16 => to_integer!(u16),
        Type::S16 => to_integer!(i16),
        Type::U32 | Type::B32 => to_integer!(u32),
        Type::S32 => to_integer!(i32),
        Type::U64 | Type::B64 => to_integer!(u64),
        Type::S64 => to_integer!(i64),
        // Rust's conversion truncates, clamps and turns NaN into 0, as the instruction does for these types.
        Type::F32 if m.rounding == Some(Rounding::Rzi) => match to {
            Type::S32 => routine!(f32 => i32, |a| a as i32),
            Type::U32 => routine!(f32 => u32, |a| a as u32),
            _ => None,
        },
        Type::F32 if m.rounding.is_none() && to == Type::F64 => routine!(f32 => f64, |a| a.into()),
        Type::F64 if m.rounding == Some(Rounding::Rn) && to == Type::F32 => {
            routine!(f64 => f32, |a: f64| if a.is_nan() { f32::from_bits(0x7fff_ffff) } else { a as f32 })
        }
        _ => None,
    }
}
