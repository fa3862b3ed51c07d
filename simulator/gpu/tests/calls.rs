//! Calls: arguments, results, recursion, function addresses, the stack.

mod support;
use boomerang_gpu::FaultKind;
use support::*;

const FIB: &str = ".func (.param .u32 out) fib(.param .u32 n) {
    .reg .u32 %n, %a, %b; .reg .pred %p;
    ld.param.u32 %n, [n];
    setp.lt.u32 %p, %n, 2; @%p bra BASE;
    sub.u32 %a, %n, 1;
    { .param .u32 x; .param .u32 r; st.param.u32 [x], %a; call (r), fib, (x); ld.param.u32 %a, [r]; }
    sub.u32 %b, %n, 2;
    { .param .u32 x; .param .u32 r; st.param.u32 [x], %b; call (r), fib, (x); ld.param.u32 %b, [r]; }
    add.u32 %n, %a, %b;
    BASE: st.param.u32 [out], %n; ret; }";

#[test]
fn lanes_recurse_to_different_depths() {
    let body =
        "rem.u32 %r0, %id, 13; { .param .u32 x; .param .u32 r; st.param.u32 [x], %r0; call (r), fib, (x);
        ld.param.u32 %r1, [r]; } st.global.u32 [%at], %r1;";
    let out = Gpu::new().transform(&format!("{FIB} {}", kernel(body)), shape(2, 64), &[0u32; 128]);
    let mut fib = vec![0u32, 1];
    for n in 2..13 {
        fib.push(fib[n - 1] + fib[n - 2]);
    }
    let want: Vec<u32> = (0..128).map(|i| fib[i % 13]).collect();
    assert_eq!(out, want);
}

#[test]
fn lanes_call_different_functions_through_addresses_in_memory() {
    let functions: String = (0..3)
        .map(|n| {
            format!(
                ".func (.param .u32 out) f{n}(.param .u32 x) {{ .reg .u32 %v; ld.param.u32 %v, [x];
                 mad.lo.u32 %v, %v, 100, {n}; st.param.u32 [out], %v; ret; }}"
            )
        })
        .collect();
    let body = "rem.u32 %r0, %id, 3; mov.u64 %x0, table; mad.wide.u32 %x0, %r0, 8, %x0; ld.global.u64 %x1, [%x0];
        { .param .u32 x; .param .u32 r; st.param.u32 [x], %id; P: .callprototype (.param .u32 _) _ (.param .u32 _);
        call (r), %x1, (x), P; ld.param.u32 %r1, [r]; } activemask.b32 %r2; shr.u32 %r2, %r2, 31;
        add.u32 %r1, %r1, %r2; st.global.u32 [%at], %r1;";
    let text = format!("{functions} .global .u64 table[3] = {{f0, f1, f2}}; {}", kernel(body));
    let out = Gpu::new().transform(&text, shape(1, 32), &[0u32; 32]);
    assert_eq!(out, (0..32).map(|i| i * 100 + i % 3 + 1).collect::<Vec<u32>>());
}

#[test]
fn a_call_of_garbage_is_a_fault_that_names_the_address() {
    let body = "mov.u64 %x1, 12345; { P: .callprototype _ (); call %x1, (), P; }";
    let gpu = Gpu::new();
    let module = gpu.load(&kernel(body));
    let fault = gpu.launch(&module, "k", shape(1, 1), &[0]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::InvalidProgramCounter);
    assert!(fault.to_string().contains("0x3039"), "{fault}");
}

#[test]
fn endless_recursion_overflows_the_stack() {
    let gpu = Gpu::new();
    let text = format!(
        ".func f() {{ .local .b8 room[100]; .reg .u64 %a; mov.u64 %a, room; st.local.u8 [%a], 1; call f; ret; }} {}",
        kernel("call f;")
    );
    let module = gpu.load(&text);
    let fault = gpu.launch(&module, "k", shape(1, 32), &[0]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::StackOverflow);
    let depth = fault.callers.len();
    gpu.device.set_stack_limit(64 << 10);
    let fault = gpu.launch(&module, "k", shape(1, 32), &[0]).unwrap_err();
    assert!(fault.callers.len() > 40 * depth, "{depth} frames, then {}", fault.callers.len());
}

