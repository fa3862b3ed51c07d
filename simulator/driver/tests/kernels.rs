//! Kernels: parameters, overlap, printing, faults, what blocks while one runs.

mod common;
use common::*;
use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};

/// `store(to, value)`; `spin(word)` until the word is 1; `work(word)` the same, and it stores meanwhile; `wild()`, `stop()`,
/// `say()`.
const PTX: &str = r#".version 7.0
.target sm_70
.address_size 64
.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
.global .align 1 .b8 text[7] = {104, 101, 108, 108, 111, 10, 0};
.visible .entry store (.param .u64 to, .param .u32 value)
{
	.reg .u64 %a;
	.reg .u32 %v;
	ld.param.u64 %a, [to];
	ld.param.u32 %v, [value];
	st.u32 [%a], %v;
	ret;
}
.visible .entry spin (.param .u64 word)
{
	.reg .u64 %a, %v;
	.reg .pred %p;
	ld.param.u64 %a, [word];
again:
	ld.acquire.sys.u64 %v, [%a];
	setp.ne.u64 %p, %v, 1;
	@%p bra again;
	ret;
}
.visible .entry work (.param .u64 word)
{
	.reg .u64 %a, %v;
	.reg .pred %p;
	ld.param.u64 %a, [word];
again:
	st.u64 [%a+8], %v;
	ld.acquire.sys.u64 %v, [%a];
	setp.ne.u64 %p, %v, 1;
	@%p bra again;
	ret;
}
.visible .entry wild ()
{
	.reg .u64 %a;
	mov.u64 %a, 64;
	st.u32 [%a], 1;
	ret;
}
.visible .entry stop ()
{
	trap;
	ret;
}
.visible .entry say ()
{
	.reg .u64 %t, %z;
	mov.u64 %t, text;
	mov.u64 %z, 0;
	{
	.param .b64 f;
	.param .b64 a;
	.param .b32 r;
	st.param.b64 [f], %t;
	st.param.b64 [a], %z;
	call (r), vprintf, (f, a);
	}
	ret;
}
"#;

const BUFFER_POINTER: *const c_void = std::ptr::without_provenance(1);
const BUFFER_SIZE: *const c_void = std::ptr::without_provenance(2);

/// The kernels, in a context of their own.
struct Kernels {
    context: Context,
    module: usize,
}

impl Kernels {
    fn load() -> Kernels {
        let context = Context::new();
        let mut module = null_mut();
        let text = std::ffi::CString::new(PTX).unwrap();
        ok!(cuModuleLoadData(&mut module, text.as_ptr().cast()));
        Kernels { context, module: module as usize }
    }

    fn function(&self, name: &CStr) -> Handle {
        let mut function = null_mut();
        ok!(cuModuleGetFunction(&mut function, self.module as Handle, name.as_ptr()));
        function
    }

    fn launch(&self, name: &CStr, stream: usize, parameters: &[*const c_void]) {
        let list = if parameters.is_empty() { null() } else { parameters.as_ptr() };
        ok!(cuLaunchKernel(self.function(name), 1, 1, 1, 1, 1, 1, 0, stream as Handle, list, null()));
    }

    fn spin(&self, stream: usize, word: u64) {
        self.launch(c"spin", stream, &[(&raw const word).cast()]);
    }
}

#[test]
fn parameters_arrive_by_list_and_by_buffer() {
    let kernels = Kernels::load();
    let (to, value) = (device_memory(8), 0x1234_5678_u32);
    kernels.launch(c"store", 0, &[(&raw const to).cast(), (&raw const value).cast()]);
    let (buffer, mut size) = ([to + 4, 7], 12_usize);
    let extra = [BUFFER_POINTER, buffer.as_ptr().cast(), BUFFER_SIZE, (&raw const size).cast(), null()];
    let launch = |extra: &[*const c_void]| {
        let f = kernels.function(c"store");
        code!(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL_STREAM, null(), extra.as_ptr()))
    };
    assert_eq!(launch(&extra), OK);
    let mut got = [0_u32; 2];
    ok!(cuMemcpyDtoH_v2(got.as_mut_ptr().cast(), to, 8));
    assert_eq!(got, [0x1234_5678, 7]);
    size = 11;
    let short = [BUFFER_POINTER, buffer.as_ptr().cast(), BUFFER_SIZE, (&raw const size).cast(), null()];
    assert_eq!(launch(&short), INVALID_VALUE);
}

