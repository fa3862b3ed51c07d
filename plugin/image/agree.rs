//! Has all lanes of a warp see one value where libgomp loads 8 bytes that another warp may change at that moment.
//!
//! GCC's code outside of SIMD regions has all 32 lanes do the same, and one lane alone execute atomics, whose result the others get from it
//! (`-muniform-simt`). Its plain loads are made by all lanes. In device memory all get one value. In shared memory, where
//! [`super::team`] puts libgomp's teams, a warp loads 8 bytes each in two goes, one for each half, between which another warp may store
//! (docs/driver.md, Shared memory). Then one half takes another way than the other, and waits for ever at the next atomic.
//!
//! What may change at that moment: what libgomp swaps somewhere (what is left of a loop, the pointer to the next work share, a list of
//! free ones), and what it loads with acquire order, which GCC writes as a load and a fence (a task's children). Behind each load at such a place
//! stands what GCC writes behind an atomic. libgomp's teams have no more places of 8 bytes that are looked at without a lock, other than by
//! the thread that they belong to (GCC 13 to 16).

use std::collections::HashSet;

use super::code::{Code, Instruction, Operand, Statement, Writers};
use super::edit::Edit;
use super::fences;
use super::items::{Kind, items};
use super::tokens::Known;

/// Where GCC's code has for each warp whether its lanes go ways of their own: all bits, or none. [`super::lanes`] may make it one for each lane,
/// where it knows this form of code.
const APART: &str = "__nvptx_uni";

/// A member of libgomp with such loads followed by what makes the lanes agree; none where it has none. Outside, none where it has a form that
/// isn't known.
pub fn agree(text: &str) -> Known<Option<String>> {
    // Most texts have no such loads, and finding the items takes time.
    if !text.contains(APART) || !(text.contains("membar") || text.contains("atom.cas.b64")) {
        return Some(None);
    }
    let items = items(text)?;
    if !fences::is_libgomps(&items) {
        // One that looks like it, but has more than is known of, may need it.
        let has_some =
            items.iter().any(|item| item.kind == Kind::Definition && item.name.starts_with("gomp_"));
        return (!has_some || !text.contains("atom.cas.b64")).then_some(None);
    }
    let mut functions = vec![];
    for item in items.iter().filter(|item| item.kind == Kind::Definition) {
        functions.push((item.body, Code::of(&text[item.body..item.span.end])?));
    }
    let functions: Vec<_> = functions.iter().map(|(body, code)| (body, code, Writers::of(code))).collect();
    let mut swapped = HashSet::new();
    for (_, code, writers) in &functions {
        let swaps = code.instructions().filter(is_swap);
        swapped.extend(swaps.filter_map(|swap| Some(place(writers, &swap.operands[1])?.1)));
    }
    let mut edit = Edit::of(text);
    for (body, code, writers) in &functions {
        let acquired: HashSet<_> =
            acquiring(code).filter_map(|load| place(writers, &load.operands[1])).collect();
        for load in code.instructions().filter(is_load) {
            let Some(place) = place(writers, &load.operands[1]) else { continue };
            if swapped.contains(&place.1) || acquired.contains(&place) {
                let end = *body + load.span.end;
                edit.replace(end..end, &take_from_first(load.operands[0].text, text.contains("shfl.sync.")));
            }
        }
    }
    Some(edit.changed())
}

/// Gives all lanes of a warp that are to do the same what lane 0 has in `register`. GCC has member masks from PTX 6.0 on.
fn take_from_first(register: &str, has_mask: bool) -> String {
    let (sync, mask) = if has_mask { (".sync", ",0xffffffff") } else { ("", "") };
    format!(
        "\n{{\n.reg .u32 %__thread,%__apart,%__low,%__high;\n.reg .u64 %__at;\n.reg .pred %__same;\nmov.u32 %__thread,%tid.y;\n\
         mov.u64 %__at,{APART};\nmad.wide.u32 %__at,%__thread,4,%__at;\nld.shared.u32 %__apart,[%__at];\nsetp.eq.u32 %__same,%__apart,0;\n\
         @%__same mov.b64 {{%__low,%__high}},{register};\n@%__same shfl{sync}.idx.b32 %__low,%__low,0,31{mask};\n\
         @%__same shfl{sync}.idx.b32 %__high,%__high,0,31{mask};\n@%__same mov.b64 {register},{{%__low,%__high}};\n}}"
    )
}

