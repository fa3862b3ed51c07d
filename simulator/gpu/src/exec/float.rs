//! Floating point arithmetic in single and double precision.

use super::alu::routine;
use super::context::{Context, Flow};
use super::half;
use super::lane::Lane;
use super::rounding::rounded;
use crate::ir::{Handler, Inst};
use boomerang_ptx::ast::Mode;
use boomerang_ptx::types::{FloatTest, Modifiers, Opcode, Rounding, Type};

/// How an instruction departs from rounding to nearest, keeping subnormals and the full range.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Care {
    pub rounding: Option<Rounding>,
    pub flush: bool,
    pub saturate: bool,
    /// `.NaN`: a NaN operand of `min` or `max` makes a NaN.
    pub propagate: bool,
    /// `.relu`: what is below zero becomes zero.
    pub relu: bool,
    /// `.xorsign.abs`: of the magnitudes, with the product's sign.
    pub xorsign: bool,
}

impl Care {
    pub fn of(m: &Modifiers) -> Care {
        Care {
            rounding: m.rounding.filter(|r| *r != Rounding::Rn),
            flush: m.flags.ftz,
            saturate: m.flags.sat,
            propagate: m.flags.nan,
            relu: m.flags.relu,
            xorsign: m.flags.xorsign,
        }
    }

    /// As the `imm` of an instruction.
    pub fn encode(self) -> u64 {
        let rounding = match self.rounding {
            Some(Rounding::Rz) => 1,
            Some(Rounding::Rm) => 2,
            Some(Rounding::Rp) => 3,
            _ => 0,
        };
        let flags = [self.flush, self.saturate, self.propagate, self.relu, self.xorsign];
        flags.iter().zip(2..).fold(rounding, |imm, (&flag, bit)| imm | u64::from(flag) << bit)
    }

    pub fn decode(imm: u64) -> Care {
        let flag = |bit: u32| imm >> bit & 1 == 1;
        Care {
            rounding: [None, Some(Rounding::Rz), Some(Rounding::Rm), Some(Rounding::Rp)][imm as usize & 3],
            flush: flag(2),
            saturate: flag(3),
            propagate: flag(4),
            relu: flag(5),
            xorsign: flag(6),
        }
    }

    fn input<F: Float>(self, x: F) -> F {
        if self.flush { x.flushed() } else { x }
    }

    fn output<F: Float>(self, x: F) -> F {
        let x = if self.flush { x.flushed() } else { x };
        if self.saturate { x.saturated() } else { x.canonical() }
    }

    /// The lesser or (`max`) the greater of two values.
    pub fn extremum<F: Float>(self, a: F, b: F, max: bool) -> F {
        let (a, b) = (self.input(a), self.input(b));
        if !self.xorsign {
            return if max { a.greater(b, self.propagate) } else { a.lesser(b, self.propagate) };
        }
        let (x, y) = (a.magnitude(), b.magnitude());
        let result = if max { x.greater(y, self.propagate) } else { x.lesser(y, self.propagate) };
        if a.is_negative() != b.is_negative() { result.negated() } else { result }
    }
}

/// What the arithmetic needs of a float type.
pub(crate) trait Float: Lane + PartialOrd {
    /// Subnormals as zeros, where the type has `.ftz`.
    fn flushed(self) -> Self;
    /// Clamped to [0, 1]; NaN gives 0.
    fn saturated(self) -> Self;
    /// A NaN as the hardware gives it.
    fn canonical(self) -> Self;
    fn lesser(self, b: Self, propagate: bool) -> Self;
    fn greater(self, b: Self, propagate: bool) -> Self;
    fn magnitude(self) -> Self;
    fn is_negative(self) -> bool;
    fn negated(self) -> Self;
    /// `self * b + c`, rounded once.
    fn fused(self, b: Self, c: Self) -> Self;
}

macro_rules! float {
    ($($ty:ty: $flush:expr, $canonical:expr, $nan:expr;)*) => {$(
        impl Float for $ty {
            #[inline(always)]
            fn flushed(self) -> $ty { $flush(self) }
            #[inline(always)]
            fn saturated(self) -> $ty { if self > 0.0 { self.min(1.0) } else { 0.0 } }
            #[inline(always)]
            fn canonical(self) -> $ty { $canonical(self) }
            fn magnitude(self) -> $ty { self.abs() }
            fn is_negative(self) -> bool { self.is_sign_negative() }
            fn negated(self) -> $ty { -self }
            #[inline(always)]
            fn fused(self, b: $ty, c: $ty) -> $ty { self.mul_add(b, c) }
            fn lesser(self, b: $ty, propagate: bool) -> $ty {
                match (self.is_nan(), b.is_nan()) {
                    (true, true) => $nan,
                    (true, false) => if propagate { $nan } else { b },
                    (false, true) => if propagate { $nan } else { self },
                    _ if self == b => if self.is_sign_negative() { self } else { b },
                    _ => if self < b { self } else { b },
                }
            }
            fn greater(self, b: $ty, propagate: bool) -> $ty {
                match (self.is_nan(), b.is_nan()) {
                    (true, true) => $nan,
                    (true, false) => if propagate { $nan } else { b },
                    (false, true) => if propagate { $nan } else { self },
                    _ if self == b => if self.is_sign_negative() { b } else { self },
                    _ => if self > b { self } else { b },
                }
            }
        }
    )*};
}