#[test]
fn local_variables_belong_to_one_activation_of_one_thread() {
    let text = format!(
        ".func (.param .u32 out) f(.param .u32 n) {{ .local .align 4 .b8 v[8]; .reg .u32 %n, %m; .reg .u64 %a, %g; .reg .pred %p;
            ld.param.u32 %n, [n]; mov.u64 %a, v; cvta.local.u64 %g, %a; st.u32 [%g+4], %n;
            setp.eq.u32 %p, %n, 0; @%p bra END; sub.u32 %m, %n, 1;
            {{ .param .u32 x; .param .u32 r; st.param.u32 [x], %m; call (r), f, (x); ld.param.u32 %m, [r]; }}
            ld.local.u32 %n, [%a+4]; add.u32 %n, %n, %m; END: st.param.u32 [out], %n; ret; }} {}",
        kernel("and.b32 %r0, %id, 7; { .param .u32 x; .param .u32 r; st.param.u32 [x], %r0; call (r), f, (x);
            ld.param.u32 %r1, [r]; } st.global.u32 [%at], %r1;")
    );
    let out = Gpu::new().transform(&text, shape(1, 64), &[0u32; 64]);
    assert_eq!(out, (0..64).map(|i| (i % 8) * (i % 8 + 1) / 2).collect::<Vec<u32>>());
}

#[test]
fn structures_travel_by_value() {
    let text = format!(
        ".func (.param .align 8 .b8 out[16]) swap(.param .align 8 .b8 s[16]) {{ .reg .u64 %x; .reg .u32 %a, %b;
            ld.param.u64 %x, [s]; ld.param.u32 %a, [s+8]; ld.param.u32 %b, [s+12];
            st.param.u32 [out], %b; st.param.u32 [out+4], %a; st.param.u64 [out+8], %x; ret; }} {}",
        kernel("cvt.u64.u32 %x0, %id; { .param .align 8 .b8 s[16]; .param .align 8 .b8 r[16]; st.param.u64 [s], %x0;
            st.param.u32 [s+8], 5; st.param.u32 [s+12], 6; call (r), swap, (s); ld.param.u32 %r0, [r];
            ld.param.u32 %r1, [r+4]; ld.param.u64 %x1, [r+8]; } cvt.u32.u64 %r2, %x1; mad.lo.u32 %r2, %r2, 10, %r0;
            mad.lo.u32 %r2, %r2, 10, %r1; st.global.u32 [%at], %r2;")
    );
    let out = Gpu::new().transform(&text, shape(1, 3), &[0u32; 3]);
    assert_eq!(out, [65, 165, 265]);
}

#[test]
fn registers_can_be_parameters() {
    let text = format!(
        ".func (.reg .u32 %out) twice(.reg .u32 %in) {{ add.u32 %out, %in, %in; ret; }} {}",
        kernel("call (%r0), twice, (%id); st.global.u32 [%at], %r0;")
    );
    let out = Gpu::new().transform(&text, shape(1, 4), &[0u32; 4]);
    assert_eq!(out, [0, 2, 4, 6]);
}

