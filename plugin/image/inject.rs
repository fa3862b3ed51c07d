//! Gives an image our device runtime in place of libgomp's `GOMP_target_ext`, without recompiling the program.
//!
//! Two rewrites of the text that goes into the JIT: the object that defines `GOMP_target_ext` calls it something else, and every
//! kernel stores, as it starts, where its region is: in front of its soft stacks. Then our object is linked in.

use crate::reverse::wire::{self, REGION_BYTES};
use std::borrow::Cow;
use std::ffi::CStr;
use std::fmt::Write;

/// What libgomp's own function is called then.
const STOCK_NAME: &str = "__boomerang_stock_target_ext";
/// How GCC announces the definition (mkoffload and nvptx-none-ld rely on the form of these lines).
const DEFINITION: &str = "// BEGIN GLOBAL FUNCTION DEF: GOMP_target_ext\n";
/// The shared variables that kernels set, one each per team: where their region is, and the copy of it that our runtime makes,
/// whose first word is 0 until it has (`device-runtime/ring.h`).
const REGION: &str = "__boomerang_region";
const CACHE: &str = "__boomerang_cache";

/// Our device runtime for a device of this compute capability, as `sm_` names it.
pub fn runtime(compute_capability: u32) -> &'static CStr {
    const TEXTS: [&str; 2] = [
        concat!(include_str!("../../device-runtime/ptx/target_ext.sm_30.ptx"), "\0"),
        concat!(include_str!("../../device-runtime/ptx/target_ext.sm_70.ptx"), "\0"),
    ];
    let text = TEXTS[usize::from(compute_capability >= 70)];
    CStr::from_bytes_with_nul(text.as_bytes()).expect("one NUL, at the end")
}

/// Rewrites `objects` so that our runtime, to be linked with them, serves their requests. None where no object defines
/// `GOMP_target_ext` in the known form, or one has a kernel in a form that isn't known: nothing was changed then.
pub fn inject<'a>(objects: &[&'a str]) -> Option<Vec<Cow<'a, str>>> {
    if objects.iter().filter(|text| text.contains(DEFINITION)).count() != 1 {
        return None;
    }
    objects
        .iter()
        .map(|&text| {
            let text = mark_regions(text)?;
            let defines = text.contains(DEFINITION);
            Some(if defines { rename(&text, "GOMP_target_ext", STOCK_NAME).into() } else { text })
        })
        .collect()
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.' | b'%')
}

