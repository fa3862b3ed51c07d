//! Gives an image our device runtime: in place of libgomp's `GOMP_target_ext`, without recompiling the program, and where
//! the image uses the public device API (`device-runtime/boomerang.h`).
//!
//! Rewrites of the text that goes into the JIT: the object that defines `GOMP_target_ext` calls it something else; the object that
//! GCC's linker took for the API is left out; and every kernel stores, as it starts, where its region is: in front of its soft
//! stacks, and tells of its end ([`super::epilogue`]). Then our objects are linked in.

use super::epilogue;
use super::items::{INDIRECT_CALL, Kind, items};
use super::load::REVERSE_SLOT;
use super::names::Index;
use crate::reverse::wire::{self, REGION_BYTES};
use std::borrow::Cow;
use std::collections::HashSet;

/// What libgomp's own function is called then.
const STOCK_NAME: &str = "__boomerang_stock_target_ext";
/// How GCC announces the definition (mkoffload and nvptx-none-ld rely on the form of these lines).
const DEFINITION: &str = "// BEGIN GLOBAL FUNCTION DEF: GOMP_target_ext\n";
/// The shared variables that kernels set, one each per team: where their region is, and the copy of it that our runtime makes,
/// whose first word is 0 until it has (`device-runtime/ring.h`).
pub(super) const REGION: &str = "__boomerang_region";
const CACHE: &str = "__boomerang_cache";

/// What stands in front of a kernel's name.
pub(super) const ENTRY: &str = ".entry ";

/// The functions of the public device API.
const CALLS: [&str; 3] = ["boomerang_call", "boomerang_post", "boomerang_capacity"];
/// The definition that GCC's linker wants to see of each, in an object of their own (`device-runtime/boomerang_device.ptx`).
const CALL_DEFINITION: &str = "// BEGIN GLOBAL FUNCTION DEF: boomerang_";
/// What every kernel of OpenMP's uses, to tell which lanes are active.
const UNIFORM: &str = "__nvptx_uni";

/// An object of our device runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Runtime {
    /// `GOMP_target_ext`
    TargetExt,
    /// The public device API, for OpenMP's images.
    Calls,
    /// The public device API, for others.
    PlainCalls,
}

impl Runtime {
    /// The object for a device of this compute capability, as `sm_` names it.
    fn text(self, compute_capability: u32) -> &'static str {
        match self {
            Runtime::TargetExt => device_object!("target_ext", compute_capability),
            Runtime::Calls => device_object!("user_call", compute_capability),
            Runtime::PlainCalls => device_object!("user_call_plain", compute_capability),
        }
    }
}

/// An image to be linked with our runtime.
#[derive(Debug)]
pub struct Injected<'a> {
    /// The image's objects.
    objects: Vec<Cow<'a, str>>,
    runtime: Vec<Runtime>,
    /// Whether its kernels say when they are about to end, where the launch asks for it.
    pub tells_end: bool,
}

impl<'a> Injected<'a> {
    /// Whether the image uses the public device API.
    pub fn calls(&self) -> bool {
        self.runtime.iter().any(|object| *object != Runtime::TargetExt)
    }

    /// All that is to be linked for a device of this compute capability.
    pub fn objects(self, compute_capability: u32) -> impl Iterator<Item = Cow<'a, str>> {
        let runtime =
            self.runtime.into_iter().map(move |object| Cow::Borrowed(object.text(compute_capability)));
        self.objects.into_iter().chain(runtime)
    }
}

