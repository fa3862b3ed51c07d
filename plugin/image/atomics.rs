//! Atomic additions of doubles by one instruction.
//!
//! GCC adds a double by compare-and-swap, in a loop: for `atomic`, and for the sum of each thread and each team that a reduction ends
//! with. Where hundreds of teams add to one variable, most of the swaps fail and are made again. From sm_60 on there is an instruction,
//! `red.add.f64`, of the same scope, order and rounding (PTX ISA, red). The one for `float` takes subnormal numbers for zero in
//! global memory, so those loops stay; and so do loops whose old or new value the program wants, and those with fences.

use super::code::{Code, Instruction, Statement};
use super::edit::Edit;
use super::items::items;
use super::tokens::{Known, Scanner, Token};

/// The least compute capability that has the instruction, and the target that a text must have to use it.
pub const LEAST_CAPABILITY: u32 = 60;

/// `text` with instructions in place of the loops. None where it has none, or a form that isn't known.
pub fn add_at_once(text: &str) -> Option<String> {
    // Most texts have none, and finding the items takes time.
    if !text.contains("atom.cas.b64") {
        return None;
    }
    let mut edit = Edit::of(text);
    for item in items(text)?.iter().filter(|item| item.defines()) {
        let body = &text[item.body..item.span.end];
        if !body.contains("atom.cas.b64") {
            continue;
        }
        let code = Code::of(body)?;
        for first in 0..code.statements.len() {
            let Some(addition) = addition(&code, first) else { continue };
            let begin = item.body + addition.instructions[0].span.start;
            let end = item.body + addition.instructions[addition.instructions.len() - 1].span.end;
            edit.replace(begin..end, &addition.instead());
        }
    }
    raise_target(&edit.changed()?)
}

/// A loop that adds, without what it begins with.
struct Addition<'c, 'a> {
    instructions: Vec<&'c Instruction<'a>>,
    swap: &'c Instruction<'a>,
    what: &'a str,
    /// Where it goes on, if not behind itself.
    next: Option<&'a str>,
}

impl Addition<'_, '_> {
    fn instead(&self) -> String {
        let guard = self.swap.guard.map_or(String::new(), |(predicate, is_negated)| {
            format!("@{}{predicate} ", if is_negated { "!" } else { "" })
        });
        let next = self.next.map_or(String::new(), |label| format!("\nbra {label};"));
        format!("{guard}red.add.f64 {},{};{next}", self.swap.operands[1].text, self.what)
    }
}

