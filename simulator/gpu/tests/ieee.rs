//! Floating point results against exact ones, for many operands: each rounding, `.ftz`, `.sat`, and the errors that NVIDIA documents for
//! approximations.

mod support;
use support::*;

/// Operands: special values, and values of all exponents.
fn patterns(bits: u32, fraction: u32) -> Vec<u64> {
    let ones = u64::MAX >> (64 - bits);
    let infinity = (ones >> 1) & !((1 << fraction) - 1);
    let one = (infinity >> 1) & infinity;
    let least = 1u64 << fraction;
    let mut list =
        vec![0, 1, 2, least - 1, least, least + 1, one - 1, one, one + 1, one + (1 << (fraction - 1))];
    list.extend([infinity - 1, infinity, infinity + (1 << (fraction - 1))]);
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for _ in 0..16 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        list.push(state >> 13 & (ones >> 1));
        // One near 1, where sums cancel.
        list.push(one & !((1 << (fraction - 2)) - 1) | state >> 20 & ((1 << fraction) - 1));
    }
    list.iter().flat_map(|&x| [x, x | (ones ^ ones >> 1)]).collect()
}

/// Runs `body`, which computes `{r}0` of `{r}1` to `{r}3`, for all rows of operands.
fn compute(gpu: &Gpu, body: &str, register: &str, bits: u32, rows: &[[u64; 3]]) -> Vec<u64> {
    let words: Vec<u64> = rows.iter().flat_map(|[a, b, c]| [*a, *b, *c, 0]).collect();
    let body = body.replace('$', register);
    let text = kernel(&format!(
        ".reg .b16 %h<9>; mad.wide.u32 %at, %id, 32, %data; ld.global.b{bits} {register}1, [%at];
         ld.global.b{bits} {register}2, [%at+8]; ld.global.b{bits} {register}3, [%at+16]; {body}
         st.global.b{bits} [%at+24], {register}0;"
    ));
    let module = gpu.load(&text);
    let buffer = gpu.buffer(&words);
    let blocks = rows.len() as u32 / 64;
    assert_eq!(rows.len() % 64, 0);
    gpu.launch(&module, "k", shape(blocks, 64), &[buffer]).unwrap_or_else(|fault| panic!("{fault}"));
    let out = gpu.read::<u64>(buffer, words.len());
    gpu.memory.free_device(buffer);
    out.chunks(4).map(|row| row[3] & u64::MAX >> (64 - bits)).collect()
}

/// Pairs and triples of the operands, a multiple of 64.
fn rows(patterns: &[u64]) -> Vec<[u64; 3]> {
    let count = patterns.len();
    let mut rows: Vec<_> = (0..count * count)
        .map(|n| [patterns[n / count], patterns[n % count], patterns[(n * 7 + n / count) % count]])
        .collect();
    rows.truncate(rows.len() / 64 * 64);
    rows
}

/// The floats next to one (`next_up` and `next_down` of Rust 1.86).
trait Next {
    fn above(self) -> Self;
    fn below(self) -> Self;
}

macro_rules! next {
    ($($ty:ty)*) => {$(
        impl Next for $ty {
            fn above(self) -> $ty {
                match self.to_bits() {
                    _ if self == 0.0 => <$ty>::from_bits(1),
                    bits if self > 0.0 => <$ty>::from_bits(bits + 1),
                    bits => <$ty>::from_bits(bits - 1),
                }
            }
            fn below(self) -> $ty {
                -(-self).above()
            }
        }
    )*};
}

next! { f32 f64 }

/// A result rounded to nearest and the sign of what is missing from it.
type Exact = (f32, f64);

/// The value in the direction asked.
fn direct(mode: &str, (near, missing): Exact) -> f32 {
    match mode {
        _ if near.is_nan() || near.is_infinite() && missing == 0.0 => near,
        "rp" if missing > 0.0 => near.above(),
        "rm" if missing < 0.0 => near.below(),
        "rz" if missing > 0.0 && near < 0.0 => near.above(),
        "rz" if missing < 0.0 && near > 0.0 => near.below(),
        _ => near,
    }
}

