//! The device runtime's PTX, `device-runtime/ptx/`, as it is checked in: what it defines, and that both variants order what the host
//! sees.

use std::fs;

use boomerang_ptx::ast::{Linkage, Module};
use regex_lite::Regex;

/// An object, and the functions and variables that it defines for others.
struct Object {
    name: &'static str,
    defines: &'static [&'static str],
    variables: &'static [&'static str],
}

const CALLS: &[&str] = &["boomerang_call", "boomerang_capacity", "boomerang_post"];
const OBJECTS: [Object; 5] = [
    Object { name: "target_ext", defines: &["GOMP_target_ext"], variables: &[] },
    Object { name: "user_call", defines: CALLS, variables: &[] },
    Object { name: "user_call_plain", defines: CALLS, variables: &[] },
    Object {
        name: HEAP,
        defines: &["__boomerang_free", "__boomerang_malloc"],
        variables: &["__boomerang_heap"],
    },
    Object {
        name: TEAM,
        defines: &["__boomerang_team_free", "__boomerang_team_malloc"],
        variables: &["__boomerang_team"],
    },
];
const HEAP: &str = "heap";
const TEAM: &str = "team";

/// The objects that make requests of the host.
fn requesters() -> impl Iterator<Item = Object> {
    OBJECTS.into_iter().filter(|object| ![HEAP, TEAM].contains(&object.name))
}

/// What the objects use of the image that they are linked with.
const IMAGE: &str = "\
    .version 6.0\n.target sm_30\n.address_size 64\n\
    .visible .shared .align 8 .u64 __boomerang_region;\n\
    .visible .shared .align 8 .b8 __boomerang_cache[80];\n\
    .visible .shared .align 4 .u32 __nvptx_uni[32];\n\
    .visible .global .align 4 .u32 __gomp_additional_icvs[4];\n";

