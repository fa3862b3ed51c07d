//! What the driver refuses, and with which code.

mod common;
use common::*;
use std::ptr::{null, null_mut};

#[test]
fn before_cuinit_calls_return_not_initialized() {
    if passed_in_child("before_cuinit_calls_return_not_initialized", &[]) {
        return;
    }
    let mut n = 0;
    assert_eq!(code!(cuDeviceGetCount(&mut n)), NOT_INITIALIZED);
    assert_eq!(code!(cuInit(1)), INVALID_VALUE);
    ok!(cuDriverGetVersion(&mut n));
    assert_eq!(n, 13000);
    ok!(cuInit(0));
    ok!(cuDeviceGetCount(&mut n));
    assert_eq!(n, 1);
}

#[test]
fn a_thread_without_a_context_gets_invalid_context() {
    ok!(cuInit(0));
    let mut address = 0;
    assert_eq!(code!(cuMemAlloc_v2(&mut address, 8)), INVALID_CONTEXT);
    assert_eq!(code!(cuCtxSynchronize()), INVALID_CONTEXT);
    assert_eq!(code!(cuStreamQuery(NULL_STREAM)), INVALID_CONTEXT);
    assert_eq!(code!(cuCtxPopCurrent_v2(null_mut())), INVALID_CONTEXT);
}

#[test]
fn a_thread_without_a_context_may_ask_for_a_stream_by_its_handle() {
    let _context = Context::new();
    let stream = stream(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            ok!(cuStreamQuery(stream as Handle));
            ok!(cuStreamSynchronize(stream as Handle));
            assert_eq!(code!(cuStreamQuery(NULL_STREAM)), INVALID_CONTEXT);
        });
    });
}

#[test]
fn a_wrong_ordinal_is_an_invalid_device() {
    ok!(cuInit(0));
    let mut value = 0;
    for ordinal in [-1, 1, 99] {
        assert_eq!(code!(cuDeviceGet(&mut value, ordinal)), INVALID_DEVICE);
        assert_eq!(code!(cuDeviceGetAttribute(&mut value, 16, ordinal)), INVALID_DEVICE);
    }
    assert_eq!(code!(cuDeviceGetAttribute(&mut value, 9999, 0)), INVALID_VALUE);
}

#[test]
fn handles_of_another_kind_and_stale_handles_are_invalid() {
    let _context = Context::new();
    let (stream, event) = (stream(0) as Handle, event(0) as Handle);
    assert_eq!(code!(cuStreamQuery(event)), INVALID_HANDLE);
    assert_eq!(code!(cuEventQuery(stream)), INVALID_HANDLE);
    assert_eq!(code!(cuModuleUnload(stream)), INVALID_HANDLE);
    assert_eq!(code!(cuFuncLoad(0x1234 as Handle)), INVALID_HANDLE);
    ok!(cuStreamDestroy_v2(stream));
    ok!(cuEventDestroy_v2(event));
    assert_eq!(code!(cuStreamDestroy_v2(stream)), INVALID_HANDLE);
    assert_eq!(code!(cuEventRecord(event, NULL_STREAM)), INVALID_HANDLE);
}

#[test]
fn null_results_are_invalid_values() {
    let _context = Context::new();
    assert_eq!(code!(cuMemAlloc_v2(null_mut(), 8)), INVALID_VALUE);
    assert_eq!(code!(cuStreamCreate(null_mut(), 0)), INVALID_VALUE);
    assert_eq!(code!(cuDeviceGetCount(null_mut())), INVALID_VALUE);
    assert_eq!(code!(cuMemcpy2D_v2(null())), INVALID_VALUE);
}

#[test]
fn a_destroyed_context_is_known_to_be_destroyed() {
    let context = Context::new();
    let stream = stream(0) as Handle;
    std::thread::scope(|scope| {
        scope.spawn(|| ok!(cuCtxPushCurrent_v2(context.0 as Handle))).join().unwrap();
    });
    let handle = context.0 as Handle;
    ok!(cuCtxPushCurrent_v2(handle));
    drop(context);
    let mut address = 0;
    assert_eq!(code!(cuMemAlloc_v2(&mut address, 8)), CONTEXT_IS_DESTROYED);
    assert_eq!(code!(cuStreamQuery(stream)), INVALID_HANDLE);
    assert_eq!(code!(cuCtxSetCurrent(handle)), INVALID_CONTEXT);
    assert_eq!(code!(cuCtxDestroy_v2(handle)), INVALID_CONTEXT);
}

#[test]
fn each_thread_has_a_stack_of_contexts() {
    let (first, second) = (Context::new(), Context::new());
    let mut current = null_mut();
    ok!(cuCtxGetCurrent(&mut current));
    assert_eq!(current as usize, second.0);
    ok!(cuCtxPopCurrent_v2(&mut current));
    assert_eq!(current as usize, second.0);
    ok!(cuCtxGetCurrent(&mut current));
    assert_eq!(current as usize, first.0);
    std::thread::spawn(|| {
        let mut current = 1 as Handle;
        ok!(cuCtxGetCurrent(&mut current));
        assert!(current.is_null());
    })
    .join()
    .unwrap();
}

