//! Arithmetic against values known or computed by the host.

mod support;
use support::*;

/// Runs `d = op a, b, c` on one thread for each row, the operands and the result being of the types that `load` and `store` name.
fn table3(op: &str, ty: &str, bits: u32, rows: &[[u64; 4]]) {
    let (r, b, step) = match (ty, bits) {
        ("f32", _) => ("%f", "f32", 4),
        ("f64", _) => ("%d", "f64", 8),
        (_, 64) => ("%x1", "u64", 8),
        (_, 16) => ("%h", "u16", 2),
        _ => ("%r1", "u32", 4),
    };
    let words: Vec<u64> = rows.iter().flat_map(|[a, b, c, _]| [*a, *b, *c, 0]).collect();
    let body = format!(
        ".reg .u16 %h<20>; mad.wide.u32 %at, %id, 32, %data;
         ld.global.{b} {r}1, [%at]; ld.global.{b} {r}2, [%at+8]; ld.global.{b} {r}3, [%at+16];
         {}
         st.global.{b} [%at+24], {r}0;",
        op.replace('$', r)
    );
    let out = Gpu::new().transform(&kernel(&body), shape(1, rows.len() as u32), &words);
    let mask = u64::MAX >> (64 - 8 * step);
    for (n, [a, b, c, want]) in rows.iter().enumerate() {
        let got = out[4 * n + 3] & mask;
        assert_eq!(got, want & mask, "{op} of {a:#x}, {b:#x}, {c:#x}: {got:#x}, not {want:#x}");
    }
}

fn table2(op: &str, ty: &str, bits: u32, rows: &[[u64; 3]]) {
    let rows: Vec<_> = rows.iter().map(|[a, b, d]| [*a, *b, 0, *d]).collect();
    table3(op, ty, bits, &rows);
}

fn bits(x: f32) -> u64 {
    x.to_bits().into()
}

const M1: u64 = u64::MAX;

#[test]
fn integer_division_by_zero_gives_all_ones() {
    table2("div.u32 $0, $1, $2;", "u32", 32, &[[7, 2, 3], [7, 0, M1], [0, 0, M1]]);
    table2("div.s32 $0, $1, $2;", "s32", 32, &[[-7i32 as u32 as u64, 2, -3i64 as u64], [7, 0, M1]]);
    table2("rem.s64 $0, $1, $2;", "s64", 64, &[[-7i64 as u64, 2, -1i64 as u64], [9, 4, 1]]);
    table2("div.s64 $0, $1, $2;", "s64", 64, &[[i64::MIN as u64, M1, i64::MIN as u64]]);
    table2("rem.u16 $0, $1, $2;", "u16", 16, &[[1000, 7, 6]]);
}

#[test]
fn products_keep_the_part_that_is_asked() {
    table2("mul.lo.u32 $0, $1, $2;", "u32", 32, &[[0x8000_0001, 3, 0x8000_0003]]);
    table2("mul.hi.u32 $0, $1, $2;", "u32", 32, &[[0x8000_0000, 4, 2]]);
    table2("mul.hi.s32 $0, $1, $2;", "s32", 32, &[[M1, 1, M1]]);
    table2("mul.hi.u64 $0, $1, $2;", "u64", 64, &[[1 << 63, 6, 3]]);
    table2("mul.hi.s64 $0, $1, $2;", "s64", 64, &[[M1, 5, M1]]);
    table3("mad.lo.u64 $0, $1, $2, $3;", "u64", 64, &[[3, 4, 5, 17]]);
    table3("mul24.lo.u32 $0, $1, $2;", "u32", 32, &[[0xff00_0003, 5, 0, 15]]);
}

#[test]
fn shifts_beyond_the_width_clear_or_fill() {
    table2("shl.b32 $0, $1, $2;", "u32", 32, &[[1, 31, 1 << 31], [1, 32, 0], [1, 200, 0]]);
    table2("shr.u32 $0, $1, $2;", "u32", 32, &[[M1, 31, 1], [M1, 32, 0]]);
    table2("shr.s32 $0, $1, $2;", "s32", 32, &[[1 << 31, 31, M1], [1 << 31, 99, M1], [1 << 30, 99, 0]]);
    table3("shf.l.wrap.b32 $0, $1, $2, $3;", "u32", 32, &[[0x8000_0000, 1, 1, 3], [5, 6, 32, 6]]);
    table3("shf.r.clamp.b32 $0, $1, $2, $3;", "u32", 32, &[[4, 1, 1, 0x8000_0002], [5, 6, 32, 6]]);
}

