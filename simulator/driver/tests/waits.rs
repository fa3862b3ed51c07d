//! Stream memory operations, and what a pending wait blocks: the tables of the measurements on an H200.

mod common;
use common::*;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::time::{Duration, Instant};

type Call = Box<dyn Fn() -> u32 + Sync>;

const PTX: &std::ffi::CStr =
    c".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry k ()\n{\n\tret;\n}\n";

fn module() -> usize {
    let mut module = null_mut();
    ok!(cuModuleLoadData(&mut module, PTX.as_ptr().cast()));
    module as usize
}

fn function(module: usize) -> usize {
    let mut function = null_mut();
    ok!(cuModuleGetFunction(&mut function, module as Handle, c"k".as_ptr()));
    function as usize
}

fn launch(function: usize, stream: usize) -> u32 {
    let (none, f) = (std::ptr::null(), function as Handle);
    code!(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream as Handle, none, none))
}

/// Runs `call` while a wait is pending on a non-blocking stream: whether it blocks, and its code once released.
fn while_a_wait_is_pending(context: &Context, call: impl FnOnce() -> u32 + Send) -> (bool, u32) {
    let gate = &pinned(1)[0];
    let held = stream(NON_BLOCKING);
    hold(held, gate);
    let outcome = blocks(context, call, || release(gate, 1));
    ok!(cuStreamSynchronize(held as Handle));
    outcome
}

#[test]
fn freeing_loading_unloading_and_registering_block_while_a_wait_is_pending() {
    let context = Context::new();
    let (memory, host, module) = (device_memory(8), pinned(1).as_ptr() as usize, module());
    let mut own = vec![0_u8; 4096];
    let own = own.as_mut_ptr() as usize;
    let context = &context;
    let pending = |call: &(dyn Fn() -> u32 + Sync)| while_a_wait_is_pending(context, call);
    let blocked = (true, OK);
    assert_eq!(pending(&|| code!(cuMemFree_v2(memory))), blocked, "cuMemFree");
    assert_eq!(pending(&|| code!(cuMemFreeHost(host as *mut c_void))), blocked, "cuMemFreeHost");
    assert_eq!(pending(&|| code!(cuMemHostRegister_v2(own as *mut c_void, 4096, 0))), blocked, "register");
    let load = || code!(cuModuleLoadData(&mut null_mut(), PTX.as_ptr().cast()));
    assert_eq!(pending(&load), blocked, "cuModuleLoadData");
    assert_eq!(pending(&|| code!(cuModuleUnload(module as Handle))), blocked, "cuModuleUnload");
}

#[test]
fn allocating_creating_copying_and_asking_go_on_while_a_wait_is_pending() {
    let context = Context::new();
    let (memory, f, other) = (device_memory(8), function(module()), stream(NON_BLOCKING) as Handle);
    let context = &context;
    let pending = |call: &(dyn Fn() -> u32 + Sync)| while_a_wait_is_pending(context, call);
    let free = (false, OK);
    let other = other as usize;
    let mut calls: Vec<(&str, Call)> = vec![
        ("cuMemAlloc", Box::new(|| code!(cuMemAlloc_v2(&mut 0, 8)))),
        ("cuMemHostAlloc", Box::new(|| code!(cuMemHostAlloc(&mut null_mut(), 8, 0)))),
        ("cuMemAllocAsync", Box::new(move || code!(cuMemAllocAsync(&mut 0, 8, other as Handle)))),
        ("cuEventCreate", Box::new(|| code!(cuEventCreate(&mut null_mut(), 0)))),
        ("cuMemGetInfo", Box::new(|| code!(cuMemGetInfo_v2(&mut 0, &mut 0)))),
        ("cuFuncLoad", Box::new(move || code!(cuFuncLoad(f as Handle)))),
        ("cuMemsetD8", Box::new(move || code!(cuMemsetD8_v2(memory, 1, 8)))),
        ("cuMemcpyHtoD", Box::new(move || code!(cuMemcpyHtoD_v2(memory, (&raw const memory).cast(), 8)))),
        (
            "cuMemcpyDtoH",
            Box::new(move || {
                let mut data = 0_u64;
                code!(cuMemcpyDtoH_v2((&raw mut data).cast(), memory, 8))
            }),
        ),
    ];
    calls.push((
        "cuStreamCreate and cuStreamDestroy",
        Box::new(|| {
            let mut made = null_mut();
            code!(cuStreamCreate(&mut made, 0)) | code!(cuStreamDestroy_v2(made))
        }),
    ));
    for (name, call) in calls {
        assert_eq!(pending(&*call), free, "{name}");
    }
}

#[test]
fn the_first_launch_of_a_lazily_loaded_function_blocks_while_a_wait_is_pending() {
    let context = Context::new();
    let (f, other) = (function(module()), stream(NON_BLOCKING));
    assert_eq!(while_a_wait_is_pending(&context, move || launch(f, other)), (true, OK));
    assert_eq!(while_a_wait_is_pending(&context, move || launch(f, other)), (false, OK), "loaded now");
    ok!(cuCtxSynchronize());
}