/// `x + y` exactly, as a double and what is missing from it.
fn two_sum(x: f64, y: f64) -> (f64, f64) {
    let sum = x + y;
    let back = sum - x;
    (sum, if sum.is_finite() { (x - (sum - back)) + (y - back) } else { 0.0 })
}

/// The single nearest to `high + low`, and the sign of what is missing.
fn single(high: f64, low: f64) -> Exact {
    let mut near = high as f32;
    if near.is_nan() || high.is_infinite() {
        return (near, 0.0);
    }
    if near.is_infinite() {
        return (near, -high.signum());
    }
    // `high` may lie half way between two singles, with `low` to decide.
    let left = high - f64::from(near);
    let other = if left > 0.0 { near.above() } else { near.below() };
    if left.abs() == (f64::from(other) - high).abs() && left * low > 0.0 {
        near = other;
    }
    (near, (high - f64::from(near)) + low)
}

/// An exact operation on singles: the double nearest to it, and what is missing from that.
type Operation = fn(f64, f64, f64) -> (f64, f64);

const OPERATIONS: [(&str, &str, Operation); 6] = [
    ("add", "$0, $1, $2", |a, b, _| two_sum(a, b)),
    ("sub", "$0, $1, $2", |a, b, _| two_sum(a, -b)),
    ("mul", "$0, $1, $2", |a, b, _| (a * b, 0.0)),
    ("fma", "$0, $1, $2, $3", |a, b, c| two_sum(a * b, c)),
    // A quotient or root of singles is never so near to a single, or half way between two, that doubles would not tell.
    ("div", "$0, $1, $2", |a, b, _| (a / b, 0.0)),
    ("sqrt", "$0, $1", |a, _, _| (a.sqrt(), 0.0)),
];

fn flushed(x: f32) -> f32 {
    if x.abs() < f32::MIN_POSITIVE { 0f32.copysign(x) } else { x }
}

#[test]
fn single_precision_is_exact_but_for_one_rounding_in_each_mode() {
    let gpu = Gpu::new();
    let rows = rows(&patterns(32, 23));
    for (name, operands, operation) in OPERATIONS {
        for mode in ["rn", "rz", "rm", "rp"] {
            for (ftz, sat) in [("", ""), (".ftz", ""), ("", ".sat"), (".ftz", ".sat")] {
                if !sat.is_empty() && matches!(name, "div" | "sqrt") {
                    continue;
                }
                let op = format!("{name}.{mode}{ftz}{sat}.f32");
                let out = compute(&gpu, &format!("{op} {operands};"), "%f", 32, &rows);
                for (row, got) in rows.iter().zip(out) {
                    let [a, b, c] = row.map(|bits| {
                        let x = f32::from_bits(bits as u32);
                        f64::from(if ftz.is_empty() { x } else { flushed(x) })
                    });
                    let (high, low) = operation(a, b, c);
                    let mut want = direct(mode, single(high, low));
                    // An exact zero sum of unlike signs is negative when rounding down.
                    if want == 0.0 && high == 0.0 && mode == "rm" && matches!(name, "add" | "sub" | "fma") {
                        let (x, y) = match name {
                            "add" => (a, b),
                            "sub" => (a, -b),
                            _ => (a * b, c),
                        };
                        want = if x.is_sign_positive() && y.is_sign_positive() { 0.0 } else { -0.0 };
                    }
                    want = if ftz.is_empty() { want } else { flushed(want) };
                    if !sat.is_empty() {
                        want = if want > 0.0 { want.min(1.0) } else { 0.0 };
                    }
                    let want = if want.is_nan() { 0x7fff_ffff } else { want.to_bits() };
                    assert_eq!(got as u32, want, "{op} of {row:x?}: {:e}", f32::from_bits(want));
                }
            }
        }
    }
}