#[test]
fn bits_are_counted_found_and_moved() {
    table2("popc.b32 $0, $1;", "u32", 32, &[[0xf0f0, 0, 8], [0, 0, 0]]);
    table2("clz.b32 $0, $1;", "u32", 32, &[[1, 0, 31], [0, 0, 32]]);
    table2("brev.b32 $0, $1;", "u32", 32, &[[1, 0, 1 << 31]]);
    table2("bfind.u32 $0, $1;", "u32", 32, &[[0, 0, M1], [0x100, 0, 8]]);
    table2("bfind.s32 $0, $1;", "u32", 32, &[[M1, 0, M1], [-257i64 as u64, 0, 8]]);
    table3("bfe.u32 $0, $1, $2, $3;", "u32", 32, &[[0xabcd, 4, 8, 0xbc], [M1, 28, 8, 15], [M1, 0, 0, 0]]);
    table3(
        "bfe.s32 $0, $1, $2, $3;",
        "s32",
        32,
        &[[0xabcd, 4, 8, 0xffff_ffbc], [1 << 31, 31, 4, M1], [7, 0, 2, M1]],
    );
    table3("bfe.s32 $0, $1, $2, $3;", "s32", 32, &[[1 << 30, 40, 4, 0], [1 << 31, 40, 4, M1]]);
    table3("bfi.b32 $0, $1, $2, $3, 8;", "u32", 32, &[[0x12, M1, 4, 0xffff_f12f], [M1, 0, 28, 0xf000_0000]]);
    table3("prmt.b32 $0, $1, $2, $3;", "u32", 32, &[[0x3322_1100, 0x7766_5544, 0x7531, 0x7755_3311]]);
    table3("prmt.b32 $0, $1, $2, $3;", "u32", 32, &[[0x0000_0080, 0, 0x0008, 0x8080_80ff]]);
    table3("lop3.b32 $0, $1, $2, $3, 0x96;", "u32", 32, &[[0b1100, 0b1010, 0b0110, 0]]);
    table2("cnot.b32 $0, $1;", "u32", 32, &[[0, 0, 1], [5, 0, 0]]);
    table3("szext.clamp.s32 $0, $1, $2;", "u32", 32, &[[0xff, 8, 0, M1], [0x7f, 8, 0, 0x7f], [5, 0, 0, 0]]);
    table2("bmsk.clamp.b32 $0, $1, $2;", "u32", 32, &[[4, 8, 0xff0], [28, 8, 0xf000_0000], [0, 32, M1]]);
}

#[test]
fn sums_carry_and_saturate() {
    table2("add.sat.s32 $0, $1, $2;", "s32", 32, &[[i32::MAX as u64, 1, i32::MAX as u64]]);
    table2("sub.sat.s32 $0, $1, $2;", "s32", 32, &[[1 << 31, 1, 1 << 31]]);
    let carry = "add.cc.u32 $4, $1, $2; addc.u32 $0, $3, 10;";
    table3(carry, "u32", 32, &[[M1, 1, 5, 16], [1, 1, 5, 15]]);
    let borrow = "sub.cc.u32 $4, $1, $2; subc.u32 $0, $3, 10;";
    table3(borrow, "u32", 32, &[[0, 1, 30, 19], [1, 1, 30, 20]]);
    table3("sad.u32 $0, $1, $2, $3;", "u32", 32, &[[3, 8, 100, 105], [8, 3, 100, 105]]);
    table3("vsub.u32.u32.u32.add $0, $1, $2, $3;", "u32", 32, &[[10, 3, 100, 107]]);
    table3("dp4a.u32.u32 $0, $1, $2, $3;", "u32", 32, &[[0x0102_0304, 0x0101_0101, 5, 15]]);
}

