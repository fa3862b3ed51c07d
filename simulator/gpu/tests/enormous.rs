//! Programs that are large, deep or tangled: loaded in time that grows as their text does, or refused by name. Were it otherwise, these
//! tests would not end.

mod support;
use boomerang_gpu::{LoadError, Module, Object};
use std::fmt::Write;
use support::Gpu;

fn load(body: &str) -> Result<Module, LoadError> {
    let text = format!(".version 7.8\n.target sm_90\n.address_size 64\n{body}");
    let module = boomerang_ptx::parse(&text).unwrap_or_else(|e| panic!("{e}"));
    let program = boomerang_ptx::link(vec![module]).unwrap_or_else(|e| panic!("{e}"));
    Module::load(&program, vec![Object { name: "large.ptx".into(), text }], &Gpu::new().device)
}

/// Why a program is refused, and the line.
fn refusal(body: &str) -> (u32, String) {
    match load(body) {
        Err(LoadError::Unsupported { line, what, .. }) => (line, what),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it was loaded"),
    }
}

#[test]
fn calls_may_be_nested_as_deep_as_a_text_is_long() {
    let mut text = ".func f0 { ret; }\n".to_owned();
    for n in 1..50_000 {
        writeln!(text, ".func f{n} {{ call f{}; ret; }}", n - 1).expect("a string grows");
    }
    text += ".visible .entry k { call f49999; ret; }";
    let kernel = load(&text).expect("it loads").kernel("k").expect("it is there");
    assert!(kernel.local_size() > 1000);
}

#[test]
fn branches_may_be_tangled() {
    // A long chain, and branches from everywhere to its far end, to its start, and into a loop that never ends.
    let mut text = ".visible .entry k { .reg .pred %p;\n".to_owned();
    for n in 0..10_000 {
        writeln!(text, "L{n}: @%p bra L{}; @%p bra L{}; @%p bra E{n}; bra N{n};", 9_999 - n, n / 2)
            .expect("a string grows");
        writeln!(text, "N{n}: @%p exit; @!%p ret; bra L{n}; E{n}: bra E{n};").expect("a string grows");
    }
    load(&(text + "}")).expect("it loads");
}

#[test]
fn a_list_of_targets_cannot_be_used_too_often() {
    let mut text = ".visible .entry k { .reg .u32 %r;\nt: .branchtargets L".to_owned();
    text += &", L".repeat(5_000);
    text += ";\n";
    text += &"brx.idx %r, t;\n".repeat(5_000);
    let (_, what) = refusal(&(text + "L: ret; }"));
    assert!(what.contains("targets in all"), "{what}");
}

#[test]
fn what_is_too_large_is_refused_by_name() {
    for (text, line, expected) in [
        (".entry k (.param .b8 p[40000]) { ret; }", 4, "parameters of more than 32764 bytes"),
        (".entry k {\n.local .b8 x[1000000]; ret; }", 4, "local variables take more than 524288 bytes"),
        (
            "\n.shared .b8 small[8]; .shared .b8 x[300000]; .entry k { ret; }",
            5,
            "more than 232448 bytes in all, `x`",
        ),
        (".entry k { .reg .u64 %x<1000000>; ret; }", 4, "registers take more than"),
        (".func f { .param .b8 p[300000000000]; ret; }", 4, "registers take more than"),
        (".func f (.param .b8 p[300000000000]) { ret; }", 4, "registers take more than"),
    ] {
        let (at, what) = refusal(text);
        assert!(at == line && what.contains(expected), "line {at}: {what}");
    }
}

#[test]
fn an_access_beyond_a_parameter_is_refused() {
    let call =
        |access: &str| format!(".func f (.param .b32 a) {{ .reg .u32 %r; .param .b64 p;\n{access} ret; }}");
    for (access, expected) in [
        ("ld.param.u32 %r, [a+4];", "4 bytes at offset 4 of a parameter of 4"),
        ("st.param.u32 [p+8], %r;", "4 bytes at offset 8 of a parameter of 8"),
        ("st.param.u32 [p-4], %r;", "4 bytes at offset -4 of a parameter of 8"),
        ("ld.param.u32 %r, [p+2];", "4 bytes at offset 2 of a parameter of 8"),
    ] {
        let (line, what) = refusal(&call(access));
        assert!(line == 5 && what.contains(expected), "line {line}: {what}");
    }
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let body = |code: &str| {
        format!(
            ".func (.param .b32 r) g (.param .b32 a, .param .b32 b) {{ ret; }}
             .entry k {{ .reg .u32 %r<4>; .reg .u64 %d<2>; .reg .pred %p; .reg .b128 %q; .param .b32 x; .param .b64 y;\n{code} ret; }}"
        )
    };
    for (code, expected) in [
        ("call (x), g, (x);", "1 arguments, the function has 2"),
        ("call g, (x, x);", "0 results, the function has 1"),
        ("call (y), g, (x, y);", ""),
        ("setp.eq.u32 %r0, %r1, 0;", "no predicate"),
        ("shfl.sync.idx.b32 %r0|%r1, %r2, 0, 31, -1;", "no predicate"),
        ("ld.v4.u32 {%r0, %r1}, [%d0];", "2 elements"),
        ("ld.u32 {%r0, %r1}, [%d0];", "2 elements"),
        ("alloca.u64 %d0, %d1, 3;", "power of two"),
        ("ld.b128 %q, [%d0];", "b128"),
        ("redux.sync.min.f32 %r0, %r1, -1;", "such an operation"),
    ] {
        let text = body(code);
        if expected.is_empty() {
            // Words of 64 bits hold either.
            load(&text).expect("it loads");
            continue;
        }
        let (line, what) = refusal(&text);
        assert!(line == 6 && what.contains(expected), "{code}: line {line}: {what}");
    }
}
