//! The address space, from the host's side.

mod support;
use boomerang_gpu::{Kind, Memory};
use support::*;

#[test]
fn capacity_is_accounted() {
    let memory = Memory::new(&[1 << 20]).unwrap();
    let a = memory.alloc_device(0, 600 << 10, 256).unwrap();
    assert_eq!(memory.free_bytes(0), 424 << 10);
    let refused = memory.alloc_device(0, 600 << 10, 256).unwrap_err();
    assert_eq!((refused.requested, refused.free), (600 << 10, 424 << 10));
    memory.free_device(a).unwrap();
    assert_eq!(memory.free_bytes(0), 1 << 20);
    assert!(memory.free_device(a).is_none());
}

#[test]
fn gigabytes_cost_nothing_until_they_are_used() {
    let memory = Memory::new(&[80 << 30, 80 << 30]).unwrap();
    let a = memory.alloc_device(1, 60 << 30, 1 << 20).unwrap();
    assert_eq!(a % (1 << 20), 0);
    let (byte, mut back) = (7u8, 0u8);
    let end = a + (60 << 30) - 1;
    // SAFETY: the host sides are variables.
    unsafe {
        memory.copy(end, &raw const byte as u64, 1).unwrap();
        memory.copy(&raw mut back as u64, end, 1).unwrap();
    }
    assert_eq!(back, 7);
    assert_eq!(memory.lookup(end).unwrap().device, 1);
    assert!(memory.lookup(end + 1).is_none());
    assert_eq!(memory.device_of(a), Some(1));
}

#[test]
fn copies_and_fills_stay_inside_allocations() {
    let gpu = Gpu::new();
    let a = gpu.buffer(&[1u32, 2, 3, 4]);
    let b = gpu.buffer(&[0u32; 4]);
    // SAFETY: both are device memory.
    unsafe {
        gpu.memory.copy(b, a, 16).unwrap();
        gpu.memory.fill(b, 0x0505_0505u32, 2).unwrap();
        let error = gpu.memory.copy(b, a, 17).unwrap_err();
        assert_eq!((error.address, error.len), (b, 17));
        assert!(gpu.memory.fill(b + 8, 0u64, 2).is_err());
        assert!(error.to_string().contains("16 bytes at"), "{error}");
    }
    assert_eq!(gpu.read::<u32>(b, 4), [0x0505_0505, 0x0505_0505, 3, 4]);
}

#[test]
fn fresh_memory_is_zero_even_where_freed_memory_was() {
    let memory = Memory::new(&[1 << 20]).unwrap();
    for _ in 0..3 {
        let a = memory.alloc_device(0, 4096, 256).unwrap();
        let mut there = 1u64;
        // SAFETY: the host sides are variables.
        unsafe {
            memory.copy(&raw mut there as u64, a + 128, 8).unwrap();
            memory.fill(a, 0xffu8, 4096).unwrap();
        }
        assert_eq!(there, 0);
        memory.free_device(a).unwrap();
    }
}

#[test]
fn registered_ranges_do_not_overlap() {
    let memory = Memory::new(&[1 << 20]).unwrap();
    let host = vec![0u8; 4096];
    let base = host.as_ptr() as u64;
    // SAFETY: the vector outlives the registrations.
    unsafe {
        memory.register_host(base, 1000, Kind::Registered, 0).unwrap();
        assert_eq!(memory.register_host(base + 999, 10, Kind::Registered, 0).unwrap_err().base, base);
        memory.register_host(base + 1000, 10, Kind::Pinned, 0).unwrap();
    }
    assert_eq!(memory.lookup(base + 999).unwrap().kind, Kind::Registered);
    assert_eq!(memory.resolve(base + 8, 8).unwrap() as u64, base + 8);
    assert!(memory.resolve(base + 996, 8).is_err());
    assert!(memory.unregister_host(base + 8).is_none());
    memory.unregister_host(base).unwrap();
    assert!(memory.lookup(base).is_none());
}

