//! The rules of sharing, over random programs.

use super::engine::Engine;
use super::graph::{Activity, Copy, Graph, Kernel, KernelTime, Node, NodeId};
use super::order::sequential;
use crate::core::sched::Point;
use crate::platform::{Description, Site};
use proptest::prelude::*;
use proptest::sample::Index;
use std::sync::{Arc, LazyLock, OnceLock};

/// Three devices: two share a switch on their way from and to the host, which has less than both links.
const PLATFORM_TEXT: &str = r#"
        [[device]]
        name = "a"
        memory = "1G"
        multiprocessors = 4
        launch_us = 1
        instructions_per_second = 4e9
        [[device]]
        name = "b"
        memory = "1G"
        multiprocessors = 4
        [[device]]
        name = "c"
        memory = "1G"
        multiprocessors = 4
        [[switch]]
        name = "bridge"
        bandwidth_gbs = 15
        [[link]]
        from = "host"
        to = ["a", "b"]
        latency_us = 2
        bandwidth_gbs = 10
        pageable_bandwidth_gbs = 5
        switch = "bridge"
        [[link]]
        from = ["a", "b"]
        to = "host"
        latency_us = 2
        bandwidth_gbs = 10
        switch = "bridge"
        [[link]]
        from = "host"
        to = "c"
        latency_us = 1
        bandwidth_gbs = 20
        [[link]]
        from = "c"
        to = "host"
        latency_us = 1
        bandwidth_gbs = 20
        [[link]]
        from = ["a", "b", "c"]
        to = ["a", "b", "c"]
        latency_us = 1
        bandwidth_gbs = 100
        [[link]]
        from = "a"
        to = "a"
        latency_us = 0
        bandwidth_gbs = 1000
        [[link]]
        from = "b"
        to = "b"
        latency_us = 0
        bandwidth_gbs = 1000
        [[link]]
        from = "c"
        to = "c"
        latency_us = 0
        bandwidth_gbs = 1000
    "#;

static PLATFORM: LazyLock<Description> =
    LazyLock::new(|| Description::parse("test.toml", PLATFORM_TEXT).unwrap());

/// A program: operations, each behind a delay of its own thread and perhaps behind an earlier operation.
#[derive(Clone, Debug)]
struct Operation {
    delay: u64,
    after: Option<Index>,
    /// By a wait for a word that the other stores.
    by_wait: bool,
    activity: Activity,
}

fn site() -> impl Strategy<Value = Site> {
    (0_usize..4).prop_map(|n| if n == 3 { Site::Host } else { Site::Device(n) })
}

fn copy() -> impl Strategy<Value = Copy> {
    (site(), site(), 1_u64..200_000, any::<bool>()).prop_map(|(from, to, bytes, pageable)| {
        let pageable = pageable && (from == Site::Host || to == Site::Host);
        Copy { from, to, bytes, pageable }
    })
}

fn operation() -> impl Strategy<Value = Operation> {
    let kernel = (1_u64..9, 0_u64..20_000).prop_map(|(blocks, time)| {
        let time = KernelTime::Fixed(time);
        Activity::Kernel(Kernel { name: "k".into(), device: 0, blocks, time })
    });
    let activity = prop_oneof![4 => copy().prop_map(Activity::Copy), 1 => kernel];
    (0_u64..30_000, proptest::option::of(any::<Index>()), any::<bool>(), activity)
        .prop_map(|(delay, after, by_wait, activity)| Operation { delay, after, by_wait, activity })
}

fn program() -> impl Strategy<Value = Vec<Operation>> {
    proptest::collection::vec(operation(), 1..12)
}

