//! Model checks of the ring protocol: every interleaving of requesters, waiters, the gate and the end of a region, up to a bound on
//! preemptions. Run with `RUSTFLAGS="--cfg loom" cargo test --release --test loom_ring`.
#![cfg(loom)]

use boomerang::driver::gate::{Gate, Wake};
use boomerang::reverse::items::Items;
use boomerang::reverse::mock::{MockDevice, Variable};
use boomerang::reverse::slot::WaitWord;
use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use loom::sync::{Condvar, Mutex};
use loom::thread;

/// GOMP_MAP_TOFROM
const TOFROM: u16 = 3;
/// Requests of the compact form; others are long.
const COMPACT: [u64; 2] = [8, 9];

/// The device with its bell as both sides see it. A stream wait on the bell is a condition variable here, so that a lost wake-up is a
/// deadlock, which loom reports; a device that spins for ever is one as well.
struct Wire {
    device: MockDevice,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Wire {
    fn notify(&self) {
        let _lock = self.lock.lock().unwrap();
        self.changed.notify_all();
    }

    fn wait_until(&self, condition: impl Fn() -> bool) {
        let mut lock = self.lock.lock().unwrap();
        while !condition() {
            lock = self.changed.wait(lock).unwrap();
        }
    }

    /// What `cuStreamWaitValue32` and the synchronization behind it do.
    fn stream_wait(&self) {
        // Relaxed: what the gate and the waiter rely on is in their own accesses.
        self.wait_until(|| self.device.bell.rung.load(Ordering::Relaxed) != 0);
    }
}

impl WaitWord for Wire {
    fn arm(&self) -> bool {
        self.device.bell.arm()
    }

    fn disarm(&self) {
        self.device.bell.disarm();
    }

    fn cancel(&self) {
        self.device.bell.cancel();
        self.notify();
    }
}

/// Everything the threads of a model share; leaked, since the gate lives as long as the process.
struct Model {
    gate: Gate,
    wire: Wire,
    /// The end words of two regions.
    ended: [AtomicBool; 2],
    /// Whether a stream wait is pending; the lock of a driver that can't free memory meanwhile.
    pending: Mutex<()>,
    served: AtomicU32,
}

fn check(preemptions: usize, model: fn()) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    // Devices spin.
    builder.max_branches = 10_000;
    builder.check(model);
}

fn model(slots: usize) -> &'static Model {
    Box::leak(Box::new(Model {
        gate: Gate::default(),
        wire: Wire {
            device: MockDevice::new(slots, 64),
            lock: Mutex::default(),
            changed: Condvar::default(),
        },
        ended: Default::default(),
        pending: Mutex::default(),
        served: AtomicU32::default(),
    }))
}

/// What request `func` maps: an int if it is to be compact, else three bytes.
fn variable(func: u64) -> Variable {
    let size = if COMPACT.contains(&func) { 4 } else { 3 };
    Variable { address: 0x1000, kind: TOFROM, contents: vec![func as u8; size] }
}

impl Model {
    fn make_request(&self, warp: usize, func: u64) {
        let device = &self.wire.device;
        let mut variables = [variable(func)];
        let ticket = device.draw(warp);
        while !device.has_turn(&ticket) {
            thread::yield_now();
        }
        device.post(&ticket, func, &variables);
        let reply = loop {
            if device.ring_if_asleep() {
                self.wire.notify();
            }
            match device.reply(&ticket) {
                Some(reply) => break reply,
                None => thread::yield_now(),
            }
        };
        device.fetch(&ticket, func, &reply, &mut variables);
        assert!(variables[0].contents.iter().all(|byte| *byte == !(func as u8)), "of another reply");
        device.give_back(ticket);
    }

    /// The stream writes behind a kernel: its end word, then the bell.
    fn end(&self, region: usize) {
        self.ended[region].store(true, Ordering::Release);
        self.wire.device.bell.ring();
        self.wire.notify();
    }

    /// Serves a request, if there is one: inverts what it maps.
    fn serve_one(&self) -> bool {
        let Some(mut claim) = self.wire.device.window.claim().unwrap() else { return false };
        let func = claim.request.func as u8;
        let mut items = Items::default();
        let mut data = claim.data(&mut items).unwrap();
        let mut bytes = vec![0; variable(func.into()).contents.len()];
        assert!(data.give(&mut bytes, 0x1000));
        assert!(bytes.iter().all(|byte| *byte == func), "a torn request");
        bytes.fill(!func);
        assert!(data.take(0x1000, &bytes));
        let dirty = data.dirty;
        self.served.fetch_add(1, Ordering::Relaxed);
        claim.reply(dirty);
        true
    }

    /// A host thread that serves until its region has ended; it never spins.
    fn wait(&'static self, region: usize) {
        let has_ended = || self.ended[region].load(Ordering::Acquire);
        loop {
            let window = &self.wire.device.window;
            if !self.serve_one() && window.has_request() {
                // Its words aren't all there.
                thread::yield_now();
            }
            if has_ended() {
                while window.has_request() {
                    self.serve_one();
                }
                return;
            }
            let ready = || self.wire.device.window.has_request() || has_ended();
            let block = || -> Result<(), ()> {
                let _pending = self.pending.lock().unwrap();
                self.wire.stream_wait();
                Ok(())
            };
            if self.gate.sleep(region as u64, &self.wire, ready, block) == Ok(Wake::Closed) {
                thread::yield_now();
            }
        }
    }

    fn served(&self) -> u32 {
        self.served.load(Ordering::Relaxed)
    }
}

