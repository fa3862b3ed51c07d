//! Kernels and the host at once: protocols over registered memory, several grids, cancelling.

mod support;
use boomerang_gpu::*;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use support::*;

/// Two words that host and device pass a token with.
#[repr(align(64))]
struct Mailbox([AtomicU32; 16]);

fn mailbox(gpu: &Gpu) -> Box<Mailbox> {
    let mailbox = Box::new(Mailbox(Default::default()));
    // SAFETY: the box lives to the end of the test, and nothing is launched afterwards.
    unsafe { gpu.memory.register_host(&raw const *mailbox as u64, 64, Kind::Pinned, 0) }.unwrap();
    mailbox
}

const REQUESTS: &str = "
    mov.u32 %r5, 0;
    AGAIN: add.u32 %r5, %r5, 1; st.release.sys.u32 [%data], %r5;
    WAIT: ld.acquire.sys.u32 %r6, [%data]; setp.ne.u32 %p0, %r6, 0; @%p0 bra WAIT;
    setp.lt.u32 %p1, %r5, 100; @%p1 bra AGAIN;";

#[test]
fn a_kernel_asks_the_host_and_waits_for_each_answer() {
    for workers in [1, 2] {
        let gpu = Gpu::with(DeviceConfig { workers, ..DeviceConfig::default() });
        let mailbox = mailbox(&gpu);
        let module = gpu.load(&kernel(REQUESTS));
        let served = thread::scope(|scope| {
            let running =
                scope.spawn(|| gpu.launch(&module, "k", shape(1, 1), &[&raw const *mailbox as u64]));
            let mut served = 0;
            while served < 100 {
                if mailbox.0[0].load(Ordering::Acquire) == served + 1 {
                    served += 1;
                    mailbox.0[0].store(0, Ordering::Release);
                }
                assert!(!running.is_finished() || served == 100);
                thread::yield_now();
            }
            running.join().unwrap().unwrap_or_else(|f| panic!("{f}"));
            served
        });
        assert_eq!(served, 100);
    }
}

const WAIT_FOR_FLAG: &str =
    "WAIT: ld.volatile.global.u32 %r6, [%data]; setp.eq.u32 %p0, %r6, 0; @%p0 bra WAIT;";

#[test]
fn a_grid_that_spins_does_not_starve_another() {
    let gpu = Gpu::with(DeviceConfig { workers: 1, ..DeviceConfig::default() });
    let spinner = gpu.load(&kernel(WAIT_FOR_FLAG));
    let setter = gpu.load(&kernel("st.volatile.global.u32 [%data], 1;"));
    let flag = gpu.buffer(&[0u32]);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| gpu.launch(&spinner, "k", shape(40, 256), &[flag]));
        thread::sleep(Duration::from_millis(20));
        assert!(!waiting.is_finished());
        gpu.launch(&setter, "k", shape(1, 1), &[flag]).unwrap();
        waiting.join().unwrap().unwrap();
    });
}

/// Processor time of the process.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    // utime and stime, in hundredths of a second (proc(5)).
    Duration::from_millis(10 * (fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()))
}

#[test]
fn a_grid_that_waits_leaves_the_processor_to_others() {
    let gpu = Gpu::new();
    let module = gpu.load(&kernel(WAIT_FOR_FLAG));
    let mailbox = mailbox(&gpu);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| gpu.launch(&module, "k", shape(2, 64), &[&raw const *mailbox as u64]));
        let (start, before) = (Instant::now(), cpu_time());
        thread::sleep(Duration::from_millis(500));
        let used = cpu_time() - before;
        // Other tests of this program may run meanwhile; a grid that burnt its workers would take all of the time.
        let share = used.as_secs_f64() / start.elapsed().as_secs_f64();
        mailbox.0[0].store(1, Ordering::Release);
        waiting.join().unwrap().unwrap();
        assert!(share < 1.5, "{share} processors");
    });
}

#[test]
fn a_cancelled_grid_ends_soon() {
    let gpu = Gpu::new();
    let module = gpu.load(&kernel("LOOP: bra LOOP;"));
    let kernel = module.kernel("k").unwrap();
    let cancel = AtomicBool::new(false);
    let launch =
        Launch { kernel: &kernel, grid: [3, 1, 1], block: [64, 1, 1], dynamic_shared: 0, params: &[0; 8] };
    thread::scope(|scope| {
        let running = scope.spawn(|| run_grid(&launch, &cancel));
        thread::sleep(Duration::from_millis(20));
        cancel.store(true, Ordering::Relaxed);
        let start = Instant::now();
        assert_eq!(running.join().unwrap().unwrap_err().kind, FaultKind::Cancelled);
        assert!(start.elapsed() < Duration::from_millis(200));
    });
}

#[test]
fn more_blocks_than_fit_run_in_turn() {
    let gpu = Gpu::with(DeviceConfig { multiprocessors: 1, ..DeviceConfig::default() });
    let out = gpu.transform(&kernel("st.global.u32 [%at], %id;"), shape(500, 64), &vec![0u32; 32000]);
    assert_eq!(out, (0..32000).collect::<Vec<u32>>());
}

#[test]
fn resident_blocks_all_make_progress() {
    // Every block waits until all have come; they fit on the device together.
    let body = "atom.global.add.u32 %r0, [%data], 1; WAIT: ld.volatile.global.u32 %r1, [%data];
        setp.lt.u32 %p0, %r1, 256; @%p0 bra WAIT;";
    for seed in [0, 5] {
        let gpu = Gpu::with(DeviceConfig { multiprocessors: 4, seed, ..DeviceConfig::default() });
        assert_eq!(gpu.transform(&kernel(body), shape(8, 32), &[0u32]), [256]);
    }
}

#[test]
fn several_threads_launch_at_once() {
    let gpu = Gpu::new();
    let module = gpu.load(&kernel("red.global.add.u32 [%data], 1;"));
    let counter = gpu.buffer(&[0u32]);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..50 {
                    gpu.launch(&module, "k", shape(2, 32), &[counter]).unwrap();
                }
            });
        }
    });
    assert_eq!(gpu.read::<u32>(counter, 1), [8 * 50 * 64]);
}

#[test]
fn a_seed_changes_the_order_of_blocks() {
    let body =
        "atom.global.add.u32 %r0, [%data], 1; mad.wide.u32 %at, %r0, 4, %data; st.global.u32 [%at+4], %cta;";
    let order = |seed| {
        let gpu = Gpu::with(DeviceConfig { workers: 1, seed, ..DeviceConfig::default() });
        gpu.transform(&kernel(body), shape(20, 1), &[0u32; 21])
    };
    assert_eq!(order(0)[1..], (0..20).collect::<Vec<u32>>());
    assert_eq!(order(3), order(3));
    assert!((1..5).any(|seed| order(seed) != order(0)));
}
