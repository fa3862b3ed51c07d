//! The state machine against the rules that CUDA's documentation gives, over random histories.

use super::state::{Class, State};
use super::work::{Channel, Condition, Job, QueueId, Task, WaitWord, Word, Work};
use crate::core::clock::Activity;
use crate::error::Error;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A small generator (xorshift): a failing seed can be run again.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

type Log = Arc<Mutex<Vec<usize>>>;

fn task(log: &Log, number: usize) -> Work {
    let log = Arc::clone(log);
    let body = move |_| {
        log.lock().unwrap().push(number);
        Ok(())
    };
    Work::Task(Task {
        what: String::new(),
        kernel: None,
        activity: Activity::Instant,
        channel: Channel::Beside,
        tell: false,
        body: Box::new(body),
    })
}

/// Runs one of the jobs that may run now.
fn run_one(state: &mut State, ready: &mut Vec<Job>, random: &mut Random) {
    let job = ready.swap_remove(random.below(ready.len()));
    (job.body)(job.start).unwrap();
    ready.extend(state.complete(job.queue));
}

/// A domain with the legacy queue, two blocking and two free ones.
fn queues(state: &mut State) -> Vec<(QueueId, Class)> {
    let domain = state.add_domain(8);
    let mut queues = vec![(state.domains[&domain].legacy, Class::Legacy)];
    for class in [Class::Blocking, Class::Blocking, Class::NonBlocking, Class::NonBlocking] {
        queues.push((state.add_queue(domain, class, String::new()).unwrap(), class));
    }
    queues
}

/// Whether CUDA orders an earlier operation before a later one.
fn ordered(earlier: (QueueId, Class), later: (QueueId, Class)) -> bool {
    earlier.0 == later.0
        || matches!((earlier.1, later.1), (Class::Legacy, Class::Blocking) | (Class::Blocking, Class::Legacy))
}

#[test]
fn whatever_the_history_operations_run_in_the_order_that_streams_promise() {
    for seed in 1..=500 {
        let (mut state, mut random, log) = (State::default(), Random(seed), Log::default());
        let (queues, mut ready, mut submitted) = (queues(&mut state), Vec::new(), Vec::new());
        for number in 0..60 {
            let queue = queues[random.below(queues.len())];
            state.push(queue.0, task(&log, number)).unwrap();
            submitted.push(queue);
            ready.extend(state.pump(vec![queue.0]));
            while !ready.is_empty() && random.below(3) > 0 {
                run_one(&mut state, &mut ready, &mut random);
            }
        }
        while !ready.is_empty() {
            run_one(&mut state, &mut ready, &mut random);
        }
        let ran = log.lock().unwrap().clone();
        let place: HashMap<usize, usize> = ran.iter().enumerate().map(|(at, number)| (*number, at)).collect();
        assert_eq!((ran.len(), place.len()), (60, 60), "seed {seed}: each ran, and once");
        for later in 0..submitted.len() {
            for earlier in 0..later {
                if ordered(submitted[earlier], submitted[later]) {
                    assert!(place[&earlier] < place[&later], "seed {seed}: {later} before {earlier}");
                }
            }
        }
    }
}

#[test]
fn a_lost_context_leaves_nothing_waiting() {
    for seed in 1..=200 {
        let (mut state, mut random, log) = (State::default(), Random(seed), Log::default());
        let queues = queues(&mut state);
        let domain = state.queues[&queues[0].0].domain;
        let gate = AtomicU64::new(0);
        let word = Word { host: gate.as_ptr() as usize, address: 0, wide: true };
        let wait = WaitWord { word, value: 1, condition: Condition::Eq };
        let (mut ready, mut points) = (Vec::new(), Vec::new());
        for number in 0..40 {
            let queue = queues[random.below(queues.len())].0;
            let work = if random.below(4) == 0 { Work::Wait(wait) } else { task(&log, number) };
            points.push(state.push(queue, work).unwrap());
            ready.extend(state.pump(vec![queue]));
        }
        ready.extend(state.poison(domain, Error::ILLEGAL_ADDRESS));
        while !ready.is_empty() {
            run_one(&mut state, &mut ready, &mut random);
        }
        assert!(points.iter().all(|p| state.reached(*p)), "seed {seed}");
        assert!(state.waits.is_empty() && !state.anything_runs(domain));
        assert_eq!(state.push(queues[0].0, task(&log, 0)).err(), Some(Error::ILLEGAL_ADDRESS));
        gate.store(1, Ordering::Release);
    }
}