/// The loop whose statements begin with the one at `first`, if it is one. As GCC 13 to 16 write it:
/// ```text
/// again: mov.u64 OLD,FOUND;               the other way in has OLD loaded
/// first: mov.b64 NUMBER,OLD;
///        add.f64 SUM,WHAT,NUMBER;
///        mov.b64 NEW,SUM;
/// @one   atom.cas.b64 FOUND,[address],OLD,NEW;
/// @all   mov.b64 {LOW,HIGH},FOUND;         outside of SIMD regions one lane swaps, and tells the others
/// @all   shfl.sync.idx.b32 LOW,LOW,lane,31,0xffffffff;
/// @all   shfl.sync.idx.b32 HIGH,HIGH,lane,31,0xffffffff;
/// @all   mov.b64 FOUND,{LOW,HIGH};
///        setp.ne.u64 FAILED,OLD,FOUND;
/// @FAILED bra again;                       or: @!FAILED bra next; bra again;
/// ```
fn addition<'c, 'a>(code: &'c Code<'a>, first: usize) -> Option<Addition<'c, 'a>> {
    let [Statement::Label(again, _), Statement::Instruction(repeat), Statement::Label(..)] =
        code.statements.get(first..first + 3)?
    else {
        return None;
    };
    let rest = code.statements[first + 3..].iter().map_while(|statement| match statement {
        Statement::Instruction(instruction) => Some(instruction),
        Statement::Label(..) => None,
    });
    let mut rest = rest.fuse();
    let mut instructions = vec![];
    let mut take = |form: &str, operands: usize, is_guarded: Option<bool>| {
        let next = rest.next()?;
        let (name, modifiers) = form.split_at(form.find('.').unwrap_or(form.len()));
        let fits = next.name == name
            && next.modifiers == modifiers
            && next.operands.len() == operands
            && is_guarded.is_none_or(|wanted| wanted == next.guard.is_some());
        instructions.extend(fits.then_some(next));
        fits.then_some(next)
    };
    let text = |instruction: &Instruction<'a>, operand: usize| instruction.operands[operand].text;

    let number = take("mov.b64", 2, Some(false))?;
    let sum = take("add.f64", 3, Some(false))?;
    let new = take("mov.b64", 2, Some(false))?;
    let swap = take("atom.cas.b64", 4, None)?;
    let (old, found) = (text(number, 1), text(swap, 0));
    let mut own = vec![text(number, 0), text(sum, 0), text(new, 0), found, old];
    if swap.guard.is_some() {
        let split = take("mov.b64", 2, Some(true))?;
        let halves = [take("shfl.sync.idx.b32", 5, Some(true))?, take("shfl.sync.idx.b32", 5, Some(true))?];
        let join = take("mov.b64", 2, Some(true))?;
        let told = (text(split, 1), text(join, 0), text(split, 0)) == (found, found, text(join, 1));
        let halves_are = split.operands[0].names == halves.map(|half| text(half, 0));
        (told && halves_are && halves.iter().all(|half| text(half, 0) == text(half, 1))).then_some(())?;
        own.extend(&split.operands[0].names);
    }
    let failed = take("setp.ne.u64", 3, Some(false))?;
    own.push(text(failed, 0));
    let leave = take("bra", 1, Some(true))?;
    let next = match leave.guard? {
        (_, false) => {
            (leave.target() == Some(again)).then_some(())?;
            None
        }
        (_, true) => {
            let back = take("bra", 1, Some(false))?;
            Some((back.target() == Some(again)).then_some(leave.target()?)?)
        }
    };
    (leave.guard?.0 == text(failed, 0)).then_some(())?;
    let what = match (text(sum, 1), text(sum, 2)) {
        (what, other) | (other, what) if other == text(number, 0) && what != other => what,
        _ => return None,
    };
    let is_right = (repeat.name, text(repeat, 0), text(repeat, 1)) == ("mov", old, found)
        && text(new, 1) == text(sum, 0)
        && (text(swap, 2), text(swap, 3)) == (old, text(new, 0))
        && [(text(failed, 1), text(failed, 2)), (text(failed, 2), text(failed, 1))].contains(&(old, found));
    // What is left out gives nothing to others.
    let is_in = |instruction: &Instruction<'_>| {
        std::ptr::eq(instruction, repeat)
            || instructions.iter().any(|other| std::ptr::eq(*other, instruction))
    };
    let mut others = code.instructions().filter(|instruction| !is_in(instruction));
    let is_used = others.any(|other| other.reads().any(|name| own.contains(&name)));
    (is_right && !is_used).then_some(Addition { instructions, swap, what, next })
}