fn text(name: &str, architecture: u32) -> String {
    let path = format!("{}/device-runtime/ptx/{name}.sm_{architecture}.ptx", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn parse(name: &str, architecture: u32) -> Module {
    boomerang_ptx::parse(&text(name, architecture)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// How often a pattern is found; `R` stands for a register and `M` for the memory that one points to.
fn count(text: &str, pattern: &str) -> usize {
    let pattern = pattern.replace('.', "\\.").replace('M', "\\[%rd[0-9]+\\]").replace('R', "%rd?[0-9]+");
    Regex::new(&pattern).expect("a valid pattern").find_iter(text).count()
}

/// The ways in which an object asks for a request that is words alone. What comes before is released by a fence then.
fn released_early(name: &str) -> usize {
    // By a lane, by a warp that maps nothing, and by one that maps something.
    if name == "target_ext" { 3 } else { 0 }
}

/// The instructions of a text that access memory or have lanes meet.
fn accesses(text: &str) -> Vec<&str> {
    let access = Regex::new(r"\b(ld|st|atom|red|bar)\.[a-z0-9.]+").expect("a valid pattern");
    access.find_iter(text).map(|found| found.as_str()).collect()
}

#[test]
fn each_object_defines_what_it_is_for_and_nothing_else() {
    for Object { name, defines, variables } in OBJECTS {
        for architecture in [30, 70] {
            let module = parse(name, architecture);
            assert_eq!((module.sm, module.address_size), (architecture, 64), "{name}");
            let visible =
                module.functions.iter().filter(|f| f.body.is_some() && f.linkage == Linkage::Visible);
            let mut defined: Vec<&str> = visible.map(|f| f.name.as_str()).collect();
            defined.sort_unstable();
            assert_eq!(defined, defines, "{name}.sm_{architecture}");
            let own = module.variables.iter().filter(|variable| variable.linkage != Linkage::Extern);
            let own: Vec<_> = own.map(|variable| &variable.name).collect();
            assert_eq!(own, variables, "{name}.sm_{architecture}");
        }
    }
}

#[test]
fn the_driver_of_any_gpu_that_has_the_architecture_takes_the_version() {
    // PTX 6.3 came with CUDA 10.0, the first that knows nanosleep; before sm_70 the oldest that knows sm_30's instructions will do.
    for Object { name, .. } in OBJECTS {
        assert_eq!(parse(name, 70).version, (6, 3), "{name}");
        assert!(parse(name, 30).version <= (6, 0), "{name}");
    }
}

#[test]
fn from_sm_70_on_accesses_are_ordered_by_release_and_acquire() {
    for Object { name, .. } in requesters() {
        let text = text(name, 70);
        for ordered in [
            "st.release.sys.u(32|64) M, R;",
            "ld.acquire.sys.u64 R, M;",
            "st.release.gpu.u32 M, R;",
            "ld.acquire.gpu.u32 R, M;",
        ] {
            assert!(count(&text, ordered) > 0, "{name}: no {ordered}");
        }
        assert_eq!(count(&text, "membar."), 0, "{name}");
        assert_eq!(count(&text, "fence."), released_early(name), "{name}: another fence");
    }
}

#[test]
fn before_sm_70_fences_and_volatile_accesses_do_the_same() {
    for Object { name, .. } in requesters() {
        let text = text(name, 30);
        let ordered = |scope: &str| {
            let (stores, loads) = (
                count(&text, &format!("membar.{scope}; st.volatile.u(32|64) M, R;")),
                count(&text, &format!("ld.volatile.u(32|64) R, M; membar.{scope};")),
            );
            assert!(stores > 0 && loads > 0, "{name}: {stores} stores, {loads} loads of scope {scope}");
            let early = if scope == "sys" { released_early(name) } else { 0 };
            let fences = count(&text, &format!("membar.{scope}"));
            assert_eq!(fences, stores + loads + early, "{name}: a fence by itself");
        };
        ordered("sys");
        ordered("gl");
        for newer in ["acquire", "release", ".sync", "nanosleep", "fence."] {
            assert_eq!(count(&text, newer), 0, "{name}: {newer} needs sm_70");
        }
    }
}

#[test]
fn the_heap_orders_for_the_device_and_a_teams_memory_for_the_block_and_neither_waits() {
    for (name, architecture, fence) in [
        (HEAP, 30, "membar.gl;"),
        (HEAP, 70, "fence.acq_rel.gpu;"),
        (TEAM, 30, "membar.cta;"),
        (TEAM, 70, "membar.cta;"),
    ] {
        let text = text(name, architecture);
        assert!(count(&text, fence) > 0, "{name}.sm_{architecture}: no {fence}");
        let fences = count(&text, "membar.") + count(&text, "fence.");
        assert_eq!(fences, count(&text, fence), "{name}.sm_{architecture}: another fence than {fence}");
        // Of 64-bit atomics sm_30 has neither `and` nor `or` (PTX ISA, atom).
        for other in ["nanosleep", "bar.(sync|red|warp)", ".b64 R, M, R;"] {
            assert_eq!(count(&text, other), 0, "{name}.sm_{architecture}: {other}");
        }
    }
}

#[test]
fn a_request_is_complete_before_it_is_posted() {
    // The words of a request are written before the first release at system scope that follows, which publishes it.
    for Object { name, .. } in requesters() {
        for (architecture, publish) in [(30, "membar.sys; st.volatile.u64"), (70, "st.release.sys.u64")] {
            let text = text(name, architecture);
            // A lane for itself stores sixteen bytes at a time, eight lanes of a warp eight each.
            let words = Regex::new(r"st\.(v2\.)?u64 ").expect("a valid pattern").find(&text);
            let words = words.expect("the request's line").start();
            // What fits into one word is posted without the line.
            let posted = text.rfind(publish).expect("the request is published");
            assert!(words < posted, "{name}.sm_{architecture}");
        }
    }
}

#[test]
fn what_comes_before_a_request_of_words_is_released_while_its_ticket_is_on_its_way() {
    let text = text("target_ext", 70);
    let after_tickets: Vec<_> = text.split("atom.add.u32").skip(1).collect();
    assert_eq!(after_tickets.len(), released_early("target_ext"));
    for after_ticket in after_tickets {
        let (before, after) = after_ticket.split_once("fence.acq_rel.sys;").expect("the release");
        assert_eq!(accesses(before), ["ld.volatile.u32"], "the turn's word");
        assert!(after.contains("st.volatile.u64"), "the post");
    }
}

#[test]
fn the_words_of_a_compact_request_come_right_before_it_is_posted() {
    let text = text("target_ext", 70);
    // Nothing else is stored in that way but what requests with nothing mapped post, of a lane and of a warp.
    let stores: Vec<_> = text.match_indices("st.volatile.u64").map(|(at, _)| at).collect();
    assert_eq!(stores.len(), 4);
    assert_eq!(accesses(&text[stores[2]..stores[3]]), ["st.volatile.u64"]);
}

#[test]
fn lanes_that_each_make_a_request_leave_its_loop_by_a_vote_of_all_that_came() {
    // Once for each way of calling.
    for (name, calls) in [("target_ext", 1), ("user_call", 2), ("user_call_plain", 2)] {
        let text = text(name, 70);
        let came = Regex::new("activemask.b32 (%r[0-9]+);").expect("a valid pattern");
        let came: Vec<_> = came.captures_iter(&text).collect();
        assert_eq!(came.len(), calls, "{name}");
        for lanes in came {
            let (_, rest) = text.split_at(lanes.get(0).expect("the match").end());
            let vote =
                format!(r"vote.sync.any.pred\s+(%p[0-9]+), %p[0-9]+, {};\s+@!?(%p[0-9]+) bra", &lanes[1]);
            let vote = Regex::new(&vote).expect("a valid pattern");
            let vote = vote.captures(rest).unwrap_or_else(|| panic!("{name}: they vote"));
            assert_eq!(vote[1], vote[2], "{name}: the vote decides who goes on");
            let loops_before = &rest[..vote.get(0).expect("the match").start()];
            assert!(
                loops_before.contains("ld.acquire.sys.u64"),
                "{name}: the reply is looked for in the loop"
            );
        }
    }
}

#[test]
fn both_variants_link_with_an_image() {
    let link = |objects: &[&str], architecture: u32| {
        let image = boomerang_ptx::parse(IMAGE).expect("well formed");
        let modules = objects.iter().map(|name| parse(name, architecture)).chain([image]).collect();
        boomerang_ptx::link(modules).unwrap_or_else(|error| panic!("{objects:?}.sm_{architecture}: {error}"));
    };
    for architecture in [30, 70] {
        link(&["target_ext"], architecture);
        link(&["target_ext", "user_call"], architecture);
        link(&["user_call"], architecture);
        link(&["user_call_plain"], architecture);
        link(&[HEAP], architecture);
        link(&[HEAP, TEAM], architecture);
    }
}