#[test]
fn calls_and_instructions_are_counted() {
    if passed_in_child("calls_and_instructions_are_counted", &[]) {
        return;
    }
    let kernels = Kernels::load();
    let (to, value) = (device_memory(8), 1_u32);
    let launches = |n| {
        let (mut before, mut after) = ((0, 0), (0, 0));
        ok!(boomerangSimCounts(&mut before.0, &mut before.1));
        (0..n)
            .for_each(|_| kernels.launch(c"store", 0, &[(&raw const to).cast(), (&raw const value).cast()]));
        ok!(cuCtxSynchronize());
        ok!(boomerangSimCounts(&mut after.0, &mut after.1));
        (after.0 - before.0, after.1 - before.1)
    };
    let (calls, instructions) = launches(1);
    assert_eq!(calls, 3, "cuModuleGetFunction, cuLaunchKernel, cuCtxSynchronize");
    assert!(instructions > 0);
    assert_eq!(launches(5), (11, 5 * instructions));
}

#[test]
fn impossible_dimensions_are_refused() {
    let kernels = Kernels::load();
    let f = kernels.function(c"stop");
    let launch = |g: [u32; 3], b: [u32; 3], shared: u32| {
        code!(cuLaunchKernel(f, g[0], g[1], g[2], b[0], b[1], b[2], shared, NULL_STREAM, null(), null()))
    };
    for (grid, block, shared) in [
        ([0, 1, 1], [1, 1, 1], 0),
        ([1, 65536, 1], [1, 1, 1], 0),
        ([1, 1, 1], [1025, 1, 1], 0),
        ([1, 1, 1], [32, 33, 1], 0),
        ([1, 1, 1], [1, 1, 65], 0),
        ([1, 1, 1], [1, 1, 1], 49 << 10),
    ] {
        assert_eq!(launch(grid, block, shared), INVALID_VALUE, "{grid:?} {block:?} {shared}");
    }
}

#[test]
fn kernels_of_two_streams_run_at_once() {
    let kernels = Kernels::load();
    let (words, first, second) = (pinned(1), stream(0), stream(0));
    let (to, one) = (address(&words[0]), 1_u32);
    kernels.spin(first, to);
    kernels.launch(c"store", second, &[(&raw const to).cast(), (&raw const one).cast()]);
    ok!(cuCtxSynchronize());
}

#[test]
fn freeing_loading_unloading_and_registering_wait_for_a_running_kernel() {
    let kernels = Kernels::load();
    let (memory, host, module) = (device_memory(8), pinned(1).as_ptr() as usize, Kernels::load().module);
    kernels.context.enter();
    let mut own = vec![0_u8; 4096];
    let own = own.as_mut_ptr() as usize;
    let text = std::ffi::CString::new(PTX).unwrap();
    let stream = stream(NON_BLOCKING);
    let running = |call: &(dyn Fn() -> u32 + Sync)| {
        let word = &pinned(1)[0];
        kernels.spin(stream, address(word));
        let outcome = blocks(&kernels.context, call, || release(word, 1));
        ok!(cuStreamSynchronize(stream as Handle));
        outcome
    };
    let blocked = (true, OK);
    assert_eq!(running(&|| code!(cuMemFree_v2(memory))), blocked, "cuMemFree");
    assert_eq!(running(&|| code!(cuMemFreeHost(host as *mut c_void))), blocked, "cuMemFreeHost");
    assert_eq!(running(&|| code!(cuMemHostRegister_v2(own as *mut c_void, 4096, 0))), blocked, "register");
    let load = || code!(cuModuleLoadData(&mut null_mut(), text.as_ptr().cast()));
    assert_eq!(running(&load), blocked, "cuModuleLoadData");
    let _ = module;
    let free = (false, OK);
    assert_eq!(running(&|| code!(cuMemAlloc_v2(&mut 0, 8))), free, "cuMemAlloc");
    assert_eq!(running(&|| code!(cuStreamCreate(&mut null_mut(), 0))), free, "cuStreamCreate");
}

