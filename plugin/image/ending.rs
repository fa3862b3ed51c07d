//! What libgomp does as a team ends though nobody sees it.
//!
//! - It counts the threads that it has released, of all teams of the device in one variable (`gomp_managed_threads`), with a fence before and
//!   behind that. Device code has no use for the number: where no text of an image reads it, nothing counts.
//! - It frees what the team allocated (`gomp_free_thread`). What lies in the team's shared memory ends with the team, and isn't freed first.

use super::calls::Call;
use super::code::{Code, Instruction};
use super::edit::Edit;
use super::items::{Kind, items};
use super::tokens::Known;

/// The variable.
const COUNT: &str = "gomp_managed_threads";
/// With which a team ends, and what it calls.
const END: &str = "gomp_free_thread";
const FREE: &str = "__nvptx_free";

/// What each text becomes, if it changes. None where one has a form that isn't known.
pub fn shorten(texts: &[&str]) -> Known<Vec<Option<String>>> {
    let counted: Option<Vec<_>> = texts.iter().map(|text| without_count(text)).collect();
    let counted = counted.unwrap_or_else(|| vec![None; texts.len()]);
    let shorten = |(text, counted): (&&str, Option<String>)| {
        let kept = without_frees(counted.as_deref().unwrap_or(text))?;
        Some(kept.or(counted))
    };
    texts.iter().zip(counted).map(shorten).collect()
}

/// The text without instructions that add to the variable, and fences beside them, if it has any. None where one does anything else with it.
fn without_count(text: &str) -> Known<Option<String>> {
    if !text.contains(COUNT) {
        return Some(None);
    }
    let mut edit = Edit::of(text);
    for item in items(text)?.iter().filter(|item| item.uses.contains(&COUNT)) {
        let code = Code::of(&text[item.body..item.span.end])?;
        let instructions: Vec<_> = code.instructions().collect();
        for (at, it) in instructions.iter().enumerate() {
            if !it.operands.iter().any(|operand| operand.names.contains(&COUNT)) {
                continue;
            }
            let adds = (it.name, it.modifiers, it.operands[0].text) == ("atom", ".global.add.u64", "_");
            adds.then_some(())?;
            let is_fence = |other: &&&Instruction<'_>| other.name == "membar" && other.guard == it.guard;
            let before = at.checked_sub(1).and_then(|at| instructions.get(at)).filter(is_fence);
            let behind = instructions.get(at + 1).filter(is_fence);
            let (begin, end) = (before.unwrap_or(it).span.start, behind.unwrap_or(it).span.end);
            edit.replace(item.body + begin..item.body + end, "");
        }
    }
    Some(edit.changed())
}

/// The text with its [`END`] changed, if it has one.
fn without_frees(text: &str) -> Known<Option<String>> {
    if !text.contains(END) {
        return Some(None);
    }
    let (mut edit, mut count) = (Edit::of(text), 0);
    for item in items(text)?.iter().filter(|item| item.kind == Kind::Definition && item.name == END) {
        let code = Code::of(&text[item.body..item.span.end])?;
        let calls = (0..code.statements.len()).filter_map(|at| Call::of(&code, at));
        for Call { begin, end, arguments, .. } in calls.filter(|call| call.callee == FREE) {
            let [pointer] = arguments[..] else { return None };
            let part = item.body + begin..item.body + end;
            let instead = format!(
                ".reg .pred %boomerang_shared;\nisspacep.shared %boomerang_shared,{pointer};\n\
                 @%boomerang_shared bra $boomerang_kept{count};\n{}\n$boomerang_kept{count}:",
                &text[part.clone()]
            );
            edit.replace(part, &instead);
            count += 1;
        }
    }
    Some(edit.changed())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a team's end has of it, as GCC 13 to 16 write it.
    const TEAM: &str = ".version 7.3\n.target sm_52\n.address_size 64\n.extern .global .align 8 .u64 gomp_managed_threads[1];\n\
        .extern .func __nvptx_free (.param .u64 %in_ar0);\n.visible .func gomp_free_thread (.param .u64 %in_ar0)\n{\n.reg .u64 %r28;\n\
        .reg .u64 %r67;\n.reg .pred %r81;\n.reg .pred %r82;\nld.param.u64 %r28,[%in_ar0];\nbar.sync 0,256;\nmembar.cta;\n\
        @%r81 membar.gl;\n@%r81 atom.global.add.u64 _,[gomp_managed_threads],%r67;\n@%r81 membar.gl;\n\
        @%r82 bar.warp.sync 0xffffffff;\n{\n.param .u64 %out_arg1;\nst.param.u64 [%out_arg1],%r28;\ncall __nvptx_free,(%out_arg1);\n}\n\
        {\n.param .u64 %out_arg1;\nst.param.u64 [%out_arg1],%r67;\ncall __nvptx_free,(%out_arg1);\n}\nret;\n}\n";
    const VARIABLE: &str = ".version 7.3\n.target sm_52\n.address_size 64\n.visible .global .align 8 .u64 gomp_managed_threads[1] = {1 };\n";

    #[test]
    fn a_number_that_nobody_reads_is_not_counted() {
        let [Some(team), None] = &shorten(&[TEAM, VARIABLE]).expect("known")[..] else { panic!() };
        boomerang_ptx::parse(team).expect("well formed");
        assert!(
            !team.contains("atom.") && !team.contains("membar.gl") && team.contains("membar.cta"),
            "{team}"
        );
        let other = "@%r82 bar.warp.sync 0xffffffff;\n{";
        for use_of_it in
            ["ld.global.u64 %r67,[gomp_managed_threads];\n{", "mov.u64 %r67,gomp_managed_threads;\n{"]
        {
            let reader = TEAM.replace(other, use_of_it);
            for texts in [[TEAM, VARIABLE, &reader], [&reader, VARIABLE, VARIABLE]] {
                let shorter = shorten(&texts).expect("known");
                assert!(
                    shorter[0].as_ref().is_some_and(|team| team.contains("@%r81 membar.gl;\n@%r81 atom."))
                );
            }
        }
        let used = TEAM.replace("add.u64 _,", "add.u64 %r67,");
        assert!(shorten(&[&used]).expect("known")[0].as_ref().is_some_and(|team| team.contains("atom.")));
    }

    #[test]
    fn what_lies_in_shared_memory_is_not_freed_first() {
        let shorter = shorten(&[TEAM]).expect("known");
        let team = shorter[0].as_ref().expect("changed");
        for (number, pointer) in ["%r28", "%r67"].iter().enumerate() {
            let call = format!(
                "isspacep.shared %boomerang_shared,{pointer};\n@%boomerang_shared bra $boomerang_kept{number};\n\
                 st.param.u64 [%out_arg1],{pointer};\ncall __nvptx_free,(%out_arg1);\n$boomerang_kept{number}:"
            );
            assert!(team.contains(&call), "{team}");
        }
        let elsewhere = TEAM.replace("gomp_free_thread", "gomp_team_end");
        assert!(
            !shorten(&[&elsewhere]).expect("known")[0].as_ref().expect("not counted").contains("isspacep")
        );
        for end in 0..TEAM.len() {
            let _ = shorten(&[&TEAM[..end]]);
        }
    }
}
