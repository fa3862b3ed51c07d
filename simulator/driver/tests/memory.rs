//! Memory and copies.

mod common;
use common::*;
use std::ffi::c_void;
use std::ptr::null_mut;

fn read(from: u64, bytes: usize) -> Vec<u8> {
    let mut data = vec![0; bytes];
    ok!(cuMemcpyDtoH_v2(data.as_mut_ptr().cast(), from, bytes));
    data
}

#[test]
fn a_copy_there_and_back_gives_the_same_bytes() {
    let _context = Context::new();
    let data: Vec<u8> = (0..=255).collect();
    let (a, b) = (device_memory(256), device_memory(256));
    ok!(cuMemcpyHtoD_v2(a, data.as_ptr().cast(), 256));
    ok!(cuMemcpyDtoD_v2(b, a, 256));
    assert_eq!(read(b, 256), data);
    ok!(cuMemcpy(a + 128, b, 64));
    assert_eq!(read(a + 128, 64), data[..64]);
}

#[test]
fn copies_outside_an_allocation_are_refused() {
    let _context = Context::new();
    let (a, mut data) = (device_memory(100), [0_u8; 200]);
    let host = data.as_mut_ptr().cast::<c_void>();
    assert_eq!(code!(cuMemcpyHtoD_v2(a, host, 101)), INVALID_VALUE);
    assert_eq!(code!(cuMemcpyHtoD_v2(a + 50, host, 51)), INVALID_VALUE);
    assert_eq!(code!(cuMemcpyDtoH_v2(host, a - 1, 1)), INVALID_VALUE);
    assert_eq!(code!(cuMemcpyHtoD_v2(host as u64, host, 8)), INVALID_VALUE, "pageable is no device memory");
    assert_eq!(code!(cuMemcpyDtoH_v2(a as *mut c_void, a, 8)), INVALID_VALUE, "device is no host memory");
    assert_eq!(code!(cuMemsetD8_v2(a, 0, 101)), INVALID_VALUE);
    ok!(cuMemFree_v2(a));
    assert_eq!(code!(cuMemcpyHtoD_v2(a, host, 1)), INVALID_VALUE);
}

#[test]
fn memory_is_freed_once_and_by_its_base() {
    let _context = Context::new();
    let a = device_memory(64);
    assert_eq!(code!(cuMemFree_v2(a + 8)), INVALID_VALUE);
    ok!(cuMemFree_v2(a));
    assert_eq!(code!(cuMemFree_v2(a)), INVALID_VALUE);
    assert_eq!(code!(cuMemFreeHost(a as *mut c_void)), INVALID_VALUE);
    let mut none = 0;
    assert_eq!(code!(cuMemAlloc_v2(&mut none, 0)), INVALID_VALUE);
}

#[test]
fn the_devices_memory_runs_out() {
    if passed_in_child("the_devices_memory_runs_out", &[("BOOMERANG_SIM_MEMORY", "64M")]) {
        return;
    }
    let _context = Context::new();
    let (mut free, mut total, mut more) = (0, 0, 0);
    ok!(cuMemGetInfo_v2(&mut free, &mut total));
    assert_eq!((free, total), (64 << 20, 64 << 20));
    let a = device_memory(60 << 20);
    assert_eq!(code!(cuMemAlloc_v2(&mut more, 8 << 20)), OUT_OF_MEMORY);
    ok!(cuMemFree_v2(a));
    device_memory(60 << 20);
}

#[test]
fn a_destroyed_contexts_memory_is_free_again() {
    if passed_in_child("a_destroyed_contexts_memory_is_free_again", &[]) {
        return;
    }
    let context = Context::new();
    device_memory(1 << 20);
    pinned(4);
    drop(context);
    let _context = Context::new();
    let (mut free, mut total) = (0, 0);
    ok!(cuMemGetInfo_v2(&mut free, &mut total));
    assert_eq!(free, total);
}

