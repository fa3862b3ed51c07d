//! `vprintf`, `malloc`, `free`.

mod support;
use boomerang_gpu::FaultKind;
use support::*;

fn zero_terminated(text: &str) -> String {
    let bytes: Vec<String> = text.bytes().chain([0]).map(|b| b.to_string()).collect();
    format!("{{{}}}", bytes.join(","))
}

#[test]
fn printf_formats_what_the_threads_pass() {
    let template = "%d %s %c %lld %5.2f %*d%%\n";
    let text = format!(
        ".extern .func (.param .u32 r) vprintf(.param .u64 f, .param .u64 a);
        .global .b8 format[{}] = {}; .global .b8 name[4] = {}; {}",
        template.len() + 1,
        zero_terminated(template),
        zero_terminated("abc"),
        kernel(
            ".local .align 8 .b8 args[48]; cvta.local.u64 %x0, args; st.u32 [%x0], %id; mov.u64 %x1, name; st.u64 [%x0+8], %x1;
            st.u32 [%x0+16], 88; st.u64 [%x0+24], -5; mov.f64 %d0, 0d3FF8000000000000; st.f64 [%x0+32], %d0;
            st.u32 [%x0+40], 4; st.u32 [%x0+44], 7; mov.u64 %x2, format;
            { .param .u64 f; .param .u64 a; .param .u32 r; st.param.u64 [f], %x2; st.param.u64 [a], %x0;
              call (r), vprintf, (f, a); ld.param.u32 %r0, [r]; } st.global.u32 [%at], %r0;"
        )
    );
    let gpu = Gpu::new();
    let module = gpu.load(&text);
    let out = gpu.buffer(&[0u32; 2]);
    gpu.launch(&module, "k", shape(1, 2), &[out]).unwrap_or_else(|f| panic!("{f}"));
    let printed = String::from_utf8(gpu.device.drain_printf()).unwrap();
    assert_eq!(printed, "0 abc X -5  1.50    7%\n1 abc X -5  1.50    7%\n");
    assert_eq!(gpu.read::<u32>(out, 2), [7, 7]);
    assert!(gpu.device.drain_printf().is_empty());
}

const HEAP: &str = ".extern .func (.param .u64 r) malloc(.param .u64 n); .extern .func free(.param .u64 p);";

fn malloc(size: u64) -> String {
    format!(
        "{{ .param .u64 n; .param .u64 r; st.param.u64 [n], {size}; call (r), malloc, (n); ld.param.u64 %x0, [r]; }}"
    )
}

const FREE: &str = "{ .param .u64 p; st.param.u64 [p], %x0; call free, (p); }";

#[test]
fn every_thread_gets_a_block_of_its_own() {
    let body = format!(
        "{} st.u32 [%x0], %id; bar.sync 0; ld.u32 %r0, [%x0]; st.global.u32 [%at], %r0; {FREE}",
        malloc(40)
    );
    let out = Gpu::new().transform(&format!("{HEAP} {}", kernel(&body)), shape(2, 64), &[0u32; 128]);
    assert_eq!(out, (0..128).collect::<Vec<u32>>());
}

#[test]
fn a_full_heap_gives_null_and_freed_blocks_come_back() {
    let gpu = Gpu::new();
    gpu.device.set_heap_limit(1 << 20);
    let body = format!("{} {FREE} {} st.global.u64 [%data], %x0;", malloc(700 << 10), malloc(700 << 10));
    let module = gpu.load(&format!("{HEAP} {}", kernel(&body)));
    let out = gpu.buffer(&[0u64]);
    gpu.launch(&module, "k", shape(1, 1), &[out]).unwrap();
    assert_ne!(gpu.read::<u64>(out, 1), [0]);
    gpu.launch(&module, "k", shape(1, 1), &[out]).unwrap_or_else(|f| panic!("{f}"));
    assert_eq!(gpu.read::<u64>(out, 1), [0]);
}

#[test]
fn the_host_can_not_copy_the_heap() {
    let gpu = Gpu::new();
    let module =
        gpu.load(&format!("{HEAP} {}", kernel(&format!("{} st.global.u64 [%data], %x0;", malloc(64)))));
    let out = gpu.buffer(&[0u64]);
    gpu.launch(&module, "k", shape(1, 1), &[out]).unwrap();
    let addr = gpu.read::<u64>(out, 1)[0];
    let mut there = 0u64;
    // SAFETY: the destination is a variable.
    assert!(unsafe { gpu.memory.copy(&raw mut there as u64, addr, 8) }.is_err());
}

#[test]
fn a_block_ends_where_it_ends_and_is_gone_when_freed() {
    let gpu = Gpu::new();
    for body in [
        format!("{} ld.u8 %r0, [%x0+40];", malloc(40)),
        format!("{} {FREE} ld.u8 %r0, [%x0];", malloc(40)),
        format!("{} {FREE} {FREE}", malloc(40)),
    ] {
        let module = gpu.load(&format!("{HEAP} {}", kernel(&body)));
        assert_eq!(
            gpu.launch(&module, "k", shape(1, 1), &[0]).unwrap_err().kind,
            FaultKind::IllegalAddress,
            "{body}"
        );
    }
}