#[test]
fn a_call_under_a_predicate_is_made_by_some_lanes() {
    let text = format!(
        ".func (.param .u32 out) mask() {{ .reg .u32 %m; activemask.b32 %m; st.param.u32 [out], %m; ret; }} {}",
        kernel("setp.lt.u32 %p0, %id, 5; mov.u32 %r0, 0; { .param .u32 r; @%p0 call (r), mask; @%p0 ld.param.u32 %r0, [r]; }
            activemask.b32 %r1; setp.ne.u32 %p1, %r1, -1; @%p1 mov.u32 %r0, 99; st.global.u32 [%at], %r0;")
    );
    let out = Gpu::new().transform(&text, shape(1, 32), &[0u32; 32]);
    assert_eq!(out[..5], [31; 5]);
    assert_eq!(out[5..], [0; 27]);
}

#[test]
fn lanes_that_return_early_meet_the_others_in_the_caller() {
    let text = format!(
        ".func f() {{ .reg .u32 %l; .reg .pred %p; mov.u32 %l, %laneid; setp.lt.u32 %p, %l, 7; @%p ret; add.u32 %l, %l, 1; ret; }} {}",
        kernel("call f; activemask.b32 %r0; st.global.u32 [%at], %r0;")
    );
    let out = Gpu::new().transform(&text, shape(1, 32), &[0u32; 32]);
    assert_eq!(out, [u32::MAX; 32]);
}

#[test]
fn the_stack_grows_by_alloca_and_shrinks_by_the_return() {
    let text = format!(
        ".func (.param .u32 out) f(.param .u32 n) {{ .reg .u32 %n, %v; .reg .u64 %s, %a, %b, %t; ld.param.u32 %n, [n];
            mul.wide.u32 %s, %n, 4; stacksave.u64 %t; alloca.u64 %a, %s, 16; st.local.u32 [%a], %n; alloca.u64 %b, %s;
            st.local.u32 [%b], 1000; ld.local.u32 %v, [%a]; stackrestore.u64 %t; st.param.u32 [out], %v; ret; }} {}",
        kernel("mov.u32 %r2, 0; LOOP: add.u32 %r0, %id, 5; { .param .u32 x; .param .u32 r; st.param.u32 [x], %r0; call (r), f, (x);
            ld.param.u32 %r1, [r]; } add.u32 %r2, %r2, 1; setp.lt.u32 %p0, %r2, 50; @%p0 bra LOOP; st.global.u32 [%at], %r1;")
    );
    let out = Gpu::new().transform(&text, shape(1, 32), &[0u32; 32]);
    assert_eq!(out, (5..37).collect::<Vec<u32>>());
}

#[test]
fn room_from_alloca_has_a_generic_address_that_callees_can_use() {
    // As GCC 16 writes it: the address is made generic at once. Each lane asks for another size.
    let text = format!(
        ".func fill(.param .u64 at, .param .u32 n) {{ .reg .u64 %a; .reg .u32 %n; .reg .pred %p; ld.param.u64 %a, [at]; ld.param.u32 %n, [n];
            LOOP: st.u32 [%a], %n; add.u64 %a, %a, 4; add.u32 %n, %n, -1; setp.ne.u32 %p, %n, 0; @%p bra LOOP; ret; }} {}",
        kernel("add.u32 %r0, %id, 1; mul.wide.u32 %x0, %r0, 4; add.u64 %x0, %x0, 15; and.b64 %x0, %x0, -16;
            { .reg .u64 %l; alloca.u64 %l, %x0; cvta.local.u64 %x1, %l; }
            { .param .u64 a; .param .u32 n; st.param.u64 [a], %x1; st.param.u32 [n], %r0; call fill, (a, n); }
            mov.u32 %r2, 0; SUM: ld.u32 %r1, [%x1]; add.u32 %r2, %r2, %r1; add.u64 %x1, %x1, 4; setp.ne.u32 %p0, %r1, 1; @%p0 bra SUM;
            st.global.u32 [%at], %r2;")
    );
    let out = Gpu::new().transform(&text, shape(1, 32), &[0u32; 32]);
    assert_eq!(out, (1..33).map(|n| n * (n + 1) / 2).collect::<Vec<u32>>());
}

#[test]
fn a_lane_frees_what_it_allocated_while_the_others_wait_for_it() {
    // Far more rounds than the stack has room for; the other lanes keep their variable.
    let body = "alloca.u64 %x0, 4; st.local.u32 [%x0], %id; setp.ne.u32 %p0, %lane, 0; @%p0 bra END; mov.u32 %r0, 0;
        LOOP: stacksave.u64 %x1; alloca.u64 %x2, 512; st.local.u32 [%x2], 77; stackrestore.u64 %x1; add.u32 %r0, %r0, 1;
        setp.lt.u32 %p1, %r0, 10000; @%p1 bra LOOP; END: ld.local.u32 %r1, [%x0]; st.global.u32 [%at], %r1;";
    let out = Gpu::new().transform(&kernel(body), shape(1, 32), &[0u32; 32]);
    assert_eq!(out, (0..32).collect::<Vec<u32>>());
}
