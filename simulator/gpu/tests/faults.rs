//! What a kernel may not do, and what is said about it.

mod support;
use boomerang_gpu::{Fault, FaultKind, Kind};
use support::*;

/// The fault of a kernel on a buffer of 16 words.
fn fault_of(body: &str) -> Box<Fault> {
    let gpu = Gpu::new();
    let module = gpu.load(&kernel(body));
    let buffer = gpu.buffer(&[0u32; 16]);
    gpu.launch(&module, "k", shape(2, 32), &[buffer]).expect_err("it must fault")
}

#[test]
fn an_overrun_names_thread_line_and_allocation() {
    let fault = fault_of("setp.eq.u32 %p0, %id, 37;\n @%p0 st.global.u32 [%data+64], %id;");
    assert_eq!(fault.kind, FaultKind::IllegalAddress);
    assert_eq!(fault.kind.cuda_result(), 700);
    assert_eq!((fault.block, fault.thread), ([1, 0, 0], [5, 0, 0]));
    let text = fault.to_string();
    for part in [
        "kernel k: illegal address",
        "block (1,0,0) thread (5,0,0)",
        "@%p0 st.global.u32 [%data+64], %id;",
        "4 bytes write at",
        "0 bytes behind device memory of device 0: 64 bytes at",
    ] {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
    // Line 1 to 3 are the header, the kernel starts on line 4.
    assert_eq!(fault.location.line, 18);
}

#[test]
fn of_a_warp_whose_accesses_went_well_before_the_first_lane_that_strays_is_named() {
    let round = |space: &str, access: &str, stray: &str| {
        fault_of(&format!(
            ".shared .b32 s[16]; mov.u64 %x1, s; and.b32 %r1, %lane, 15; mul.wide.u32 %x0, %r1, 4; add.u64 %x0, %x0, {space};
            setp.eq.u32 %p0, %lane, 20; setp.ge.u32 %p1, %lane, 20;
            AGAIN: {access}; {stray}; bra AGAIN;"
        ))
    };
    for access in ["ld.global.u32 %r0, [%x0]", "st.global.u32 [%x0], %r0"] {
        let fault = round("%data", access, "@%p1 add.u64 %x0, %x0, 64");
        assert_eq!((fault.kind, fault.thread), (FaultKind::IllegalAddress, [20, 0, 0]));
        assert!(fault.to_string().contains("16 bytes behind device memory"), "{fault}");
        let fault = round("%data", access, "@%p0 sub.u64 %x0, %data, 1024");
        assert_eq!((fault.kind, fault.thread), (FaultKind::IllegalAddress, [20, 0, 0]));
        assert!(fault.to_string().contains("1024 bytes before device memory"), "{fault}");
        let fault = round("%data", access, "@%p1 add.u64 %x0, %x0, 2");
        assert_eq!((fault.kind, fault.thread), (FaultKind::MisalignedAddress, [20, 0, 0]));
        let fault = round("%x1", &access.replace("global", "shared"), "@%p1 add.u64 %x0, %x0, 2");
        assert_eq!((fault.kind, fault.thread), (FaultKind::MisalignedAddress, [20, 0, 0]));
        let fault = round("%x1", &access.replace("global", "shared"), "@%p1 add.u64 %x0, %x0, 64");
        assert_eq!((fault.kind, fault.thread), (FaultKind::IllegalAddress, [20, 0, 0]));
    }
}

#[test]
fn null_and_its_surroundings_are_illegal() {
    let fault = fault_of("mov.u64 %x0, 0; ld.u32 %r0, [%x0+8];");
    assert_eq!(fault.kind, FaultKind::IllegalAddress);
    assert!(fault.to_string().contains("null"), "{fault}");
}

#[test]
fn accesses_must_be_aligned() {
    let fault = fault_of("ld.global.u32 %r0, [%data+2];");
    assert_eq!(fault.kind.cuda_result(), 716);
    let fault = fault_of("ld.global.v2.u32 {%r0, %r1}, [%data+4];");
    assert_eq!(fault.kind.cuda_result(), 716);
    let fault = fault_of("atom.global.add.u64 %x0, [%data+4], 1;");
    assert_eq!(fault.kind.cuda_result(), 716);
}

#[test]
fn freed_memory_is_illegal_and_recognised() {
    let gpu = Gpu::new();
    let module = gpu.load(&kernel("ld.global.u32 %r0, [%at];"));
    let buffer = gpu.buffer(&[0u32; 64]);
    gpu.launch(&module, "k", shape(1, 64), &[buffer]).expect("it is allocated");
    gpu.memory.free_device(buffer).expect("it was allocated");
    let fault = gpu.launch(&module, "k", shape(1, 64), &[buffer]).unwrap_err();
    assert!(fault.to_string().contains("256 bytes at"), "{fault}");
    assert!(fault.to_string().contains("freed"), "{fault}");
}

#[test]
fn host_memory_must_be_registered() {
    let gpu = Gpu::new();
    let module = gpu.load(&kernel("st.global.u32 [%at], %id;"));
    let host = vec![0u32; 64];
    let addr = host.as_ptr() as u64;
    assert_eq!(gpu.launch(&module, "k", shape(1, 64), &[addr]).unwrap_err().kind, FaultKind::IllegalAddress);
    // SAFETY: the vector outlives the registration.
    unsafe { gpu.memory.register_host(addr, 256, Kind::Registered, 0) }.unwrap();
    gpu.launch(&module, "k", shape(1, 64), &[addr]).expect("it is registered");
    gpu.memory.unregister_host(addr).unwrap();
    assert_eq!(gpu.launch(&module, "k", shape(1, 64), &[addr]).unwrap_err().kind, FaultKind::IllegalAddress);
    assert_eq!(host[63], 63);
}

#[test]
fn shared_and_local_memory_end_where_they_end() {
    let fault = fault_of(".shared .u32 s[4]; mov.u64 %x0, s; ld.shared.u32 %r0, [%x0+16];");
    assert_eq!(fault.kind, FaultKind::IllegalAddress);
    let fault = fault_of(".shared .u32 s[4]; cvta.shared.u64 %x0, s; ld.u32 %r0, [%x0+4096];");
    assert!(fault.to_string().contains("generic address of shared memory"), "{fault}");
    let fault = fault_of(".local .b32 v[4]; mov.u64 %x0, v; ld.local.u32 %r0, [%x0+100000];");
    assert_eq!(fault.kind, FaultKind::IllegalAddress);
}

#[test]
fn functions_can_not_be_read() {
    let gpu = Gpu::new();
    let module = gpu.load(&format!(".func f() {{ ret; }} {}", kernel("mov.u64 %x0, f; ld.u64 %x1, [%x0];")));
    let fault = gpu.launch(&module, "k", shape(1, 1), &[0]).unwrap_err();
    assert!(fault.to_string().contains("address of a function"), "{fault}");
}

#[test]
fn trap_and_assert_stop_the_grid() {
    assert_eq!(fault_of("setp.eq.u32 %p0, %id, 3; @%p0 trap;").kind.cuda_result(), 719);
    let gpu = Gpu::new();
    let text = format!(
        ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
        .global .b8 message[6] = {{120, 32, 62, 32, 48, 0}}; .global .b8 file[4] = {{97, 46, 99, 0}};
        .global .b8 function[2] = {{102, 0}}; {}",
        kernel("{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;
            mov.u64 %x0, message; st.param.b64 [a], %x0; mov.u64 %x0, file; st.param.b64 [b], %x0; st.param.b32 [c], 12;
            mov.u64 %x0, function; st.param.b64 [d], %x0; st.param.b64 [e], 1; call __assertfail, (a, b, c, d, e); }")
    );
    let module = gpu.load(&text);
    let fault = gpu.launch(&module, "k", shape(1, 1), &[0]).unwrap_err();
    assert_eq!(fault.kind.cuda_result(), 710);
    assert!(fault.note.contains("a.c:12: f: assertion `x > 0` failed"), "{fault}");
}

#[test]
fn the_source_line_and_the_callers_are_named() {
    let gpu = Gpu::new();
    let text = format!(
        ".file 1 \"dir/prog.c\"\n.func deep(.param .u64 p) {{ .reg .u64 %a; .reg .u32 %v; ld.param.u64 %a, [p];\n.loc 1 42 3\nld.u32 %v, [%a]; ret; }}\n{}",
        kernel("{ .param .u64 p; mov.u64 %x0, 64; st.param.u64 [p], %x0; call deep, (p); }")
    );
    let module = gpu.load(&text);
    let fault = gpu.launch(&module, "k", shape(1, 1), &[0]).unwrap_err();
    assert_eq!(fault.location.function, "deep");
    assert_eq!(fault.location.source, Some(("dir/prog.c".to_string(), 42)));
    assert_eq!(fault.callers.len(), 1);
    assert_eq!(fault.callers[0].function, "k");
}

#[test]
fn the_first_fault_ends_blocks_that_would_run_for_ever() {
    let fault = fault_of("setp.eq.u32 %p0, %id, 60; @%p0 bra BAD; LOOP: bra LOOP; BAD: trap;");
    assert_eq!(fault.kind, FaultKind::Trap);
}

#[test]
fn parameters_that_the_launch_did_not_give_are_illegal() {
    let gpu = Gpu::new();
    let module = gpu.load(&kernel(""));
    assert_eq!(gpu.launch(&module, "k", shape(1, 1), &[]).unwrap_err().kind, FaultKind::IllegalAddress);
}