#[test]
fn a_function_loaded_by_cufuncload_launches_while_a_wait_is_pending() {
    let context = Context::new();
    let (f, other) = (function(module()), stream(NON_BLOCKING));
    ok!(cuFuncLoad(f as Handle));
    assert_eq!(while_a_wait_is_pending(&context, move || launch(f, other)), (false, OK));
    ok!(cuCtxSynchronize());
}

#[test]
fn with_eager_loading_the_first_launch_goes_on_while_a_wait_is_pending() {
    let name = "with_eager_loading_the_first_launch_goes_on_while_a_wait_is_pending";
    if passed_in_child(name, &[("CUDA_MODULE_LOADING", "EAGER")]) {
        return;
    }
    let context = Context::new();
    let (f, other) = (function(module()), stream(NON_BLOCKING));
    assert_eq!(while_a_wait_is_pending(&context, move || launch(f, other)), (false, OK));
    ok!(cuCtxSynchronize());
}

/// How many of 16 other streams do something while one waits.
fn free_streams() -> usize {
    let _context = Context::new();
    let words = pinned(17);
    let (held, others) = (stream(NON_BLOCKING), (0..16).map(|_| stream(NON_BLOCKING)).collect::<Vec<_>>());
    hold(held, &words[16]);
    for (i, other) in others.iter().enumerate() {
        ok!(cuStreamWriteValue64_v2(*other as Handle, address(&words[i]), 1, 0));
    }
    std::thread::sleep(Duration::from_millis(20));
    let free = others.iter().filter(|s| code!(cuStreamQuery(**s as Handle)) == OK).count();
    release(&words[16], 1);
    ok!(cuCtxSynchronize());
    assert!(words.iter().all(|w| w.load(std::sync::atomic::Ordering::Acquire) == 1));
    free
}

#[test]
fn with_one_connection_a_wait_holds_back_all_other_streams() {
    let name = "with_one_connection_a_wait_holds_back_all_other_streams";
    if !passed_in_child(name, &[("CUDA_DEVICE_MAX_CONNECTIONS", "1")]) {
        assert_eq!(free_streams(), 0);
    }
}

#[test]
fn with_two_connections_a_wait_holds_back_half_of_the_other_streams() {
    let name = "with_two_connections_a_wait_holds_back_half_of_the_other_streams";
    if !passed_in_child(name, &[("CUDA_DEVICE_MAX_CONNECTIONS", "2")]) {
        assert_eq!(free_streams(), 8);
    }
}

#[test]
fn with_three_connections_a_wait_holds_back_no_stream() {
    let name = "with_three_connections_a_wait_holds_back_no_stream";
    if !passed_in_child(name, &[("CUDA_DEVICE_MAX_CONNECTIONS", "3")]) {
        assert_eq!(free_streams(), 16);
    }
}

#[test]
fn a_stream_held_back_for_too_long_is_reported_and_the_context_lost() {
    let name = "a_stream_held_back_for_too_long_is_reported_and_the_context_lost";
    let variables = [("CUDA_DEVICE_MAX_CONNECTIONS", "1"), ("BOOMERANG_SIM_DEADLOCK_MS", "50")];
    if let Some(output) = in_child(name, &variables) {
        let text = stderr(&output);
        assert!(output.status.success(), "{text}");
        assert!(
            text.contains("deadlock") && text.contains("held back") && text.contains("now 0x0"),
            "{text}"
        );
        return;
    }
    let context = Context::new();
    let words = pinned(2);
    let (held, other) = (stream(NON_BLOCKING), stream(NON_BLOCKING) as Handle);
    hold(held, &words[0]);
    ok!(cuStreamWriteValue64_v2(other, address(&words[1]), 1, 0));
    assert_eq!(code!(cuStreamSynchronize(other)), LAUNCH_TIMEOUT);
    assert_eq!(code!(cuMemAlloc_v2(&mut 0, 8)), LAUNCH_TIMEOUT, "the error is sticky");
    drop(context);
    Context::new();
}

#[test]
fn a_call_blocked_for_too_long_is_reported_with_what_it_waits_for() {
    let name = "a_call_blocked_for_too_long_is_reported_with_what_it_waits_for";
    if let Some(output) = in_child(name, &[("BOOMERANG_SIM_DEADLOCK_MS", "50")]) {
        let text = stderr(&output);
        assert!(output.status.success(), "{text}");
        assert!(text.contains("call cuMemFree") && text.contains("wait for the 64-bit word"), "{text}");
        return;
    }
    let _context = Context::new();
    let (memory, gate) = (device_memory(8), &pinned(1)[0]);
    hold(stream(NON_BLOCKING), gate);
    assert_eq!(code!(cuMemFree_v2(memory)), LAUNCH_TIMEOUT);
    assert_eq!(code!(cuCtxSynchronize()), LAUNCH_TIMEOUT);
}

