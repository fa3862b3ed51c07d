//! Kernels that call their region's function themselves, where it needs nothing of what libgomp prepares.
//!
//! GCC's kernels hand the function to libgomp's `gomp_nvptx_main`, which clears the records of all threads of the team, makes a pool
//! of them, has them wait for work, and ends them: microseconds at the start and the end of every region. A region that
//! starts no threads and asks libgomp for nothing about them uses none of it. Its kernel has the team's first thread call the function,
//! and the others end. The JIT then knows, too, which function the kernel calls, and gives it no more registers than that needs.

use std::fmt::Write;

use super::items::{INDIRECT_CALL, Kind, items};
use super::names::{Index, MAIN};

/// All that it uses in GCC 13 to 16 (config/nvptx/team.c). In a version that uses more, there may be more to prepare.
const USES: [&str; 15] = [
    INDIRECT_CALL,
    // The parameter in its form.
    "_",
    "__gomp_indirect_addr_map",
    "__gomp_team_num",
    "__nvptx_free",
    "__nvptx_lowlat_init",
    "__nvptx_lowlat_pool",
    "__nvptx_stacks",
    "build_indirect_map",
    "gomp_free_pool_helper",
    "gomp_free_thread",
    "gomp_global_icv",
    "gomp_team_barrier_wait_final",
    "memset",
    "nvptx_thrs",
];

/// Whether this is something that it prepares, a function that needs it, or a call of one that could.
fn is_prepared(name: &str) -> bool {
    let names = [
        "nvptx_thrs",
        "gomp_global_icv",
        "gomp_num_teams_var", // by `team_state`
        "__gomp_team_num",
        "GOMP_target_map_indirect_ptr",
        INDIRECT_CALL,
    ];
    names.contains(&name) || name.starts_with("__nvptx_lowlat")
}

/// The end of a kernel, as mkoffload writes it behind the function's name (nvptx.cc, write_omp_entry, GCC 13 to 16).
const CALL: &str = ";\nld.param.u64 %R1,[%arg];\n{\n.param .u64 %P<2>;\nst.param.u64 [%P0],%R0;\nst.param.u64 [%P1],%R1;\n\
    call.uni gomp_nvptx_main,(%P0,%P1);\n}\n";
/// What stands in front of the name.
const FUNCTION: &str = "mov.u64 %R0,";

/// Rewrites an image's texts, and tells how many of its kernels call their function themselves. None where no kernel can, or something
/// has a form that isn't known.
pub fn call_directly(texts: &[&str]) -> Option<(Vec<String>, usize)> {
    let objects = texts.iter().map(|text| items(text)).collect::<Option<Vec<_>>>()?;
    let index = Index::of(&objects);
    let mut mains =
        objects.iter().flatten().filter(|item| item.name == MAIN && item.kind == Kind::Definition);
    let is_known = |name: &&str| name.starts_with('$') || USES.contains(name);
    if !mains.next()?.uses.iter().all(is_known) || mains.next().is_some() {
        return None;
    }
    let bound = index.users_of(&objects, is_prepared);
    let mut kernels = 0;
    let rewritten = texts.iter().enumerate().map(|(object, text)| {
        let mut rewritten = String::with_capacity(text.len());
        for (number, item) in objects[object].iter().enumerate() {
            let text = &text[item.span.clone()];
            let direct =
                (item.kind == Kind::Kernel && !bound[object][number]).then(|| direct(text)).flatten();
            kernels += usize::from(direct.is_some());
            rewritten.push_str(direct.as_deref().unwrap_or(text));
        }
        rewritten.push('\n');
        rewritten
    });
    let rewritten = rewritten.collect();
    (kernels > 0).then_some((rewritten, kernels))
}

