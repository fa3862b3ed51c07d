//! Keeps libgomp's array of a team's threads, and their pool, in the team's shared memory. Nearly each of libgomp's functions looks into
//! them, and each fence of a barrier has the next look go to the L2 cache where they lie in device memory.
//!
//! `gomp_nvptx_main` takes memory for them from the soft stack of a team's first thread, which lies there until the kernel ends. Here it
//! takes it from shared memory, as far as there is room; what has none stays on the soft stack.

use super::code::{Code, Instruction};
use super::edit::{Edit, rename};
use super::items::{Kind, items};
use super::names::MAIN;

/// Shared memory for it, in bytes: 8 threads of 112 bytes, a pointer to each, and the pool (GCC 13 to 16), each aligned to 16 as on the
/// soft stack.
const BYTES: u32 = 8 * 112 + 8 * 8 + 48;

/// The soft-stack pointer in GCC's code, and where others find it.
const STACK: &str = "%stack";
const SLOT: &str = "%sspslot";

/// The text with its `gomp_nvptx_main` changed. None where it has none, or one of a form that isn't known.
pub fn share(text: &str) -> Option<String> {
    let items = items(text)?;
    let main = items.iter().find(|item| item.kind == Kind::Definition && item.name == MAIN)?;
    let body = &text[main.body..main.span.end];
    let mut edit = Edit::of(text);
    let begin = main.span.start;
    edit.replace(begin..begin, &format!("\n.shared .align 16 .b8 __boomerang_threads[{BYTES}];"));
    let room = format!(
        "{{\n.reg .u64 %least,%room,%taken;\ncvta.shared.u64 %least,__boomerang_threads;\nadd.u64 %room,%least,{BYTES};"
    );
    edit.replace(main.body..main.body + 1, &room);
    let mut has_taken = false;
    for instruction in Code::of(body)?.instructions() {
        if !instruction.operands.iter().any(|operand| operand.names.contains(&STACK)) {
            continue;
        }
        let original = &body[instruction.span.clone()];
        let part = main.body + instruction.span.start..main.body + instruction.span.end;
        if let Some(bytes) = taken(instruction) {
            has_taken = true;
            let Instruction { name, modifiers, .. } = instruction;
            let instead = format!(
                "{{\n.reg .u64 %place;\n.reg .pred %fits;\n{name}{modifiers} %place,%room,{bytes};\nsetp.ge.u64 %fits,%place,%least;\n\
                 @%fits mov.u64 %room,%place;\n@!%fits {original}\nselp.b64 %taken,%place,{STACK},%fits;\n}}"
            );
            edit.replace(part, &instead);
        } else if has_taken && !(instruction.name == "st" && instruction.operands[0].names == [SLOT]) {
            // It may set the pointer only as above.
            (instruction.result().map(|result| result.text) != Some(STACK)).then_some(())?;
            edit.replace(part, &rename(original, &[(STACK, "%taken")])?);
        }
    }
    has_taken.then(|| edit.whole())
}

/// What an instruction takes from the stack if it does: `sub.u64 %stack,%stack,BYTES`, or `add` with a negative number.
fn taken<'a>(instruction: &Instruction<'a>) -> Option<&'a str> {
    let [to, from, bytes] = &instruction.operands[..] else { return None };
    let is_known = matches!((instruction.name, instruction.modifiers), ("sub" | "add", ".u64"));
    (is_known && instruction.guard.is_none() && to.text == STACK && from.text == STACK).then_some(bytes.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function that takes memory as GCC 15 and 16 write it, for the array of threads, the pool and the array of pointers.
    fn text(name: &str) -> String {
        format!(
            ".version 7.3\n.target sm_52\n.address_size 64\n.visible .shared .align 8 .u64 nvptx_thrs[1];\n\
             .extern .shared .u64 __nvptx_stacks[32];\n// BEGIN GLOBAL FUNCTION DEF: {name}\n\
             .visible .func {name} (.param .u64 %in_ar0, .param .u64 %in_ar1)\n{{\n.reg .u64 %stack;\n.reg .u64 %frame;\n.reg .u64 %sspslot;\n\
             .reg .u64 %sspprev;\n{{\n.reg .u32 %fstmp0;\n.reg .u64 %fstmp1;\n.reg .u64 %fstmp2;\nmov.u32 %fstmp0,%tid.y;\n\
             mul.wide.u32 %fstmp1,%fstmp0,8;\nmov.u64 %fstmp2,__nvptx_stacks;\nadd.u64 %sspslot,%fstmp2,%fstmp1;\n\
             ld.shared.u64 %sspprev,[%sspslot];\nsub.u64 %frame,%sspprev,0;\nsub.u64 %stack,%frame,0;\nst.shared.u64 [%sspslot],%stack;\n}}\n\
             .reg .u64 %r40;\n.reg .u64 %r87;\nmov.u64 %r87,896;\nsub.u64 %stack,%stack,%r87;\nst.shared.u64 [%sspslot],%stack;\n\
             st.shared.u64 [nvptx_thrs],%stack;\nadd.u64 %stack,%stack,-48;\nst.shared.u64 [%sspslot],%stack;\nmov.u64 %r40,%stack;\n\
             sub.u64 %stack,%stack,%r87;\nst.shared.u64 [%sspslot],%stack;\nst.u64 [%r40],%stack;\nbar.sync 0;\n\
             st.shared.u64 [%sspslot],%sspprev;\nret;\n}}\n"
        )
    }

    #[test]
    fn what_the_first_thread_takes_from_its_stack_lies_in_shared_memory_as_far_as_there_is_room() {
        let shared = share(&text(MAIN)).expect("known");
        boomerang_ptx::parse(&shared).expect("well formed");
        for (taken, otherwise) in [
            ("sub.u64 %place,%room,%r87;", "@!%fits sub.u64 %stack,%stack,%r87;"),
            ("add.u64 %place,%room,-48;", "@!%fits add.u64 %stack,%stack,-48;"),
        ] {
            assert!(shared.contains(taken) && shared.contains(otherwise), "{shared}");
        }
        for used in ["st.shared.u64 [nvptx_thrs],%taken;", "mov.u64 %r40,%taken;", "st.u64 [%r40],%taken;"] {
            assert!(shared.contains(used), "{shared}");
        }
        assert_eq!(shared.matches("st.shared.u64 [%sspslot],%stack;").count(), 4, "others find the stack");
    }

    #[test]
    fn other_functions_and_other_forms_stay_as_they_are() {
        assert_eq!(share(&text("gomp_other")), None);
        let main = text(MAIN);
        for (from, to) in [
            // Takes nothing.
            ("%stack,%stack,", "%stack,%frame,"),
            // Gives back by itself.
            ("bar.sync 0;", "mov.u64 %stack,%frame;"),
            ("ret;", "brx.idx %r1,$T;"),
        ] {
            assert_eq!(share(&main.replace(from, to)), None, "{to}");
        }
        for end in 0..main.len() {
            let _ = share(&main[..end]);
        }
    }
}
