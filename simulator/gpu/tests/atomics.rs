//! Atomic updates, among threads and with the host.

mod support;
use support::*;

#[test]
fn threads_of_all_blocks_add_to_one_counter() {
    let body = "atom.global.add.u32 %r0, [%data], 1; red.global.add.u64 [%data+8], 2; red.global.add.f64 [%data+16], 0d3FE0000000000000;
        red.global.add.f32 [%data+24], 0f3F800000;";
    let out = Gpu::new().transform(&kernel(body), shape(8, 128), &[0u64; 4]);
    assert_eq!(out[0], 1024);
    assert_eq!(out[1], 2048);
    assert_eq!(f64::from_bits(out[2]), 512.0);
    assert_eq!(f32::from_bits(out[3] as u32), 1024.0);
}

#[test]
fn each_thread_sees_a_value_of_its_own() {
    let body =
        "atom.global.inc.u32 %r0, [%data], 1000; mad.wide.u32 %at, %r0, 4, %data; st.global.u32 [%at+4], 1;";
    let out = Gpu::new().transform(&kernel(body), shape(4, 100), &[0u32; 401]);
    assert_eq!(out[0], 400);
    assert_eq!(out[1..], [1; 400]);
}

/// One thread's update of `before` by `op`: the old value and what is there afterwards.
fn update(op: &str, ty: &str, operands: &str, before: u64) -> (u64, u64) {
    let old = if ty.ends_with("64") { "%x1" } else { "%r1" };
    let mov = if ty.ends_with("64") { "mov.b64 %x2, %x1" } else { "cvt.u64.u32 %x2, %r1" };
    let body =
        format!("atom.global.{op}.{ty} {old}, [%data], {operands}; {mov}; st.global.u64 [%data+8], %x2;");
    let out = Gpu::new().transform(&kernel(&body), shape(1, 1), &[before, 0]);
    (out[1], out[0])
}

#[test]
fn every_operation_gives_the_old_value_and_leaves_the_new() {
    assert_eq!(update("exch", "b32", "7", 5), (5, 7));
    assert_eq!(update("exch", "b64", "7", 1 << 40), (1 << 40, 7));
    assert_eq!(update("cas", "b32", "5, 9", 5), (5, 9));
    assert_eq!(update("cas", "b32", "4, 9", 5), (5, 5));
    assert_eq!(update("cas", "b64", "5, 9", 5), (5, 9));
    assert_eq!(update("and", "b32", "12", 10), (10, 8));
    assert_eq!(update("or", "b64", "12", 10), (10, 14));
    assert_eq!(update("xor", "b32", "12", 10), (10, 6));
    assert_eq!(update("max", "s32", "-1", 0xffff_fff0), (0xffff_fff0, 0xffff_ffff));
    assert_eq!(update("max", "u32", "3", 0xffff_fff0), (0xffff_fff0, 0xffff_fff0));
    assert_eq!(update("min", "s64", "-1", 4), (4, u64::MAX));
    assert_eq!(update("inc", "u32", "5", 5), (5, 0));
    assert_eq!(update("dec", "u32", "5", 0), (0, 5));
}

#[test]
fn sixteen_bits_are_exchanged_without_touching_the_others() {
    let body = ".reg .u16 %h<4>; mov.u16 %h1, 0x1111; mov.u16 %h2, 0x2222; atom.global.cas.b16 %h0, [%data+2], %h1, %h2;";
    let out = Gpu::new().transform(&kernel(body), shape(1, 1), &[0x1111_3333u32]);
    assert_eq!(out, [0x2222_3333]);
}

#[test]
fn shared_memory_has_atomics_by_either_address() {
    let body = ".shared .u32 s; .reg .u64 %g; setp.eq.u32 %p0, %id, 0; @%p0 st.shared.u32 [s], 0; bar.sync 0;
        atom.shared.add.u32 %r0, [s], 1; cvta.shared.u64 %g, s; atom.add.u32 %r0, [%g], 1; bar.sync 0;
        ld.shared.u32 %r1, [s]; st.global.u32 [%at], %r1;";
    let out = Gpu::new().transform(&kernel(body), shape(1, 64), &[0u32; 64]);
    assert_eq!(out, [128; 64]);
}

#[test]
fn warps_that_fail_to_take_a_lock_leave_the_time_to_its_holder() {
    // One lane a warp, 50 times: take the lock, count to 50, give the lock back.
    let body = "setp.ne.u32 %p0, %lane, 0; @%p0 exit; mov.u32 %r0, 0;
        TAKE: atom.global.exch.b32 %r1, [%data], 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra TAKE;
        mov.u32 %r2, 0; COUNT: add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 50; @%p1 bra COUNT;
        atom.global.exch.b32 %r1, [%data], 0; add.u32 %r0, %r0, 1; setp.lt.u32 %p1, %r0, 50; @%p1 bra TAKE;";
    let gpu = Gpu::new();
    let (module, lock) = (gpu.load(&kernel(body)), gpu.buffer(&[0u32]));
    let instructions = |warps: u32| {
        let stats = gpu.launch(&module, "k", shape(1, 32 * warps), &[lock]);
        stats.unwrap_or_else(|fault| panic!("{fault}")).warp_instructions
    };
    let (alone, together) = (instructions(1), instructions(8));
    assert!(together < 12 * alone, "8 warps take {together} instructions, one takes {alone}");
}
