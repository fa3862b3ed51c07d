//! The virtual clock as programs see it: events and the report.

mod common;
use common::*;
use std::ffi::{CString, c_void};
use std::path::PathBuf;
use std::process::Output;
use std::ptr::{null, null_mut};

/// Two devices, and round numbers.
const PLATFORM: &str = r#"
queueing_us = 1
[[device]]
name = "gpu0"
memory = "1G"
multiprocessors = 4
launch_us = 2
instructions_per_second = 4e9
[[device]]
name = "gpu1"
memory = "1G"
multiprocessors = 4
[[switch]]
name = "bridge"
bandwidth_gbs = 10
[[link]]
from = "host"
to = ["gpu0", "gpu1"]
latency_us = 5
bandwidth_gbs = 10
switch = "bridge"
[[link]]
from = ["gpu0", "gpu1"]
to = "host"
latency_us = 5
bandwidth_gbs = 10
pageable_latency_us = 7
[[link]]
from = ["gpu0", "gpu1"]
to = ["gpu0", "gpu1"]
latency_us = 3
bandwidth_gbs = 50
[[link]]
from = "gpu0"
to = "gpu0"
latency_us = 0
bandwidth_gbs = 100
[[link]]
from = "gpu1"
to = "gpu1"
latency_us = 0
bandwidth_gbs = 100
[kernels]
fixed = 10
spin = 100
"#;

/// `fixed()` does nothing; `spin(words)` stores 1 to the first word and waits until the second is 1; `count(n)` counts to n.
const PTX: &str = r#".version 7.0
.target sm_70
.address_size 64
.visible .entry fixed ()
{
	ret;
}
.visible .entry spin (.param .u64 words)
{
	.reg .u64 %a, %v;
	.reg .pred %p;
	ld.param.u64 %a, [words];
	st.release.sys.u64 [%a], 1;
again:
	ld.acquire.sys.u64 %v, [%a+8];
	setp.ne.u64 %p, %v, 1;
	@%p bra again;
	ret;
}
.visible .entry count (.param .u64 n)
{
	.reg .u64 %n;
	.reg .pred %p;
	ld.param.u64 %n, [n];
again:
	sub.u64 %n, %n, 1;
	setp.ne.u64 %p, %n, 0;
	@%p bra again;
	ret;
}
"#;

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Runs the test in a process with this platform; `None` in that process.
fn with_platform(test: &str, platform: &str, variables: &[(&str, &str)]) -> Option<Output> {
    let path = file(&format!("{test}.toml"));
    // The child finds the same text.
    std::fs::write(&path, platform).unwrap();
    let path = path.to_str().unwrap();
    in_child(test, &[&[("BOOMERANG_SIM_PLATFORM", path)], variables].concat())
}

/// As [`with_platform`], with [`PLATFORM`]; the child must succeed. True in the parent.
fn on_the_platform(test: &str, variables: &[(&str, &str)]) -> bool {
    let Some(output) = with_platform(test, PLATFORM, variables) else { return false };
    assert!(output.status.success(), "{output:?}");
    true
}

fn kernel(name: &str) -> usize {
    let (ptx, name) = (CString::new(PTX).unwrap(), CString::new(name).unwrap());
    let (mut module, mut function) = (null_mut(), null_mut());
    ok!(cuModuleLoadData(&mut module, ptx.as_ptr().cast()));
    ok!(cuModuleGetFunction(&mut function, module, name.as_ptr()));
    function as usize
}

fn launch(kernel: usize, blocks: u32, parameter: u64, stream: usize) -> u32 {
    let parameters = [(&raw const parameter).cast::<c_void>()];
    code!(cuLaunchKernel(
        kernel as Handle,
        blocks,
        1,
        1,
        1,
        1,
        1,
        0,
        stream as Handle,
        parameters.as_ptr(),
        null()
    ))
}

/// An event recorded on the stream.
fn mark(stream: usize) -> usize {
    let event = event(0);
    ok!(cuEventRecord(event as Handle, stream as Handle));
    event
}

/// ns from one event to the other; waits for both.
fn between(from: usize, to: usize) -> u64 {
    let mut milliseconds = 0.0;
    ok!(cuEventSynchronize(from as Handle));
    ok!(cuEventSynchronize(to as Handle));
    ok!(cuEventElapsedTime(&mut milliseconds, from as Handle, to as Handle));
    (f64::from(milliseconds) * 1e6).round() as u64
}

/// What the calling thread's part of the program takes, in ns, seen by events on a stream of its own.
fn host_time(part: impl FnOnce()) -> u64 {
    let stream = stream(NON_BLOCKING);
    let begin = mark(stream);
    part();
    between(begin, mark(stream))
}