/// Appends an operation, whose number is that of its stream as well; `nodes` are the earlier ones.
fn append(graph: &mut Graph, operation: &Operation, nodes: &[NodeId]) -> NodeId {
    let time = operation.delay;
    let queueing = Activity::Queueing { thread: 0, time };
    let mut after = vec![graph.add(Node { activity: queueing, after: vec![NodeId::START], point: None })];
    let earlier = operation.after.filter(|_| !nodes.is_empty()).map(|index| *index.get(nodes));
    after.extend(earlier.map(|earlier| match operation.by_wait {
        true => {
            graph.add(Node { activity: Activity::Wait(Some(earlier)), after: after.clone(), point: None })
        }
        false => earlier,
    }));
    let point = Some(Point { queue: nodes.len() as u64, seq: 1 });
    graph.add(Node { activity: operation.activity.clone(), after, point })
}

fn graph(program: &[Operation]) -> (Graph, Vec<NodeId>) {
    let (mut graph, mut nodes) = (Graph::default(), Vec::new());
    for operation in program {
        nodes.push(append(&mut graph, operation, &nodes));
    }
    (graph, nodes)
}

/// When each could have begun, began and ended.
fn times(program: &[Operation]) -> Vec<(u64, u64, u64)> {
    let (graph, nodes) = graph(program);
    let mut engine = Engine::new(&PLATFORM);
    engine.run(&graph, None).unwrap();
    nodes.iter().map(|node| engine.times(*node).unwrap()).collect()
}

fn as_copy(operation: &Operation) -> Option<Copy> {
    if let Activity::Copy(copy) = operation.activity { Some(copy) } else { None }
}

fn lone(activity: Activity) -> (u64, u64, u64) {
    times(&[Operation { delay: 0, after: None, by_wait: false, activity }])[0]
}

fn plain(from: Site, to: Site, bytes: u64) -> Activity {
    Activity::Copy(Copy { from, to, bytes, pageable: false })
}

fn together(activities: &[Activity]) -> Vec<(u64, u64, u64)> {
    let operation =
        |activity: &Activity| Operation { delay: 0, after: None, by_wait: false, activity: activity.clone() };
    times(&activities.iter().map(operation).collect::<Vec<_>>())
}

const A: Site = Site::Device(0);
const B: Site = Site::Device(1);
const C: Site = Site::Device(2);

#[test]
fn a_lone_copy_takes_the_latency_and_its_bytes_at_full_bandwidth() {
    assert_eq!(lone(plain(Site::Host, A, 100_000)), (0, 0, 2_000 + 10_000));
    let pageable = Copy { from: Site::Host, to: A, bytes: 100_000, pageable: true };
    assert_eq!(lone(Activity::Copy(pageable)).2, 2_000 + 20_000);
    assert_eq!(lone(plain(Site::Host, Site::Host, 100_000)).2, 0, "no link within host memory");
}

#[test]
fn copies_that_share_a_switch_share_its_bandwidth() {
    let both = together(&[plain(Site::Host, A, 150_000), plain(Site::Host, B, 150_000)]);
    assert!(both.iter().all(|t| *t == (0, 0, 2_000 + 20_000)), "7.5 GB/s each: {both:?}");
    // When the short one is done, the long one has its link for itself.
    let uneven = together(&[plain(Site::Host, A, 75_000), plain(B, Site::Host, 175_000)]);
    assert_eq!((uneven[0].2, uneven[1].2), (12_000, 22_000));
}

#[test]
fn opposite_copies_overlap_with_the_host_but_not_between_devices() {
    let host = together(&[plain(Site::Host, C, 20_000), plain(C, Site::Host, 20_000)]);
    assert!(host.iter().all(|t| *t == (0, 0, 2_000)));
    let devices = together(&[plain(A, B, 100_000), plain(B, A, 100_000)]);
    assert_eq!((devices[0], devices[1]), ((0, 0, 2_000), (0, 2_000, 4_000)));
}

#[test]
fn a_copy_between_devices_and_one_from_the_host_to_either_are_sequential() {
    for to in [A, C] {
        let times = together(&[plain(A, C, 100_000), plain(Site::Host, to, 20_000)]);
        assert!(times[0].2 <= times[1].1 || times[1].2 <= times[0].1, "{to:?}");
    }
    let times = together(&[plain(A, B, 100_000), plain(Site::Host, C, 20_000), plain(A, Site::Host, 10_000)]);
    assert!(times.iter().all(|t| t.1 == 0), "neither the third device nor the way to the host matters");
}

