//! Thread-instructions a second of a saxpy kernel on one worker.

use boomerang_gpu::*;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// `y[i] += a * x[i]` for the thread's `i` and every one a grid further on, in the way compilers write it.
const SAXPY: &str = "
.version 7.8
.target sm_52
.address_size 64
.visible .entry saxpy(.param .u64 x_param, .param .u64 y_param, .param .u64 n_param) {
    .reg .u64 %x, %y, %px, %py;
    .reg .u32 %i, %n, %step, %t, %b;
    .reg .f32 %a, %u, %v;
    .reg .pred %p;
    ld.param.u64 %x, [x_param];
    ld.param.u64 %y, [y_param];
    ld.param.u32 %n, [n_param];
    mov.u32 %t, %tid.x;
    mov.u32 %b, %ctaid.x;
    mov.u32 %step, %ntid.x;
    mad.lo.u32 %i, %b, %step, %t;
    mov.u32 %b, %nctaid.x;
    mul.lo.u32 %step, %step, %b;
    mov.f32 %a, 0f40000000;
    setp.ge.u32 %p, %i, %n;
    @%p bra DONE;
LOOP:
    mad.wide.u32 %px, %i, 4, %x;
    mad.wide.u32 %py, %i, 4, %y;
    ld.global.f32 %u, [%px];
    ld.global.f32 %v, [%py];
    fma.rn.f32 %v, %a, %u, %v;
    st.global.f32 [%py], %v;
    add.u32 %i, %i, %step;
    setp.lt.u32 %p, %i, %n;
    @%p bra LOOP;
DONE:
    ret;
}";

const N: u64 = 1 << 22;

fn main() {
    let memory = Arc::new(Memory::new(&[1 << 30]).expect("address space"));
    let device = Device::new(DeviceConfig { workers: 1, ..DeviceConfig::default() }, memory.clone());
    let program = boomerang_ptx::link(vec![boomerang_ptx::parse(SAXPY).expect("PTX")]).expect("it links");
    let object = Object { name: "saxpy.ptx".into(), text: SAXPY.into() };
    let module = Module::load(&program, vec![object], &device).expect("it loads");
    let kernel = module.kernel("saxpy").expect("the kernel");
    let array = || memory.alloc_device(0, 4 * N, 256).expect("device memory");
    let params: Vec<u8> = [array(), array(), N].iter().flat_map(|p| p.to_le_bytes()).collect();
    let launch =
        Launch { kernel: &kernel, grid: [64, 1, 1], block: [256, 1, 1], dynamic_shared: 0, params: &params };
    let mut best = 0f64;
    for _ in 0..5 {
        let start = Instant::now();
        let stats = run_grid(&launch, &AtomicBool::new(false)).expect("no fault");
        best = best.max(stats.thread_instructions as f64 / start.elapsed().as_secs_f64());
    }
    println!("saxpy: {:.0} million thread-instructions per second on one core", best / 1e6);
}
