//! Several devices.

mod common;
use common::*;
use std::ffi::CStr;

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