#[test]
fn each_request_is_served_once_and_the_end_wakes_the_sleeper() {
    check(3, || {
        let model = model(1);
        let kernel = thread::spawn(move || {
            model.make_request(0, 1);
            model.make_request(0, 2);
            model.end(0);
        });
        model.wait(0);
        kernel.join().unwrap();
        assert_eq!(model.served(), 2);
    });
}

#[test]
fn requests_of_both_forms_follow_one_another_in_a_slot() {
    check(2, || {
        let model = model(1);
        let kernel = thread::spawn(move || {
            model.make_request(0, COMPACT[0]);
            model.make_request(0, 1);
            model.make_request(0, COMPACT[1]);
            model.end(0);
        });
        model.wait(0);
        kernel.join().unwrap();
        assert_eq!(model.served(), 3);
    });
}

#[test]
fn compact_requests_are_served_whole_and_once_whoever_looks_for_them() {
    check(2, || {
        let model = model(1);
        let (wire, device) = (&model.wire, &model.wire.device);
        let kernel = thread::spawn(move || {
            for func in COMPACT {
                let ticket = device.draw(0);
                assert!(device.has_turn(&ticket));
                device.post(&ticket, func, &[variable(func)]);
                wire.notify();
                wire.wait_until(|| device.reply(&ticket).is_some());
                device.give_back(ticket);
            }
        });
        let serve = move || {
            if model.serve_one() {
                wire.notify();
            }
        };
        let other = thread::spawn(serve);
        while model.served() < 2 {
            wire.wait_until(|| device.window.has_request() || model.served() == 2);
            serve();
            // Words may be missing.
            thread::yield_now();
        }
        other.join().unwrap();
        kernel.join().unwrap();
        assert_eq!(model.served(), 2);
    });
}

#[test]
fn a_request_that_nobody_waits_for_is_served_before_the_region_is_left() {
    check(3, || {
        let model = model(1);
        let kernel = thread::spawn(move || {
            let device = &model.wire.device;
            let ticket = device.draw(0);
            device.post(&ticket, 1, &[variable(1)]);
            device.leave(ticket);
            model.end(0);
        });
        model.wait(0);
        kernel.join().unwrap();
        assert_eq!(model.served(), 1);
    });
}

#[test]
fn requesters_of_one_slot_take_turns() {
    check(2, || {
        let model = model(1);
        let (wire, device) = (&model.wire, &model.wire.device);
        // Waiting is no spinning here: loom may keep two spinning threads busy with each other while a third could go on.
        let requester = |func: u64| {
            move || {
                let ticket = device.draw(0);
                wire.wait_until(|| device.has_turn(&ticket));
                device.post(&ticket, func, &[variable(func)]);
                wire.notify();
                wire.wait_until(|| device.reply(&ticket).is_some());
                device.give_back(ticket);
                wire.notify();
            }
        };
        let requesters = [1, 2].map(|func| thread::spawn(requester(func)));
        for _ in 0..2 {
            wire.wait_until(|| device.window.has_request());
            while !model.serve_one() {
                thread::yield_now();
            }
            wire.notify();
        }
        for requester in requesters {
            requester.join().unwrap();
        }
        assert_eq!(model.served(), 2);
    });
}

#[test]
fn two_threads_never_serve_the_same_request() {
    check(3, || {
        let model = model(2);
        let device = &model.wire.device;
        let tickets = [1, 2].map(|func| {
            let ticket = device.draw(func as usize);
            device.post(&ticket, func, &[variable(func)]);
            ticket
        });
        let other = thread::spawn(move || while model.serve_one() {});
        while model.serve_one() {}
        other.join().unwrap();
        assert_eq!(model.served(), 2);
        assert!(tickets.iter().all(|ticket| device.reply(ticket).is_some()));
    });
}

#[test]
fn a_stale_ring_or_end_is_harmless() {
    check(2, || {
        let model = model(1);
        // The end of the region before, which nobody slept through, and a ring that comes late.
        let stale = thread::spawn(move || {
            model.wire.device.bell.ring();
            model.wire.notify();
        });
        let kernel = thread::spawn(move || {
            model.make_request(0, 1);
            model.end(0);
        });
        model.wait(0);
        kernel.join().unwrap();
        stale.join().unwrap();
        assert_eq!(model.served(), 1);
    });
}

#[test]
fn a_blocking_call_ends_the_pending_wait_and_the_end_is_still_seen() {
    check(3, || {
        let model = model(1);
        let kernel = thread::spawn(move || model.end(0));
        // The driver's call doesn't return before the wait is over.
        let caller = thread::spawn(move || model.gate.run_blocking(|| drop(model.pending.lock().unwrap())));
        model.wait(0);
        kernel.join().unwrap();
        caller.join().unwrap();
    });
}

#[test]
fn with_two_waiters_one_sleeps_and_both_see_their_ends() {
    check(2, || {
        let model = model(1);
        let other = thread::spawn(move || model.wait(1));
        let ends = thread::spawn(move || {
            model.end(0);
            model.end(1);
        });
        model.wait(0);
        other.join().unwrap();
        ends.join().unwrap();
    });
}

#[test]
fn a_request_wakes_the_sleeper_also_where_another_waits_beside_it() {
    check(1, || {
        let model = model(1);
        let other = thread::spawn(move || model.wait(1));
        let kernel = thread::spawn(move || {
            model.make_request(0, 1);
            model.end(0);
            model.end(1);
        });
        model.wait(0);
        other.join().unwrap();
        kernel.join().unwrap();
        assert_eq!(model.served(), 1);
    });
}