/// The NaN that single precision instructions give.
const NAN32: f32 = f32::from_bits(0x7fff_ffff);

/// Compares bits: on floats the compiler may take any NaN for as good as any other.
#[inline(always)]
fn canonical32(x: f32) -> f32 {
    let bits = x.to_bits();
    f32::from_bits(if bits & 0x7fff_ffff > 0x7f80_0000 { NAN32.to_bits() } else { bits })
}

float! {
    f32: |x: f32| if x.abs() < f32::MIN_POSITIVE { 0f32.copysign(x) } else { x },
        canonical32, NAN32;
    f64: |x| x, |x| x, f64::NAN;
}

/// A routine and the `imm` that it wants.
pub(crate) type Choice = Option<(Handler, u64)>;

/// An arithmetic routine: the plain one where nothing special is asked, else one that takes care.
macro_rules! arithmetic {
    ($m:expr, $t:ty, |$($x:ident),+| $f:expr) => {{
        let care = Care::of($m);
        if care == Care::default() {
            arithmetic!(@plain $t, |$($x),+| $f).map(|run: Handler| (run, 0))
        } else {
            fn run(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
                let care = Care::decode(i.imm);
                arithmetic!(@careful cx, i, mask, care, $t, |$($x),+| $f)
            }
            Some((run as Handler, care.encode()))
        }
    }};
    (@plain $t:ty, |$a:ident| $f:expr) => { routine!($t => $t, |$a: $t| { let r: $t = $f; r.canonical() }) };
    (@plain $t:ty, |$a:ident, $b:ident| $f:expr) => {
        routine!($t, $t => $t, |$a: $t, $b: $t| { let r: $t = $f; r.canonical() })
    };
    (@plain $t:ty, |$a:ident, $b:ident, $c:ident| $f:expr) => {
        routine!($t, $t, $t => $t, |$a: $t, $b: $t, $c: $t| { let r: $t = $f; r.canonical() })
    };
    (@careful $cx:ident, $i:ident, $mask:ident, $care:ident, $t:ty, |$a:ident| $f:expr) => {
        $cx.map1($i, $mask, |a: $t| $care.output(rounded($care.rounding, [$care.input(a)], |[$a]| $f)))
    };
    (@careful $cx:ident, $i:ident, $mask:ident, $care:ident, $t:ty, |$a:ident, $b:ident| $f:expr) => {
        $cx.map2($i, $mask, |a: $t, b: $t| {
            $care.output(rounded($care.rounding, [$care.input(a), $care.input(b)], |[$a, $b]| $f))
        })
    };
    (@careful $cx:ident, $i:ident, $mask:ident, $care:ident, $t:ty, |$a:ident, $b:ident, $c:ident| $f:expr) => {
        $cx.map3($i, $mask, |a: $t, b: $t, c: $t| {
            let operands = [$care.input(a), $care.input(b), $care.input(c)];
            $care.output(rounded($care.rounding, operands, |[$a, $b, $c]| $f))
        })
    };
}

macro_rules! by_float {
    ($ty:expr, $m:expr, |$($x:ident),+| $f:expr) => {
        match $ty {
            Type::F32 => arithmetic!($m, f32, |$($x),+| $f),
            Type::F64 => arithmetic!($m, f64, |$($x),+| $f),
            _ => None,
        }
    };
}