#[test]
fn a_launch_takes_its_queueing_its_launch_time_and_the_kernels_own() {
    if on_the_platform("a_launch_takes_its_queueing_its_launch_time_and_the_kernels_own", &[]) {
        return;
    }
    let _context = Context::new();
    let (kernel, stream) = (kernel("fixed"), stream(NON_BLOCKING));
    let begin = mark(stream);
    assert_eq!(launch(kernel, 1, 0, stream), OK);
    assert_eq!(launch(kernel, 1, 0, stream), OK);
    // The second is enqueued while the first runs.
    assert_eq!(between(begin, mark(stream)), 1_000 + 12_000 + 12_000);
}

#[test]
fn counted_instructions_take_time_in_proportion() {
    if on_the_platform("counted_instructions_take_time_in_proportion", &[]) {
        return;
    }
    let _context = Context::new();
    let (kernel, stream) = (kernel("count"), stream(NON_BLOCKING));
    let run = |blocks, n| {
        let begin = mark(stream);
        assert_eq!(launch(kernel, blocks, n, stream), OK);
        between(begin, mark(stream))
    };
    // Three instructions a turn, and a load and a return; a ns each on one multiprocessor.
    assert_eq!(run(1, 1_000), 1_000 + 2_000 + 3_002);
    assert_eq!(run(4, 1_000), 1_000 + 2_000 + 3_002);
    assert_eq!(run(6, 1_000), 1_000 + 2_000 + 2 * 3_002);
}

#[test]
fn a_kernel_that_still_runs_and_takes_multiprocessors_away_is_waited_for() {
    if on_the_platform("a_kernel_that_still_runs_and_takes_multiprocessors_away_is_waited_for", &[]) {
        return;
    }
    let _context = Context::new();
    let (long, short) = (kernel("count"), kernel("fixed"));
    let (first, second) = (stream(NON_BLOCKING), stream(NON_BLOCKING));
    let begin = mark(second);
    assert_eq!(launch(long, 4, 300_000, first), OK);
    assert_eq!(launch(short, 4, 0, second), OK);
    // Behind two queueings and its launch it has half of the multiprocessors.
    assert_eq!(between(begin, mark(second)), 2_000 + 2_000 + 20_000);
}

#[test]
fn copies_take_latency_and_bandwidth_and_nothing_if_they_copy_nothing() {
    if on_the_platform("copies_take_latency_and_bandwidth_and_nothing_if_they_copy_nothing", &[]) {
        return;
    }
    let _context = Context::new();
    let (memory, host) = (device_memory(100_000), pinned(12_500));
    let (pinned, mut own) = (address(&host[0]), vec![0_u8; 100_000]);
    assert_eq!(host_time(|| ok!(cuMemcpyHtoD_v2(memory, pinned as *const c_void, 100_000))), 16_000);
    assert_eq!(host_time(|| ok!(cuMemcpyDtoH_v2(pinned as *mut c_void, memory, 100_000))), 16_000);
    assert_eq!(host_time(|| ok!(cuMemcpyDtoH_v2(own.as_mut_ptr().cast(), memory, 100_000))), 18_000);
    assert_eq!(host_time(|| ok!(cuMemcpyDtoH_v2(own.as_mut_ptr().cast(), memory, 0))), 0);
    assert_eq!(host_time(|| ok!(cuMemsetD8_v2(memory, 1, 0))), 0);
    // A fill and a copy within the device don't make the caller wait.
    assert_eq!(host_time(|| ok!(cuMemsetD8_v2(memory, 1, 100_000))), 1_000);
    ok!(cuCtxSynchronize());
    let whole = host_time(|| {
        ok!(cuMemsetD8_v2(memory, 1, 100_000));
        ok!(cuCtxSynchronize());
    });
    assert_eq!(whole, 2_000);
}

#[test]
fn copies_from_the_host_to_two_devices_share_the_switch() {
    if on_the_platform("copies_from_the_host_to_two_devices_share_the_switch", &[]) {
        return;
    }
    let host = Context::new();
    let (first, source) = (device_memory(100_000), address(&pinned(12_500)[0]));
    let (one, begin) = (stream(NON_BLOCKING), mark(0));
    let _other = Context::on(1);
    let (second, two) = (device_memory(100_000), stream(NON_BLOCKING));
    host.enter();
    ok!(cuMemcpyHtoDAsync_v2(first, source as *const c_void, 100_000, one as Handle));
    let alone = mark(one);
    _other.enter();
    ok!(cuMemcpyHtoDAsync_v2(second, source as *const c_void, 100_000, two as Handle));
    ok!(cuStreamSynchronize(two as Handle));
    host.enter();
    // 1 us later the second: 1 us alone, then both at 5 GB/s.
    assert_eq!(between(begin, alone), 1_000 + 5_000 + 1_000 + 18_000);
    ok!(cuCtxSetCurrent(_other.0 as Handle));
}

