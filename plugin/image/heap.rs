//! Gives device code a heap of ours: the CUDA driver's `malloc` takes 5 to 7 microseconds, in one thread of the device after another,
//! and no copy can reach what it allocates.
//!
//! newlib's `__nvptx_malloc` and `__nvptx_free`, which device code calls as `malloc` and `free` (newlib, libc/machine/nvptx),
//! choose the lanes that call the driver's functions and keep the size for `realloc`. That stays; only the two calls go to
//! `device-runtime/heap.c` instead, which takes from the memory of [`crate::memory::heap`]. Its `free` passes on what is not of this
//! heap; the driver's could not do that. So all calls of an image are redirected, or none.

use super::edit::rename;
use super::items::{Item, Kind, items};

/// newlib's functions, what each calls, and what it is to call.
const REDIRECTED: [(&str, &str, &str); 2] =
    [("__nvptx_malloc", "malloc", "__boomerang_malloc"), ("__nvptx_free", "free", "__boomerang_free")];

/// `heap.c` for a device of this compute capability, as `sm_` names it.
pub fn runtime(compute_capability: u32) -> &'static str {
    device_object!("heap", compute_capability)
}

/// Why an image keeps the driver's heap.
#[derive(Debug, PartialEq, Eq)]
pub enum Kept {
    /// It doesn't allocate.
    Unused,
    /// An object of unknown form may use the driver's functions.
    UnknownForm,
    /// This function calls one of them, and is not newlib's.
    Caller(String),
    /// It has a function of its own by the name of one of them.
    Own(&'static str),
}

impl std::fmt::Display for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Kept::Unused => f.write_str("no object calls malloc"),
            Kept::UnknownForm => f.write_str("an object with malloc or free is of unknown form"),
            Kept::Caller(name) => write!(f, "{name} calls the driver's malloc or free by itself"),
            Kept::Own(name) => write!(f, "the image has a {name} of its own"),
        }
    }
}

/// For each of `texts` what is to stand in its place, none where it stays as it is.
///
/// # Errors
/// Why all stay.
pub fn redirect(texts: &[&str]) -> Result<Vec<Option<String>>, Kept> {
    let redirected: Vec<_> = texts.iter().map(|text| redirect_one(text)).collect::<Result<_, _>>()?;
    if redirected.iter().all(Option::is_none) { Err(Kept::Unused) } else { Ok(redirected) }
}

fn redirect_one(text: &str) -> Result<Option<String>, Kept> {
    // Most objects have neither name, and finding the items takes time.
    if !REDIRECTED.iter().any(|(_, callee, _)| text.contains(callee)) {
        return Ok(None);
    }
    let items = items(text).ok_or(Kept::UnknownForm)?;
    let definitions = || items.iter().filter(|item| item.defines());
    let callees = || REDIRECTED.iter().map(|(_, callee, _)| *callee);
    if let Some(own) = callees().find(|callee| definitions().any(|item| item.name == *callee)) {
        return Err(Kept::Own(own));
    }
    let mut callers = definitions().filter(|item| callees().any(|callee| item.uses.contains(&callee)));
    let Some(caller) = callers.next() else { return Ok(None) };
    let others = callers.chain(definitions()).find(|item| item.name != caller.name);
    match REDIRECTED.iter().find(|(name, callee, _)| is_newlibs(caller, name, callee)) {
        Some((_, from, to)) if others.is_none() => {
            rename(text, &[(from, to)]).map(Some).ok_or(Kept::UnknownForm)
        }
        _ => Err(Kept::Caller(caller.name.into())),
    }
}