#[test]
fn variables_start_with_their_values() {
    let gpu = Gpu::new();
    let text =
        format!(
        ".global .align 4 .u32 v[4] = {{1, 2}}; .const .f32 c = 0f40490FDB; .global .u64 p = generic(v) + 4;
         .global .f64 d = 0d4000000000000000; {}",
        kernel("ld.global.u64 %x0, [p]; ld.u32 %r0, [%x0]; ld.const.f32 %f0, [c]; cvt.rni.u32.f32 %r1, %f0;
            mad.lo.u32 %r0, %r0, 10, %r1; st.global.u32 [%data], %r0;")
    );
    let module = gpu.load(&text);
    let v = module.global("v").unwrap();
    assert_eq!(v.size, 16);
    assert_eq!(gpu.read::<u32>(v.address, 4), [1, 2, 0, 0]);
    assert_eq!(gpu.read::<f64>(module.global("d").unwrap().address, 1), [2.0]);
    let out = gpu.buffer(&[0u32]);
    gpu.launch(&module, "k", shape(1, 1), &[out]).unwrap_or_else(|f| panic!("{f}"));
    assert_eq!(gpu.read::<u32>(out, 1), [23]);
    let before = gpu.memory.free_bytes(0);
    drop(module);
    assert!(gpu.memory.free_bytes(0) > before);
}

#[test]
fn other_devices_memory_needs_peer_access() {
    use boomerang_gpu::*;
    use std::sync::Arc;
    let memory = Arc::new(Memory::new(&[1 << 30, 1 << 30]).unwrap());
    let gpu = Gpu { device: Device::new(DeviceConfig::default(), memory.clone()), memory };
    let module = gpu.load(&kernel("st.global.u32 [%data], 1;"));
    let far = gpu.memory.alloc_device(1, 64, 256).unwrap();
    assert_eq!(gpu.launch(&module, "k", shape(1, 1), &[far]).unwrap_err().kind, FaultKind::IllegalAddress);
    gpu.memory.set_peer_access(0, 1, true);
    gpu.launch(&module, "k", shape(1, 1), &[far]).unwrap();
    gpu.memory.set_peer_access(0, 1, false);
    assert!(gpu.launch(&module, "k", shape(1, 1), &[far]).is_err());
}

#[test]
fn kernels_tell_their_needs() {
    let gpu = Gpu::new();
    let module = gpu.load(
        ".visible .entry k(.param .u32 a, .param .u64 b, .param .u8 c) .maxntid 128 {
            .shared .align 8 .b8 s[100]; .local .b8 v[200]; .reg .u64 %x; mov.u64 %x, s; mov.u64 %x, v; ret; }",
    );
    assert_eq!(module.kernel_names().collect::<Vec<_>>(), ["k"]);
    let k = module.kernel("k").unwrap();
    let places: Vec<_> = k.params().iter().map(|p| (p.offset, p.size)).collect();
    assert_eq!(places, [(0, 4), (8, 8), (16, 1)]);
    assert_eq!(k.params_size(), 17);
    assert_eq!(k.max_threads(), 128);
    assert!(k.static_shared() >= 100 && k.local_size() >= 200);
    assert!(module.kernel("other").is_none());
}

#[test]
fn dynamic_shared_memory_follows_the_static() {
    let body = ".shared .u32 s[3]; mov.u64 %x0, dynamic; mad.wide.u32 %x0, %id, 4, %x0; st.shared.u32 [%x0], %id; bar.sync 0;
        ld.shared.u32 %r0, [%x0]; mov.u32 %r1, %dynamic_smem_size; add.u32 %r0, %r0, %r1; st.global.u32 [%at], %r0;";
    let text = format!(".extern .shared .align 16 .b8 dynamic[]; {}", kernel(body));
    let shape = Shape { dynamic_shared: 256, ..shape(1, 64) };
    let out = Gpu::new().transform(&text, shape, &[0u32; 64]);
    assert_eq!(out, (256..320).collect::<Vec<u32>>());
}

#[test]
fn a_local_variable_of_the_module_is_each_threads_own_and_all_functions_see_it() {
    let text = format!(
        ".local .align 8 .u64 mine; .local .u32 other;
         .func bump {{ .local .u64 x; .reg .u64 %v, %a; cvta.local.u64 %a, mine; ld.u64 %v, [%a]; add.u64 %v, %v, 5;
             st.local.u64 [x], 99; st.local.u64 [mine], %v; ret; }}
         {}",
        kernel(
            ".local .u32 y; cvt.u64.u32 %x1, %id; st.local.u64 [mine], %x1; st.local.u32 [other], 7; st.local.u32 [y], 8;
             call bump; call bump; ld.local.u32 %r1, [mine]; ld.local.u32 %r2, [y]; add.u32 %r1, %r1, %r2;
             st.global.u32 [%at], %r1;"
        )
    );
    let out = Gpu::new().transform(&text, shape(1, 64), &[0u32; 64]);
    assert_eq!(out, (0..64).map(|n| n + 18).collect::<Vec<u32>>());
}