#[test]
fn a_first_launch_goes_on_beside_a_wait_while_a_kernel_runs() {
    let kernels = Kernels::load();
    let words = pinned(2);
    let (held, running, other) = (stream(NON_BLOCKING), stream(NON_BLOCKING), stream(NON_BLOCKING));
    kernels.spin(running, address(&words[0]));
    hold(held, &words[1]);
    let (to, one) = (device_memory(8), 1_u32);
    kernels.launch(c"store", other, &[(&raw const to).cast(), (&raw const one).cast()]);
    ok!(cuStreamSynchronize(other as Handle));
    words.iter().for_each(|w| release(w, 1));
    ok!(cuCtxSynchronize());
}

#[test]
fn an_illegal_address_is_sticky_and_reaches_an_event_of_another_stream() {
    let name = "an_illegal_address_is_sticky_and_reaches_an_event_of_another_stream";
    if let Some(output) = in_child(name, &[]) {
        let text = stderr(&output);
        assert!(output.status.success(), "{text}");
        assert_eq!(text.matches("boomerang-sim: kernel wild").count(), 1, "{text}");
        assert!(text.contains("0x40"), "the address: {text}");
        return;
    }
    let kernels = Kernels::load();
    let gate = &pinned(1)[0];
    let (held, event) = (stream(NON_BLOCKING), event(1) as Handle);
    ok!(cuFuncLoad(kernels.function(c"wild")));
    hold(held, gate);
    ok!(cuEventRecord(event, held as Handle));
    kernels.launch(c"wild", stream(NON_BLOCKING), &[]);
    assert_eq!(code!(cuEventSynchronize(event)), ILLEGAL_ADDRESS);
    assert_eq!(code!(cuMemAlloc_v2(&mut 0, 8)), ILLEGAL_ADDRESS);
    assert_eq!(code!(cuStreamQuery(NULL_STREAM)), ILLEGAL_ADDRESS);
    assert_eq!(code!(cuCtxSynchronize()), ILLEGAL_ADDRESS);
    drop(kernels);
    let fresh = Kernels::load();
    fresh.launch(c"say", 0, &[]);
    ok!(cuCtxSynchronize());
}

#[test]
fn a_trap_is_a_launch_failure() {
    let kernels = Kernels::load();
    kernels.launch(c"stop", 0, &[]);
    assert_eq!(code!(cuCtxSynchronize()), 719);
}

#[test]
fn a_callback_learns_of_a_fault_and_a_host_function_does_not_run() {
    static STATUS: AtomicU32 = AtomicU32::new(0);
    static RAN: AtomicU32 = AtomicU32::new(0);
    unsafe extern "C" fn told(_: Handle, status: u32, _: *mut c_void) {
        STATUS.store(status, Ordering::Release);
    }
    unsafe extern "C" fn run(_: *mut c_void) {
        RAN.store(1, Ordering::Release);
    }
    let kernels = Kernels::load();
    let stream = stream(0);
    kernels.launch(c"stop", stream, &[]);
    // The fault may come before these calls; then they return it.
    let function = code!(cuLaunchHostFunc(stream as Handle, run, null_mut()));
    let callback = code!(cuStreamAddCallback(stream as Handle, told, null_mut(), 0));
    assert!([OK, 719].contains(&function) && [OK, 719].contains(&callback));
    assert_eq!(code!(cuStreamSynchronize(stream as Handle)), 719);
    if callback == OK {
        eventually(|| STATUS.load(Ordering::Acquire) == 719);
    }
    assert_eq!(RAN.load(Ordering::Acquire), 0);
}

