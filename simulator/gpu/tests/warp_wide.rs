//! Shuffles, votes and the other instructions of a whole warp.

mod support;
use support::*;

fn run(body: &str) -> Vec<u32> {
    Gpu::new().transform(&kernel(&format!("{body} st.global.u32 [%at], %r0;")), shape(1, 32), &[0u32; 32])
}

fn lanes(f: impl Fn(u32) -> u32) -> Vec<u32> {
    (0..32).map(f).collect()
}

#[test]
fn a_shuffle_reads_another_lane() {
    assert_eq!(run("shfl.sync.idx.b32 %r0, %lane, 5, 31, -1;"), lanes(|_| 5));
    assert_eq!(run("shfl.sync.up.b32 %r0, %lane, 1, 0, -1;"), lanes(|l| l.saturating_sub(1)));
    assert_eq!(run("shfl.sync.down.b32 %r0, %lane, 2, 31, -1;"), lanes(|l| if l < 30 { l + 2 } else { l }));
    assert_eq!(run("shfl.sync.bfly.b32 %r0, %lane, 1, 31, -1;"), lanes(|l| l ^ 1));
}

#[test]
fn a_shuffle_from_one_lane_is_within_the_segment_for_all() {
    let body = "shfl.sync.idx.b32 %r1|%p0, %lane, 37, 31, -1; selp.u32 %r0, %r1, 99, %p0;";
    assert_eq!(run(body), lanes(|_| 5));
    let body = "mov.u32 %r0, 77; setp.gt.u32 %p1, %lane, 3; @%p1 shfl.sync.idx.b32 %r0|%p0, %lane, 9, 31, 0xfffffff0;";
    assert_eq!(run(body), lanes(|l| if l > 3 { 9 } else { 77 }));
}

#[test]
fn a_shuffle_stays_in_its_segment() {
    // Width 8: the segment mask is 0x18.
    assert_eq!(run("shfl.sync.idx.b32 %r0, %lane, 3, 0x181f, -1;"), lanes(|l| l & 24 | 3));
    assert_eq!(
        run("shfl.sync.down.b32 %r0, %lane, 4, 0x1807, -1;"),
        lanes(|l| if l % 8 < 4 { l + 4 } else { l })
    );
    let body = "shfl.sync.up.b32 %r1|%p0, %lane, 4, 0x1800, -1; selp.u32 %r0, %r1, 99, %p0;";
    assert_eq!(run(body), lanes(|l| if l % 8 >= 4 { l - 4 } else { 99 }));
}

#[test]
fn the_old_shuffle_works_on_converged_lanes() {
    assert_eq!(run("shfl.idx.b32 %r0, %lane, 7, 31;"), lanes(|_| 7));
}

#[test]
fn a_shuffle_gathers_lanes_that_have_parted() {
    let body = "setp.lt.u32 %p0, %lane, 16; @%p0 bra A; mul.lo.u32 %r1, %lane, 2; shfl.sync.bfly.b32 %r0, %r1, 16, 31, -1;
        bra END; A: mul.lo.u32 %r1, %lane, 3; shfl.sync.bfly.b32 %r0, %r1, 16, 31, -1; END:";
    assert_eq!(run(body), lanes(|l| if l < 16 { (l + 16) * 2 } else { (l - 16) * 3 }));
}

#[test]
fn shuffles_in_a_row_by_parted_lanes_do_not_mix() {
    let arm = "shfl.sync.bfly.b32 %r1, %r1, 16, 31, -1; add.u32 %r1, %r1, 1; shfl.sync.bfly.b32 %r1, %r1, 16, 31, -1;
        add.u32 %r0, %r1, 1;";
    let body = format!(
        "mul.lo.u32 %r1, %lane, 10; setp.lt.u32 %p0, %lane, 16; @%p0 bra A; {arm} bra END; A: {arm} END:"
    );
    assert_eq!(run(&body), lanes(|l| l * 10 + 2));
}