#[test]
fn minimum_and_maximum_follow_ieee() {
    let nan = f32::NAN;
    let rows = [
        [bits(nan), bits(1.0), bits(1.0)],
        [bits(-0.0), bits(0.0), bits(-0.0)],
        [bits(2.0), bits(1.0), bits(1.0)],
    ];
    table2("min.f32 $0, $1, $2;", "f32", 32, &rows);
    table2("min.NaN.f32 $0, $1, $2;", "f32", 32, &[[bits(nan), bits(1.0), 0x7fff_ffff]]);
    table2(
        "max.f32 $0, $1, $2;",
        "f32",
        32,
        &[[bits(-0.0), bits(0.0), bits(0.0)], [bits(1.0), bits(nan), bits(1.0)]],
    );
    table2("min.s32 $0, $1, $2;", "s32", 32, &[[M1, 1, M1]]);
    table2("min.u32 $0, $1, $2;", "u32", 32, &[[M1, 1, 1]]);
}

#[test]
fn floats_round_as_told() {
    let third = |x: f32| bits(x);
    let (lo, hi) = (0.333_333_3f32, 0.333_333_34f32);
    assert!(f64::from(lo) < 1.0 / 3.0 && f64::from(hi) > 1.0 / 3.0);
    for (mode, want) in [("rn", hi), ("rz", lo), ("rm", lo), ("rp", hi)] {
        table2(&format!("div.{mode}.f32 $0, $1, $2;"), "f32", 32, &[[bits(1.0), bits(3.0), third(want)]]);
    }
    let x = 1.0f64 + f64::EPSILON;
    let exact_below = 2.0 * f64::EPSILON;
    let fma = |mode: &str, want: f64| {
        let rows = [[x.to_bits(), x.to_bits(), (-1.0f64).to_bits(), want.to_bits()]];
        table3(&format!("fma.{mode}.f64 $0, $1, $2, $3;"), "f64", 64, &rows);
    };
    // x² - 1 = 2ε + ε², a tie.
    fma("rn", exact_below);
    fma("rp", exact_below * (1.0 + f64::EPSILON));
    table2("add.rp.f64 $0, $1, $2;", "f64", 64, &[[1f64.to_bits(), 1e-30f64.to_bits(), 1f64.to_bits() + 1]]);
    table2(
        "add.rm.f64 $0, $1, $2;",
        "f64",
        64,
        &[[1f64.to_bits(), (-1e-30f64).to_bits(), 1f64.to_bits() - 1]],
    );
    table2("sqrt.rz.f32 $0, $1;", "f32", 32, &[[bits(2.0), 0, 0x3fb5_04f3]]);
}

#[test]
fn subnormals_are_flushed_only_when_asked() {
    let tiny = f32::from_bits(1);
    table2("add.f32 $0, $1, $2;", "f32", 32, &[[bits(tiny), bits(0.0), bits(tiny)]]);
    table2("add.ftz.f32 $0, $1, $2;", "f32", 32, &[[bits(tiny), bits(0.0), 0]]);
    table2("mul.ftz.f32 $0, $1, $2;", "f32", 32, &[[bits(-f32::MIN_POSITIVE), bits(0.5), bits(-0.0)]]);
    table2(
        "add.sat.f32 $0, $1, $2;",
        "f32",
        32,
        &[[bits(1.0), bits(0.5), bits(1.0)], [bits(f32::NAN), 0, 0]],
    );
}

#[test]
fn invalid_operations_give_the_hardware_nan() {
    table2("div.rn.f32 $0, $1, $2;", "f32", 32, &[[0, 0, 0x7fff_ffff], [bits(1.0), 0, bits(f32::INFINITY)]]);
    table2("sqrt.rn.f32 $0, $1;", "f32", 32, &[[bits(-1.0), 0, 0x7fff_ffff]]);
}

#[test]
fn approximations_are_close() {
    let cases: [(&str, f32, f32); 6] = [
        ("sin.approx.f32", 0.5, 0.5f32.sin()),
        ("cos.approx.f32", 0.5, 0.5f32.cos()),
        ("lg2.approx.f32", 10.0, 10f32.log2()),
        ("ex2.approx.f32", 2.5, 2.5f32.exp2()),
        ("rsqrt.approx.f32", 4.0, 0.5),
        ("rcp.approx.f32", 8.0, 0.125),
    ];
    for (op, x, want) in cases {
        let body = format!("ld.global.f32 %f1, [%at]; {op} %f0, %f1; st.global.f32 [%at], %f0;");
        let out = Gpu::new().transform(&kernel(&body), shape(1, 1), &[x]);
        assert!((out[0] - want).abs() <= want.abs() * 1e-6, "{op}: {}", out[0]);
    }
}

