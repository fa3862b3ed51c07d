//! Several devices.

mod common;
use common::*;
use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};

/// Runs the test in a process with three devices; false inside it.
fn with_three_devices(test: &str) -> bool {
    passed_in_child(test, &[("BOOMERANG_SIM_DEVICES", "3"), ("BOOMERANG_SIM_SMS", "7")])
}

#[test]
fn devices_are_as_many_and_as_large_as_asked() {
    if with_three_devices("devices_are_as_many_and_as_large_as_asked") {
        return;
    }
    ok!(cuInit(0));
    let (mut count, mut value) = (0, 0);
    ok!(cuDeviceGetCount(&mut count));
    assert_eq!(count, 3);
    let mut uuids = [[0_u8; 16]; 3];
    for ordinal in 0..3 {
        for (attribute, expected) in [(16, 7), (75, 9), (76, 0), (10, 32), (41, 1), (88, 0), (122, 1)] {
            ok!(cuDeviceGetAttribute(&mut value, attribute, ordinal));
            assert_eq!(value, expected, "attribute {attribute}");
        }
        ok!(cuDeviceGetUuid_v2(&mut uuids[ordinal as usize], ordinal));
    }
    assert!(uuids[0] != uuids[1] && uuids[1] != uuids[2]);
    let mut name = [1; 12];
    ok!(cuDeviceGetName(name.as_mut_ptr(), 12, 1));
    // SAFETY: the driver ends the name with a NUL.
    assert_eq!(unsafe { CStr::from_ptr(name.as_ptr()) }, c"Boomerang S");
}

#[test]
fn each_device_has_memory_of_its_own_and_copies_reach_all() {
    if with_three_devices("each_device_has_memory_of_its_own_and_copies_reach_all") {
        return;
    }
    let first = Context::on(0);
    let a = device_memory(8);
    let second = Context::on(2);
    let b = device_memory(8);
    let (value, mut got, mut owner) = (0x0123_4567_89ab_cdef_u64, 0_u64, -1);
    ok!(cuMemcpyHtoD_v2(a, (&raw const value).cast(), 8));
    ok!(cuMemcpyPeer(b, second.0 as Handle, a, first.0 as Handle, 8));
    ok!(cuMemcpyDtoH_v2((&raw mut got).cast(), b, 8));
    assert_eq!(got, value);
    ok!(cuPointerGetAttribute((&raw mut owner).cast(), 9, b));
    assert_eq!(owner, 2);
}

#[test]
fn peer_access_is_switched_on_once_and_never_to_oneself() {
    if with_three_devices("peer_access_is_switched_on_once_and_never_to_oneself") {
        return;
    }
    let first = Context::on(0);
    let _second = Context::on(1);
    let mut can = 7;
    ok!(cuDeviceCanAccessPeer(&mut can, 0, 1));
    assert_eq!(can, 1);
    ok!(cuDeviceCanAccessPeer(&mut can, 1, 1));
    assert_eq!(can, 0);
    ok!(cuCtxEnablePeerAccess(first.0 as Handle, 0));
    assert_eq!(code!(cuCtxEnablePeerAccess(first.0 as Handle, 0)), 704);
    first.enter();
    assert_eq!(code!(cuCtxEnablePeerAccess(first.0 as Handle, 0)), INVALID_CONTEXT);
}

/// `add(word)` adds 1 atomically.
const ADD: &CStr = c".version 7.0
.target sm_70
.address_size 64
.visible .entry add (.param .u64 word)
{
	.reg .u64 %a;
	ld.param.u64 %a, [word];
	red.sys.global.add.u64 [%a], 1;
	ret;
}
";

/// Has the current device add 1 to a word; the code that comes of it.
fn add(word: u64) -> u32 {
    let (mut module, mut function) = (null_mut(), null_mut());
    ok!(cuModuleLoadData(&mut module, ADD.as_ptr().cast()));
    ok!(cuModuleGetFunction(&mut function, module, c"add".as_ptr()));
    let parameters = [(&raw const word).cast::<c_void>()];
    ok!(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, null_mut(), parameters.as_ptr(), null()));
    code!(cuCtxSynchronize())
}