#[test]
fn streams_follow_each_other_by_events_and_by_the_default_streams_rules() {
    if on_the_platform("streams_follow_each_other_by_events_and_by_the_default_streams_rules", &[]) {
        return;
    }
    let _context = Context::new();
    let (kernel, free, other) = (kernel("fixed"), stream(NON_BLOCKING), stream(NON_BLOCKING));
    let begin = mark(free);
    assert_eq!(launch(kernel, 1, 0, free), OK);
    ok!(cuStreamWaitEvent(other as Handle, mark(free) as Handle, 0));
    assert_eq!(launch(kernel, 1, 0, other), OK);
    assert_eq!(between(begin, mark(other)), 1_000 + 2 * 12_000, "behind the event");
    let (blocking, begin) = (stream(0), mark(0));
    assert_eq!(launch(kernel, 1, 0, blocking), OK);
    ok!(cuStreamSynchronize(blocking as Handle));
    // Whether the earlier one has really ended makes no difference.
    assert_eq!(launch(kernel, 1, 0, 0), OK);
    assert_eq!(launch(kernel, 1, 0, free), OK);
    let free = mark(free);
    assert_eq!(between(begin, mark(0)), 2 * 13_000, "behind the blocking stream");
    assert_eq!(between(begin, free), 13_000 + 1_000 + 13_000, "overlaps the default stream");
}

#[test]
fn a_synchronize_waits_for_the_operation_that_is_running_too() {
    if on_the_platform("a_synchronize_waits_for_the_operation_that_is_running_too", &[]) {
        return;
    }
    let _context = Context::new();
    let (kernel, stream, words) = (kernel("spin"), stream(NON_BLOCKING), pinned(2));
    for synchronize in [
        |stream: usize| code!(cuStreamSynchronize(stream as Handle)),
        |_| code!(cuCtxSynchronize()),
        |stream: usize| code!(cuEventSynchronize(mark(stream) as Handle)),
    ] {
        words.iter().for_each(|word| release(word, 0));
        let time = host_time(|| {
            assert_eq!(launch(kernel, 1, address(&words[0]), stream), OK);
            eventually(|| words[0].load(std::sync::atomic::Ordering::Acquire) == 1);
            let releaser = std::thread::spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(5));
                release(&words[1], 1);
            });
            assert_eq!(synchronize(stream), OK);
            releaser.join().unwrap();
        });
        assert_eq!(time, 1_000 + 2_000 + 100_000);
    }
}

#[test]
fn who_asks_until_a_stream_is_idle_has_waited_for_it() {
    if on_the_platform("who_asks_until_a_stream_is_idle_has_waited_for_it", &[]) {
        return;
    }
    let _context = Context::new();
    let (kernel, stream) = (kernel("fixed"), stream(NON_BLOCKING));
    let time = host_time(|| {
        assert_eq!(launch(kernel, 1, 0, stream), OK);
        eventually(|| code!(cuStreamQuery(stream as Handle)) == OK);
    });
    assert_eq!(time, 13_000);
    let time = host_time(|| {
        assert_eq!(launch(kernel, 1, 0, stream), OK);
        let event = mark(stream);
        eventually(|| code!(cuEventQuery(event as Handle)) == OK);
    });
    assert_eq!(time, 13_000);
}

#[test]
fn a_stream_wait_comes_after_the_store_that_satisfies_it() {
    if on_the_platform(
        "a_stream_wait_comes_after_the_store_that_satisfies_it",
        &[("BOOMERANG_SIM_MEMOPS", "1")],
    ) {
        return;
    }
    let _context = Context::new();
    let (kernel, first, second) = (kernel("fixed"), stream(NON_BLOCKING), stream(NON_BLOCKING));
    // Else its first launch would wait for the pending wait.
    ok!(cuFuncLoad(kernel as Handle));
    let (word, begin) = (&pinned(1)[0], mark(first));
    hold(second, word);
    assert_eq!(launch(kernel, 1, 0, second), OK);
    let end = mark(second);
    assert_eq!(launch(kernel, 1, 0, first), OK);
    ok!(cuStreamWriteValue64_v2(first as Handle, address(word), 1, 0));
    assert_eq!(between(begin, end), 2_000 + 12_000 + 12_000);
    // The word has its value already: nothing to wait for.
    let begin = mark(second);
    hold(second, word);
    assert_eq!(between(begin, mark(second)), 0);
    // Once more: the earlier store is not the one that the wait waits for.
    release(word, 0);
    let begin = mark(second);
    hold(second, word);
    assert_eq!(launch(kernel, 1, 0, first), OK);
    ok!(cuStreamWriteValue64_v2(first as Handle, address(word), 1, 0));
    assert_eq!(between(begin, mark(second)), 1_000 + 12_000);
}