/// The routine of a float instruction whose operands all have the type `ty`.
pub(crate) fn select(opcode: Opcode, ty: Type, m: &Modifiers) -> Choice {
    use Opcode::*;
    if matches!(ty, Type::F16 | Type::Bf16) {
        return half::select(opcode, ty, m);
    }
    let single = ty == Type::F32;
    let gross = !single && m.flags.approx && m.flags.ftz;
    match opcode {
        Add => by_float!(ty, m, |a, b| a + b),
        Sub => by_float!(ty, m, |a, b| a - b),
        Mul => by_float!(ty, m, |a, b| a * b),
        Fma | Mad if m.flags.relu => None,
        Fma | Mad if Care::of(m) == Care::default() => {
            Some((if single { fma::<f32> } else { fma::<f64> }, 0))
        }
        Fma | Mad => by_float!(ty, m, |a, b, c| a.mul_add(b, c)),
        Div => by_float!(ty, m, |a, b| a / b),
        Rcp if gross => routine!(f64 => f64, |a| upper(1.0 / upper(a))).map(|run| (run, 0)),
        Rsqrt if gross => routine!(f64 => f64, |a| upper(1.0 / upper(a).sqrt())).map(|run| (run, 0)),
        Rcp => by_float!(ty, m, |a| 1.0 / a),
        Sqrt => by_float!(ty, m, |a| a.sqrt()),
        // In double precision, so that it is rounded once but for a hair.
        Rsqrt if single => arithmetic!(m, f32, |a| (1.0 / f64::from(a).sqrt()) as f32),
        Rsqrt => by_float!(ty, m, |a| 1.0 / a.sqrt()),
        // Sign operations keep the payload of a NaN.
        Abs if m.flags.ftz => arithmetic!(m, f32, |a| a.abs()),
        Neg if m.flags.ftz => arithmetic!(m, f32, |a| -a),
        Abs if single => routine!(f32 => f32, f32::abs).map(|run| (run, 0)),
        Neg if single => routine!(f32 => f32, |a: f32| -a).map(|run| (run, 0)),
        Abs => routine!(f64 => f64, f64::abs).map(|run| (run, 0)),
        Neg => routine!(f64 => f64, |a: f64| -a).map(|run| (run, 0)),
        Copysign if single => routine!(f32, f32 => f32, |a: f32, b: f32| b.copysign(a)).map(|run| (run, 0)),
        Copysign => routine!(f64, f64 => f64, |a: f64, b: f64| b.copysign(a)).map(|run| (run, 0)),
        Min | Max => extremum(opcode, ty, m),
        Sin => arithmetic!(m, f32, |a| f64::from(a).sin() as f32),
        Cos => arithmetic!(m, f32, |a| f64::from(a).cos() as f32),
        Lg2 => arithmetic!(m, f32, |a| f64::from(a).log2() as f32),
        Ex2 => arithmetic!(m, f32, |a| f64::from(a).exp2() as f32),
        Tanh => arithmetic!(m, f32, |a| f64::from(a).tanh() as f32),
        _ => None,
    }
}

/// `fma.rn`: by the processor's instruction where it has one. The C library's function, which the compiler calls otherwise, takes
/// several times as long.
fn fma<F: Float>(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    /// # Safety
    /// The processor must have the instruction.
    #[target_feature(enable = "fma")]
    unsafe fn by_instruction<F: Float>(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
        cx.map3(i, mask, |a: F, b: F, c: F| a.fused(b, c).canonical())
    }
    if is_x86_feature_detected!("fma") {
        // SAFETY: the processor has the instruction.
        return unsafe { by_instruction::<F>(cx, i, mask) };
    }
    cx.map3(i, mask, |a: F, b: F, c: F| a.fused(b, c).canonical())
}

/// What `rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64` use of an operand and give of a result: the upper 32 bits, subnormals as zeros
/// (PTX ISA).
fn upper(x: f64) -> f64 {
    if x.is_nan() {
        return f64::NAN;
    }
    let kept = if x.abs() < f64::MIN_POSITIVE { 0f64.copysign(x) } else { x };
    f64::from_bits(kept.to_bits() >> 32 << 32)
}

/// `min` and `max`. `imm` is that of [`Care`].
fn extremum(opcode: Opcode, ty: Type, m: &Modifiers) -> Choice {
    macro_rules! by {
        ($t:ty, $max:expr) => {{
            fn run(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
                let care = Care::decode(i.imm);
                cx.map2(i, mask, |a: $t, b: $t| care.extremum(a, b, $max))
            }
            run as Handler
        }};
    }
    let run = match (opcode, ty) {
        (Opcode::Min, Type::F32) => by!(f32, false),
        (Opcode::Max, Type::F32) => by!(f32, true),
        (Opcode::Min, Type::F64) => by!(f64, false),
        (Opcode::Max, Type::F64) => by!(f64, true),
        _ => return None,
    };
    Some((run, Care::of(m).encode()))
}

/// `testp`: predicate `d` says whether `a` is of the class.
pub(crate) fn select_test(ty: Type, m: &Modifiers) -> Option<Handler> {
    macro_rules! by {
        ($t:ty, $f:expr) => {{
            fn run(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
                let test: fn($t) -> bool = $f;
                let a = cx.read::<$t>(i.a);
                let bits =
                    super::map::lanes(mask).fold(0, |all, l| all | u32::from(test(<$t>::get(a[l]))) << l);
                cx.write_predicate(i.d, mask, bits);
                Flow::Next
            }
            Some(run as Handler)
        }};
    }
    macro_rules! both {
        ($f:expr) => {
            if ty == Type::F32 { by!(f32, $f) } else { by!(f64, $f) }
        };
    }
    let Some(Mode::FloatTest(test)) = m.mode else { return None };
    match test {
        FloatTest::Finite => both!(|x| x.is_finite()),
        FloatTest::Infinite => both!(|x| x.is_infinite()),
        FloatTest::Number => both!(|x| !x.is_nan()),
        FloatTest::NotANumber => both!(|x| x.is_nan()),
        // PTX ISA, `testp`: zeros count as normal.
        FloatTest::Normal => both!(|x| x.is_normal() || x == 0.0),
        FloatTest::Subnormal => both!(|x| x.is_subnormal()),
    }
}