fn word_at(address: u64) -> u64 {
    let mut word = 0u64;
    ok!(cuMemcpyDtoH_v2((&raw mut word).cast(), address, 8));
    word
}

#[test]
fn a_kernel_uses_a_peers_memory_once_access_is_enabled() {
    if with_three_devices("a_kernel_uses_a_peers_memory_once_access_is_enabled") {
        return;
    }
    let owner = Context::on(1);
    let word = device_memory(8);
    ok!(cuMemsetD8_v2(word, 0, 8));
    let _user = Context::on(0);
    ok!(cuCtxEnablePeerAccess(owner.0 as Handle, 0));
    assert_eq!(add(word), OK);
    // Access goes one way only, and to that device alone.
    assert_eq!(word_at(word), 32);
    owner.enter();
    assert_eq!(add(word), OK);
    assert_eq!(word_at(word), 64);
}

#[test]
fn a_kernel_that_uses_a_peers_memory_without_access_faults() {
    if with_three_devices("a_kernel_that_uses_a_peers_memory_without_access_faults") {
        return;
    }
    let owner = Context::on(1);
    let word = device_memory(8);
    let mut user = null_mut();
    ok!(cuCtxCreate_v2(&mut user, 0, 0));
    ok!(cuCtxEnablePeerAccess(owner.0 as Handle, 0));
    ok!(cuCtxDisablePeerAccess(owner.0 as Handle));
    assert_eq!(code!(cuCtxDisablePeerAccess(owner.0 as Handle)), 705);
    assert_eq!(add(word), ILLEGAL_ADDRESS);
    // The fault is the user's; the owner goes on.
    owner.enter();
    assert_eq!(add(word), OK);
}

#[test]
fn peer_access_ends_with_the_context_that_enabled_it() {
    if with_three_devices("peer_access_ends_with_the_context_that_enabled_it") {
        return;
    }
    let owner = Context::on(1);
    let word = device_memory(8);
    let mut user = null_mut();
    ok!(cuCtxCreate_v2(&mut user, 0, 0));
    ok!(cuCtxEnablePeerAccess(owner.0 as Handle, 0));
    ok!(cuCtxDestroy_v2(user));
    ok!(cuCtxCreate_v2(&mut user, 0, 0));
    assert_eq!(add(word), ILLEGAL_ADDRESS);
}

#[test]
fn copies_between_devices_need_no_peer_access_and_addresses_tell_whose_they_are() {
    if with_three_devices("copies_between_devices_need_no_peer_access_and_addresses_tell_whose_they_are") {
        return;
    }
    let first = Context::on(0);
    let a = device_memory(4096);
    let second = Context::on(1);
    let b = device_memory(4096);
    ok!(cuMemsetD8_v2(b, 0x5a, 4096));
    // Nothing orders it with the non-blocking stream.
    ok!(cuCtxSynchronize());
    let (first_handle, second_handle) = (first.0 as Handle, second.0 as Handle);
    // From a stream of either, with addresses alone, and not beyond an allocation.
    let stream = stream(NON_BLOCKING) as Handle;
    ok!(cuMemcpyPeerAsync(a, first_handle, b, second_handle, 2048, stream));
    ok!(cuStreamSynchronize(stream));
    assert_eq!(word_at(a), 0x5a5a_5a5a_5a5a_5a5a);
    ok!(cuMemcpy(a + 2048, b, 2048));
    assert_eq!(word_at(a + 4088), 0x5a5a_5a5a_5a5a_5a5a);
    assert_ne!(code!(cuMemcpyPeer(a, first_handle, b, second_handle, 4097)), OK);
    for (address, device) in [(a, 0), (b + 100, 1)] {
        let mut ordinal = -1;
        ok!(cuPointerGetAttribute((&raw mut ordinal).cast(), 9, address));
        assert_eq!(ordinal, device);
    }
}
