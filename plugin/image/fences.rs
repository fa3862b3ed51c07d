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
//! Left as they are: the program's own fences (`flush`, and `atomic` with an order); `GOMP_target_ext`, which talks to the host;
//! devices before sm_70, for which the memory model is not defined; and programs that require unified shared memory. Such a one
//! may have a thread write for the host, meet a barrier, which is a flush as well, and tell the host itself by an `atomic` without
//! an order.

use super::items::{Item, Kind, items};
use super::tokens::{Scanner, Token};

/// The least compute capability that has the memory model (PTX ISA, Memory Consistency Model).
pub const LEAST_CAPABILITY: u32 = 70;

const SYSTEM: &str = ".sys";
const DEVICE: &str = ".gl";

/// What the functions begin with that members of libgomp define for others: all of them reserved, by OpenMP or by GCC.
const PREFIXES: [&str; 4] = ["gomp_", "GOMP_", "omp_", "__nvptx_lowlat_"];

/// `text` with fences of device scope, where it is a member of libgomp and has fences. None where it is to stay as it is.
pub fn weaken(text: &str) -> Option<String> {
    // Most objects have none, and finding the items takes time.
    if !text.contains("membar.sys") || !is_of_libgomp(&items(text)?) {
        return None;
    }
    let mut weakened = String::with_capacity(text.len());
    let mut copied = 0;
    let mut tokens = Scanner::new(text);
    let mut last = Token::Sign(b';');
    while let Some(token) = tokens.token()? {
        if last == Token::Word("membar") && token == Token::Directive(SYSTEM) {
            weakened.push_str(&text[copied..tokens.at() - SYSTEM.len()]);
            weakened.push_str(DEVICE);
            copied = tokens.at();
        }
        last = token;
    }
    if copied == 0 {
        return None;
    }
    weakened.push_str(&text[copied..]);
    Some(weakened)
}

/// Whether an object is a member of libgomp that has nothing to do with the host.
fn is_of_libgomp(items: &[Item<'_>]) -> bool {
    let has_body = |item: &&Item<'_>| item.kind == Kind::Definition && item.body < item.span.end;
    let mut visible = items.iter().filter(has_body).filter(|item| item.visible).peekable();
    visible.peek().is_some()
        && visible.all(|item| {
            PREFIXES.iter().any(|prefix| item.name.starts_with(prefix)) && item.name != "GOMP_target_ext"
        })
        && items.iter().all(|item| item.kind != Kind::Kernel)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREAMBLE: &str =
        "// BEGIN PREAMBLE\n.version 6.0\n.target sm_70\n.address_size 64\n// END PREAMBLE\n";

    /// An object with a lock of each of these functions.
    fn object(functions: &[&str]) -> String {
        let mut text = format!("{PREAMBLE}.visible .shared .align 8 .u64 nvptx_thrs;\n");
        for name in functions {
            text += &format!(
                "// BEGIN GLOBAL FUNCTION DEF: {name}, with membar.sys; in a comment\n.visible .func {name} (.param .u64 %in_ar0)\n\
                 {{\n.reg .u64 %r1;\n.reg .u32 %r2;\n.reg .pred %r3;\nld.param.u64 %r1,[%in_ar0];\n\
                 atom.exch.b32 %r2,[%r1],1;\nmembar.sys;\nsetp.eq.u32 %r3,%r2,0;\n@%r3\tmembar.sys;\n@!%r3 membar.sys;\nret;\n}}\n"
            );
        }
        text
    }

    #[test]
    fn fences_of_libgomp_get_device_scope_and_nothing_else_changes() {
        for name in ["GOMP_critical_start", "gomp_team_barrier_wait", "omp_set_lock", "__nvptx_lowlat_alloc"]
        {
            let text = object(&[name, "gomp_init_task"]);
            let weakened = weaken(&text).expect("libgomp's");
            assert_eq!(weakened.matches("membar.gl;").count(), 6, "{weakened}");
            assert_eq!(weakened.matches("membar.sys;").count(), 2, "the comments: {weakened}");
            assert_eq!(weakened.replace("membar.gl", "membar.sys"), text);
            boomerang_ptx::parse(&weakened).expect("well formed");
        }
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
            assert_eq!(weaken(&object(functions)), None, "{functions:?}");
        }
        let with_kernel = object(&["gomp_init_task"]) + ".visible .entry k\n{\nmembar.sys;\nret;\n}\n";
        assert_eq!(weaken(&with_kernel), None);
        let of_program = format!("{PREAMBLE}.func gomp_mine\n{{\nmembar.sys;\nret;\n}}\n");
        assert_eq!(weaken(&of_program), None, "nobody else can call it");
    }

    #[test]
    fn an_object_without_fences_of_system_scope_stays_as_it_is() {
        let text = object(&["omp_set_lock"]);
        for other in [text.replace("membar.sys;\n", "membar.gl;\n"), text.replace("membar.sys;\n", "")] {
            assert!(other.contains("membar.sys"), "the comment");
            assert_eq!(weaken(&other), None);
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
