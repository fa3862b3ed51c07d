mod support;
use support::*;

#[test]
fn every_thread_of_a_grid_runs() {
    let gpu = Gpu::new();
    let out = gpu.transform(&kernel("st.global.u32 [%at], %tid;"), shape(5, 100), &vec![0u32; 500]);
    assert_eq!(out, (0..500).collect::<Vec<u32>>());
}