/// `text` for the target that has the instruction, or a later one if it is for that.
fn raise_target(text: &str) -> Known<String> {
    let mut tokens = Scanner::new(text);
    while tokens.must()? != Token::Directive(".target") {}
    let Token::Word(target) = tokens.must()? else { return None };
    let is_enough = target.strip_prefix("sm_")?.parse::<u32>().ok()? >= LEAST_CAPABILITY;
    let begin = tokens.at() - target.len();
    let enough = format!("sm_{LEAST_CAPABILITY}");
    Some([&text[..begin], if is_enough { target } else { &enough }, &text[tokens.at()..]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What GCC 16.2 writes for the end of a reduction, its registers but for those that matter left out.
    fn function(target: &str, end: &str, behind: &str) -> String {
        format!(
            ".version 7.3\n.target {target}\n.address_size 64\n.func f (.param .u64 %in_ar0)\n{{\n.reg .u64 %r26;\n.reg .u64 %r63;\n\
             ld.u64 %r26,[%r38];\nbra $L5;\n$L8:\nmov.u64 %r26,%r63;\n$L5:\nmov.b64 %r62,%r26;\nadd.f64 %r61,%r22,%r62;\n\
             mov.b64 %r65,%r61;\n@%r84 atom.cas.b64 %r63,[%r38],%r26,%r65;\n@%r85 mov.b64 {{%r82,%r83}},%r63;\n\
             @%r85 shfl.sync.idx.b32 %r82,%r82,%r81,31,0xffffffff;\n@%r85 shfl.sync.idx.b32 %r83,%r83,%r81,31,0xffffffff;\n\
             @%r85 mov.b64 %r63,{{%r82,%r83}};\nsetp.ne.u64 %r68,%r26,%r63;\n{end}\n$L46:\n{behind}ret;\n}}\n"
        )
    }

    const LEAVES: &str = "@!%r68 bra $L46;\nbra $L8;";

    #[test]
    fn a_loop_that_adds_becomes_an_instruction() {
        let text = add_at_once(&function("sm_52", LEAVES, "")).expect("a loop that adds");
        assert!(text.contains("$L5:\n@%r84 red.add.f64 [%r38],%r22;\nbra $L46;\n$L46:\nret;"), "{text}");
        assert!(text.contains(".target sm_60\n") && !text.contains("atom.cas"), "{text}");
        let text = add_at_once(&function("sm_80", "@%r68 bra $L8;", "")).expect("a loop that adds");
        assert!(text.contains("$L5:\n@%r84 red.add.f64 [%r38],%r22;\n$L46:\nret;"), "{text}");
        assert!(text.contains(".target sm_80\n"), "{text}");
    }

    #[test]
    fn in_simd_regions_of_functions_that_are_nowhere_else_each_lane_adds() {
        let text: String = function("sm_52", LEAVES, "")
            .lines()
            .filter(|line| !line.starts_with("@%r85"))
            .flat_map(|line| [line.trim_start_matches("@%r84 "), "\n"])
            .collect();
        let text = add_at_once(&text).expect("a loop that adds");
        assert!(text.contains("$L5:\nred.add.f64 [%r38],%r22;\n"), "{text}");
    }

    #[test]
    fn what_does_more_or_else_than_add_stays() {
        let text = function("sm_52", LEAVES, "");
        let others = [
            // What was there before, what is there now, and whether it was there at the first try.
            function("sm_52", LEAVES, "st.f64 [%r1],%r62;\n"),
            function("sm_52", LEAVES, "st.f64 [%r1],%r61;\n"),
            function("sm_52", LEAVES, "st.u64 [%r1],%r26;\n"),
            function("sm_52", LEAVES, "@%r68 st.u64 [%r1],1;\n"),
            function("sm_52", "@%r68 bra $L46;\nbra $L8;", ""),
            function("sm_52", "@!%r68 bra $L46;\nbra $L5;", ""),
            text.replace("add.f64 %r61", "mul.f64 %r61"),
            text.replace("add.f64 %r61", "add.rz.f64 %r61"),
            text.replace("%r61,%r22,%r62", "%r61,%r62,%r62"),
            text.replace("%r61,%r22,%r62", "%r61,%r22,%r23"),
            text.replace("atom.cas.b64", "atom.acquire.cas.b64"),
            text.replace("],%r26,%r65", "],%r27,%r65"),
            text.replace("setp.ne.u64", "membar.sys;\nsetp.ne.u64"),
            text.replace("setp.ne.u64 %r68,%r26", "setp.ne.u64 %r68,%r27"),
            text.replace("mov.u64 %r26,%r63", "mov.u64 %r26,%r64"),
            text.replace("{%r82,%r83};", "{%r83,%r82};"),
        ];
        assert!(add_at_once(&text).is_some());
        for other in others {
            assert!(other.contains("cas.b64") && other != text);
            assert_eq!(add_at_once(&other), None, "{other}");
        }
    }
}