#[test]
fn the_device_starts_and_stops_twice_with_the_same_times() {
    if on_the_platform("the_device_starts_and_stops_twice_with_the_same_times", &[]) {
        return;
    }
    let once = || {
        let mut context = null_mut();
        ok!(cuInit(0));
        ok!(cuDevicePrimaryCtxRetain(&mut context, 0));
        ok!(cuCtxPushCurrent_v2(context));
        let (kernel, stream) = (kernel("fixed"), stream(0));
        let time = host_time(|| {
            assert_eq!(launch(kernel, 1, 0, stream), OK);
            ok!(cuMemcpyHtoD_v2(device_memory(10_000), vec![0_u8; 10_000].as_ptr().cast(), 10_000));
        });
        assert_eq!(launch(kernel, 1, 0, stream), OK);
        ok!(cuCtxPopCurrent_v2(&mut context));
        ok!(cuDevicePrimaryCtxRelease_v2(0));
        time
    };
    let first = once();
    assert_eq!((first, once()), (13_000 + 6_000, first));
}

#[test]
fn a_lost_context_leaves_the_clock_going() {
    if on_the_platform("a_lost_context_leaves_the_clock_going", &[]) {
        return;
    }
    let lost = Context::new();
    let (stuck, stream) = (kernel("spin"), stream(NON_BLOCKING));
    assert_eq!(launch(stuck, 1, 64, stream), OK);
    assert_eq!(launch(stuck, 1, 64, stream), OK);
    assert_eq!(code!(cuStreamSynchronize(stream as Handle)), ILLEGAL_ADDRESS);
    drop(lost);
    let _context = Context::new();
    let kernel = kernel("fixed");
    let time = host_time(|| {
        assert_eq!(launch(kernel, 1, 0, 0), OK);
        ok!(cuCtxSynchronize());
    });
    assert_eq!(time, 13_000);
}

/// A program of four threads that copy and compute on streams of their own, and on one thread's after a join.
fn many_threads() {
    let context = Context::new();
    let (count, streams) = (kernel("count"), [0; 4].map(|_| stream(NON_BLOCKING)));
    let (memory, host) = (device_memory(1 << 20), address(&pinned(1 << 17)[0]));
    std::thread::scope(|scope| {
        for (number, stream) in (1_u64..).zip(streams) {
            let context = &context;
            scope.spawn(move || {
                context.enter();
                for turn in 1..6 {
                    let (from, bytes) = (host as *const c_void, (number * turn * 1000) as usize);
                    ok!(cuMemcpyHtoDAsync_v2(memory, from, bytes, stream as Handle));
                    assert_eq!(launch(count, number as u32, turn * 50, stream), OK);
                    ok!(cuMemcpyDtoHAsync_v2(host as *mut c_void, memory, bytes, stream as Handle));
                    if turn % 2 == 0 {
                        ok!(cuStreamSynchronize(stream as Handle));
                    }
                }
                ok!(cuStreamSynchronize(stream as Handle));
            });
        }
    });
    ok!(cuCtxSynchronize());
}

#[test]
fn the_same_program_gives_the_same_report_whatever_the_threads_do() {
    let test = "the_same_program_gives_the_same_report_whatever_the_threads_do";
    let report = file("same.json");
    let mut first = None;
    for run in 0..8 {
        let variables = [("BOOMERANG_SIM_REPORT", report.to_str().unwrap())];
        let Some(output) = with_platform(test, PLATFORM, &variables) else { return many_threads() };
        assert!(output.status.success(), "{output:?}");
        let timeline = std::fs::read_to_string(&report).unwrap();
        // Who came first numbers the threads; rows, not times, depend on it.
        let mut bars: Vec<&str> =
            timeline.lines().filter_map(|line| line.split_once("\"name\"")).map(|l| l.1).collect();
        bars.sort_unstable();
        let bars = bars.join("\n");
        assert_eq!(*first.get_or_insert_with(|| bars.clone()), bars, "run {run}");
        assert!(stderr(&output).contains("kernel count on gpu0: 20 launches, "), "{}", stderr(&output));
    }
}

