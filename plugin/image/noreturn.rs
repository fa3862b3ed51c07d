//! Has `gomp_nvptx_main` end the thread, where each kernel returns right behind its call. A function that doesn't return needn't keep its
//! caller's registers: each thread of each team stored some 20, which for the teams that a device holds is 10 MB.

use super::code::{Code, Instruction, Statement};
use super::edit::Edit;
use super::items::{Kind, items};
use super::names::MAIN;
use super::tokens::{Known, Scanner, Token};

/// The PTX version that has `.noreturn` (PTX ISA, `.noreturn`),
const VERSION: (u32, u32) = (6, 4);
/// and the first driver that knows it (PTX ISA, release history: CUDA 10.1), as `cuDriverGetVersion` tells.
pub const LEAST_DRIVER: u32 = 10010;
/// The one from which on GCC's code has what [`VERSION`] no longer allows from sm_70 on otherwise: `shfl` and `vote` that name their lanes (PTX
/// ISA, shfl; nvptx.md).
const LEAST_VERSION: (u32, u32) = (6, 0);

/// What each text becomes, if it changes. None where the function returns to somebody who goes on, or a text has a form that isn't known.
pub fn end_threads(texts: &[&str]) -> Known<Vec<Option<String>>> {
    texts.iter().map(|text| end_in(text)).collect()
}

fn end_in(text: &str) -> Known<Option<String>> {
    if !text.contains(MAIN) {
        return Some(None);
    }
    let mut changes = vec![];
    for item in items(text)? {
        let body = item.body..item.span.end;
        match item.kind {
            Kind::Declaration | Kind::Definition if item.name == MAIN => {
                let head =
                    &text[item.span.start..if body.is_empty() { item.span.end - 1 } else { body.start }];
                let end = item.span.start + head.trim_end().len();
                changes.push((end..end, " .noreturn"));
            }
            _ => {}
        }
        if body.is_empty() || !(item.name == MAIN || item.uses.contains(&MAIN)) {
            continue;
        }
        let code = Code::of(&text[body.clone()])?;
        for (at, statement) in code.statements.iter().enumerate() {
            let Statement::Instruction(it) = statement else { continue };
            if item.name == MAIN && it.name == "ret" {
                let end = body.start + it.span.end;
                changes.push((end - "ret;".len() - it.modifiers.len()..end, "exit;"));
            }
            let uses = it.operands.iter().any(|operand| operand.names.contains(&MAIN));
            if uses && !(is_call(it) && code.statements.get(at + 1).is_some_and(returns)) {
                return None;
            }
        }
    }
    changes.extend(raised_version(text)?);
    changes.sort_by_key(|(span, _)| span.start);
    let mut edit = Edit::of(text);
    changes.into_iter().for_each(|(span, new)| edit.replace(span, new));
    Some(edit.changed())
}

fn is_call(it: &Instruction<'_>) -> bool {
    it.name == "call" && it.guard.is_none() && it.operands.first().is_some_and(|callee| callee.text == MAIN)
}

fn returns(statement: &Statement<'_>) -> bool {
    matches!(statement, Statement::Instruction(it) if it.name == "ret" && it.guard.is_none())
}

/// Where a text's version stands and what is to stand there, if it has to be raised. None where it can't be.
fn raised_version(text: &str) -> Known<Option<(std::ops::Range<usize>, &'static str)>> {
    let mut tokens = Scanner::new(text);
    while tokens.must()? != Token::Directive(".version") {}
    let begin = tokens.at();
    (tokens.must()? == Token::Number).then_some(())?;
    let span = begin..tokens.at();
    let (major, minor) = text[span.clone()].trim().split_once('.')?;
    let version = (major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?);
    while tokens.must()? != Token::Directive(".target") {}
    let Token::Word(target) = tokens.must()? else { return None };
    let capability: u32 = target.strip_prefix("sm_")?.parse().ok()?;
    match version {
        _ if version >= VERSION => Some(None),
        _ if version >= LEAST_VERSION && capability < 70 => Some(Some((span, " 6.4"))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIBRARY: &str = ".version 6.0\n.target sm_30\n.address_size 64\n\
        .visible .func gomp_nvptx_main (.param .u64 %in_ar0, .param .u64 %in_ar1);\n\
        .visible .func gomp_nvptx_main (.param .u64 %in_ar0, .param .u64 %in_ar1)\n{\n.reg .pred %p;\nbar.sync 0;\n@%p ret;\nret;\n}\n\
        .visible .func gomp_other\n{\nret;\n}\n";
    const PROGRAM: &str = ".version 7.3\n.target sm_80\n.address_size 64\n\
        .extern .func gomp_nvptx_main (.param .u64 %in_ar1, .param .u64 %in_ar2);\n.visible .entry k (.param .u64 %arg)\n{\n\
        .reg .u64 %R<2>;\nld.param.u64 %R1,[%arg];\n{\n.param .u64 %P<2>;\nst.param.u64 [%P0],%R0;\nst.param.u64 [%P1],%R1;\n\
        call.uni gomp_nvptx_main,(%P0,%P1);\n}\nret.uni;\n}\n";

    #[test]
    fn threads_end_where_their_kernel_would_return_at_once() {
        let ended = end_threads(&[LIBRARY, PROGRAM, ".version 3.1\n"]).expect("known");
        let [Some(library), Some(program), None] = &ended[..] else { panic!("{ended:?}") };
        assert_eq!(
            library.matches("(.param .u64 %in_ar0, .param .u64 %in_ar1) .noreturn").count(),
            2,
            "{library}"
        );
        assert!(
            library.contains("bar.sync 0;\n@%p exit;\nexit;\n}\n")
                && library.contains("gomp_other\n{\nret;\n}")
        );
        assert!(
            library.starts_with(".version 6.4\n.target sm_30\n") && program.starts_with(".version 7.3\n")
        );
        assert!(
            program.contains("%in_ar2) .noreturn;")
                && program.contains("call.uni gomp_nvptx_main,(%P0,%P1);\n}\nret.uni;")
        );
        let parse = |text: &String| boomerang_ptx::parse(text).expect("well formed");
        boomerang_ptx::link(vec![parse(library), parse(program)]).expect("nothing is missing");
    }

    #[test]
    fn a_kernel_that_goes_on_or_a_version_that_has_no_such_function_leaves_all_as_it_is() {
        for (from, to) in [
            ("}\nret.uni;", "}\nst.u64 [%R0],%R1;\nret.uni;"),
            ("}\nret.uni;", "}\n$L1:\nret.uni;"),
            ("}\nret.uni;", "}\n@%p ret.uni;"),
            ("call.uni", "@%p call.uni"),
            ("ld.param.u64 %R1,[%arg];", "mov.u64 %R1,gomp_nvptx_main;"),
            (".version 7.3\n.target sm_80", ".version 6.3\n.target sm_70"),
            (".version 7.3\n.target sm_80", ".version 3.1\n.target sm_30"),
            ("ret.uni;\n}", "ret.uni;"),
        ] {
            assert_eq!(end_threads(&[LIBRARY, &PROGRAM.replace(from, to)]), None, "{to}");
        }
    }
}
