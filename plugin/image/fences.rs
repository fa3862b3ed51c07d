//! Gives the fences of libgomp's device library the scope that they need.
//!
//! GCC has one fence for the device, `membar.sys`, which waits for the host and for other devices. libgomp's state is looked at by
//! threads of one device only while a kernel runs, so that `membar.gl` is enough, which costs a fraction:
//!
//! - Its atomic instructions have device scope already (PTX ISA, atom: `.gpu` where none is given); the fences beside them
//!   ordered nothing for the host before.
//! - Barriers, the work shares and tasks of a team, and its pool of threads: all threads are of one block.
//! - `critical`, `atomic` through libgomp, locks, memory allocators: all threads are on one device, if maybe in other kernels. Each device
//!   has variables of its own, and a lock that the host has initialized is none on the device (OpenMP: the lock's
//!   contention group).
//! - What one thread writes for the host, and another tells the host of after a barrier or in a lock: the second one's own fence, of
//!   system scope, covers what came before it in causality order, and the barrier's fence, of device scope, puts the first
//!   one's writes there (PTX ISA, Memory Consistency Model: both threads are in its scope, so it synchronizes). The same holds
//!   the other way round, for what the host tells.
//! - What the host sees when the kernel has ended needs no fence.
//!
//! Loops need less. The threads of one team share out iterations, and OpenMP has them flush nothing then, unlike at a barrier: for the
//! functions that do it and no more, block scope is enough, which costs next to nothing. With `schedule(dynamic)` they have two
//! fences for each chunk.
//!
//! Of two fences without an access between them the second does nothing more, and goes. GCC writes such pairs where a load that
//! acquires comes before an atomic that also releases, as in each barrier.
//!
//! Left as they are: the program's own fences (`flush`, and `atomic` with an order); `GOMP_target_ext`, which talks to the host;
//! devices before sm_70, for which the memory model is not defined; and programs that require unified shared memory. Such a one
//! may have a thread write for the host, meet a barrier, which is a flush as well, and tell the host itself by an `atomic` without
//! an order.

use std::ops::Range;

use super::edit::Edit;
use super::items::{Item, Kind, items};
use super::tokens::{Known, Scanner, Token};

/// The least compute capability that has the memory model (PTX ISA, Memory Consistency Model).
pub const LEAST_CAPABILITY: u32 = 70;

/// What the functions begin with that members of libgomp define for others: all of them reserved, by OpenMP or by GCC.
const PREFIXES: [&str; 4] = ["gomp_", "GOMP_", "omp_", "__nvptx_lowlat_"];
/// As above, for those members that share out the iterations of loops in a team and do nothing else (libgomp/iter.c, iter_ull.c,
/// loop.c, loop_ull.c).
const LOOP_PREFIXES: [&str; 3] = ["gomp_iter_", "GOMP_loop_", "GOMP_parallel_loop_"];

const SYSTEM: &str = ".sys";

/// Instructions that access registers only.
const ON_REGISTERS: [&str; 15] = [
    "add", "and", "cvt", "mad", "max", "min", "mov", "mul", "neg", "not", "or", "selp", "setp", "shl", "sub",
];

/// What became of an object's fences.
#[derive(Debug, PartialEq, Eq)]
pub enum Fences {
    /// It has none of system scope.
    None,
    /// They stay. With a name that tells the object from others: the first function that it defines for others, if any.
    Left(String),
    /// With that name, and the text with weaker and fewer ones.
    Weakened(String, String),
}

/// Weakens the fences of a text if it is a member of libgomp.
pub fn weaken(text: &str) -> Fences {
    // Most objects have none, and finding the items takes time.
    if !text.contains("membar.sys") {
        return Fences::None;
    }
    let Some(items) = items(text) else { return Fences::Left("of unknown form".into()) };
    let names: Vec<&str> = visible_functions(&items).collect();
    let any = items.iter().find(|item| !item.name.is_empty()).map_or("", |item| item.name);
    let name = names.first().copied().unwrap_or(any).to_owned();
    match scope(&items, &names).map(|scope| weaken_items(text, &items, scope)) {
        None | Some(None) => Fences::Left(name),
        Some(Some(weakened)) if weakened == text => Fences::None,
        Some(Some(weakened)) => Fences::Weakened(name, weakened),
    }
}