#[test]
fn waits_compare_as_asked_and_writes_are_seen_in_order() {
    let _context = Context::new();
    let words = pinned(3);
    let (first, second) = (stream(NON_BLOCKING) as Handle, stream(NON_BLOCKING) as Handle);
    ok!(cuStreamWaitValue32_v2(first, address(&words[0]), 4, 2)); // AND
    ok!(cuStreamWaitValue64_v2(first, address(&words[0]), 5, 0)); // GEQ
    ok!(cuStreamWriteValue64_v2(first, address(&words[1]), 7, 0));
    ok!(cuStreamWriteValue64_v2(second, address(&words[0]), 3, 0));
    ok!(cuStreamSynchronize(second));
    assert_eq!(code!(cuStreamQuery(first)), NOT_READY);
    ok!(cuStreamWriteValue64_v2(second, address(&words[0]), 4, 0));
    ok!(cuStreamSynchronize(second));
    std::thread::sleep(Duration::from_millis(5));
    assert_eq!(code!(cuStreamQuery(first)), NOT_READY);
    release(&words[0], 6);
    ok!(cuStreamSynchronize(first));
    assert_eq!(words[1].load(std::sync::atomic::Ordering::Acquire), 7);
}

#[test]
fn a_batch_runs_its_operations_in_order_or_not_at_all() {
    let _context = Context::new();
    let words = pinned(2);
    let stream = stream(NON_BLOCKING) as Handle;
    let op = |operation, word: usize, value, flags| MemOp {
        operation,
        address: address(&words[word]),
        value,
        flags,
        alias: 0,
        padding: 0,
    };
    const WAIT_32: u32 = 1;
    const WRITE_64: u32 = 5;
    let good = [op(WAIT_32, 0, 1, EQ), op(WRITE_64, 1, 9, 0)];
    let bad = [op(WRITE_64, 1, 7, 0), op(77, 1, 0, 0)];
    assert_eq!(code!(cuStreamBatchMemOp_v2(stream, 2, bad.as_ptr(), 0)), INVALID_VALUE);
    ok!(cuStreamBatchMemOp_v2(stream, 2, good.as_ptr(), 0));
    assert_eq!(code!(cuStreamQuery(stream)), NOT_READY);
    assert_eq!(words[1].load(std::sync::atomic::Ordering::Acquire), 0);
    release(&words[0], 1);
    ok!(cuStreamSynchronize(stream));
    assert_eq!(words[1].load(std::sync::atomic::Ordering::Acquire), 9);
}

#[test]
fn words_must_be_aligned_and_known_to_the_driver_and_writes_have_a_barrier() {
    let _context = Context::new();
    let stream = stream(0) as Handle;
    let local = std::sync::atomic::AtomicU64::new(0);
    assert_eq!(code!(cuStreamWaitValue64_v2(stream, address(&local), 1, EQ)), INVALID_VALUE);
    assert_eq!(code!(cuStreamWaitValue64_v2(stream, device_memory(16) + 4, 1, EQ)), INVALID_VALUE);
    assert_eq!(code!(cuStreamWaitValue64_v2(stream, device_memory(16), 1, 4)), INVALID_VALUE);
    const NO_MEMORY_BARRIER: u32 = 1;
    assert_eq!(
        code!(cuStreamWriteValue64_v2(stream, device_memory(16), 1, NO_MEMORY_BARRIER)),
        INVALID_VALUE
    );
    ok!(cuStreamSynchronize(stream));
}

#[test]
fn a_host_store_releases_a_waiting_thread_promptly() {
    let context = Context::new();
    let gate = &pinned(1)[0];
    let (held, event) = (stream(NON_BLOCKING), event(1 | 2));
    let mut shortest = Duration::MAX;
    for round in 1..=20 {
        ok!(cuStreamWaitValue64_v2(held as Handle, address(gate), round, 0));
        ok!(cuEventRecord(event as Handle, held as Handle));
        let (mut stored, mut seen) = (Instant::now(), Instant::now());
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                context.enter();
                ok!(cuEventSynchronize(event as Handle));
                Instant::now()
            });
            std::thread::sleep(Duration::from_millis(5));
            stored = Instant::now();
            release(gate, round);
            seen = waiter.join().unwrap();
        });
        shortest = shortest.min(seen - stored);
    }
    assert!(shortest < Duration::from_millis(2), "{shortest:?}");
}

#[test]
fn a_pending_wait_burns_no_core() {
    if passed_in_child("a_pending_wait_burns_no_core", &[]) {
        return;
    }
    let _context = Context::new();
    let gate = &pinned(1)[0];
    let held = stream(NON_BLOCKING);
    let ticks = || -> u64 {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        // utime and stime, in hundredths of a second (proc(5))
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    };
    hold(held, gate);
    let before = ticks();
    std::thread::sleep(Duration::from_millis(1000));
    let burnt = ticks() - before;
    release(gate, 1);
    ok!(cuStreamSynchronize(held as Handle));
    assert!(burnt <= 25, "{burnt} hundredths of a second");
}
