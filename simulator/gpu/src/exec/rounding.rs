//! Floating point arithmetic in a given rounding direction, by the processor's own rounding control.

use boomerang_ptx::types::Rounding;
use std::arch::asm;

/// The rounding field of MXCSR (Intel SDM, volume 1, 10.2.3.1).
const FIELD: u32 = 3 << 13;

fn control() -> u32 {
    let mut value = 0u32;
    // SAFETY: stores the control register into the variable.
    unsafe { asm!("stmxcsr [{}]", in(reg) &mut value, options(nostack, preserves_flags)) };
    value
}

fn set_control(value: u32) {
    // SAFETY: the value is one that `control` gave with another rounding field, so it unmasks no exception.
    unsafe { asm!("ldmxcsr [{}]", in(reg) &value, options(nostack, readonly, preserves_flags)) };
}

/// Values that pass through a register at a point that the compiler can't move arithmetic across.
pub(crate) trait Pinned: Copy {
    /// The same value, only known after the point.
    fn pin(self) -> Self;
}

macro_rules! pinned {
    ($($ty:ty: $class:ident;)*) => {$(
        impl Pinned for $ty {
            #[inline(always)]
            fn pin(mut self) -> $ty {
                // SAFETY: no instruction.
                unsafe { asm!("/* {0} */", inout($class) self, options(nostack, preserves_flags)) };
                self
            }
        }
    )*};
}

pinned! { f32: xmm_reg; f64: xmm_reg; i64: reg; u64: reg; }

/// `f(operands)`, computed in the direction `rounding`. `f` must use nothing but its operands.
#[inline(always)]
pub(crate) fn rounded<T: Pinned, R: Pinned, const N: usize>(
    rounding: Option<Rounding>,
    operands: [T; N],
    f: impl Fn([T; N]) -> R,
) -> R {
    let field = match rounding {
        Some(Rounding::Rm | Rounding::Rmi) => 1 << 13,
        Some(Rounding::Rp | Rounding::Rpi) => 2 << 13,
        Some(Rounding::Rz | Rounding::Rzi) => 3 << 13,
        _ => return f(operands),
    };
    let before = control();
    set_control(before & !FIELD | field);
    // The operands become known after the control register is set and the result is needed before it is restored: volatile
    // assembly keeps its order, so the arithmetic stays between.
    let result = f(operands.map(T::pin)).pin();
    set_control(before);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_direction_rounds_its_way() {
        let add = |rounding| rounded(Some(rounding), [1.0f32, 1e-10], |[a, b]| a + b);
        assert_eq!(add(Rounding::Rn), 1.0);
        assert_eq!(add(Rounding::Rz), 1.0);
        assert_eq!(add(Rounding::Rm), 1.0);
        assert_eq!(add(Rounding::Rp), 1.0 + f32::EPSILON);
        let third = |rounding| rounded(Some(rounding), [-1.0f64, 3.0], |[a, b]| a / b);
        assert_eq!(third(Rounding::Rm).to_bits(), third(Rounding::Rp).to_bits() + 1);
        assert_eq!(third(Rounding::Rz), third(Rounding::Rp));
    }

    #[test]
    fn a_fused_product_rounds_once_in_each_direction() {
        let x = 1.0f64 + f64::EPSILON;
        let fma = |rounding| rounded(Some(rounding), [x, x, -1.0], |[a, b, c]| a.mul_add(b, c));
        // x² - 1 = 2ε + ε², which lies just above 2ε.
        assert_eq!(fma(Rounding::Rm), 2.0 * f64::EPSILON);
        assert_eq!(fma(Rounding::Rp), 2.0 * f64::EPSILON * (1.0 + f64::EPSILON));
    }
}