/// `text` with fences of this scope. None where it has a form that isn't known.
fn weaken_items(text: &str, items: &[Item<'_>], scope: &str) -> Known<String> {
    let mut edit = Edit::of(text);
    for item in items.iter().filter(|item| item.kind == Kind::Definition) {
        for fence in fences(&text[item.body..item.span.end])? {
            let at = |offset| item.body + offset;
            match fence.is_second {
                true => edit.replace(at(fence.span.start)..at(fence.span.end), ""),
                false => edit.replace(at(fence.scope.start)..at(fence.scope.end), scope),
            }
        }
    }
    Some(edit.whole())
}

/// A fence of system scope.
struct Fence {
    /// Where it stands, with its guard and the blanks in front.
    span: Range<usize>,
    /// Where `.sys` stands.
    scope: Range<usize>,
    /// Whether another one comes before it in any case, without an access between them.
    is_second: bool,
}

/// The fences of a function's body.
fn fences(body: &str) -> Known<Vec<Fence>> {
    let mut fences = vec![];
    let mut tokens = Scanner::new(body);
    // Whether a fence has been executed, and no access since.
    let mut fenced = false;
    loop {
        let start = tokens.at();
        let Some(mut token) = tokens.token()? else { return Some(fences) };
        let is_guarded = token == Token::Sign(b'@');
        if is_guarded {
            tokens.take_if(|token| token == Token::Sign(b'!'))?;
            tokens.must()?;
            token = tokens.must()?;
        }
        match token {
            // Has no semicolon.
            Token::Directive(".loc") => while tokens.take_if(|token| token == Token::Number)? {},
            Token::Word("membar") => {
                let is_system = tokens.take_if(|token| token == Token::Directive(SYSTEM))?;
                let scope = tokens.at() - SYSTEM.len()..tokens.at();
                while tokens.must()? != Token::Sign(b';') {}
                if is_system {
                    fences.push(Fence { span: start..tokens.at(), scope, is_second: fenced });
                    fenced |= !is_guarded;
                }
            }
            Token::Word(name) => {
                // A label can be reached without the fence.
                if tokens.take_if(|token| token == Token::Sign(b':'))? {
                    fenced = false;
                    continue;
                }
                fenced &= ON_REGISTERS.contains(&name);
                while tokens.must()? != Token::Sign(b';') {}
            }
            _ => fenced = false,
        }
    }
}

/// Whether an object is a member of libgomp that has nothing to do with the host.
pub fn is_libgomps(items: &[Item<'_>]) -> bool {
    scope(items, &visible_functions(items).collect::<Vec<_>>()).is_some()
}

/// The functions that an object defines for others.
fn visible_functions<'a>(items: &[Item<'a>]) -> impl Iterator<Item = &'a str> {
    let functions = items.iter().filter(|item| item.kind == Kind::Definition && item.has_body());
    functions.filter(|item| item.visible).map(|item| item.name)
}