#[test]
fn address_range_and_attributes_describe_an_allocation() {
    let _context = Context::new();
    let a = device_memory(1000);
    let (mut base, mut size, mut kind) = (0, 0, 0_u32);
    ok!(cuMemGetAddressRange_v2(&mut base, &mut size, a + 999));
    assert_eq!((base, size), (a, 1000));
    assert_eq!(code!(cuMemGetAddressRange_v2(&mut base, &mut size, 64)), NOT_FOUND);
    ok!(cuPointerGetAttribute((&raw mut kind).cast(), 2, a + 1));
    assert_eq!(kind, 2);
    ok!(cuPointerGetAttribute((&raw mut kind).cast(), 2, address(&pinned(1)[0])));
    assert_eq!(kind, 1);
    let local = 0;
    let own = (&raw const local) as u64;
    assert_eq!(code!(cuPointerGetAttribute((&raw mut kind).cast(), 2, own)), INVALID_VALUE);
}

#[test]
fn managed_memory_is_the_hosts_at_the_same_address() {
    let _context = Context::new();
    let mut a = 0;
    ok!(cuMemAllocManaged(&mut a, 64, 1));
    ok!(cuMemsetD32_v2(a, 0x01020304, 16));
    // SAFETY: managed memory of 64 bytes; the memset of host memory is complete.
    assert_eq!(unsafe { (a as *const u32).add(15).read() }, 0x01020304);
    ok!(cuMemFree_v2(a));
}

/// Pages of 4 KiB that the process has.
fn resident_pages() -> usize {
    let numbers = std::fs::read_to_string("/proc/self/statm").expect("proc(5)");
    numbers.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("the second is the resident set")
}

#[test]
fn managed_memory_takes_none_of_the_hosts_until_it_is_used() {
    let _context = Context::new();
    let (mut a, bytes, before) = (0, 4 << 30, resident_pages());
    ok!(cuMemAllocManaged(&mut a, bytes, 1));
    ok!(cuMemAdvise(a, bytes, 3, 0));
    assert_eq!(code!(cuMemAdvise(a, bytes, 7, 0)), INVALID_VALUE);
    assert_eq!(code!(cuMemAdvise(a, bytes + 1, 3, 0)), INVALID_VALUE);
    assert_eq!(code!(cuMemAdvise(device_memory(16), 16, 3, 0)), INVALID_VALUE);
    let (end, mut read) = (a + bytes as u64 - 8, 0_u64);
    ok!(cuMemcpyHtoD_v2(end, (&raw const bytes).cast(), 8));
    ok!(cuMemcpyDtoH_v2((&raw mut read).cast(), end, 8));
    assert_eq!(read, bytes as u64);
    assert!(resident_pages() < before + bytes / 4096 / 4);
    ok!(cuMemFree_v2(a));
}

#[test]
fn registered_memory_is_known_until_it_is_unregistered() {
    let _context = Context::new();
    let mut data = vec![1_u8; 8192];
    let host = data.as_mut_ptr().cast::<c_void>();
    let mut device = 0;
    assert_eq!(code!(cuMemHostGetDevicePointer_v2(&mut device, host, 0)), INVALID_VALUE);
    ok!(cuMemHostRegister_v2(host, 8192, 0));
    assert_eq!(code!(cuMemHostRegister_v2(host, 16, 0)), 712);
    ok!(cuMemHostGetDevicePointer_v2(&mut device, host, 0));
    assert_eq!(device, host as u64);
    ok!(cuMemHostUnregister(host));
    assert_eq!(code!(cuMemHostUnregister(host)), 713);
}

#[test]
fn an_async_copy_from_pageable_memory_is_staged_and_one_from_pinned_memory_is_not() {
    let _context = Context::new();
    let words = pinned(2);
    let (gate, source) = (&words[0], &words[1]);
    let stream = stream(NON_BLOCKING);
    let target = device_memory(16);
    let mut pageable = 5_u64;
    release(source, 5);
    hold(stream, gate);
    let from = (&raw const pageable).cast::<c_void>();
    ok!(cuMemcpyHtoDAsync_v2(target, from, 8, stream as Handle));
    ok!(cuMemcpyHtoDAsync_v2(target + 8, source.as_ptr().cast(), 8, stream as Handle));
    pageable += 1;
    release(source, 6);
    release(gate, 1);
    ok!(cuStreamSynchronize(stream as Handle));
    let got = read(target, 16);
    assert_eq!((got[0], got[8], pageable), (5, 6, 6));
}

