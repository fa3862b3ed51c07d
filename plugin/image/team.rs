//! Keeps what libgomp allocates as a team starts in the team's shared memory (`device-runtime/team.c`): the structure of a team, on whose
//! words its barriers and loops work, and the ICVs that `thread_limit` changes. No other team uses them, with one exception:
//! `omp_fulfill_event` goes from a task to its team's structure, and may be called by any team. Where a kernel reaches it, all stays.
//! Lanes need help to see one value there, which they must have got before ([`super::agree`]).
//!
//! libgomp's team.c calls gomp_malloc for them. It gets one of its own: copies of gomp_malloc's member and of newlib's, which calls
//! `team.c` of ours. All that is freed goes through that, too.

use super::edit::rename;
use super::inject::begin_kernels;
use super::items::{Kind, items};

/// The shared memory, and its size in bytes (`struct team_memory`).
const MEMORY: &str = "__boomerang_team";
const MEMORY_BYTES: u32 = 3112;
/// The most dynamic shared memory of a team beside it. Every device has 48 KiB in all (CUDA C++ Programming Guide, technical
/// specifications), of which GCC's kernels and our runtime use less than 4.
pub const MOST_DYNAMIC: u32 = 40 << 10;

/// What the copies define.
const PREFIX: &str = "__boomerang_team_";
const NEWLIBS: &str = "__boomerang_team_nvptx_malloc";

/// `team.c` for a device of this compute capability, as `sm_` names it.
pub fn runtime(compute_capability: u32) -> &'static str {
    device_object!("team", compute_capability)
}

/// Rewrites the texts of an image whose calls of `malloc` go to our heap ([`super::heap::redirect`]), and adds copies; [`runtime`] is to
/// be linked with them. None where the image doesn't have the members that this is for, or they are to stay as they are.
pub fn share(texts: &[&str]) -> Option<Vec<String>> {
    if texts.iter().any(|text| text.contains("omp_fulfill_event")) {
        return None;
    }
    let defines = |name: &str| {
        let mut found = (0..texts.len()).filter(|i| defines(texts[*i], name));
        found.next().filter(|_| found.next().is_none())
    };
    let (team, allocator) = (defines("gomp_nvptx_main")?, defines("gomp_malloc")?);
    let (malloc, free) = (defines("__nvptx_malloc")?, defines("__nvptx_free")?);
    let own_functions: Vec<_> = items(texts[allocator])?
        .iter()
        .filter(|item| item.kind == Kind::Definition && item.visible)
        .map(|item| (item.name, format!("{PREFIX}{}", item.name)))
        .collect();
    let mut names: Vec<(&str, &str)> = own_functions.iter().map(|(from, to)| (*from, &**to)).collect();
    names.push(("__nvptx_malloc", NEWLIBS));
    let gomp_malloc = *names.iter().find(|(from, _)| *from == "gomp_malloc")?;
    let copies = [
        rename(texts[allocator], &names)?,
        rename(
            texts[malloc],
            &[("__nvptx_malloc", NEWLIBS), ("__boomerang_malloc", "__boomerang_team_malloc")],
        )?,
    ];
    let rewrite = |(i, text): (usize, &&str)| match i {
        _ if i == team => rename(text, &[gomp_malloc]),
        _ if i == free => rename(text, &[("__boomerang_free", "__boomerang_team_free")]),
        _ => Some(clear_memory(text)?.unwrap_or_else(|| text.to_string())),
    };
    let mut shared = texts.iter().enumerate().map(rewrite).collect::<Option<Vec<_>>>()?;
    shared.extend(copies);
    Some(shared)
}

/// Whether a text defines this function for others.
fn defines(text: &str, name: &str) -> bool {
    text.contains(name)
        && items(text).is_some_and(|items| {
            items.iter().any(|item| item.kind == Kind::Definition && item.visible && item.name == name)
        })
}