#[test]
fn double_precision_is_exact_but_for_one_rounding_in_each_mode() {
    let gpu = Gpu::new();
    let rows = rows(&patterns(64, 52));
    /// Its name, the result to nearest, and what is missing from that.
    type Operation = (&'static str, fn(f64, f64) -> f64, fn(f64, f64, f64) -> f64);
    let operations: [Operation; 4] = [
        ("add", |a, b| a + b, |_, a, b| two_sum(a, b).1),
        ("mul", |a, b| a * b, |r, a, b| a.mul_add(b, -r)),
        ("div", |a, b| a / b, |r, a, b| (-r).mul_add(b, a) * b.signum()),
        ("sqrt", |a, _| a.sqrt(), |r, a, _| (-r).mul_add(r, a)),
    ];
    for (name, nearest, missing) in operations {
        for mode in ["rn", "rz", "rm", "rp"] {
            let operands = if name == "sqrt" { "$0, $1" } else { "$0, $1, $2" };
            let out = compute(&gpu, &format!("{name}.{mode}.f64 {operands};"), "%d", 64, &rows);
            for (row, got) in rows.iter().zip(out) {
                let [a, b, _] = row.map(f64::from_bits);
                let near = nearest(a, b);
                // Where the residue itself would be rounded nothing can be said by this means.
                let in_range = |x: f64| x == 0.0 || (1e-140..1e140).contains(&x.abs());
                if !(in_range(a) && in_range(b) && in_range(near)) || near == 0.0 {
                    continue;
                }
                let left = missing(near, a, b);
                let want = match mode {
                    "rp" if left > 0.0 => near.above(),
                    "rm" if left < 0.0 => near.below(),
                    "rz" if left > 0.0 && near < 0.0 => near.above(),
                    "rz" if left < 0.0 && near > 0.0 => near.below(),
                    _ => near,
                };
                assert_eq!(f64::from_bits(got), want, "{name}.{mode} of {a:e} and {b:e}");
            }
        }
    }
}

/// Runs an instruction on 16-bit floats and compares with a double precision result that `round` makes one of them.
fn halves(
    op: &str,
    operands: &str,
    widen: fn(u64) -> f64,
    round: fn(f64) -> u64,
    f: fn(f64, f64, f64) -> f64,
) {
    let gpu = Gpu::new();
    let (fraction, _) = if op.contains("bf16") { (7, 8) } else { (10, 5) };
    let rows = rows(&patterns(16, fraction));
    for (row, got) in rows.iter().zip(compute(&gpu, &format!("{op} {operands};"), "%h", 16, &rows)) {
        let [a, b, c] = row.map(widen);
        let want = f(a, b, c);
        let want = if want.is_nan() { 0x7fff } else { round(want) };
        assert_eq!(got, want, "{op} of {row:x?}");
    }
}

fn from_half(bits: u64) -> f64 {
    let (exponent, fraction) = (bits >> 10 & 31, (bits & 0x3ff) as f64);
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent as i32 - 25),
    };
    if bits >> 15 & 1 == 1 { -magnitude } else { magnitude }
}

/// The nearest half, found by trying all.
fn to_half(x: f64) -> u64 {
    use std::sync::OnceLock;
    static ALL: OnceLock<Vec<f64>> = OnceLock::new();
    let all = ALL.get_or_init(|| (0..0x7c00).map(from_half).collect());
    let sign = u64::from(x.is_sign_negative()) << 15;
    let x = x.abs();
    let above = all.partition_point(|&v| v < x);
    // From half a unit beyond the largest on it is infinity.
    if above == all.len() {
        return sign | if x < 65520.0 { 0x7bff } else { 0x7c00 };
    }
    let below = above.saturating_sub(1);
    let (up, down) = (all[above] - x, x - all[below]);
    sign | if up < down || up == down && above % 2 == 0 { above as u64 } else { below as u64 }
}

fn from_bfloat(bits: u64) -> f64 {
    f32::from_bits((bits as u32) << 16).into()
}