/// A kernel's text with the call in it, or none where it has another form.
fn direct(kernel: &str) -> Option<String> {
    let call = kernel.find(CALL)?;
    let start = kernel[..call].rfind(FUNCTION)?;
    let function = &kernel[start + FUNCTION.len()..call];
    let mut text = kernel[..start].to_owned();
    write!(
        text,
        "ld.param.u64 %R1,[%arg];\n{{\n.reg .pred %first;\n.param .u64 %P;\nmov.u32 %r0,%tid.y;\nsetp.eq.u32 %first,%r0,0;\n\
         st.param.u64 [%P],%R1;\n@%first call {function},(%P);\n}}\n{}",
        &kernel[call + CALL.len()..]
    )
    .expect("a String takes everything");
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREAMBLE: &str = ".version 7.3\n.target sm_52\n.address_size 64\n";

    /// A kernel as mkoffload writes it, and its function with this body.
    fn kernel(number: u32, body: &str) -> String {
        let name = format!("main$_omp_fn${number}");
        format!(
            ".func {name}$impl (.param .u64 %in_ar0);\n.visible .entry {name} (.param .u64 %arg, .param .u64 %stack, .param .u64 %sz)\n{{\n\
             .reg .u32 %r<3>;\n.reg .u64 %R<4>;\nmov.u64 %R0,__nvptx_uni;\nmov.u64 %R0,{name}$impl{CALL}ret.uni;\n}}\n\
             .func {name}$impl (.param .u64 %in_ar0)\n{{\n{body}\nret;\n}}\n"
        )
    }

    fn program(bodies: &[&str]) -> String {
        let kernels: Vec<String> = (0..).zip(bodies).map(|(number, body)| kernel(number, body)).collect();
        format!(
            "{PREAMBLE}.extern .func gomp_nvptx_main (.param .u64 %in_ar0, .param .u64 %in_ar1);\n.extern .shared .u32 __nvptx_uni[32];\n\
             .extern .func omp_get_thread_num;\n.extern .func harmless;\n{}",
            kernels.concat()
        )
    }

    fn library(main_uses: &str) -> String {
        format!(
            "{PREAMBLE}.visible .shared .align 8 .u64 nvptx_thrs[1];\n.visible .shared .u32 __nvptx_uni[32];\n\
             .visible .func gomp_nvptx_main (.param .u64 %in_ar0, .param .u64 %in_ar1)\n{{\n.reg .u64 %r1;\nld.shared.u64 %r1,[{main_uses}];\nret;\n}}\n\
             .visible .func omp_get_thread_num\n{{\n.reg .u64 %r1;\nld.shared.u64 %r1,[nvptx_thrs];\nret;\n}}\n\
             .visible .func harmless\n{{\nret;\n}}\n"
        )
    }

    #[test]
    fn only_kernels_that_reach_nothing_prepared_call_their_function() {
        let indirect = "{\n.reg .u64 %r1;\n$LCT0:\n.callprototype _ (.param .u64 %in_ar0);\n\
                        .param .u64 %o;\ncall %r1,(%o),$LCT0;\n}";
        let bodies = ["call harmless;", "call omp_get_thread_num;", indirect, ""];
        let (program, library) = (program(&bodies), library("nvptx_thrs"));
        let (texts, kernels) = call_directly(&[&program, &library]).expect("known form");
        assert_eq!(kernels, 2);
        assert_eq!(texts[1].trim_end(), library.trim_end());
        let called = |number| texts[0].contains(&format!("@%first call main$_omp_fn${number}$impl,(%P);"));
        assert_eq!([0, 1, 2, 3].map(called), [true, false, false, true]);
        assert_eq!(texts[0].matches("call.uni gomp_nvptx_main").count(), 2);
        let parse = |text: &String| boomerang_ptx::parse(text).expect("well formed");
        boomerang_ptx::link(texts.iter().map(parse).collect()).expect("nothing is missing");
    }

    #[test]
    fn an_image_whose_library_prepares_more_is_left_alone() {
        let program = program(&[""]);
        assert!(call_directly(&[&program, &library("__nvptx_stacks")]).is_some());
        assert!(call_directly(&[&program, &library("something_new")]).is_none());
    }

    #[test]
    fn a_kernel_of_another_form_is_left_alone() {
        let library = library("nvptx_thrs");
        for (from, to) in [("%P1],%R1", "%P1],%R2"), ("call.uni", "call"), ("mov.u64 %R0,", "mov.b64 %R0,")] {
            assert!(call_directly(&[&program(&[""]).replace(from, to), &library]).is_none(), "{to}");
        }
        assert!(call_directly(&[&program(&[""])]).is_none(), "no library");
        assert!(call_directly(&["nonsense"]).is_none());
    }
}