/// Converts each input and compares.
fn conversion(op: &str, from: &str, to: &str, rows: &[(u64, u64)]) {
    let register = |ty: &str| match ty {
        "f32" => "%f1",
        "f64" => "%d1",
        "u64" | "s64" => "%x1",
        _ => "%r10",
    };
    let (size, wide) = (|ty: &str| ty[1..].parse::<u32>().unwrap(), u64::MAX);
    let b = |ty: &str| if ty == "f16" { "b16".to_string() } else { ty.to_string() };
    let half = |ty: &str| ty == "f16" || size(ty) == 16;
    let (source, target) = (
        if half(from) { "%h1" } else { register(from) },
        if half(to) { "%h2" } else { &register(to).replace('1', "2") },
    );
    let body = format!(
        ".reg .b16 %h<9>; mad.wide.u32 %at, %id, 16, %data; ld.global.{} {source}, [%at]; {op} {target}, {source};
         st.global.{} [%at+8], {target};",
        b(from),
        b(to)
    );
    let words: Vec<u64> = rows.iter().flat_map(|r| [r.0, 0]).collect();
    let out = Gpu::new().transform(&kernel(&body), shape(1, rows.len() as u32), &words);
    for (n, (input, want)) in rows.iter().enumerate() {
        let mask = wide >> (64 - size(to));
        assert_eq!(out[2 * n + 1] & mask, want & mask, "{op} of {input:#x}");
    }
}

#[test]
fn floats_become_integers_clamped_and_rounded() {
    let f = |x: f32| bits(x);
    conversion("cvt.rzi.s32.f32", "f32", "s32", &[(f(-1.9), M1), (f(3e9), 0x7fff_ffff), (f(f32::NAN), 0)]);
    conversion("cvt.rzi.u32.f32", "f32", "u32", &[(f(-5.0), 0), (f(3e9), 3_000_000_000)]);
    conversion("cvt.rni.s32.f32", "f32", "s32", &[(f(2.5), 2), (f(3.5), 4), (f(-2.5), -2i64 as u64)]);
    conversion("cvt.rpi.s32.f32", "f32", "s32", &[(f(2.1), 3), (f(-2.1), -2i64 as u64)]);
    conversion(
        "cvt.rmi.s64.f64",
        "f64",
        "s64",
        &[((-2.1f64).to_bits(), -3i64 as u64), (f64::NAN.to_bits(), 1 << 63)],
    );
    conversion("cvt.rzi.u64.f64", "f64", "u64", &[(1e20f64.to_bits(), M1), ((-1f64).to_bits(), 0)]);
    conversion("cvt.rni.f32.f32", "f32", "f32", &[(f(2.5), f(2.0)), (f(-0.4), f(-0.0))]);
    conversion("cvt.rmi.f64.f64", "f64", "f64", &[((-0.5f64).to_bits(), (-1f64).to_bits())]);
}

#[test]
fn integers_become_floats_rounded() {
    let big = (1u64 << 24) + 1;
    conversion("cvt.rn.f32.u32", "u32", "f32", &[(big, bits(16_777_216.0))]);
    conversion("cvt.rp.f32.u32", "u32", "f32", &[(big, bits(16_777_218.0))]);
    conversion("cvt.rz.f32.s64", "s64", "f32", &[(-(big as i64) as u64, bits(-16_777_216.0))]);
    conversion("cvt.rm.f32.s64", "s64", "f32", &[(-(big as i64) as u64, bits(-16_777_218.0))]);
    conversion("cvt.rn.f64.u64", "u64", "f64", &[(M1, 18_446_744_073_709_551_616f64.to_bits())]);
}

