//! What kernels are checked for on request, and waiting without end.

mod support;
use boomerang_gpu::{Actor, Checks, Device, DeviceConfig, Fault, FaultKind, Memory};
use std::sync::Arc;
use std::time::Duration;
use support::*;

fn gpu(checks: Checks) -> Gpu {
    let mut memory = Memory::new(&[1 << 30]).expect("address space");
    memory.track_writes().expect("address space");
    let (memory, deadlock) = (Arc::new(memory), Duration::from_millis(200));
    let config = DeviceConfig { multiprocessors: 4, checks, deadlock, ..DeviceConfig::default() };
    Gpu { device: Device::new(config, memory.clone()), memory }
}

/// Runs a kernel of two warps on 64 words that were written, under all checks.
fn run(body: &str) -> Result<boomerang_gpu::Stats, Box<Fault>> {
    let gpu = gpu(Checks { uninitialized: true, races: true });
    let module = gpu.load(&kernel(body));
    let buffer = gpu.buffer(&[0u32; 64]);
    gpu.launch(&module, "k", shape(1, 64), &[buffer])
}

#[test]
fn memory_is_uninitialized_until_it_is_written() {
    let gpu = gpu(Checks { uninitialized: true, races: false });
    let (fill, sum) =
        (gpu.load(&kernel("st.global.u32 [%at], 1;")), gpu.load(&kernel("ld.global.u32 %r0, [%at];")));
    let buffer = gpu.memory.alloc_device(0, 256, 256).unwrap();
    let fault = gpu.launch(&sum, "k", shape(1, 64), &[buffer]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Uninitialized);
    gpu.launch(&fill, "k", shape(1, 32), &[buffer]).unwrap();
    gpu.launch(&sum, "k", shape(1, 32), &[buffer]).unwrap();
    assert_eq!(gpu.launch(&sum, "k", shape(1, 33), &[buffer]).unwrap_err().thread, [32, 0, 0]);
    // SAFETY: the destination is device memory.
    unsafe { gpu.memory.fill(buffer + 128, 0u8, 128) }.unwrap();
    gpu.launch(&sum, "k", shape(1, 64), &[buffer]).unwrap();
}

#[test]
fn variables_of_the_program_are_initialized() {
    run(".global .u32 v[2]; ld.global.u32 %r0, [v+4];").unwrap();
}

#[test]
fn warps_that_write_one_word_race() {
    let fault = run("st.global.u32 [%data], %id;").unwrap_err();
    assert_eq!(fault.kind, FaultKind::Race);
    assert!(
        fault.note.contains("warp 0 wrote it before, at k (object0.ptx, PTX line 17): st.global.u32"),
        "{fault}"
    );
}

#[test]
fn shared_memory_can_be_raced_for_too() {
    let body = ".shared .u32 s[64]; .reg .u64 %s; mov.u64 %s, s; mad.wide.u32 %x0, %id, 4, %s;
        st.shared.u32 [%x0], %id; BARRIER xor.b32 %r0, %id, 63; mad.wide.u32 %x1, %r0, 4, %s; ld.shared.u32 %r1, [%x1];";
    assert_eq!(run(&body.replace("BARRIER", "")).unwrap_err().kind, FaultKind::Race);
    run(&body.replace("BARRIER", "bar.sync 0;")).unwrap();
}

#[test]
fn a_store_behind_a_fence_and_a_load_before_one_hand_data_over() {
    // Warp 0 writes word 40 and then the flag, word 41; warp 1 waits for the flag.
    let body = "setp.ge.u32 %p0, %id, 32; @%p0 bra WAIT; st.global.u32 [%data+160], 7; FENCE
        st.global.u32 [%data+164], 1; bra END; WAIT: ld.global.u32 %r0, [%data+164]; FENCE
        setp.eq.u32 %p1, %r0, 0; @%p1 bra WAIT; ld.global.u32 %r1, [%data+160]; END:";
    run(&body.replace("FENCE", "membar.gl;")).unwrap();
    assert_eq!(run(&body.replace("FENCE", "")).unwrap_err().kind, FaultKind::Race);
}

#[test]
fn threads_that_spin_for_ever_are_a_deadlock_that_names_the_word() {
    let fault = run("setp.eq.u32 %p0, %id, 0; @%p0 st.global.u32 [%data+8], 5; bar.sync 0;
        LOOP: ld.volatile.global.u32 %r0, [%data+8]; setp.ne.u32 %p1, %r0, 0; @%p1 bra LOOP;")
    .unwrap_err();
    assert_eq!(fault.kind, FaultKind::Deadlock);
    assert!(fault.note.contains("block (0,0,0), warps 0-1: a change of the word at"), "{fault}");
    assert!(fault.note.contains("now 0x5"), "{fault}");
}

#[test]
fn freed_addresses_rest_and_say_who_freed_them() {
    let gpu = gpu(Checks::default());
    let module = gpu.load(&kernel("ld.global.u32 %r0, [%at];"));
    let buffer = gpu.buffer(&[0u32; 64]);
    gpu.memory.credit(buffer, Actor::new("the test"));
    gpu.memory.free_device(buffer).unwrap();
    gpu.memory.credit(buffer, Actor::new("its end"));
    assert_ne!(gpu.buffer(&[0u32; 64]), buffer);
    let text = gpu.launch(&module, "k", shape(1, 64), &[buffer]).unwrap_err().to_string();
    for part in ["(use after free)", "allocated by the test", "freed by its end"] {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}

#[test]
fn an_underrun_is_told_by_the_allocation_above() {
    let gpu = gpu(Checks::default());
    let module = gpu.load(&kernel("ld.global.u32 %r0, [%data+-4];"));
    let below = gpu.buffer(&[0u32; 64]);
    let buffer = gpu.buffer(&[0u32; 64]);
    assert!(below < buffer);
    let text = gpu.launch(&module, "k", shape(1, 1), &[buffer]).unwrap_err().to_string();
    assert!(text.contains("4 bytes before device memory"), "{text}");
}

/// A kernel as GCC makes it: `%sspprev` is the end of the warp's soft stack, and the frame takes `frame` bytes of it.
fn region(frame: u32) -> String {
    format!(
        ".visible .entry f$_omp_fn$0(.param .u64 arg, .param .u64 stack, .param .u64 sz) {{
            .reg .u64 %frame, %stack, %sspprev, %size; .reg .u32 %w;
            mov.u32 %w, %tid.y; add.u32 %w, %w, 1; ld.param.u64 %sspprev, [stack]; ld.param.u64 %size, [sz];
            mad.wide.u32 %sspprev, %w, 1024, %sspprev; sub.u64 %frame, %sspprev, {frame}; mov.u64 %stack, %frame; ret; }}"
    )
}

#[test]
fn a_frame_that_does_not_fit_the_soft_stack_is_an_overflow() {
    for (frame, fits) in [(1024, true), (1040, false)] {
        let gpu = Gpu::new();
        let module = gpu.load(&region(frame));
        let stacks = gpu.buffer(&[0u8; 4096]);
        let shape = Shape { grid: [1, 1, 1], block: [32, 4, 1], dynamic_shared: 0 };
        let result = gpu.launch(&module, "f$_omp_fn$0", shape, &[0, stacks, 1024]);
        assert_eq!(result.is_ok(), fits);
        if let Err(fault) = result {
            assert_eq!(fault.kind, FaultKind::StackOverflow);
            assert!(
                fault.to_string().contains("1024 bytes of soft stack, this function needs 16 bytes more"),
                "{fault}"
            );
            assert!(fault.to_string().contains("target region in f"), "{fault}");
        }
    }
}
