//! How lanes part and meet.

mod support;
use boomerang_gpu::DeviceConfig;
use support::*;

/// `activemask` after a piece of code, for each of 32 threads.
fn mask_after(code: &str) -> Vec<u32> {
    let body = format!("{code} activemask.b32 %r39; st.global.u32 [%at], %r39;");
    Gpu::new().transform(&kernel(&body), shape(1, 32), &[0u32; 32])
}

#[test]
fn lanes_meet_again_after_an_if() {
    let code = "setp.lt.u32 %p0, %lane, 16; @%p0 bra THEN; add.u32 %r1, %lane, 1; bra END; THEN: add.u32 %r1, %lane, 2; END:";
    assert_eq!(mask_after(code), [u32::MAX; 32]);
}

#[test]
fn lanes_meet_again_after_a_loop_of_different_lengths() {
    let code = "mov.u32 %r1, %lane; LOOP: setp.eq.u32 %p0, %r1, 0; @%p0 bra END; sub.u32 %r1, %r1, 1; bra LOOP; END:";
    assert_eq!(mask_after(code), [u32::MAX; 32]);
}

#[test]
fn lanes_meet_in_nested_branches_from_the_inside_out() {
    let code = "setp.lt.u32 %p0, %lane, 16; setp.lt.u32 %p1, %lane, 8; mov.u32 %r1, 0;
        @!%p0 bra END; @!%p1 bra INNER; mov.u32 %r1, 1; INNER: activemask.b32 %r2; END:";
    let body = format!("mov.u32 %r2, 0; {code} st.global.u32 [%at], %r2;");
    let out = Gpu::new().transform(&kernel(&body), shape(1, 32), &[0u32; 32]);
    assert_eq!(&out[..16], [0xffff; 16]);
    assert_eq!(&out[16..], [0; 16]);
    assert_eq!(mask_after(code), [u32::MAX; 32]);
}

#[test]
fn lanes_that_exit_are_not_waited_for() {
    let code = "setp.lt.u32 %p0, %lane, 4; @!%p0 bra GO; setp.lt.u32 %p1, %lane, 2; @%p1 exit; add.u32 %r1, %lane, 1; GO:";
    let out = mask_after(code);
    assert_eq!(&out[..2], [0; 2]);
    assert_eq!(&out[2..], [0xffff_fffc; 30]);
}

#[test]
fn a_path_that_traps_does_not_keep_the_others_apart() {
    let code = "setp.eq.u32 %p0, %lane, 77; setp.lt.u32 %p1, %lane, 5; @%p1 bra A; @%p0 bra BAD; bra END; A: @%p0 bra BAD;
        add.u32 %r1, %r1, 1; bra END; BAD: trap; END:";
    assert_eq!(mask_after(code), [u32::MAX; 32]);
}

#[test]
fn a_branch_table_sends_each_lane_its_way() {
    let code = "and.b32 %r1, %lane, 3; T: .branchtargets A, B, C, D; brx.idx %r1, T;
        A: mov.u32 %r2, 10; bra END; B: mov.u32 %r2, 11; bra END; C: mov.u32 %r2, 12; bra END; D: mov.u32 %r2, 13; END:";
    let body = format!("{code} st.global.u32 [%at], %r2;");
    let out = Gpu::new().transform(&kernel(&body), shape(1, 32), &[0u32; 32]);
    assert_eq!(out, (0..32).map(|l| 10 + l % 4).collect::<Vec<u32>>());
    assert_eq!(mask_after(code), [u32::MAX; 32]);
}

/// The lock is word 0, the counter word 1.
const LOCK: &str = "
    LOOP: atom.global.cas.b32 %r1, [%data], 0, 1; setp.ne.u32 %p0, %r1, 0; @%p0 bra LOOP;
    ld.global.u32 %r2, [%data+4]; add.u32 %r2, %r2, 1; st.global.u32 [%data+4], %r2; membar.gl;
    atom.global.exch.b32 %r1, [%data], 0;";

#[test]
fn lanes_of_one_warp_can_wait_for_a_lock_that_another_holds() {
    let out = Gpu::new().transform(&kernel(LOCK), shape(1, 32), &[0u32; 2]);
    assert_eq!(out, [0, 32]);
}

#[test]
fn warps_and_blocks_can_wait_for_a_lock_that_another_holds() {
    let out = Gpu::new().transform(&kernel(LOCK), shape(6, 96), &[0u32; 2]);
    assert_eq!(out, [0, 576]);
}

#[test]
fn a_lane_may_wait_for_one_that_comes_later_in_the_code() {
    // Lane 0 spins before the meeting point until lane 1, which waits there, has gone on and stored the flag.
    let body = "setp.ne.u32 %p0, %lane, 0; @%p0 bra END; SPIN: ld.volatile.global.u32 %r1, [%data];
        setp.eq.u32 %p1, %r1, 0; @%p1 bra SPIN; END: setp.ne.u32 %p2, %lane, 1; @%p2 bra OUT;
        st.volatile.global.u32 [%data], 1; OUT:";
    let out = Gpu::new().transform(&kernel(body), shape(1, 32), &[0u32]);
    assert_eq!(out, [1]);
}