#[test]
fn half_precision_is_rounded_once() {
    halves("add.f16", "$0, $1, $2", from_half, to_half, |a, b, _| a + b);
    halves("sub.f16", "$0, $1, $2", from_half, to_half, |a, b, _| a - b);
    halves("mul.rn.f16", "$0, $1, $2", from_half, to_half, |a, b, _| a * b);
    halves("fma.rn.f16", "$0, $1, $2, $3", from_half, to_half, |a, b, c| a.mul_add(b, c));
    halves("fma.rn.sat.f16", "$0, $1, $2, $3", from_half, to_half, |a, b, c| {
        let x = a.mul_add(b, c);
        if x > 0.0 { x.min(1.0) } else { 0.0 }
    });
    halves("fma.rn.relu.f16", "$0, $1, $2, $3", from_half, to_half, |a, b, c| {
        let x = a.mul_add(b, c);
        if x <= 0.0 { 0.0 } else { x }
    });
    halves("max.NaN.f16", "$0, $1, $2", from_half, to_half, |a, b, _| match () {
        () if a.is_nan() || b.is_nan() => f64::NAN,
        () if a == b => {
            if a.is_sign_negative() {
                b
            } else {
                a
            }
        }
        () => a.max(b),
    });
    halves("add.ftz.f16", "$0, $1, $2", from_half, to_half, |a, b, _| {
        let flush = |x: f64| if x.abs() < 2f64.powi(-14) { 0f64.copysign(x) } else { x };
        flush(flush(a) + flush(b))
    });
    // Products of bfloats are exact in single precision but for their range, and sums in double precision.
    halves("add.rn.bf16", "$0, $1, $2", from_bfloat, to_bfloat, |a, b, _| a + b);
    halves("mul.rn.bf16", "$0, $1, $2", from_bfloat, to_bfloat, |a, b, _| a * b);
}

/// The nearest bfloat, by the value's bits.
fn to_bfloat(x: f64) -> u64 {
    let sign = u64::from(x.is_sign_negative()) << 15;
    let value = |bits: u64| from_bfloat(bits);
    let (mut low, mut high) = (0u64, 0x7f80);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if value(middle) <= x.abs() { low = middle } else { high = middle }
    }
    let largest = 0x7f7f;
    let next = if low == largest { 2f64.powi(128) } else { value(low + 1) };
    let (up, down) = (next - x.abs(), x.abs() - value(low));
    sign | if x.is_infinite() || up < down || up == down && low % 2 == 1 { low + 1 } else { low }
}

#[test]
fn pairs_are_computed_half_by_half() {
    let gpu = Gpu::new();
    let pair = |high: f64, low: f64| to_half(high) << 16 | to_half(low);
    let rows = vec![[pair(1.5, -2.0), pair(0.25, 3.0), pair(10.0, 100.0)]; 64];
    for (op, high, low) in [
        ("add.f16x2 $0, $1, $2;", 1.75, 1.0),
        ("sub.f16x2 $0, $1, $2;", 1.25, -5.0),
        ("mul.f16x2 $0, $1, $2;", 0.375, -6.0),
        ("fma.rn.f16x2 $0, $1, $2, $3;", 10.375, 94.0),
        ("fma.rn.relu.f16x2 $0, $1, $2, $3;", 10.375, 94.0),
        ("min.f16x2 $0, $1, $2;", 0.25, -2.0),
        ("max.xorsign.abs.f16x2 $0, $1, $2;", 1.5, -3.0),
        ("neg.f16x2 $0, $1;", -1.5, 2.0),
        ("abs.f16x2 $0, $1;", 1.5, 2.0),
        (
            ".reg .pred %a, %b; setp.lt.f16x2 %a|%b, $1, $2; selp.b32 $4, 0x3c00, 0, %a;
          selp.b32 $5, 0x3c000000, 0, %b; or.b32 $0, $4, $5;",
            0.0,
            1.0,
        ),
        ("mov.b32 %f1, 0f3fc00000; mov.b32 %f2, 0fc0000000; cvt.rn.f16x2.f32 $0, %f1, %f2;", 1.5, -2.0),
        (
            "mov.b32 %f1, 0f7f000000; mov.b32 %f2, 0fc0000000; cvt.rn.satfinite.relu.f16x2.f32 $0, %f1, %f2;",
            65504.0,
            0.0,
        ),
    ] {
        let got = compute(&gpu, op, "%r", 32, &rows)[0];
        assert_eq!(got, pair(high, low), "{op}: {got:#x}");
    }
    let integers = vec![[0x7fff_ffff, 0x0001_0001, 0]; 64];
    for (op, want) in [
        ("add.s16x2 $0, $1, $2;", 0x8000_0000),
        ("min.s16x2 $0, $1, $2;", 0x0001_ffff),
        ("max.u16x2 $0, $1, $2;", 0x7fff_ffff),
        ("min.relu.s16x2 $0, $1, $2;", 0x0001_0000),
    ] {
        assert_eq!(compute(&gpu, op, "%r", 32, &integers)[0], want, "{op}");
    }
}

