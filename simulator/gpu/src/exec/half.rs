//! 16-bit floats, which registers hold as their bits.

use super::alu::routine;
use super::context::{Context, Flow};
use super::convert::Neighbours;
use super::float::{Care, Choice};
use crate::ir::{Handler, Inst};
use boomerang_ptx::types::{Modifiers, Opcode, Type};
use std::cmp::Ordering;

/// The value of a half.
pub(crate) fn to_f32(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let (exponent, fraction) = (u32::from(bits >> 10 & 0x1f), u32::from(bits & 0x3ff));
    match exponent {
        0 => f32::from_bits(sign | (fraction as f32 * 2f32.powi(-24)).to_bits()),
        0x1f => f32::from_bits(sign | 0x7f80_0000 | fraction << 13),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

/// The nearest half, ties to even; NaN becomes the canonical one.
pub(crate) fn from_f64(value: f64) -> u16 {
    narrow(value, 5, 10)
}

/// The value of a bfloat16.
pub(crate) fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// The nearest bfloat16, ties to even; NaN becomes the canonical one.
pub(crate) fn bf16_from_f64(value: f64) -> u16 {
    narrow(value, 8, 7)
}

/// Rounds to a format of 16 bits with that many bits of exponent and fraction.
fn narrow(value: f64, exponent_bits: u32, fraction_bits: u32) -> u16 {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    if value.is_nan() {
        return 0x7fff;
    }
    let bias = (1 << (exponent_bits - 1)) - 1;
    let magnitude = value.abs();
    let infinity = ((1u16 << exponent_bits) - 1) << fraction_bits;
    // The exponent of the last place that the format has for such a value.
    let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(1 - bias);
    if exponent > bias {
        return sign | infinity;
    }
    let unit = 2f64.powi(exponent - fraction_bits as i32);
    let places = (magnitude / unit).round_ties_even() as u32;
    // A carry out of the fraction moves into the exponent by itself.
    let base = ((exponent + bias - 1) as u32) << fraction_bits;
    let bits = if places >> fraction_bits == 0 { places } else { base + places };
    sign | (bits as u16).min(infinity)
}

/// What the arithmetic needs of a 16-bit format.
trait Format {
    /// The least normal number.
    const LEAST: f64;
    fn widen(bits: u16) -> f64;
    fn narrow(value: f64) -> u16;
}

/// IEEE's binary16.
struct Binary16;
/// bfloat16.
struct Brain;

impl Format for Binary16 {
    const LEAST: f64 = 6.103515625e-5;
    fn widen(bits: u16) -> f64 {
        to_f32(bits).into()
    }
    fn narrow(value: f64) -> u16 {
        from_f64(value)
    }
}

impl Format for Brain {
    const LEAST: f64 = f32::MIN_POSITIVE as f64;
    fn widen(bits: u16) -> f64 {
        bf16_to_f32(bits).into()
    }
    fn narrow(value: f64) -> u16 {
        bf16_from_f64(value)
    }
}

/// A flushed operand.
fn input<F: Format>(care: Care, bits: u16) -> f64 {
    let value = F::widen(bits);
    if care.flush && value.abs() < F::LEAST { 0f64.copysign(value) } else { value }
}

/// A result rounded, flushed and clamped.
fn output<F: Format>(care: Care, value: f64) -> u16 {
    let value = match () {
        () if value.is_nan() && care.saturate => 0.0,
        () if value.is_nan() => value,
        () if care.saturate && value <= 0.0 => 0.0,
        () if care.saturate => value.min(1.0),
        () if care.relu && value <= 0.0 => 0.0,
        () => value,
    };
    let bits = F::narrow(value);
    if care.flush && F::widen(bits).abs() < F::LEAST { bits & 0x8000 } else { bits }
}

/// `a * b + c` rounded to odd, so that rounding it again to a shorter format gives what rounding once would (Boldo and Melquiond,
/// "Emulation of FMA and correctly rounded sums", 2008). The product of two 16-bit floats is exact.
fn fused(a: f64, b: f64, c: f64) -> f64 {
    let product = a * b;
    let sum = product + c;
    if !sum.is_finite() {
        return sum;
    }
    // The sum's error, exactly (Knuth's two-sum).
    let back = sum - product;
    let error = (product - (sum - back)) + (c - back);
    let even = sum.to_bits() & 1 == 0;
    match error.partial_cmp(&0.0) {
        Some(Ordering::Greater) if even => sum.neighbour(true),
        Some(Ordering::Less) if even => sum.neighbour(false),
        _ => sum,
    }
}

/// The sum of two halves or (`BRAIN`) bfloats.
pub(crate) fn sum<const BRAIN: bool>(a: u16, b: u16) -> u16 {
    if BRAIN {
        Brain::narrow(Brain::widen(a) + Brain::widen(b))
    } else {
        from_f64(Binary16::widen(a) + Binary16::widen(b))
    }
}

/// The routine of an instruction on such floats: computed in double precision, which holds sums and products exactly or to odd, and
/// rounded once. `imm` is that of [`Care`].
pub(super) fn select(opcode: Opcode, ty: Type, m: &Modifiers) -> Choice {
    macro_rules! formats {
        (|$care:ident, $($x:ident),+| $f:expr) => {
            if ty == Type::F16 {
                formats!(@ Binary16, |$care, $($x),+| $f)
            } else {
                formats!(@ Brain, |$care, $($x),+| $f)
            }
        };
        (@ $format:ty, |$care:ident, $a:ident| $f:expr) => {{
            fn run(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
                let $care = Care::decode(i.imm);
                cx.map1(i, mask, |a: u16| {
                    let $a = input::<$format>($care, a);
                    output::<$format>($care, $f)
                })
            }
            Some(run as Handler)
        }};
        (@ $format:ty, |$care:ident, $a:ident, $b:ident| $f:expr) => {{
            fn run(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
                let $care = Care::decode(i.imm);
                cx.map2(i, mask, |a: u16, b: u16| {
                    let ($a, $b) = (input::<$format>($care, a), input::<$format>($care, b));
                    output::<$format>($care, $f)
                })
            }
            Some(run as Handler)
        }};
        (@ $format:ty, |$care:ident, $a:ident, $b:ident, $c:ident| $f:expr) => {{
            fn run(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
                let $care = Care::decode(i.imm);
                cx.map3(i, mask, |a: u16, b: u16, c: u16| {
                    let ($a, $b) = (input::<$format>($care, a), input::<$format>($care, b));
                    let $c = input::<$format>($care, c);
                    output::<$format>($care, $f)
                })
            }
            Some(run as Handler)
        }};
    }
    use Opcode::*;
    let run = match opcode {
        Add => formats!(|care, a, b| a + b),
        Sub => formats!(|care, a, b| a - b),
        Mul => formats!(|care, a, b| a * b),
        Fma | Mad => formats!(|care, a, b, c| fused(a, b, c)),
        Ex2 => formats!(|care, a| a.exp2()),
        Tanh => formats!(|care, a| a.tanh()),
        Min => formats!(|care, a, b| care.extremum(a, b, false)),
        Max => formats!(|care, a, b| care.extremum(a, b, true)),
        // Sign operations keep the payload of a NaN.
        Neg if !m.flags.ftz => routine!(u16 => u16, |a| a ^ 0x8000),
        Abs if !m.flags.ftz => routine!(u16 => u16, |a| a & 0x7fff),
        Neg => formats!(|care, a| -a),
        Abs => formats!(|care, a| a.abs()),
        _ => None,
    };
    run.map(|run| (run, Care::of(m).encode()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_survives_the_way_through_a_float() {
        for bits in 0..=u16::MAX {
            let value = to_f32(bits);
            if !value.is_nan() {
                assert_eq!(from_f64(value.into()), bits, "{bits:#x}");
            }
        }
    }

    #[test]
    fn every_bfloat_survives_the_way_through_a_float() {
        for bits in 0..=u16::MAX {
            let value = bf16_to_f32(bits);
            if !value.is_nan() {
                assert_eq!(bf16_from_f64(value.into()), bits, "{bits:#x}");
            }
        }
    }

    #[test]
    fn ties_go_to_the_even_half() {
        let one = 1.0 + 2f64.powi(-11);
        assert_eq!(from_f64(one), 0x3c00);
        assert_eq!(from_f64(one + 2f64.powi(-10)), 0x3c02);
        assert_eq!(from_f64(65519.9), 0x7bff);
        assert_eq!(from_f64(65520.0), 0x7c00);
        assert_eq!(from_f64(-1e9), 0xfc00);
    }

    #[test]
    fn a_fused_product_that_falls_between_two_bfloats_is_decided_by_the_addend() {
        // The product is 1 + 2^-8, half way to the next bfloat; doubles cannot hold the sum with so small an addend.
        let product = 1.0 + 2f64.powi(-8);
        let tiny = 2f64.powi(-100);
        let round = |c| bf16_to_f32(bf16_from_f64(fused(product, 1.0, c)));
        assert_eq!([round(-tiny), round(0.0), round(tiny)], [1.0, 1.0, 1.0 + 2f32.powi(-7)]);
    }
}
