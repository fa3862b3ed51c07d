//! Barriers of a block.

mod support;
use boomerang_gpu::FaultKind;
use support::*;

#[test]
fn a_barrier_holds_all_warps_until_the_last() {
    // Each thread publishes, waits, and reads its neighbour in another warp.
    let body = ".shared .u32 s[256]; .reg .u64 %s;
        mov.u64 %s, s; mad.wide.u32 %x0, %id, 4, %s; mul.lo.u32 %r0, %id, 7; st.shared.u32 [%x0], %r0;
        bar.sync 0; add.u32 %r1, %id, 100; rem.u32 %r1, %r1, 256; mad.wide.u32 %x0, %r1, 4, %s;
        ld.shared.u32 %r2, [%x0]; st.global.u32 [%at], %r2;";
    for seed in [0, 1, 2, 3] {
        let gpu = Gpu::with(boomerang_gpu::DeviceConfig { seed, ..Default::default() });
        let out = gpu.transform(&kernel(body), shape(1, 256), &[0u32; 256]);
        assert_eq!(out, (0..256).map(|i| (i + 100) % 256 * 7).collect::<Vec<u32>>());
    }
}

#[test]
fn some_warps_can_arrive_without_waiting() {
    // Warp 1 produces and arrives; warp 0 waits.
    let body = ".shared .u32 s; setp.ge.u32 %p0, %id, 32; @%p0 bra PRODUCE; bar.sync 3, 64; ld.shared.u32 %r0, [s];
        st.global.u32 [%at], %r0; bra END; PRODUCE: mov.u32 %r1, 42; st.shared.u32 [s], %r1; bar.arrive 3, 64; END:";
    let out = Gpu::new().transform(&kernel(body), shape(1, 64), &[0u32; 64]);
    assert_eq!(&out[..32], [42; 32]);
}

#[test]
fn reductions_count_threads() {
    let body = "setp.lt.u32 %p0, %id, 37; bar.red.popc.u32 %r0, 0, %p0; bar.red.or.pred %p1, 0, %p0;
        bar.red.and.pred %p2, 0, !%p0; selp.u32 %r1, 100, 0, %p1; selp.u32 %r2, 1000, 0, %p2;
        add.u32 %r0, %r0, %r1; add.u32 %r0, %r0, %r2; st.global.u32 [%at], %r0;";
    let out = Gpu::new().transform(&kernel(body), shape(2, 64), &[0u32; 128]);
    assert_eq!(&out[..64], [137; 64]);
    assert_eq!(&out[64..], [1000; 64]);
}

#[test]
fn warps_that_have_exited_are_not_waited_for() {
    let body = "setp.ge.u32 %p0, %id, 64; @%p0 exit; bar.sync 0; st.global.u32 [%at], 1;";
    let out = Gpu::new().transform(&kernel(body), shape(1, 128), &[0u32; 128]);
    assert_eq!(out.iter().sum::<u32>(), 64);
}

#[test]
fn lanes_that_come_one_after_the_other_count_as_one_warp() {
    let body = "setp.lt.u32 %p0, %lane, 9; @%p0 bra A; barrier.sync 0; bra END; A: barrier.sync 0; END: st.global.u32 [%at], 1;";
    let out = Gpu::new().transform(&kernel(body), shape(1, 64), &[0u32; 64]);
    assert_eq!(out, [1; 64]);
}

#[test]
fn lanes_of_a_warp_that_come_to_different_aligned_barriers_are_reported() {
    for [one, other] in
        [["bar.sync 0", "bar.sync 0"], ["bar.sync 0", "bar.sync 1"], ["barrier.sync 0", "bar.arrive 0, 64"]]
    {
        let body = format!(
            "setp.lt.u32 %p0, %lane, 9; @%p0 bra A; {one}; bra END; A: {other}; END: st.global.u32 [%at], 1;"
        );
        let gpu = Gpu::new();
        let module = gpu.load(&kernel(&body));
        let fault = gpu.launch(&module, "k", shape(1, 64), &[0]).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Deadlock);
        assert!(
            fault.note.contains("\n    lanes 0-8: k ") && fault.note.contains("\n    lanes 9-31: k "),
            "{fault}"
        );
    }
}

#[test]
fn lanes_may_come_to_one_aligned_barrier_one_after_the_other() {
    let body =
        "setp.lt.u32 %p0, %lane, 9; @%p0 bra A; mov.u32 %r0, 1; A: bar.sync 0; st.global.u32 [%at], 1;";
    let out = Gpu::new().transform(&kernel(body), shape(1, 64), &[0u32; 64]);
    assert_eq!(out, [1; 64]);
}

#[test]
fn a_barrier_in_a_loop_opens_once_a_round() {
    let body =
        ".shared .u32 s; setp.eq.u32 %p0, %id, 0; @%p0 st.shared.u32 [s], 0; bar.sync 0; mov.u32 %r0, 0;
        LOOP: atom.shared.add.u32 %r1, [s], 1; bar.sync 0; ld.shared.u32 %r2, [s]; bar.sync 0;
        add.u32 %r0, %r0, 1; setp.lt.u32 %p1, %r0, 10; @%p1 bra LOOP; st.global.u32 [%at], %r2;";
    let out = Gpu::new().transform(&kernel(body), shape(1, 96), &[0u32; 96]);
    assert_eq!(out, [960; 96]);
}

#[test]
fn a_warp_that_only_passes_barriers_of_its_own_lets_others_run() {
    let body =
        "setp.ge.u32 %p0, %id, 32; @%p0 bra SET; LOOP: bar.sync 1, 32; ld.volatile.global.u32 %r0, [%data];
        setp.eq.u32 %p1, %r0, 0; @%p1 bra LOOP; bra END; SET: st.volatile.global.u32 [%data], 1; END:";
    let out = Gpu::new().transform(&kernel(body), shape(1, 64), &[0u32; 64]);
    assert_eq!(out[0], 1);
}

#[test]
fn warps_that_wait_for_each_other_for_ever_are_reported() {
    let body = "setp.lt.u32 %p0, %id, 32; @%p0 bra A; bar.sync 1, 64; bra END; A: bar.sync 2, 64; END:";
    let gpu = Gpu::new();
    let module = gpu.load(&kernel(body));
    let fault = gpu.launch(&module, "k", shape(1, 64), &[0]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Deadlock);
    assert!(fault.note.contains("its threads wait at different barriers"), "{fault}");
    assert!(fault.note.contains("block (0,0,0), warp 1: barrier 1, where 1 of 2 warps are, at k"), "{fault}");
}