/// Whether it loads 8 bytes that may lie in shared memory.
fn is_load(instruction: &&Instruction<'_>) -> bool {
    let kind = instruction.modifiers.strip_prefix(".volatile").unwrap_or(instruction.modifiers);
    instruction.name == "ld" && matches!(kind, ".b64" | ".f64" | ".s64" | ".u64")
}

/// Whether it swaps 8 bytes.
fn is_swap(instruction: &&Instruction<'_>) -> bool {
    instruction.name == "atom" && instruction.modifiers.ends_with("cas.b64")
}

/// The loads with a fence right behind them.
fn acquiring<'c, 'a>(code: &'c Code<'a>) -> impl Iterator<Item = &'c Instruction<'a>> {
    code.statements.windows(2).filter_map(|pair| match pair {
        [Statement::Instruction(load), Statement::Instruction(fence)] => {
            (is_load(&load) && fence.name == "membar").then_some(load)
        }
        _ => None,
    })
}

/// What an address consists of: the register that was loaded or computed, and the numbers that are added to it.
fn place<'a>(writers: &Writers<'_, 'a>, address: &Operand<'a>) -> Option<(&'a str, i64)> {
    let (mut register, mut offset) = address.address()?;
    // Should they go in a circle.
    let mut seen = HashSet::new();
    while seen.insert(register) {
        let Some(writer) = writers.only(register) else { break };
        let (from, number) = match (writer.name, writer.modifiers, &writer.operands[..]) {
            ("mov", ".u64", [_, from]) => (from, Ok(0)),
            ("add", ".u64" | ".s64", [_, from, number]) => (from, number.text.parse::<i64>()),
            _ => break,
        };
        let (Ok(number), [next]) = (number, &from.names[..]) else { break };
        (register, offset) = (next, offset.checked_add(number)?);
    }
    Some((register, offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A member of libgomp in the form of GCC's, with functions of these bodies.
    fn member(name: &str, bodies: &[&str]) -> String {
        let mut text = format!(
            ".version 6.0\n.target sm_35\n.address_size 64\n.extern .shared .u32 {APART}[32];\n.extern .shared .u64 nvptx_thrs;\n"
        );
        for (i, body) in bodies.iter().enumerate() {
            text += &format!(
                "// BEGIN GLOBAL FUNCTION DEF: {name}_{i}\n.visible .func {name}_{i} (.param .u64 %in_ar0)\n{{\n.reg .u64 %r<30>;\n\
                 .reg .u32 %n<9>;\n.reg .pred %p<9>;\nld.param.u64 %r1,[%in_ar0];\nld.shared.u64 %r2,[nvptx_thrs];\n{body}ret;\n}}\n"
            );
        }
        text
    }

    const SWAP: &str = "add.u64 %r3,%r1,72;\nld.u64 %r4,[%r3];\n@%p1 atom.cas.b64 %r5,[%r3],%r4,%r2;\n\
                        @%p2 shfl.sync.idx.b32 %n1,%n1,%n2,31,0xffffffff;\n";

    /// The registers that lanes agree on, in order.
    fn agreed(text: &str) -> Vec<String> {
        let Some(agreed) = agree(text).expect("a known form") else { return vec![] };
        boomerang_ptx::parse(&agreed).expect("well formed");
        let end = |line: &str| {
            Some(line.strip_prefix("@%__same mov.b64 ")?.strip_suffix(",{%__low,%__high};")?.to_owned())
        };
        agreed.lines().filter_map(end).collect()
    }

    #[test]
    fn lanes_agree_on_what_is_swapped_wherever_the_member_loads_it() {
        let other = "ld.u64 %r6,[%r2+16];\nld.volatile.u64 %r7,[%r6+72];\nld.u64 %r8,[%r6+80];\nld.u32 %n3,[%r6+72];\n\
                     ld.global.u64 %r9,[%r6+72];\nst.u64 [%r6+72],%r7;\n";
        assert_eq!(agreed(&member("gomp_iter", &[SWAP, other])), ["%r4", "%r7"]);
    }

    #[test]
    fn lanes_agree_on_what_is_loaded_with_acquire_order_in_that_function() {
        let waits = "ld.u64 %r3,[%r1+8];\nadd.u64 %r4,%r1,8;\nmov.u64 %r5,%r4;\nld.u64 %r6,[%r5];\n.loc 1 2 3\nmembar.sys;\nld.u64 %r7,[%r2+8];\n";
        assert_eq!(agreed(&member("GOMP_taskwait", &[waits, "ld.u64 %r8,[%r1+8];\n"])), ["%r3", "%r6"]);
        assert_eq!(
            agreed(&member("GOMP_taskwait", &[&waits.replace("membar.sys", "membar.gl")])),
            ["%r3", "%r6"]
        );
    }

    #[test]
    fn the_lanes_that_go_ways_of_their_own_keep_their_values() {
        let text = agree(&member("gomp_iter", &[SWAP])).expect("a known form").expect("a load");
        let block = &text
            [text.find("ld.shared.u32").expect("whether they do")..text.find("@%p1 atom").expect("the swap")];
        assert!(block.contains("setp.eq.u32 %__same,%__apart,0;"), "{block}");
        assert!(block.lines().skip(2).all(|line| line.starts_with("@%__same") || line == "}"), "{block}");
    }

    #[test]
    fn texts_without_member_masks_get_none() {
        let old = member("gomp_iter", &[&SWAP.replace(".sync", "").replace(",0xffffffff", "")])
            .replace("6.0", "3.1");
        assert_eq!(agreed(&old), ["%r4"]);
        assert!(!agree(&old).expect("a known form").expect("a load").contains(".sync"));
    }

    #[test]
    fn other_objects_stay_as_they_are() {
        let member = member("gomp_iter", &[SWAP]);
        for other in [
            member.replace("gomp_iter", "mine"),
            member.replace(APART, "other"),
            member.replace("atom.cas.b64 %r5,[%r3],%r4,%r2", "atom.cas.b32 %n4,[%r3],%n5,%n6"),
        ] {
            assert_eq!(agree(&other), Some(None), "{other}");
        }
    }

    #[test]
    fn an_object_with_functions_of_libgomps_and_others_is_not_known() {
        let kernel = ".visible .entry k\n{\nret;\n}\n";
        assert_eq!(agree(&(member("gomp_iter", &[SWAP]) + kernel)), None);
        assert_eq!(
            agree(&(member("gomp_iter", &["ld.u64 %r3,[%r1+8];\nmembar.sys;\n"]) + kernel)),
            Some(None)
        );
    }

    #[test]
    fn a_truncated_text_is_refused_or_understood_and_never_a_panic() {
        let text = member("gomp_iter", &[SWAP]);
        for end in 0..text.len() {
            let _ = agree(&text[..end]);
        }
        assert_eq!(agree(&text.replace("ret;\n}", "brx.idx %n1,$T;\n}")), None);
    }

    #[test]
    fn registers_that_are_added_to_themselves_do_not_keep_us() {
        let text = member("gomp_iter", &["add.u64 %r3,%r3,72;\nld.u64 %r4,[%r3];\nmembar.sys;\n"]);
        assert_eq!(agreed(&text), ["%r4"]);
    }
}