/// Replaces `from` by `to` where it is a whole name.
fn rename(text: &str, from: &str, to: &str) -> String {
    let mut out = String::with_capacity(text.len() + 256);
    let mut rest = text;
    while let Some(at) = rest.find(from) {
        let end = at + from.len();
        let alone = !rest[..at].bytes().next_back().is_some_and(is_name)
            && !rest[end..].bytes().next().is_some_and(is_name);
        out.push_str(&rest[..at]);
        out.push_str(if alone { to } else { from });
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

/// Has every kernel of an object store its region. None where one has a form that isn't known.
fn mark_regions(text: &str) -> Option<Cow<'_, str>> {
    const ENTRY: &str = ".entry ";
    if !text.contains(ENTRY) {
        return Some(Cow::Borrowed(text));
    }
    const PREAMBLE: &str = ".address_size 64\n";
    let preamble = text.find(PREAMBLE)? + PREAMBLE.len();
    let mut out = String::with_capacity(text.len() + 4096);
    out.push_str(&text[..preamble]);
    let cache_bytes = size_of::<wire::Region>();
    write!(out, ".extern .shared .align 8 .u64 {REGION};\n.extern .shared .align 8 .b8 {CACHE}[{cache_bytes}];\n")
        .expect("a String takes everything");
    let mut rest = &text[preamble..];
    while let Some(at) = rest.find(ENTRY) {
        let head = &rest[at + ENTRY.len()..];
        // What stands between the name and the body: parameters in parentheses, then directives such as .maxntid.
        let body = head.find(['{', ';'])?;
        let body_at = at + ENTRY.len() + body + 1;
        out.push_str(&rest[..body_at]);
        if head.as_bytes()[body] == b'{' {
            out.push_str(&prologue(&head[..body])?);
        }
        rest = &rest[body_at..];
    }
    out.push_str(rest);
    Some(Cow::Owned(out))
}

/// The instructions that store a kernel's region. A kernel that mkoffload launches takes its arguments, its soft stacks and the
/// size of one as 64-bit words (nvptx.cc, write_omp_entry); one of another form gets no region and makes no requests.
fn prologue(head: &str) -> Option<String> {
    let parameters = match head.split_once('(') {
        Some((_, rest)) => rest.split_once(')')?.0.split(',').map(str::trim).collect(),
        None => Vec::new(),
    };
    let words: Vec<&str> = parameters
        .iter()
        .filter_map(|parameter| {
            let mut words = parameter.split_ascii_whitespace();
            let form = (words.next()?, words.next()?);
            let name = words.next()?;
            (matches!(form, (".param", ".u64" | ".b64")) && words.next().is_none()).then_some(name)
        })
        .collect();
    let value = match words[..] {
        [_, stacks, _] if parameters.len() == 3 => {
            format!("ld.param.u64 %boomerang,[{stacks}];\nsub.u64 %boomerang,%boomerang,{REGION_BYTES};\n")
        }
        _ => "mov.u64 %boomerang,0;\n".into(),
    };
    Some(format!(
        "\n{{\n.reg .u64 %boomerang;\n.reg .u32 %none;\n{value}st.shared.u64 [{REGION}],%boomerang;\n\
         mov.u32 %none,0;\nst.shared.u32 [{CACHE}],%none;\n}}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREAMBLE: &str = ".version 7.3\n.target sm_52\n.address_size 64\n";

    fn library() -> String {
        format!(
            "{PREAMBLE}// BEGIN GLOBAL FUNCTION DEF: GOMP_target_ext\n.visible .func GOMP_target_ext (.param .u32 %in_ar0)\n\
             {{\nret;\n}}\n// BEGIN GLOBAL FUNCTION DEF: GOMP_target_ext_more\n"
        )
    }

    fn program() -> String {
        format!(
            "{PREAMBLE}.extern .func GOMP_target_ext (.param .u32 %in_ar0);\n\
             .visible .entry main$_omp_fn$0 (.param .u64 %arg, .param .u64 %stack, .param .u64 %sz)\n{{\ncall GOMP_target_ext;\n}}\n\
             .visible .entry __do_global_ctors__entry\n{{\nret;\n}}\n"
        )
    }

    #[test]
    fn the_definition_is_renamed_and_calls_stay() {
        let (library, program) = (library(), program());
        let objects = inject(&[&program, &library]).expect("known form");
        assert!(objects[0].contains("call GOMP_target_ext;"));
        assert!(objects[1].contains(".func __boomerang_stock_target_ext ("));
        assert!(objects[1].contains("FUNCTION DEF: GOMP_target_ext_more"));
    }

    #[test]
    fn every_kernel_stores_its_region_first() {
        let (library, program) = (library(), program());
        let objects = inject(&[&library, &program]).expect("known form");
        assert!(matches!(mark_regions(&library), Some(Cow::Borrowed(_))));
        assert!(objects[1].contains(".extern .shared .align 8 .u64 __boomerang_region;"));
        let kernel = "%sz)\n{\n{\n.reg .u64 %boomerang;\n.reg .u32 %none;\nld.param.u64 %boomerang,[%stack];\nsub.u64 %boomerang,%boomerang,256;\n";
        assert!(objects[1].contains(kernel), "{}", objects[1]);
        assert!(
            objects[1].contains("ctors__entry\n{\n{\n.reg .u64 %boomerang;\n.reg .u32 %none;\nmov.u64 %boomerang,0;\n"),
            "{}",
            objects[1]
        );
    }

    #[test]
    fn an_image_without_the_function_or_with_two_is_left_alone() {
        let (library, program) = (library(), program());
        assert!(inject(&[&program]).is_none());
        assert!(inject(&[&library, &library]).is_none());
    }

    #[test]
    fn truncated_text_is_left_alone() {
        let (library, program) = (library(), program());
        for end in 0..program.len() {
            let _ = inject(&[&library, &program[..end]]);
        }
    }
}