#[test]
fn kernels_run_at_once_as_long_as_there_are_multiprocessors() {
    let kernel = |blocks| {
        let time = KernelTime::Fixed(8_000);
        Activity::Kernel(Kernel { name: "k".into(), device: 0, blocks, time })
    };
    assert!(together(&[kernel(2), kernel(2)]).iter().all(|t| t.2 == 9_000));
    assert!(together(&[kernel(4), kernel(4)]).iter().all(|t| t.2 == 17_000));
    assert_eq!(together(&[kernel(4), kernel(1)]), [(0, 0, 11_000), (0, 0, 9_000)]);
}

#[test]
fn counted_instructions_take_the_time_of_the_multiprocessor_with_most_blocks() {
    let count = |blocks, count| {
        let time = KernelTime::Counted(Arc::new(OnceLock::from(count)));
        lone(Activity::Kernel(Kernel { name: "k".into(), device: 0, blocks, time })).2
    };
    // 1 instruction per ns and multiprocessor, 1 us of launch.
    assert_eq!(count(1, 1_000), 2_000);
    assert_eq!(count(4, 4_000), 2_000);
    assert_eq!(count(5, 5_000), 3_000, "two blocks on one multiprocessor");
}

#[test]
fn what_is_not_known_yet_is_asked_for_and_nothing_else() {
    let count = Arc::new(OnceLock::new());
    let time = KernelTime::Counted(Arc::clone(&count));
    let kernel = Activity::Kernel(Kernel { name: "k".into(), device: 0, blocks: 1, time });
    let early = Operation { delay: 0, after: None, by_wait: false, activity: plain(Site::Host, A, 1_000) };
    let program = [early, Operation { delay: 5_000, after: None, by_wait: false, activity: kernel }];
    let (graph, nodes) = graph(&program);
    let mut engine = Engine::new(&PLATFORM);
    assert_eq!(engine.run(&graph, Some(nodes[0])), Ok(()), "it ends before the kernel begins");
    assert_eq!(engine.run(&graph, Some(nodes[1])), Err(nodes[1]));
    // The report at the end asks for nothing: what isn't known then has not ended.
    let mut last = Engine::new(&PLATFORM);
    assert_eq!(last.run(&graph, None), Ok(()));
    assert_eq!((last.times(nodes[0]).is_some(), last.times(nodes[1])), (true, None));
    count.set(500).unwrap();
    assert_eq!(engine.run(&graph, Some(nodes[1])), Ok(()));
    assert_eq!(engine.end(nodes[1]), Some(5_000 + 1_000 + 500));
}

#[test]
fn a_long_chain_of_what_takes_no_time_is_no_deep_recursion() {
    let (mut graph, mut last) = (Graph::default(), NodeId::START);
    for _ in 0..200_000 {
        last = graph.add(Node {
            activity: Activity::Queueing { thread: 0, time: 0 },
            after: vec![last],
            point: None,
        });
    }
    let mut engine = Engine::new(&PLATFORM);
    engine.run(&graph, Some(last)).unwrap();
    assert_eq!(engine.end(last), Some(0));
}

#[test]
fn a_copy_that_takes_ages_ends_at_the_end_of_time() {
    let text = PLATFORM_TEXT.replace("bandwidth_gbs = 20", "bandwidth_gbs = 1e-300");
    let platform: &'static Description = Box::leak(Box::new(Description::parse("ages.toml", &text).unwrap()));
    let mut graph = Graph::default();
    let copy = plain(Site::Host, C, 1);
    let node = graph.add(Node { activity: copy, after: vec![NodeId::START], point: None });
    let mut engine = Engine::new(platform);
    engine.run(&graph, None).unwrap();
    assert_eq!(engine.end(node), Some(u64::MAX));
}