#[test]
fn the_report_sums_up_kernels_and_links() {
    let test = "the_report_sums_up_kernels_and_links";
    let report = file("sums.json");
    let variables = [("BOOMERANG_SIM_REPORT", report.to_str().unwrap())];
    let Some(output) = with_platform(test, PLATFORM, &variables) else {
        let _context = Context::new();
        let (kernel, memory) = (kernel("fixed"), device_memory(100_000));
        assert_eq!(launch(kernel, 3, 0, 0), OK);
        ok!(cuMemcpyHtoD_v2(memory, vec![0_u8; 100_000].as_ptr().cast(), 100_000));
        ok!(cuMemcpyHtoD_v2(memory, vec![0_u8; 50_000].as_ptr().cast(), 50_000));
        return;
    };
    let lines: String = stderr(&output)
        .lines()
        .filter(|l| l.starts_with("boomerang-sim"))
        .map(|l| format!("{l}\n"))
        .collect();
    assert_eq!(
        lines,
        "boomerang-sim: virtual time: 39.000 us\n\
         boomerang-sim: kernel fixed on gpu0: 1 launch, 12.000 us, each 12.000 to 12.000 us\n\
         boomerang-sim: link host -> gpu0: 2 copies, 150000 bytes, 25.000 us, 0.000 us of waiting for others\n"
    );
    let timeline = std::fs::read_to_string(&report).unwrap();
    let copy = r#"{"ph":"X","pid":2,"tid":1,"name":"copy","ts":13.000,"dur":15.000,"args":{"bytes":100000,"stream":"default stream"}}"#;
    assert!(timeline.contains(copy), "{timeline}");
    assert!(
        timeline.contains(r#""name":"fixed","ts":1.000,"dur":12.000,"args":{"blocks":3}}"#),
        "{timeline}"
    );
}

#[test]
fn a_kernel_without_a_cost_is_refused_by_name_when_costs_are_required() {
    let test = "a_kernel_without_a_cost_is_refused_by_name_when_costs_are_required";
    let platform =
        format!("require_costs = true\n{}", PLATFORM.replace("instructions_per_second = 4e9\n", ""));
    let Some(output) = with_platform(test, &platform, &[]) else {
        let _context = Context::new();
        assert_eq!(launch(kernel("fixed"), 1, 0, 0), OK);
        assert_eq!(launch(kernel("count"), 1, 1, 0), NOT_SUPPORTED);
        ok!(cuCtxSynchronize());
        return;
    };
    assert!(output.status.success(), "{output:?}");
    let text = stderr(&output);
    let line = text.lines().find(|line| line.contains("has no cost")).unwrap();
    assert!(line.starts_with("boomerang-sim: kernel count has no cost: ") && line.contains(test), "{line}");
    assert!(line.ends_with(".toml has no time for it and no instructions_per_second for gpu0"), "{line}");
}

#[test]
fn a_wrong_platform_leaves_no_device_and_is_told_of_once() {
    let test = "a_wrong_platform_leaves_no_device_and_is_told_of_once";
    let Some(output) = with_platform(test, &PLATFORM.replace("_us = 5", "_us = -5"), &[]) else {
        const SYSTEM_NOT_READY: u32 = 802;
        assert_eq!(code!(cuInit(0)), SYSTEM_NOT_READY);
        assert_eq!(code!(cuInit(0)), SYSTEM_NOT_READY);
        assert_eq!(code!(cuDeviceGetCount(&mut 0)), NOT_INITIALIZED);
        return;
    };
    assert!(output.status.success(), "{output:?}");
    let text = stderr(&output);
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("boomerang-sim")).collect();
    assert_eq!(lines.len(), 1, "{text}");
    assert!(lines[0].contains(".toml:19: link.latency_us: must be"), "{text}");
}

#[test]
fn the_devices_are_those_of_the_platform() {
    if on_the_platform("the_devices_are_those_of_the_platform", &[("BOOMERANG_SIM_DEVICES", "5")]) {
        return;
    }
    ok!(cuInit(0));
    let (mut count, mut multiprocessors, mut memops) = (0, 0, -1);
    ok!(cuDeviceGetCount(&mut count));
    ok!(cuDeviceGetAttribute(&mut multiprocessors, 16, 1));
    ok!(cuDeviceGetAttribute(&mut memops, 122, 1));
    assert_eq!((count, multiprocessors, memops), (2, 4, 0));
}