/// Rewrites `objects` so that our runtime, to be linked with them, serves their requests. None where no object defines
/// `GOMP_target_ext` in the known form, nor uses the public device API, or one has a kernel in a form that isn't known.
pub fn inject<'a>(objects: &[&'a str]) -> Option<Injected<'a>> {
    let mut runtime = Vec::new();
    match objects.iter().filter(|text| text.contains(DEFINITION)).count() {
        0 => {}
        1 => runtime.push(Runtime::TargetExt),
        _ => return None,
    }
    if objects.iter().any(|text| CALLS.iter().any(|name| uses(text, name))) {
        let openmp = objects.iter().any(|text| uses(text, UNIFORM));
        runtime.push(if openmp { Runtime::Calls } else { Runtime::PlainCalls });
    }
    if runtime.is_empty() {
        return None;
    }
    let mut linkage = ".visible";
    let own = objects.iter().filter(|text| !text.contains(CALL_DEFINITION));
    let objects = own.map(|&text| {
        let Some(marked) = mark_regions(text, linkage)? else { return Some(Cow::Borrowed(text)) };
        // The first object that has kernels defines what they set.
        linkage = ".extern";
        Some(Cow::Owned(marked))
    });
    let objects = objects.map(|text| {
        let text = text?;
        let defines = text.contains(DEFINITION);
        Some(if defines { rename(&text, "GOMP_target_ext", STOCK_NAME).into() } else { text })
    });
    let mut objects = objects.collect::<Option<Vec<_>>>()?;
    if linkage == ".visible" {
        return None;
    }
    let telling = objects.iter().map(|text| epilogue::tell_ends(text)).collect::<Option<Vec<_>>>();
    let tells_end = telling.is_some();
    objects = telling.map_or(objects, |telling| telling.into_iter().map(Cow::Owned).collect());
    Some(Injected { objects, runtime, tells_end })
}

/// The kernels of `objects` that surely ask the host for nothing: they reach neither the functions that do, nor any call by address. Such
/// calls of libgomp's count as well, so a kernel that starts threads is not among them.
pub fn quiet_kernels(objects: &[&str]) -> HashSet<String> {
    let names = ["GOMP_target_ext", REVERSE_SLOT, INDIRECT_CALL];
    let asks = |name: &str| names.contains(&name) || CALLS.contains(&name);
    let Some(objects) = objects.iter().map(|text| items(text)).collect::<Option<Vec<_>>>() else {
        return HashSet::new();
    };
    let asking = Index::of(&objects).users_of(&objects, asks);
    let all = objects.iter().flatten().zip(asking.into_iter().flatten());
    all.filter(|(item, asks)| item.kind == Kind::Kernel && !asks).map(|(item, _)| item.name.into()).collect()
}

/// The places where `name` stands in a text as a whole name.
fn places<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = usize> + 'a {
    let alone = move |&(at, _): &(usize, &str)| {
        !text[..at].bytes().next_back().is_some_and(is_name)
            && !text[at + name.len()..].bytes().next().is_some_and(is_name)
    };
    text.match_indices(name).filter(alone).map(|(at, _)| at)
}

/// Whether a text holds a name.
pub(super) fn uses(text: &str, name: &str) -> bool {
    places(text, name).next().is_some()
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.' | b'%')
}

/// Replaces `from` by `to` where it is a whole name.
fn rename(text: &str, from: &str, to: &str) -> String {
    let mut out = String::with_capacity(text.len() + 256);
    let mut done = 0;
    for at in places(text, from) {
        out.push_str(&text[done..at]);
        out.push_str(to);
        done = at + from.len();
    }
    out.push_str(&text[done..]);
    out
}

/// Has every kernel of an object store its region. `linkage` is that of the variables which it is stored in. None where a kernel has
/// a form that isn't known, and Some(None) where there is no kernel.
fn mark_regions(text: &str, linkage: &str) -> Option<Option<String>> {
    let cache_bytes = size_of::<wire::Region>();
    let variables = format!(
        "{linkage} .shared .align 8 .u64 {REGION};\n{linkage} .shared .align 8 .b8 {CACHE}[{cache_bytes}];\n"
    );
    begin_kernels(text, &variables, prologue)
}