/// The documented error of an approximation.
enum Bound {
    /// Of the value, relative.
    Relative(f64),
    /// Absolute.
    Absolute(f64),
    /// In units of the last place.
    Units(f64),
}

#[test]
fn approximations_keep_to_their_documented_errors() {
    use Bound::*;
    let gpu = Gpu::new();
    // PTX ISA, the instructions' own sections.
    type Case = (&'static str, Bound, std::ops::Range<f64>, fn(f64, f64) -> f64);
    let cases: [Case; 10] = [
        ("rcp.approx.ftz.f32 $0, $1;", Units(1.0), 1e-30..1e30, |a, _| 1.0 / a),
        ("div.approx.ftz.f32 $0, $1, $2;", Units(2.0), 1e-15..1e15, |a, b| a / b),
        ("div.full.f32 $0, $1, $2;", Units(2.0), 1e-15..1e15, |a, b| a / b),
        ("sqrt.approx.ftz.f32 $0, $1;", Relative(-23.0), 1e-30..1e30, |a, _| a.sqrt()),
        ("rsqrt.approx.ftz.f32 $0, $1;", Relative(-22.9), 1e-30..1e30, |a, _| 1.0 / a.sqrt()),
        ("sin.approx.ftz.f32 $0, $1;", Absolute(-20.5), 1e-3..std::f64::consts::TAU, |a, _| a.sin()),
        ("cos.approx.ftz.f32 $0, $1;", Absolute(-20.5), 1e-3..std::f64::consts::TAU, |a, _| a.cos()),
        ("lg2.approx.ftz.f32 $0, $1;", Relative(-22.0), 2.0..1e30, |a, _| a.log2()),
        ("ex2.approx.ftz.f32 $0, $1;", Relative(-22.5), 1e-3..100.0, |a, _| a.exp2()),
        ("tanh.approx.f32 $0, $1;", Relative(-11.0), 1e-3..20.0, |a, _| a.tanh()),
    ];
    for (op, bound, range, f) in cases {
        let (low, high) = (range.start.ln(), range.end.ln());
        let value = |n: u32| ((low + (high - low) * f64::from(n) / 2048.0).exp() as f32).to_bits();
        let rows: Vec<[u64; 3]> =
            (0..2048).map(|n| [value(n).into(), value(n * 7 % 2048).into(), 0]).collect();
        for (row, got) in rows.iter().zip(compute(&gpu, op, "%f", 32, &rows)) {
            let [a, b, _] = row.map(|bits| f64::from(f32::from_bits(bits as u32)));
            let (want, got) = (f(a, b), f32::from_bits(got as u32));
            let unit = f64::from((want as f32).abs().above()) - f64::from((want as f32).abs());
            let allowed = match bound {
                Relative(exponent) => want.abs() * exponent.exp2(),
                Absolute(exponent) => exponent.exp2(),
                Units(units) => units * unit,
            };
            assert!(
                (f64::from(got) - want).abs() <= allowed,
                "{op} of {a:e} and {b:e}: {got:e}, not {want:e}"
            );
        }
    }
    let rows: Vec<[u64; 3]> = (1..=64).map(|n| [f64::from(n).to_bits() | 0xdead, 0, 0]).collect();
    for (op, f) in [
        ("rcp.approx.ftz.f64 $0, $1;", (|a| 1.0 / a) as fn(f64) -> f64),
        ("rsqrt.approx.ftz.f64 $0, $1;", |a| 1.0 / a.sqrt()),
    ] {
        for (row, got) in rows.iter().zip(compute(&gpu, op, "%d", 64, &rows)) {
            let (want, value) = (f(f64::from_bits(row[0])), f64::from_bits(got));
            assert!(
                (value / want - 1.0).abs() < 2f64.powi(-19) && got << 32 == 0,
                "{op}: {value:e}, not {want:e}"
            );
        }
    }
}

#[test]
fn conversions_round_once_from_any_width() {
    let gpu = Gpu::new();
    let rows: Vec<[u64; 3]> =
        vec![[1e-60f64.to_bits(), (-1e-60f64).to_bits(), (1 << 63) + (1 << 55) + 1]; 64];
    for (op, want) in [
        ("cvt.rz.f32.f64 %f1, $1; cvt.f64.f32 $0, %f1;", 0f64),
        ("cvt.rz.f32.f64 %f1, $2; cvt.f64.f32 $0, %f1;", -0.0),
        ("cvt.rp.f32.f64 %f1, $1; cvt.f64.f32 $0, %f1;", f64::from(f32::from_bits(1))),
        ("cvt.rm.f32.f64 %f1, $2; cvt.f64.f32 $0, %f1;", -f64::from(f32::from_bits(1))),
        // Just above half way between two bfloats.
        (
            "mov.b64 %x1, $3; cvt.rn.bf16.u64 %h1, %x1; mov.b32 %f1, {0, %h1}; cvt.f64.f32 $0, %f1;",
            9295429630892703744.0,
        ),
    ] {
        let got = compute(&gpu, op, "%d", 64, &rows)[0];
        assert_eq!(f64::from_bits(got).to_bits(), want.to_bits(), "{op}: {:e}", f64::from_bits(got));
    }
}

#[test]
fn comparisons_and_choices_flush_where_asked() {
    let gpu = Gpu::new();
    let rows = vec![[0x8000_0001u64, 0, 0]; 64];
    for (op, want) in [
        ("setp.lt.f32 %p1, $1, $2; selp.f32 $0, 0f3f800000, 0f00000000, %p1;", 1f32),
        ("setp.lt.ftz.f32 %p1, $1, $2; selp.f32 $0, 0f3f800000, 0f00000000, %p1;", 0.0),
        ("slct.f32.f32 $0, 0f3f800000, 0f00000000, $1;", 0.0),
        ("slct.ftz.f32.f32 $0, 0f3f800000, 0f00000000, $1;", 1.0),
        ("set.lt.ftz.f32.f32 $0, $1, $2;", 0.0),
        ("testp.normal.f32 %p1, $2; selp.f32 $0, 0f3f800000, 0f00000000, %p1;", 1.0),
        ("min.xorsign.abs.f32 $0, 0fc0000000, 0f3f800000;", -1.0),
        ("max.f32 $0, 0f3f800000, 0f40400000, 0f40000000;", 3.0),
    ] {
        assert_eq!(f32::from_bits(compute(&gpu, op, "%f", 32, &rows)[0] as u32), want, "{op}");
    }
}

#[test]
fn bits_are_found_and_joined_with_predicates() {
    let gpu = Gpu::new();
    let rows = vec![[0b1011_0000u64, 5, 0]; 64];
    for (op, want) in [
        ("fns.b32 $0, $1, 0, 0;", u64::from(u32::MAX)),
        ("fns.b32 $0, $1, 4, 0;", 4),
        ("fns.b32 $0, $1, 0, 3;", 7),
        ("fns.b32 $0, $1, 6, -2;", 4),
        ("fns.b32 $0, $1, 6, 2;", u64::from(u32::MAX)),
        ("setp.eq.u32 %p1, $2, 6; lop3.or.b32 $4|%p2, $1, $2, 0, 0xfc, %p1; selp.b32 $0, 1, 2, %p2;", 1),
        ("setp.eq.u32 %p1, $2, 6; lop3.and.b32 $4|%p2, $1, $2, 0, 0xfc, %p1; selp.b32 $0, 1, 2, %p2;", 2),
    ] {
        assert_eq!(compute(&gpu, op, "%r", 32, &rows)[0], want, "{op}");
    }
}