#[test]
fn a_subset_shuffles_while_the_others_go_elsewhere() {
    let body = "mov.u32 %r0, 0; setp.lt.u32 %p0, %lane, 8; @!%p0 bra END; shfl.sync.idx.b32 %r0, %lane, 3, 31, 0xff; END:";
    assert_eq!(run(body), lanes(|l| if l < 8 { 3 } else { 0 }));
}

#[test]
fn votes_hear_every_member() {
    let setup = "setp.lt.u32 %p0, %lane, 3;";
    assert_eq!(run(&format!("{setup} vote.sync.ballot.b32 %r0, %p0, -1;")), lanes(|_| 7));
    assert_eq!(run(&format!("{setup} vote.sync.ballot.b32 %r0, !%p0, -1;")), lanes(|_| !7));
    assert_eq!(
        run(&format!("{setup} vote.sync.any.pred %p1, %p0, -1; selp.u32 %r0, 1, 0, %p1;")),
        lanes(|_| 1)
    );
    assert_eq!(
        run(&format!("{setup} vote.sync.all.pred %p1, %p0, -1; selp.u32 %r0, 1, 0, %p1;")),
        lanes(|_| 0)
    );
    assert_eq!(
        run(&format!("{setup} vote.sync.uni.pred %p1, %p0, -1; selp.u32 %r0, 1, 0, %p1;")),
        lanes(|_| 0)
    );
}

#[test]
fn matches_find_lanes_with_the_same_value() {
    assert_eq!(
        run("and.b32 %r1, %lane, 1; match.any.sync.b32 %r0, %r1, -1;"),
        lanes(|l| if l % 2 == 0 { 0x5555_5555 } else { 0xaaaa_aaaa })
    );
    let body = "mov.u32 %r1, 4; match.all.sync.b32 %r2|%p0, %r1, -1; selp.u32 %r0, %r2, 0, %p0;";
    assert_eq!(run(body), lanes(|_| u32::MAX));
}

#[test]
fn reductions_cover_the_members() {
    assert_eq!(run("redux.sync.add.u32 %r0, %lane, -1;"), lanes(|_| 496));
    assert_eq!(run("sub.u32 %r1, %lane, 16; redux.sync.min.s32 %r0, %r1, -1;"), lanes(|_| -16i32 as u32));
}

#[test]
fn a_warp_barrier_brings_parted_lanes_together() {
    // After an exit from the loop at different times, only the barrier makes the stores visible in time.
    let body = "setp.lt.u32 %p0, %lane, 16; @%p0 bra A; bar.warp.sync -1; activemask.b32 %r0; bra END;
        A: bar.warp.sync -1; activemask.b32 %r0; END:";
    assert_eq!(run(body), lanes(|l| if l < 16 { 0xffff } else { 0xffff_0000 }));
}

#[test]
fn lanes_that_have_exited_need_not_gather() {
    let body = "setp.lt.u32 %p0, %lane, 4; @%p0 exit; shfl.sync.idx.b32 %r0, %lane, 9, 31, -1;";
    assert_eq!(run(body), lanes(|l| if l < 4 { 0 } else { 9 }));
}

#[test]
fn special_registers_tell_who_and_where() {
    assert_eq!(run("mov.u32 %r0, %lanemask_lt;"), lanes(|l| (1 << l) - 1));
    assert_eq!(run("mov.u32 %r0, %lanemask_ge;"), lanes(|l| u32::MAX << l));
    let body = "mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %ntid.y; mad.lo.u32 %r4, %r2, 10, %r1;
        mad.lo.u32 %r4, %r3, 100, %r4; mov.u32 %r5, %warpid; mad.lo.u32 %r5, %r5, 32, %lane;
        mad.wide.u32 %at, %r5, 4, %data; st.global.u32 [%at], %r4;";
    let shape = Shape { grid: [1, 1, 1], block: [4, 3, 2], dynamic_shared: 0 };
    let out = Gpu::new().transform(&kernel(body), shape, &[0u32; 24]);
    assert_eq!(out[..6], [300, 301, 302, 303, 310, 311]);
    assert_eq!(out[12], 300);
}