/// Puts `variables` at the head of an object that has kernels, and at the start of each the instructions that `prologue` makes of
/// what stands between its name and its body. None where a kernel has a form that isn't known, and Some(None) where there is none.
pub(super) fn begin_kernels(
    text: &str,
    variables: &str,
    prologue: impl Fn(&str) -> Option<String>,
) -> Option<Option<String>> {
    if !text.contains(ENTRY) {
        return Some(None);
    }
    const PREAMBLE: &str = ".address_size 64\n";
    let preamble = text.find(PREAMBLE)? + PREAMBLE.len();
    let mut out = String::with_capacity(text.len() + 4096);
    out.push_str(&text[..preamble]);
    out.push_str(variables);
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
    Some(Some(out))
}

/// Names of parameters of a kernel that mkoffload launches.
pub(super) struct Parameters<'a> {
    /// Of the address of its soft stacks.
    stacks: &'a str,
    /// Of the size of one.
    pub size: &'a str,
}

/// The parameters of a kernel that mkoffload launches: it takes its arguments, its soft stacks and the size of one as 64-bit words
/// (nvptx.cc, write_omp_entry). One of another form has no region and makes no requests. `head` stands between the kernel's name and
/// its body; None where its own form isn't known.
pub(super) fn parameters(head: &str) -> Option<Option<Parameters<'_>>> {
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
    Some(match words[..] {
        [_, stacks, size] if parameters.len() == 3 => Some(Parameters { stacks, size }),
        _ => None,
    })
}