/// Has every kernel of an object mark the memory as free. libgomp's threads meet at a barrier before one of them allocates
/// (gomp_nvptx_main).
fn clear_memory(text: &str) -> Option<Option<String>> {
    let variable = format!(".extern .shared .align 16 .b8 {MEMORY}[{MEMORY_BYTES}];\n");
    let clear = format!("\n{{\n.reg .u32 %none;\nmov.u32 %none,0;\nst.shared.u32 [{MEMORY}],%none;\n}}");
    begin_kernels(text, &variable, |_| Some(clear.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREAMBLE: &str = ".version 7.3\n.target sm_52\n.address_size 64\n";

    /// A function that calls another.
    fn caller(name: &str, callee: &str) -> String {
        format!(
            "// BEGIN GLOBAL FUNCTION DECL: {callee}\n.extern .func (.param .u64 %value_out) {callee} (.param .u64 %in_ar0);\n\
             .visible .func (.param .u64 %value_out) {name} (.param .u64 %in_ar0)\n{{\n.reg .u64 %r1;\nld.param.u64 %r1,[%in_ar0];\n\
             {{\n.param .u64 %value_in;\n.param .u64 %out_arg1;\nst.param.u64 [%out_arg1],%r1;\n\
             call (%value_in),{callee},(%out_arg1);\nld.param.u64 %r1,[%value_in];\n}}\nst.param.u64 [%value_out],%r1;\nret;\n}}\n"
        )
    }

    /// Team, gomp_malloc's member, newlib's two as the heap leaves them, a program.
    fn image() -> [String; 5] {
        let free = "__boomerang_free (.param .u64 %in_ar0)";
        [
            caller("gomp_nvptx_main", "gomp_new_icv") + &caller("gomp_new_icv", "gomp_malloc"),
            caller("gomp_malloc", "__nvptx_malloc") + &caller("gomp_realloc", "__nvptx_realloc"),
            caller("__nvptx_malloc", "__boomerang_malloc"),
            format!(
                ".extern .func {free};\n.visible .func __nvptx_free (.param .u64 %in_ar0)\n{{\n.reg .u64 %r1;\nld.param.u64 %r1,[%in_ar0];\n\
                 {{\n.param .u64 %out_arg1;\nst.param.u64 [%out_arg1],%r1;\ncall __boomerang_free,(%out_arg1);\n}}\nret;\n}}\n"
            ),
            caller("gomp_task_like", "gomp_malloc") + ".visible .entry k (.param .u64 %arg)\n{\nret;\n}\n",
        ]
        .map(|text| PREAMBLE.to_owned() + &text)
    }

    fn shared(image: &[String]) -> Option<Vec<String>> {
        share(&image.iter().map(String::as_str).collect::<Vec<_>>())
    }

    #[test]
    fn only_what_team_members_allocate_goes_to_shared_memory_and_all_that_is_freed_passes_there() {
        let shared = shared(&image()).expect("libgomp's members");
        let [team, allocator, malloc, free, program, allocators_copy, mallocs_copy] = &shared[..] else {
            panic!("{shared:?}")
        };
        assert!(team.contains("call (%value_in),__boomerang_team_gomp_malloc,"), "{team}");
        assert_eq!((allocator, malloc), (&image()[1], &image()[2]), "others still call them");
        assert!(program.contains("call (%value_in),gomp_malloc,"), "{program}");
        assert!(
            program.contains(
                "{\n{\n.reg .u32 %none;\nmov.u32 %none,0;\nst.shared.u32 [__boomerang_team],%none;\n}"
            ),
            "{program}"
        );
        assert!(free.contains("call __boomerang_team_free,"), "{free}");
        assert!(allocators_copy.contains(") __boomerang_team_gomp_malloc ("), "{allocators_copy}");
        assert!(
            allocators_copy.contains("call (%value_in),__boomerang_team_nvptx_malloc,"),
            "{allocators_copy}"
        );
        assert!(mallocs_copy.contains("call (%value_in),__boomerang_team_malloc,"), "{mallocs_copy}");
        for capability in [30, 70] {
            let missing = PREAMBLE.to_owned() + &caller("__nvptx_realloc", "__nvptx_malloc");
            let runtimes = [runtime(capability), crate::image::heap::runtime(capability), &missing];
            let texts = shared.iter().map(String::as_str).chain(runtimes);
            let modules = texts.map(|text| boomerang_ptx::parse(text).expect("well formed")).collect();
            boomerang_ptx::link(modules).expect("nothing is missing");
        }
    }

    #[test]
    fn an_image_that_lacks_a_member_or_fulfills_events_stays_as_it_is() {
        for missing in 0..4 {
            let mut image = image();
            image[missing] = PREAMBLE.into();
            assert_eq!(shared(&image), None, "{missing}");
        }
        let mut twice = image().to_vec();
        twice.push(twice[1].clone());
        assert_eq!(shared(&twice), None);
        let mut events = image();
        events[4] += &caller("GOMP_task_like", "omp_fulfill_event");
        assert_eq!(shared(&events), None);
    }

    #[test]
    fn the_memory_is_as_large_as_the_device_code_has_it() {
        let source = include_str!("../../device-runtime/team.c");
        assert!(source.contains(&format!("sizeof (struct team_memory) == {MEMORY_BYTES}")));
    }
}