#[test]
fn floats_change_width_rounded() {
    let x = 1.0f64 + 1e-12;
    conversion("cvt.rn.f32.f64", "f64", "f32", &[(x.to_bits(), bits(1.0))]);
    conversion(
        "cvt.rp.f32.f64",
        "f64",
        "f32",
        &[(x.to_bits(), bits(1.0) + 1), (1e300f64.to_bits(), bits(f32::INFINITY))],
    );
    conversion("cvt.rz.f32.f64", "f64", "f32", &[(1e300f64.to_bits(), bits(f32::MAX))]);
    conversion("cvt.sat.f32.f32", "f32", "f32", &[(bits(1.5), bits(1.0)), (bits(-1.0), 0)]);
    conversion("cvt.f64.f32", "f32", "f64", &[(bits(0.1), f64::from(0.1f32).to_bits())]);
    conversion(
        "cvt.rn.f16.f32",
        "f32",
        "f16",
        &[(bits(1.0), 0x3c00), (bits(65504.0), 0x7bff), (bits(1e-8), 0)],
    );
    conversion("cvt.f32.f16", "f16", "f32", &[(0x3555, bits(0.333_251_95))]);
}

#[test]
fn integers_change_width_by_their_sign() {
    conversion("cvt.s64.s32", "s32", "s64", &[(0xffff_fffe, -2i64 as u64)]);
    conversion("cvt.u64.u32", "u32", "u64", &[(0xffff_fffe, 0xffff_fffe)]);
    conversion("cvt.s32.s8", "s32", "s32", &[(0x80, -128i64 as u64)]);
    conversion("cvt.u32.u8", "u32", "u32", &[(0x1ff, 0xff)]);
    conversion("cvt.sat.s8.s32", "s32", "s32", &[(1000, 127), (-1000i64 as u64, -128i64 as u64)]);
    conversion("cvt.sat.u16.s32", "s32", "u32", &[(-5i64 as u64, 0), (70000, 65535)]);
    conversion("cvt.u16.u64", "u64", "u16", &[(0x1_2345, 0x2345)]);
}

#[test]
fn comparisons_know_nan() {
    let nan = f32::NAN;
    for (op, want) in
        [("eq", 0), ("ne", 0), ("lt", 0), ("equ", 1), ("neu", 1), ("ltu", 1), ("num", 0), ("nan", 1)]
    {
        let body = format!(
            "ld.global.f32 %f1, [%at]; setp.{op}.f32 %p1, %f1, 0f3F800000; selp.u32 %r1, 1, 0, %p1; st.global.u32 [%at], %r1;"
        );
        let out = Gpu::new().transform(&kernel(&body), shape(1, 1), &[nan.to_bits()]);
        assert_eq!(out[0], want, "{op}");
    }
}

#[test]
fn setp_combines_and_gives_the_complement() {
    let body = "setp.lt.u32 %p0, %id, 20; setp.ge.and.u32 %p1|%p2, %id, 10, %p0; mov.u32 %r1, 0;
        @%p1 or.b32 %r1, %r1, 1; @%p2 or.b32 %r1, %r1, 2; st.global.u32 [%at], %r1;";
    let out = Gpu::new().transform(&kernel(body), shape(1, 32), &[0u32; 32]);
    let want: Vec<u32> = (0..32).map(|i| u32::from((10..20).contains(&i)) | u32::from(i < 10) << 1).collect();
    assert_eq!(out, want);
}

#[test]
fn set_slct_and_selp_choose() {
    let body = "set.gt.u32.s32 %r1, %id, 3; set.gt.f32.s32 %f1, %id, 3; mov.b32 %r2, %f1; sub.u32 %r3, %id, 4;
        slct.u32.s32 %r4, 10, 20, %r3; add.u32 %r1, %r1, %r4; xor.b32 %r1, %r1, %r2; st.global.u32 [%at], %r1;";
    let out = Gpu::new().transform(&kernel(body), shape(1, 8), &[0u32; 8]);
    assert_eq!(out[3], 20);
    assert_eq!(out[4], 9 ^ 1f32.to_bits());
}

#[test]
fn wide_values_are_packed_and_unpacked() {
    let body = "mov.b64 %x1, {%id, 7}; mov.b64 {%r1, %r2}, %x1; mad.lo.u32 %r1, %r2, 100, %r1; st.global.u32 [%at], %r1;";
    let out = Gpu::new().transform(&kernel(body), shape(1, 4), &[0u32; 4]);
    assert_eq!(out, [700, 701, 702, 703]);
}