proptest! {
    #[test]
    fn sequential_is_mutual(a in copy(), b in copy()) {
        prop_assert_eq!(sequential(&a, &b), sequential(&b, &a));
        prop_assert!(sequential(&a, &a));
    }

    #[test]
    fn copies_that_are_sequential_never_overlap(program in program()) {
        let times = times(&program);
        for (i, a) in program.iter().enumerate() {
            for (j, b) in program.iter().enumerate().skip(i + 1) {
                let (Some(a), Some(b)) = (as_copy(a), as_copy(b)) else { continue };
                if sequential(&a, &b) {
                    prop_assert!(times[i].2 <= times[j].1 || times[j].2 <= times[i].1);
                }
            }
        }
    }

    #[test]
    fn nothing_waits_but_for_what_it_is_sequential_with(program in program()) {
        let times = times(&program);
        for (i, a) in program.iter().enumerate() {
            let (ready, begin, _) = times[i];
            if begin > ready {
                // At each moment before, one was under way, or waited in its turn, that had been there earlier.
                let a = as_copy(a).unwrap();
                let blocks = |j: usize| {
                    as_copy(&program[j]).is_some_and(|b| sequential(&a, &b)) && times[j].0 <= begin
                };
                let last = (0..program.len()).filter(|j| *j != i && blocks(*j) && times[*j].2 <= begin);
                prop_assert_eq!(last.map(|j| times[j].2).max(), Some(begin));
            }
        }
    }

    #[test]
    fn nothing_is_faster_than_alone_and_a_switch_carries_no_more_than_it_can(program in program()) {
        let times = times(&program);
        let mut through = Vec::new();
        for (operation, (_, begin, end)) in program.iter().zip(&times) {
            let (_, _, alone) = lone(operation.activity.clone());
            prop_assert!(end - begin >= alone);
            let Some(copy) = as_copy(operation) else { continue };
            if PLATFORM.links.get(&(copy.from, copy.to)).is_some_and(|link| link.switch.is_some()) {
                through.push((*begin, *end, copy.bytes));
            }
        }
        // Of copies that lie within a span of time, all bytes must have fitted through it.
        for (from, _, _) in &through {
            for (_, to, _) in &through {
                let bytes: u64 = through.iter().filter(|c| c.0 >= *from && c.1 <= *to).map(|c| c.2).sum();
                prop_assert!(bytes as f64 <= (to.saturating_sub(*from) + 1) as f64 * 15.0);
            }
        }
    }

    #[test]
    fn asking_for_times_in_between_and_in_any_order_changes_none(
        program in program(),
        questions in proptest::collection::vec(any::<(Index, Index)>(), 0..12),
    ) {
        let expected = times(&program);
        let (mut graph, mut nodes, mut engine) = (Graph::default(), Vec::new(), Engine::new(&PLATFORM));
        for (number, operation) in program.iter().enumerate() {
            nodes.push(append(&mut graph, operation, &nodes));
            for (when, whom) in &questions {
                if when.index(program.len()) == number {
                    engine.run(&graph, Some(*whom.get(&nodes))).unwrap();
                }
            }
        }
        engine.run(&graph, None).unwrap();
        let got: Vec<_> = nodes.iter().map(|node| engine.times(*node).unwrap()).collect();
        prop_assert_eq!(got, expected);
    }

    #[test]
    fn the_order_in_which_threads_came_changes_no_time(program in program(), seed in any::<u64>()) {
        // Operations that come after nothing are those of so many threads; any order may have been the real one.
        let alone: Vec<Operation> =
            program.into_iter().map(|operation| Operation { after: None, ..operation }).collect();
        let mut shuffled = alone.clone();
        let mut random = seed | 1;
        for i in (1..shuffled.len()).rev() {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            shuffled.swap(i, (random % (i as u64 + 1)) as usize);
        }
        let sorted = |program: &[Operation]| {
            let what = program.iter().map(|operation| format!("{operation:?}"));
            let mut all: Vec<_> = what.zip(times(program)).collect();
            all.sort();
            all
        };
        prop_assert_eq!(sorted(&alone), sorted(&shuffled));
    }
}