#[test]
fn an_async_copy_to_pageable_memory_is_complete_on_return() {
    let context = Context::new();
    let gate = &pinned(1)[0];
    let stream = stream(NON_BLOCKING);
    let source = device_memory(8);
    hold(stream, gate);
    let call = || {
        let mut data = 0_u64;
        code!(cuMemcpyDtoHAsync_v2((&raw mut data).cast(), source, 8, stream as Handle))
    };
    assert_eq!(blocks(&context, call, || release(gate, 1)), (true, OK));
}

#[test]
fn a_plane_is_copied_row_by_row() {
    let _context = Context::new();
    let source: Vec<u8> = (0..64).collect();
    let target = device_memory(64);
    ok!(cuMemsetD8_v2(target, 0xff, 64));
    let plane = Plane {
        src_x: 2,
        src_y: 1,
        src_type: 1,
        src_host: source.as_ptr().cast(),
        src_device: 0,
        src_array: null_mut(),
        src_pitch: 8,
        dst_x: 1,
        dst_y: 2,
        dst_type: 2,
        dst_host: null_mut(),
        dst_device: target,
        dst_array: null_mut(),
        dst_pitch: 16,
        width: 3,
        height: 2,
    };
    ok!(cuMemcpy2D_v2(&plane));
    let got = read(target, 64);
    assert_eq!(got[33..36], [10, 11, 12]);
    assert_eq!(got[49..52], [18, 19, 20]);
    assert_eq!(got.iter().filter(|b| **b == 0xff).count(), 64 - 6);
    let beyond = Plane { height: 3, ..plane };
    assert_eq!(code!(cuMemcpy2D_v2(&beyond)), INVALID_VALUE);
    let narrow = Plane { src_pitch: 2, ..plane };
    assert_eq!(code!(cuMemcpy2D_v2(&narrow)), INVALID_VALUE);
}

#[test]
fn a_volume_is_copied_slice_by_slice() {
    let _context = Context::new();
    let source = device_memory(4 * 4 * 4);
    let numbers: Vec<u8> = (0..64).collect();
    ok!(cuMemcpyHtoD_v2(source, numbers.as_ptr().cast(), 64));
    let mut target = [0_u8; 8];
    let volume = Volume {
        src_x: 1,
        src_y: 2,
        src_z: 1,
        src_lod: 0,
        src_type: 2,
        src_host: null_mut(),
        src_device: source,
        src_array: null_mut(),
        reserved0: null_mut(),
        src_pitch: 4,
        src_height: 4,
        dst_x: 0,
        dst_y: 0,
        dst_z: 0,
        dst_lod: 0,
        dst_type: 1,
        dst_host: target.as_mut_ptr().cast(),
        dst_device: 0,
        dst_array: null_mut(),
        reserved1: null_mut(),
        dst_pitch: 2,
        dst_height: 2,
        width: 2,
        height: 2,
        depth: 2,
    };
    ok!(cuMemcpy3D_v2(&volume));
    assert_eq!(target, [25, 26, 29, 30, 41, 42, 45, 46]);
}

#[test]
fn stream_ordered_memory_is_freed_behind_the_streams_work() {
    let _context = Context::new();
    let gate = &pinned(1)[0];
    let stream = stream(NON_BLOCKING) as Handle;
    let mut a = 0;
    ok!(cuMemAllocAsync(&mut a, 64, stream));
    hold(stream as usize, gate);
    ok!(cuMemFreeAsync(a, stream));
    ok!(cuMemsetD32Async(a, 1, 16, NULL_STREAM));
    ok!(cuStreamSynchronize(NULL_STREAM));
    release(gate, 1);
    ok!(cuStreamSynchronize(stream));
    assert_eq!(code!(cuMemsetD8_v2(a, 1, 1)), INVALID_VALUE);
}