#[test]
fn a_lane_may_wait_for_one_that_has_left_the_function() {
    let module = ".func wait(.param .u64 data) {
            .reg .u64 %a; .reg .u32 %l, %v; .reg .pred %p;
            ld.param.u64 %a, [data]; mov.u32 %l, %laneid; setp.ne.u32 %p, %l, 0; @%p ret;
            SPIN: ld.volatile.global.u32 %v, [%a]; setp.eq.u32 %p, %v, 0; @%p bra SPIN; ret;
        }";
    let call =
        "{ .param .u64 p; st.param.u64 [p], %data; call wait, (p); } st.volatile.global.u32 [%data], 1;";
    let out = Gpu::new().transform(&format!("{module} {}", kernel(call)), shape(1, 32), &[0u32]);
    assert_eq!(out, [1]);
}

#[test]
fn threads_beyond_the_block_do_not_run() {
    let out = Gpu::new().transform(
        &kernel("activemask.b32 %r1; st.global.u32 [%at], %r1;"),
        shape(1, 40),
        &[0u32; 40],
    );
    assert_eq!(out[39], 0xff);
}

#[test]
fn predicated_instructions_leave_the_other_lanes_alone() {
    let body =
        "mov.u32 %r1, 5; setp.lt.u32 %p0, %lane, 3; @%p0 mov.u32 %r1, 6; @!%p0 add.u32 %r1, %r1, %lane;
        st.global.u32 [%at], %r1;";
    let out = Gpu::new().transform(&kernel(body), shape(1, 6), &[0u32; 6]);
    assert_eq!(out, [6, 6, 6, 8, 9, 10]);
}

#[test]
fn lanes_take_turns_at_a_ticket_lock_whose_holder_has_left_the_loop() {
    let body = "atom.global.add.u32 %r1, [%data], 1;
        WAIT: ld.acquire.gpu.global.u32 %r2, [%data+4]; setp.ne.u32 %p1, %r2, %r1; @%p1 bra WAIT;
        ld.global.u32 %r3, [%data+8]; add.u32 %r3, %r3, 1; st.global.u32 [%data+8], %r3;
        add.u32 %r2, %r2, 1; st.release.gpu.global.u32 [%data+4], %r2;";
    let out = Gpu::new().transform(&kernel(body), shape(1, 32), &[0u32; 4]);
    assert_eq!(out[..3], [32, 32, 32]);
}

#[test]
fn lanes_that_wait_where_paths_meet_go_on_while_others_spin_under_some_seeds() {
    // Lane 0 looks 200 times whether another one, which has nothing to do before the meeting point, has gone on from there.
    let body = "mov.u32 %r1, 0; mov.u32 %r2, 200; setp.ne.u32 %p0, %lane, 0; @%p0 bra END;
        LOOK: ld.volatile.global.u32 %r1, [%data]; sub.u32 %r2, %r2, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra END;
        setp.ne.u32 %p1, %r2, 0; @%p1 bra LOOK;
        END: setp.ne.u32 %p2, %lane, 1; @!%p2 st.volatile.global.u32 [%data], 1; @!%p0 st.global.u32 [%data+4], %r1;";
    let sees_it = |seed| {
        let gpu = Gpu::with(DeviceConfig { seed, ..DeviceConfig::default() });
        gpu.transform(&kernel(body), shape(1, 32), &[0u32; 2])[1] == 1
    };
    assert!(!sees_it(0));
    let seen: Vec<bool> = (1..10).map(sees_it).collect();
    assert!(seen.contains(&true) && seen.contains(&false), "{seen:?}");
}

#[test]
fn between_the_halves_of_a_warp_that_loads_eight_bytes_of_shared_memory_others_come_under_some_seeds() {
    // Of two warps one adds to a number 2000 times, the other loads it as often; how many loads gave its lanes different values.
    let torn = |seed, space: &str, bits: &str| {
        let body = format!(
            "mov.u64 %x1, %data; mov.u64 %x2, number; cvta.shared.u64 %x2, %x2; mov.u32 %r0, {}; mov.u32 %r6, 0;
            setp.ne.u32 %p1, %r0, 0; @%p1 mov.u64 %x1, %x2; st.{bits} [%x1], 0; bar.sync 0;
            mov.u32 %r1, 2000; shr.u32 %r2, %id, 5; setp.eq.u32 %p2, %r2, 0; @%p2 bra LOOK;
            ADD: setp.eq.u32 %p3, %lane, 0; @%p3 atom.add.{bits} %y, [%x1], 1; sub.u32 %r1, %r1, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra ADD; bra END;
            LOOK: ld.{bits} %y, [%x1]; cvt.u32.{bits} %r3, %y; shfl.sync.idx.b32 %r4, %r3, 0, 31, 0xffffffff; setp.ne.u32 %p1, %r3, %r4;
            vote.sync.any.pred %p1, %p1, 0xffffffff; @%p1 add.u32 %r6, %r6, 1; sub.u32 %r1, %r1, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra LOOK;
            setp.eq.u32 %p1, %id, 0; @%p1 st.global.u32 [%data+8], %r6; END:",
            u32::from(space == "shared"),
        );
        let text = format!(".shared .align 8 .u64 number; {}", kernel(&format!(".reg .{bits} %y; {body}")));
        let gpu = Gpu::with(DeviceConfig { seed, ..DeviceConfig::default() });
        gpu.transform(&text, shape(1, 64), &[0u32; 3])[2]
    };
    assert_eq!(torn(0, "shared", "u64"), 0);
    for seed in 1..4 {
        let all = [("shared", "u64"), ("shared", "u32"), ("global", "u64")];
        let [shared, shared_word, global] = all.map(|(space, bits)| torn(seed, space, bits));
        assert!(shared > 0 && shared_word == 0 && global == 0, "{shared} {shared_word} {global}");
    }
}
