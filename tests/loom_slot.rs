//! Model checks of the slot and the gate: every interleaving of a device, its waiters and a blocking driver call, up to a
//! bound on preemptions. Run with `RUSTFLAGS="--cfg loom" cargo test --release --test loom_slot`.
#![cfg(loom)]

use boomerang::driver::gate::{Gate, Wake};
use boomerang::reverse::slot::{Request, Slot, WaitWord};
use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use loom::sync::{Condvar, Mutex};
use loom::thread;

/// The slot as both sides see it. What is a spin on the device and a stream wait on the host is a condition variable here, so
/// that a lost wake-up is a deadlock, which loom reports.
#[derive(Default)]
struct Wire {
    slot: Slot,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Wire {
    fn notify(&self) {
        let _lock = self.lock.lock().unwrap();
        self.changed.notify_all();
    }

    fn wait_while(&self, condition: impl Fn(&Slot) -> bool) {
        let mut lock = self.lock.lock().unwrap();
        while condition(&self.slot) {
            lock = self.changed.wait(lock).unwrap();
        }
    }
}

impl WaitWord for Wire {
    fn arm(&self) -> bool {
        let idle = self.slot.arm();
        self.notify();
        idle
    }

    fn disarm(&self) {
        self.slot.disarm();
        self.notify();
    }

    fn cancel(&self) {
        self.slot.cancel();
        self.notify();
    }
}

/// Everything the threads of a model share; leaked, since the gate lives as long as the process.
#[derive(Default)]
struct Model {
    gate: Gate,
    wire: Wire,
    /// The kernel's end mark.
    ended: AtomicBool,
    /// Whether a stream wait is pending; the lock of a driver that can't free memory meanwhile.
    pending: Mutex<()>,
    served: AtomicU32,
}

fn check(model: fn()) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

fn model() -> &'static Model {
    Box::leak(Box::default())
}

fn request(func: u64) -> Request {
    Request { func, mapnum: func, addrs: 0, sizes: 0, kinds: 0, dev_num: 0 }
}

impl Model {
    fn make_request(&self, func: u64) {
        self.wire.slot.post(request(func));
        self.wire.notify();
        self.wire.wait_while(|slot| !slot.is_answered());
    }

    /// A kernel that makes `requests` requests, one after the other, and ends; then the driver's host function.
    fn kernel(&self, requests: u64, waiter: u64) {
        (1..=requests).for_each(|func| self.make_request(func));
        self.ended.store(true, Ordering::Release);
        self.gate.wake(waiter);
    }

    fn serve_one(&self) {
        if let Some(claim) = self.wire.slot.claim() {
            // A torn request would have another count than function.
            assert_eq!(claim.request, request(claim.request.func));
            self.served.fetch_add(1, Ordering::Relaxed);
            claim.reply();
            self.wire.notify();
        }
    }

    /// A host thread that serves until the kernel has ended; it never spins.
    fn wait(&'static self, waiter: u64) {
        loop {
            self.serve_one();
            if self.ended.load(Ordering::Acquire) {
                return;
            }
            let ready = || self.wire.slot.has_request() || self.ended.load(Ordering::Acquire);
            let block = || -> Result<(), ()> {
                let _pending = self.pending.lock().unwrap();
                self.wire.wait_while(Slot::is_idle);
                Ok(())
            };
            if self.gate.sleep(waiter, &self.wire, ready, block) == Ok(Wake::Closed) {
                thread::yield_now();
            }
        }
    }
}

#[test]
fn each_request_is_served_once_and_the_end_wakes_the_sleeper() {
    check(|| {
        let model = model();
        let kernel = thread::spawn(move || model.kernel(2, 0));
        model.wait(0);
        kernel.join().unwrap();
        assert_eq!(model.served.load(Ordering::Relaxed), 2);
    });
}

#[test]
fn a_blocking_call_ends_the_pending_wait_and_the_end_is_still_seen() {
    check(|| {
        let model = model();
        let kernel = thread::spawn(move || model.kernel(0, 0));
        // The driver's call doesn't return before the wait is over.
        let caller = thread::spawn(move || model.gate.run_blocking(|| drop(model.pending.lock().unwrap())));
        model.wait(0);
        kernel.join().unwrap();
        caller.join().unwrap();
    });
}

#[test]
fn with_two_waiters_one_sleeps_and_both_see_the_end() {
    check(|| {
        let model = model();
        let other = thread::spawn(move || model.wait(1));
        let end = thread::spawn(move || {
            model.ended.store(true, Ordering::Release);
            model.gate.wake(0);
            model.gate.wake(1);
        });
        model.wait(0);
        other.join().unwrap();
        end.join().unwrap();
    });
}

#[test]
fn two_threads_never_serve_the_same_request() {
    check(|| {
        let model = model();
        let kernel = thread::spawn(move || model.make_request(1));
        let other = thread::spawn(move || model.serve_one());
        model.serve_one();
        other.join().unwrap();
        if model.served.load(Ordering::Relaxed) == 0 {
            model.wire.wait_while(Slot::is_idle);
            model.serve_one();
        }
        kernel.join().unwrap();
        assert_eq!(model.served.load(Ordering::Relaxed), 1);
    });
}
