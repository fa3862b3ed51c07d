//! 16-bit floats, which registers hold as their bits.

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
}