/// Whether a definition is this function of newlib's: it has its name, and uses `callee` and nothing else but what tells which lanes
/// are active.
fn is_newlibs(item: &Item<'_>, name: &str, callee: &str) -> bool {
    let is_known = |used: &&str| *used == callee || *used == "__nvptx_uni" || used.starts_with("$L");
    item.name == name && item.visible && item.kind == Kind::Definition && item.uses.iter().all(is_known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::heap::VARIABLE;

    /// What GCC 13 and 14 write at the head of newlib's members, and what 15 and 16 write. The rest is the same.
    const PREAMBLES: [&str; 2] = [
        ".version 6.0\n.target sm_30\n.address_size 64\n",
        ".version 7.3\n.target sm_52\n.address_size 64\n",
    ];
    const PREAMBLE: &str = PREAMBLES[1];

    fn malloc_member(preamble: &str) -> String {
        format!(
            "{preamble}.file 2 \"newlib/libc/machine/nvptx/malloc.c\"\n// BEGIN GLOBAL FUNCTION DEF: malloc\n\
             .visible .func (.param .u64 %value_out) __nvptx_malloc (.param .u64 %in_ar0);\n\
             .extern .func (.param .u64 %value_out) malloc (.param .u64 %in_ar0);\n.extern .shared .u32 __nvptx_uni[32];\n\
             .visible .func (.param .u64 %value_out) __nvptx_malloc (.param .u64 %in_ar0)\n\
             {{\n.reg .u64 %r1;\n.reg .u32 %r2;\n.reg .pred %r34;\nld.param.u64 %r1,[%in_ar0];\nld.shared.u32 %r2,[__nvptx_uni];\n\
             setp.eq.u32 %r34,%r2,0;\n{{\n.param .u64 %value_in;\n.param .u64 %out_arg1;\n\
             st.param.u64 [%out_arg1],%r1;\n@%r34 call (%value_in),malloc,(%out_arg1);\nld.param.u64 %r1,[%value_in];\n}}\n\
             @%r34 bra $L1;\n$L1:\nst.param.u64 [%value_out],%r1;\nret;\n}}\n"
        )
    }

    fn free_member(preamble: &str) -> String {
        format!(
            "{preamble}.extern .func free (.param .u64 %in_ar0);\n.visible .func __nvptx_free (.param .u64 %in_ar0)\n\
             {{\n.reg .u64 %r1;\nld.param.u64 %r1,[%in_ar0];\n{{\n.param .u64 %out_arg1;\nst.param.u64 [%out_arg1],%r1;\n\
             call free,(%out_arg1);\n}}\nret;\n}}\n"
        )
    }

    fn members() -> [String; 2] {
        [malloc_member(PREAMBLE), free_member(PREAMBLE)]
    }

    #[test]
    fn the_calls_of_newlibs_members_are_redirected_and_link_with_our_heap() {
        let uniform = format!("{PREAMBLE}.visible .shared .align 4 .u32 __nvptx_uni[32];\n");
        // An image may have members of both.
        for (first, second) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let members = [malloc_member(PREAMBLES[first]), free_member(PREAMBLES[second])];
            let redirected = redirect(&[&uniform, &members[0], &members[1]]).expect("newlib's");
            let [None, Some(malloc), Some(free)] = &redirected[..] else { panic!("{redirected:?}") };
            assert!(malloc.contains("call (%value_in),__boomerang_malloc,(%out_arg1);"), "{malloc}");
            assert!(malloc.contains("nvptx/malloc.c") && malloc.contains(") __nvptx_malloc ("), "{malloc}");
            assert!(free.contains("call __boomerang_free,(%out_arg1);"), "{free}");
            for capability in [30, 70] {
                let texts = [malloc, free, &uniform, runtime(capability)];
                let modules = texts.map(|text| boomerang_ptx::parse(text).expect("well formed")).into();
                let program = boomerang_ptx::link(modules).expect("nothing is missing");
                assert!(program.variables.iter().any(|v| Some(&*v.name) == VARIABLE.to_str().ok()));
            }
        }
    }

    #[test]
    fn a_pruned_image_may_have_one_of_the_members() {
        let [malloc, free] = members();
        assert!(redirect(&[&malloc]).is_ok() && redirect(&[&free]).is_ok());
    }

    #[test]
    fn an_image_that_allocates_in_another_way_keeps_the_drivers_heap() {
        let [malloc, free] = members();
        let caller = |name: &str| Kept::Caller(name.into());
        let kernel = ".visible .entry k\n{\nret;\n}\n";
        for (other, kept) in [
            // A function of the program's, by hand, that calls the driver's: its blocks would get to our free, and ours to it.
            (free.replace("__nvptx_free", "mine"), caller("mine")),
            (
                format!(
                    "{PREAMBLE}.extern .func free (.param .u64 a);\n.visible .entry k\n{{\ncall free,(%r);\n}}\n"
                ),
                caller("k"),
            ),
            // newlib's by name, but not by what it does.
            (free.replace("ret;\n}", "call trace;\nret;\n}"), caller("__nvptx_free")),
            (free.replace(".visible .func", ".func"), caller("__nvptx_free")),
            (free.clone() + kernel, caller("__nvptx_free")),
            (free.replace("__nvptx_free", "__nvptx_malloc"), caller("__nvptx_malloc")),
            // The program's own malloc.
            (format!("{PREAMBLE}.visible .func malloc\n{{\nret;\n}}\n"), Kept::Own("malloc")),
            (free.replace("ret;\n}", "ret;"), Kept::UnknownForm),
        ] {
            assert_eq!(redirect(&[&malloc, &other]), Err(kept), "{other}");
        }
    }

    #[test]
    fn an_image_that_does_not_allocate_stays_as_it_is() {
        // As the members' callers.
        let caller = format!(
            "{PREAMBLE}.visible .func gomp_malloc\n{{\ncall __nvptx_malloc;\ncall __nvptx_free;\nret;\n}}\n"
        );
        // With a malloc that the linker takes in place of newlib's.
        let own = format!(
            "{PREAMBLE}.visible .func __nvptx_malloc\n{{\nret;\n}}\n.visible .func __nvptx_free\n{{\nret;\n}}\n"
        );
        assert_eq!(redirect(&[&caller, &own]), Err(Kept::Unused));
    }

    #[test]
    fn a_truncated_object_is_left_alone_or_redirected_and_never_a_panic() {
        let [malloc, _] = members();
        for end in 0..malloc.len() {
            let _ = redirect(&[&malloc[..end]]);
        }
    }
}