/// The scope that fences of an object with these functions need if it is a member of libgomp that has nothing to do with the host;
/// else none.
fn scope(items: &[Item<'_>], visible: &[&str]) -> Option<&'static str> {
    let all =
        |prefixes: &[&str]| visible.iter().all(|name| prefixes.iter().any(|prefix| name.starts_with(prefix)));
    let has_kernel = items.iter().any(|item| item.kind == Kind::Kernel);
    match () {
        () if visible.is_empty() || visible.contains(&"GOMP_target_ext") || has_kernel => None,
        () if all(&LOOP_PREFIXES) => Some(".cta"),
        () if all(&PREFIXES) => Some(".gl"),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREAMBLE: &str =
        "// BEGIN PREAMBLE\n.version 6.0\n.target sm_70\n.address_size 64\n// END PREAMBLE\n";

    fn weakened(text: &str) -> String {
        match weaken(text) {
            Fences::Weakened(_, text) => text,
            other => panic!("{other:?}"),
        }
    }

    /// An object with a lock of each of these functions.
    fn object(functions: &[&str]) -> String {
        let mut text = format!("{PREAMBLE}.visible .shared .align 8 .u64 nvptx_thrs;\n");
        for name in functions {
            text += &function(
                name,
                "atom.exch.b32 %r2,[%r1],1;\n@%r3\tmembar.sys;\n@%r3 st.u32 [%r1],%r2;\n@!%r3 membar.sys;\n",
            );
        }
        text
    }

    fn function(name: &str, code: &str) -> String {
        format!(
            "// BEGIN GLOBAL FUNCTION DEF: {name}, with membar.sys; in a comment\n.visible .func {name} (.param .u64 %in_ar0)\n\
             {{\n.reg .u64 %r1;\n.reg .u32 %r2;\n.reg .pred %r3;\nld.param.u64 %r1,[%in_ar0];\n{code}ret;\n}}\n"
        )
    }

    #[test]
    fn fences_of_libgomp_get_device_scope_and_nothing_else_changes() {
        for name in ["GOMP_critical_start", "gomp_team_barrier_wait", "omp_set_lock", "__nvptx_lowlat_alloc"]
        {
            let text = object(&[name, "gomp_init_task"]);
            let weakened = weakened(&text);
            assert_eq!(weakened.matches("membar.gl;").count(), 4, "{weakened}");
            assert_eq!(weakened.matches("membar.sys;").count(), 2, "the comments: {weakened}");
            assert_eq!(weakened.replace("membar.gl", "membar.sys"), text);
            boomerang_ptx::parse(&weakened).expect("well formed");
        }
    }

    #[test]
    fn what_only_shares_out_iterations_gets_block_scope() {
        let loops = object(&["gomp_iter_dynamic_next", "GOMP_loop_end"]);
        assert_eq!(
            weakened(&loops),
            loops.replace("\tmembar.sys", "\tmembar.cta").replace(" membar.sys;\nret", " membar.cta;\nret")
        );
        let more = weakened(&object(&["gomp_iter_dynamic_next", "GOMP_barrier"]));
        assert_eq!((more.matches("membar.gl").count(), more.matches("membar.cta").count()), (4, 0));
    }

    #[test]
    fn of_two_fences_without_an_access_between_them_the_second_goes() {
        let weakened = |code: &str| weakened(&(PREAMBLE.to_owned() + &function("GOMP_barrier", code)));
        let fences = |code: &str| weakened(code).matches("membar.gl;").count();
        let first = "ld.u32 %r2,[%r1+4];\nmembar.sys;\n";
        // As in gomp_barrier_wait.
        let pair = "ld.u32 %r2,[%r1+4];\nmembar.sys;\n.loc 3 96 7\nand.b32 %r2,%r2,-4;\n.loc 3 102 7\n@%r3 membar.sys;\n\
                    @%r3 atom.add.u32 %r2,[%r1+8],-1;\n@%r3 membar.sys;\n";
        assert_eq!(fences(pair), 2);
        let text = weakened(pair);
        assert!(text.contains(".loc 3 102 7\n@%r3 atom.add.u32"), "{text}");
        boomerang_ptx::parse(&text).expect("well formed");
        for between in [
            "ld.u32 %r2,[%r1];\n",
            "st.u32 [%r1],%r2;\n",
            "call f;\n",
            "$L1:\n",
            "bar.sync 0;\n",
            "@%r3 bra $L1;\n",
            "{\n}\n",
        ] {
            assert_eq!(fences(&format!("{first}{between}membar.sys;\n")), 2, "{between}");
        }
        assert_eq!(fences("@%r3 membar.sys;\nmembar.sys;\n"), 2, "the first is not executed in any case");
        assert_eq!(fences("membar.cta;\nmembar.sys;\n"), 1, "a weaker one does not count");
    }

    #[test]
    fn objects_that_are_not_libgomps_or_talk_to_the_host_are_left_alone() {
        for functions in [
            &["push"][..],
            &["GOMP_barrier", "push"],
            &["GOMP_teams4", "GOMP_target_ext"],
            // As the ring has it.
            &["GOMP_teams4", "__boomerang_stock_target_ext"],
            &[],
        ] {
            let name = functions.first().copied().unwrap_or("nvptx_thrs");
            let expected = if functions.is_empty() { Fences::None } else { Fences::Left(name.into()) };
            assert_eq!(weaken(&object(functions)), expected, "{functions:?}");
        }
        let with_kernel = object(&["gomp_init_task"]) + ".visible .entry k\n{\nmembar.sys;\nret;\n}\n";
        assert_eq!(weaken(&with_kernel), Fences::Left("gomp_init_task".into()));
        let of_program = format!("{PREAMBLE}.func gomp_mine\n{{\nmembar.sys;\nret;\n}}\n");
        assert_eq!(weaken(&of_program), Fences::Left("gomp_mine".into()), "nobody else can call it");
    }

    #[test]
    fn an_object_without_fences_of_system_scope_stays_as_it_is() {
        let text = object(&["omp_set_lock"]);
        for other in [text.replace("membar.sys;\n", "membar.gl;\n"), text.replace("membar.sys;\n", "")] {
            assert!(other.contains("membar.sys"), "the comment");
            assert_eq!(weaken(&other), Fences::None);
        }
    }

    #[test]
    fn a_truncated_object_is_left_alone_or_weakened_and_never_a_panic() {
        let text = object(&["omp_set_lock"]);
        for end in 0..text.len() {
            let _ = weaken(&text[..end]);
        }
    }
}