/// The instructions that store a kernel's region.
fn prologue(head: &str) -> Option<String> {
    let value = match parameters(head)? {
        Some(Parameters { stacks, .. }) => {
            format!("ld.param.u64 %boomerang,[{stacks}];\nsub.u64 %boomerang,%boomerang,{REGION_BYTES};\n")
        }
        None => "mov.u64 %boomerang,0;\n".into(),
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

    /// A kernel by hand that calls the host.
    fn caller() -> String {
        format!(
            "{PREAMBLE}.extern .func (.param .b32 r) boomerang_call (.param .b32 o, .param .b64 d, .param .b32 n);\n\
             .visible .entry k (.param .u64 a, .param .u64 s, .param .u64 n)\n{{\n.reg .u64 %a;\n.reg .u32 %r;\nld.param.u64 %a,[a];\n{{\n\
             .param .b32 r;\n.param .b32 o;\n.param .b64 d;\n.param .b32 n;\nst.param.b32 [o],7;\nst.param.b64 [d],%a;\nst.param.b32 [n],8;\n\
             call (r),boomerang_call,(o,d,n);\nld.param.b32 %r,[r];\n}}\nret;\n}}\n"
        )
    }

    /// What is linked, for a new device.
    fn injected(objects: &[&str]) -> Option<Vec<String>> {
        Some(inject(objects)?.objects(90).map(Cow::into_owned).collect())
    }

    /// How many definitions of the shared variables there are.
    fn definitions(objects: &[String]) -> usize {
        objects
            .iter()
            .map(|text| text.matches(".visible .shared .align 8 .u64 __boomerang_region;").count())
            .sum()
    }

    #[test]
    fn the_definition_is_renamed_and_calls_stay() {
        let (library, program) = (library(), program());
        let objects = injected(&[&program, &library]).expect("known form");
        assert!(objects[0].contains("call GOMP_target_ext;"));
        assert!(objects[1].contains(".func __boomerang_stock_target_ext ("));
        assert!(objects[1].contains("FUNCTION DEF: GOMP_target_ext_more"));
        assert!(objects[2].contains(".visible .func GOMP_target_ext("));
        assert_eq!(objects.len(), 3);
    }

    #[test]
    fn a_kernel_is_quiet_that_reaches_no_request_and_no_call_by_address() {
        let kernel = |name, body| {
            format!(
                ".visible .entry {name} (.param .u64 %arg, .param .u64 %stack, .param .u64 %sz)\n{{\n.reg .u64 %R<2>;\n\
                 mov.u64 %R0,{name}$impl;\ncall.uni gomp_nvptx_main,(%R0);\nret.uni;\n}}\n.func {name}$impl\n{{\n{body}\nret;\n}}\n"
            )
        };
        let by_address =
            "{\n.reg .u64 %r1;\n$LCT0:\n.callprototype _ (.param .u64 %in_ar0);\ncall %r1,(%o),$LCT0;\n}";
        let kernels = [
            kernel("empty", ""),
            kernel("asking", "call harmless;\ncall asks;"),
            kernel("calling", by_address),
            kernel("device_api", "call boomerang_post;"),
            kernel("by_hand", "ld.u64 %r1,[__gomp_rev_offload_var];"),
            kernel("working", "call harmless;"),
        ];
        let library = format!(
            "{PREAMBLE}.visible .func gomp_nvptx_main\n{{\n{by_address}\nret;\n}}\n.visible .func harmless\n{{\nret;\n}}\n\
             .visible .func asks\n{{\ncall GOMP_target_ext;\nret;\n}}\n"
        );
        let program = format!("{PREAMBLE}{}", kernels.concat());
        let quiet = quiet_kernels(&[&program, &library]);
        assert_eq!(quiet, HashSet::from(["empty".into(), "working".into()]));
    }

    #[test]
    fn every_kernel_stores_its_region_first() {
        let (library, program) = (library(), program());
        let objects = injected(&[&library, &program, &program]).expect("known form");
        assert!(!objects[0].contains("__boomerang_region"));
        assert_eq!(definitions(&objects), 1);
        assert!(objects[1].contains(".visible .shared .align 8 .b8 __boomerang_cache["));
        assert!(objects[2].contains(".extern .shared .align 8 .u64 __boomerang_region;"));
        let kernel = "%sz)\n{\n{\n.reg .u64 %boomerang;\n.reg .u32 %none;\nld.param.u64 %boomerang,[%stack];\nsub.u64 %boomerang,%boomerang,256;\n";
        assert!(objects[1].contains(kernel), "{}", objects[1]);
        assert!(
            objects[1].contains(
                "ctors__entry\n{\n{\n.reg .u64 %boomerang;\n.reg .u32 %none;\nmov.u64 %boomerang,0;\n"
            ),
            "{}",
            objects[1]
        );
    }

    #[test]
    fn a_kernel_by_hand_that_calls_the_host_links_with_the_runtime() {
        let caller = caller();
        for compute_capability in [50, 90] {
            let injected = inject(&[&caller]).expect("known form");
            assert!(injected.calls());
            assert_eq!(injected.runtime, [Runtime::PlainCalls]);
            let objects: Vec<_> = injected.objects(compute_capability).collect();
            let parse = |text: &Cow<'_, str>| boomerang_ptx::parse(text).expect("well formed");
            boomerang_ptx::link(objects.iter().map(parse).collect()).expect("nothing is missing");
        }
    }

    #[test]
    fn an_openmp_image_that_calls_the_host_gets_the_openmp_runtime_and_not_the_linkers_object() {
        let caller = caller() + ".extern .shared .align 4 .u32 __nvptx_uni[32];\n";
        let linkers = include_str!("../../device-runtime/boomerang_device.ptx");
        let library = library();
        let with_requests = inject(&[&caller, linkers, &library]).expect("known form");
        assert_eq!(with_requests.runtime, [Runtime::TargetExt, Runtime::Calls]);
        assert_eq!(with_requests.objects.len(), 2);
        let without = inject(&[&caller, linkers]).expect("known form");
        assert_eq!((without.runtime, without.objects.len()), (vec![Runtime::Calls], 1));
    }

    #[test]
    fn only_whole_names_count() {
        let caller = caller().replace("boomerang_call", "my_boomerang_call");
        assert!(inject(&[&caller]).is_none());
    }

    #[test]
    fn an_image_without_the_function_or_with_two_is_left_alone() {
        let (library, program) = (library(), program());
        assert!(inject(&[&program]).is_none());
        assert!(inject(&[&library]).is_none(), "no kernel");
        assert!(inject(&[&program, &library, &library]).is_none());
    }

    #[test]
    fn truncated_text_is_left_alone() {
        let (library, program) = (library(), program());
        for end in 0..program.len() {
            let _ = inject(&[&library, &program[..end]]);
        }
    }
}