#[test]
fn a_fault_ends_the_other_kernels_of_the_context() {
    let kernels = Kernels::load();
    let spinning = stream(NON_BLOCKING);
    kernels.spin(spinning, address(&pinned(1)[0]));
    kernels.launch(c"stop", stream(NON_BLOCKING), &[]);
    assert_eq!(code!(cuStreamSynchronize(spinning as Handle)), 719);
}

#[test]
fn what_a_kernel_prints_appears_at_synchronisation() {
    let name = "what_a_kernel_prints_appears_at_synchronisation";
    if let Some(output) = in_child(name, &[]) {
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.matches("hello\n").count(), 2, "{text}");
        return;
    }
    let kernels = Kernels::load();
    kernels.launch(c"say", 0, &[]);
    ok!(cuStreamSynchronize(NULL_STREAM));
    kernels.launch(c"say", 0, &[]);
    let event = event(0);
    ok!(cuEventRecord(event as Handle, NULL_STREAM));
    eventually(|| code!(cuEventQuery(event as Handle)) == OK);
    // Printed when the context ends: asking an event is no synchronisation.
}

#[test]
fn a_call_blocked_by_a_kernel_that_only_polls_is_a_deadlock() {
    let name = "a_call_blocked_by_a_kernel_that_only_polls_is_a_deadlock";
    if let Some(output) = in_child(name, &[("BOOMERANG_SIM_DEADLOCK_MS", "100")]) {
        let text = stderr(&output);
        assert!(output.status.success(), "{text}");
        assert!(text.contains("call cuMemFree") && text.contains("kernel spin runs"), "{text}");
        assert!(text.contains("warp 0: the host, to change the word at"), "{text}");
        return;
    }
    let kernels = Kernels::load();
    let memory = device_memory(8);
    kernels.spin(0, address(&pinned(1)[0]));
    assert_eq!(code!(cuMemFree_v2(memory)), LAUNCH_TIMEOUT);
    assert_eq!(code!(cuCtxSynchronize()), LAUNCH_TIMEOUT);
}

#[test]
fn a_call_blocked_by_a_kernel_that_works_is_no_deadlock() {
    let name = "a_call_blocked_by_a_kernel_that_works_is_no_deadlock";
    if passed_in_child(name, &[("BOOMERANG_SIM_DEADLOCK_MS", "500")]) {
        return;
    }
    let kernels = Kernels::load();
    let (memory, words) = (device_memory(8), pinned(2));
    let word = address(&words[0]);
    kernels.launch(c"work", 0, &[(&raw const word).cast()]);
    let free = || code!(cuMemFree_v2(memory));
    let later = || {
        std::thread::sleep(std::time::Duration::from_millis(1200));
        release(&words[0], 1);
    };
    assert_eq!(blocks(&kernels.context, free, later), (true, OK));
}

#[test]
fn destroying_a_context_ends_its_kernels() {
    let kernels = Kernels::load();
    kernels.spin(0, address(&pinned(1)[0]));
    std::thread::sleep(std::time::Duration::from_millis(10));
    drop(kernels);
}

#[test]
fn a_host_store_before_a_kernels_reply_is_seen_by_it() {
    let kernels = Kernels::load();
    let words = pinned(1);
    kernels.spin(0, address(&words[0]));
    assert_eq!(code!(cuStreamQuery(NULL_STREAM)), NOT_READY);
    words[0].store(1, Ordering::Release);
    ok!(cuStreamSynchronize(NULL_STREAM));
}