#[test]
fn the_primary_context_lives_while_it_is_retained() {
    if passed_in_child("the_primary_context_lives_while_it_is_retained", &[]) {
        return;
    }
    ok!(cuInit(0));
    let (mut first, mut second) = (null_mut(), null_mut());
    ok!(cuDevicePrimaryCtxRetain(&mut first, 0));
    ok!(cuDevicePrimaryCtxRetain(&mut second, 0));
    assert_eq!(first, second);
    ok!(cuCtxSetCurrent(first));
    ok!(cuDevicePrimaryCtxRelease_v2(0));
    ok!(cuCtxSynchronize());
    ok!(cuDevicePrimaryCtxRelease_v2(0));
    assert_eq!(code!(cuCtxSynchronize()), CONTEXT_IS_DESTROYED);
    assert_eq!(code!(cuDevicePrimaryCtxRelease_v2(0)), INVALID_CONTEXT);
}

#[test]
fn failures_can_be_injected_from_the_nth_call_on() {
    let name = "failures_can_be_injected_from_the_nth_call_on";
    let fail = "cuMemAlloc#2=2,cuStreamCreate=999,cuEventCreate=0";
    if passed_in_child(name, &[("BOOMERANG_SIM_FAIL", fail)]) {
        return;
    }
    let _context = Context::new();
    let (mut address, mut stream) = (0, null_mut());
    ok!(cuMemAlloc_v2(&mut address, 8));
    assert_eq!(code!(cuMemAlloc_v2(&mut address, 8)), OUT_OF_MEMORY);
    assert_eq!(code!(cuMemAlloc_v2(&mut address, 8)), OUT_OF_MEMORY);
    assert_eq!(code!(cuStreamCreate(&mut stream, 0)), 999);
    event(0);
}

#[test]
fn without_devices_cuinit_says_so() {
    if passed_in_child("without_devices_cuinit_says_so", &[("BOOMERANG_SIM_DEVICES", "0")]) {
        return;
    }
    assert_eq!(code!(cuInit(0)), 100);
}

#[test]
fn a_wrong_variable_costs_one_line() {
    if let Some(output) = in_child("a_wrong_variable_costs_one_line", &[("BOOMERANG_SIM_SMS", "zero")]) {
        let lines: Vec<String> = stderr(&output).lines().map(str::to_owned).collect();
        assert!(output.status.success());
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains("BOOMERANG_SIM_SMS=zero") && lines[0].contains("from 1 to 1024"));
        return;
    }
    ok!(cuInit(0));
}

#[test]
fn a_forked_child_cannot_use_the_driver() {
    if passed_in_child("a_forked_child_cannot_use_the_driver", &[]) {
        return;
    }
    unsafe extern "C" {
        fn fork() -> i32;
        fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
        fn _exit(status: i32) -> !;
    }
    let _context = Context::new();
    // SAFETY: the child calls the driver once and ends without running destructors.
    let pid = unsafe { fork() };
    if pid == 0 {
        let mut n = 0;
        let code = code!(cuDeviceGetCount(&mut n)) | code!(cuInit(0)) << 4;
        // SAFETY: see above.
        unsafe { _exit(code as i32) };
    }
    let mut status = 0;
    // SAFETY: `status` is writable.
    unsafe { waitpid(pid, &mut status, 0) };
    assert_eq!(status >> 8, (NOT_INITIALIZED | NOT_INITIALIZED << 4) as i32);
    ok!(cuCtxSynchronize());
}

#[test]
fn functions_are_found_by_name_and_unknown_ones_are_not() {
    ok!(cuInit(0));
    let (mut f, mut status) = (null_mut(), 9);
    ok!(cuGetProcAddress_v2(c"cuMemAlloc".as_ptr(), &mut f, 12080, 0, &mut status));
    assert_eq!((f as usize, status), (cuMemAlloc_v2 as *const () as usize, 0));
    ok!(cuGetProcAddress_v2(c"cuGraphExecUpdate".as_ptr(), &mut f, 12080, 0, &mut status));
    assert_eq!((f as usize, status), (0, 1));
}

#[test]
fn without_stream_memory_operations_the_device_says_so_and_the_calls_fail() {
    let name = "without_stream_memory_operations_the_device_says_so_and_the_calls_fail";
    if passed_in_child(name, &[("BOOMERANG_SIM_MEMOPS", "0")]) {
        return;
    }
    let _context = Context::new();
    for attribute in [92, 93, 94, 122, 123] {
        let mut value = 7;
        ok!(cuDeviceGetAttribute(&mut value, attribute, 0));
        assert_eq!(value, 0);
    }
    let word = &pinned(1)[0];
    assert_eq!(code!(cuStreamWaitValue64_v2(NULL_STREAM, address(word), 1, EQ)), NOT_SUPPORTED);
}

#[test]
fn while_the_process_ends_calls_return_deinitialized() {
    let name = "while_the_process_ends_calls_return_deinitialized";
    if let Some(output) = in_child(name, &[]) {
        assert_eq!(output.status.code(), Some(4), "{output:?}");
        return;
    }
    unsafe extern "C" {
        fn atexit(handler: extern "C" fn()) -> i32;
        fn _exit(status: i32) -> !;
    }
    extern "C" fn last() {
        let code = code!(cuCtxSynchronize());
        // SAFETY: ends the process with the code, whatever the test runner thinks.
        unsafe { _exit(code as i32) };
    }
    // SAFETY: registered before the driver's own handler, so it runs after that.
    unsafe { atexit(last) };
    std::mem::forget(Context::new());
}
