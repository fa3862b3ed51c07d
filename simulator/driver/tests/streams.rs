//! Order of work on streams, events, host functions.

mod common;
use common::*;
use std::ffi::c_void;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// A host function that appends its data to a list.
struct Journal(Mutex<Vec<usize>>);

struct Entry(&'static Journal, usize);

impl Journal {
    fn new() -> &'static Journal {
        Box::leak(Box::new(Journal(Mutex::default())))
    }

    fn note(&'static self, stream: usize, what: usize) {
        unsafe extern "C" fn run(entry: *mut c_void) {
            // SAFETY: made by `note` for this one run.
            let Entry(journal, what) = *unsafe { Box::from_raw(entry.cast::<Entry>()) };
            journal.0.lock().unwrap().push(what);
        }
        let entry = Box::into_raw(Box::new(Entry(self, what)));
        ok!(cuLaunchHostFunc(stream as Handle, run, entry.cast()));
    }

    fn read(&self) -> Vec<usize> {
        self.0.lock().unwrap().clone()
    }
}

#[test]
fn a_stream_runs_its_work_in_order() {
    let _context = Context::new();
    let (journal, stream) = (Journal::new(), stream(0));
    (0..200).for_each(|i| journal.note(stream, i));
    ok!(cuStreamSynchronize(stream as Handle));
    assert_eq!(journal.read(), (0..200).collect::<Vec<_>>());
}

#[test]
fn streams_overlap() {
    let _context = Context::new();
    static MET: AtomicU32 = AtomicU32::new(0);
    unsafe extern "C" fn meet(_: *mut c_void) {
        MET.fetch_add(1, Ordering::AcqRel);
        eventually(|| MET.load(Ordering::Acquire) == 4);
    }
    for _ in 0..4 {
        ok!(cuLaunchHostFunc(stream(0) as Handle, meet, std::ptr::null_mut()));
    }
    ok!(cuCtxSynchronize());
}

#[test]
fn the_null_stream_waits_for_blocking_streams_and_they_for_it() {
    let _context = Context::new();
    let (journal, gate) = (Journal::new(), &pinned(1)[0]);
    let (first, second) = (stream(0), stream(0));
    hold(first, gate);
    journal.note(first, 1);
    journal.note(0, 2);
    journal.note(second, 3);
    assert_eq!(code!(cuStreamQuery(NULL_STREAM)), NOT_READY);
    std::thread::sleep(Duration::from_millis(20));
    assert!(journal.read().is_empty());
    release(gate, 1);
    ok!(cuStreamSynchronize(second as Handle));
    assert_eq!(journal.read(), [1, 2, 3]);
    ok!(cuStreamQuery(NULL_STREAM));
}

#[test]
fn a_non_blocking_stream_ignores_the_null_stream() {
    let _context = Context::new();
    let (journal, gate) = (Journal::new(), &pinned(1)[0]);
    let (free, held) = (stream(NON_BLOCKING), stream(NON_BLOCKING));
    hold(held, gate);
    journal.note(0, 1);
    ok!(cuStreamSynchronize(NULL_STREAM));
    hold(0, gate);
    journal.note(free, 2);
    ok!(cuStreamSynchronize(free as Handle));
    assert_eq!(journal.read(), [1, 2]);
    release(gate, 1);
    ok!(cuCtxSynchronize());
}

#[test]
fn the_per_thread_stream_is_each_threads_own_and_blocking() {
    const PER_THREAD: Handle = 2 as Handle;
    let context = Context::new();
    let (journal, gate) = (Journal::new(), &pinned(1)[0]);
    hold(PER_THREAD as usize, gate);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            context.enter();
            journal.note(PER_THREAD as usize, 1);
            ok!(cuStreamSynchronize(PER_THREAD));
        });
    });
    assert_eq!(journal.read(), [1]);
    journal.note(0, 2);
    assert_eq!(code!(cuStreamQuery(NULL_STREAM)), NOT_READY);
    release(gate, 1);
    ok!(cuCtxSynchronize());
}

#[test]
fn an_event_orders_streams() {
    let _context = Context::new();
    let (journal, gate) = (Journal::new(), &pinned(1)[0]);
    let (first, second) = (stream(NON_BLOCKING), stream(NON_BLOCKING));
    let event = event(2) as Handle;
    ok!(cuEventQuery(event));
    ok!(cuEventSynchronize(event));
    hold(first, gate);
    journal.note(first, 1);
    ok!(cuEventRecord(event, first as Handle));
    ok!(cuStreamWaitEvent(second as Handle, event, 0));
    journal.note(second, 2);
    assert_eq!(code!(cuEventQuery(event)), NOT_READY);
    release(gate, 1);
    ok!(cuStreamSynchronize(second as Handle));
    ok!(cuEventQuery(event));
    assert_eq!(journal.read(), [1, 2]);
}

#[test]
fn events_measure_the_time_between_them() {
    let _context = Context::new();
    let gate = &pinned(1)[0];
    let (start, end, untimed) = (event(0) as Handle, event(1) as Handle, event(2) as Handle);
    let stream = stream(0);
    let mut elapsed = 0.0;
    assert_eq!(code!(cuEventElapsedTime(&mut elapsed, start, end)), INVALID_HANDLE, "never recorded");
    ok!(cuEventRecord(start, stream as Handle));
    hold(stream, gate);
    ok!(cuEventRecord(end, stream as Handle));
    assert_eq!(code!(cuEventElapsedTime(&mut elapsed, start, end)), NOT_READY);
    std::thread::sleep(Duration::from_millis(20));
    release(gate, 1);
    ok!(cuEventSynchronize(end));
    ok!(cuEventElapsedTime(&mut elapsed, start, end));
    assert!((20.0..2000.0).contains(&elapsed), "{elapsed}");
    ok!(cuEventElapsedTime(&mut elapsed, end, start));
    assert!(elapsed <= -20.0);
    assert_eq!(code!(cuEventElapsedTime(&mut elapsed, start, untimed)), INVALID_HANDLE);
}

#[test]
fn a_host_function_may_not_call_the_driver() {
    let _context = Context::new();
    static CODE: AtomicU32 = AtomicU32::new(0);
    unsafe extern "C" fn try_it(_: *mut c_void) {
        CODE.store(code!(cuCtxSynchronize()), Ordering::Release);
    }
    ok!(cuLaunchHostFunc(NULL_STREAM, try_it, std::ptr::null_mut()));
    ok!(cuCtxSynchronize());
    assert_eq!(CODE.load(Ordering::Acquire), NOT_PERMITTED);
}

#[test]
fn a_destroyed_streams_work_is_still_done() {
    let _context = Context::new();
    let (journal, gate) = (Journal::new(), &pinned(1)[0]);
    let stream = stream(0);
    hold(stream, gate);
    journal.note(stream, 1);
    ok!(cuStreamDestroy_v2(stream as Handle));
    release(gate, 1);
    ok!(cuCtxSynchronize());
    assert_eq!(journal.read(), [1]);
}

#[test]
fn a_thousand_waiting_streams_cost_no_threads() {
    let _context = Context::new();
    let gate = &pinned(1)[0];
    let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
    let streams: Vec<usize> = (0..1000).map(|_| stream(NON_BLOCKING)).collect();
    let before = threads();
    let counter: &'static AtomicU64 = Box::leak(Box::default());
    unsafe extern "C" fn count(counter: *mut c_void) {
        // SAFETY: leaked by the test.
        unsafe { &*counter.cast::<AtomicU64>() }.fetch_add(1, Ordering::AcqRel);
    }
    for stream in &streams {
        hold(*stream, gate);
        ok!(cuLaunchHostFunc(*stream as Handle, count, counter.as_ptr().cast()));
    }
    // The watcher, and what tests beside this one start.
    assert!(threads() < before + 100);
    release(gate, 1);
    ok!(cuCtxSynchronize());
    assert_eq!(counter.load(Ordering::Acquire), 1000);
}

#[test]
fn destroying_a_context_drops_what_waits_in_it() {
    let context = Context::new();
    let (journal, gate) = (Journal::new(), &pinned(1)[0]);
    let stream = stream(0);
    hold(stream, gate);
    journal.note(stream, 1);
    drop(context);
    assert!(journal.read().is_empty());
}
