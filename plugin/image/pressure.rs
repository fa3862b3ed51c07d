//! How many registers device code needs, so that a cap on them can be set where it helps and costs nothing.
//!
//! A multiprocessor has 65536 registers, and a kernel takes for each thread as many as the function with the most that it may call. Where there is a
//! call by address, as in all kernels that start threads, that is any function whose address is taken, and all that those call. The JIT
//! takes what it likes: 70 to 80 for GCC's small functions, most of them because it prefers registers that a call leaves alone, where 64
//! hold a third more teams. A cap makes it economize, and where there isn't enough, values go to memory, which may take more time than
//! more teams gain. What is alive at once says whether that will happen, before anything is compiled.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::ffi::CStr;
use std::ops::Range;

use super::code::{Code, Instruction, Register, Statement};
use super::inline;
use super::items::{INDIRECT_CALL, items};
use super::tokens::Known;

/// The cap: of 64 registers, a multiprocessor has enough for 32 warps.
pub const CAP: u32 = 64;
/// The most registers of 32 bits that may be alive at once in any function of an image with the cap. The rest is for addresses,
/// parameters and what the JIT computes ahead.
const MOST_ALIVE: u32 = 40;

/// Whether the cap may help, and no function of these texts needs more registers than it leaves. Not where one has a form that isn't known.
/// What [`inline`] has put together isn't asked: with the cap ptxas 12.9 stores no more for it than without (GCC 13 to 16).
pub fn wants_cap(texts: &[Cow<'_, CStr>]) -> bool {
    let fit = |text: &Cow<'_, CStr>| {
        let text = text.to_str().ok()?;
        let items = items(text)?;
        let mut functions =
            items.iter().filter(|item| item.has_body() && !inline::CALLERS.contains(&item.name));
        Some(functions.all(|item| {
            let code = Code::of(&text[item.body..item.span.end]);
            code.as_ref().and_then(most_alive).is_some_and(|most| most <= MOST_ALIVE)
        }))
    };
    let calls_by_address =
        |text: &Cow<'_, CStr>| text.to_str().is_ok_and(|text| text.contains(INDIRECT_CALL));
    texts.iter().any(calls_by_address) && texts.iter().all(|text| fit(text) == Some(true))
}

/// How many registers are alive at once in `code`, at most.
fn most_alive(code: &Code<'_>) -> Known<u32> {
    let mut file = File::of(code);
    let mut blocks = blocks(code)?;
    for block in &mut blocks {
        for statement in code.statements[block.statements.clone()].iter().rev() {
            let Statement::Instruction(instruction) = statement else { continue };
            for register in file.written(instruction) {
                block.alive.remove(&register);
                block.written.insert(register);
            }
            block.alive.extend(file.read(instruction));
        }
    }
    // What is alive where a block ends is alive where it begins, unless the block writes it first.
    let mut has_changed = true;
    while has_changed {
        has_changed = false;
        for number in (0..blocks.len()).rev() {
            let behind = alive_behind(&blocks, number);
            let block = &mut blocks[number];
            let before = block.alive.len();
            block.alive.extend(behind.difference(&block.written));
            has_changed |= block.alive.len() != before;
        }
    }
    let mut most = 0;
    for (number, block) in blocks.iter().enumerate() {
        let mut alive = alive_behind(&blocks, number);
        let mut count: u32 = alive.iter().map(|register| file.widths[*register]).sum();
        most = most.max(count);
        for statement in code.statements[block.statements.clone()].iter().rev() {
            let Statement::Instruction(instruction) = statement else { continue };
            for register in file.written(instruction) {
                if alive.remove(&register) {
                    count -= file.widths[register];
                }
            }
            for register in file.read(instruction) {
                if alive.insert(register) {
                    count += file.widths[register];
                }
            }
            most = most.max(count);
        }
    }
    Some(most)
}

/// The registers of a function.
struct File<'a> {
    ranges: Vec<Register<'a>>,
    /// Of those that stand alone, and those of ranges that have been met.
    numbers: HashMap<&'a str, usize>,
    /// How many registers of 32 bits each takes.
    widths: Vec<u32>,
}

impl<'a> File<'a> {
    fn of(code: &Code<'a>) -> File<'a> {
        let mut file = File { ranges: vec![], numbers: HashMap::new(), widths: vec![] };
        for register in &code.registers {
            if register.is_range {
                file.ranges.push(*register);
            } else {
                file.add(register.name, register.kind);
            }
        }
        file
    }

    fn add(&mut self, name: &'a str, kind: &str) -> usize {
        let width = match kind {
            ".pred" => 0,
            ".b64" | ".u64" | ".s64" | ".f64" => 2,
            ".b128" => 4,
            _ => 1,
        };
        let number = *self.numbers.entry(name).or_insert(self.widths.len());
        if number == self.widths.len() {
            self.widths.push(width);
        }
        number
    }

    /// None for what is no register of the function's: a label, a variable, a special register.
    fn number(&mut self, name: &'a str) -> Option<usize> {
        self.numbers.get(name).copied().or_else(|| {
            let is_in = |range: &&Register<'_>| {
                name.strip_prefix(range.name).is_some_and(|rest| rest.parse::<u32>().is_ok())
            };
            let kind = self.ranges.iter().find(is_in)?.kind;
            Some(self.add(name, kind))
        })
    }

    fn read(&mut self, instruction: &Instruction<'a>) -> Vec<usize> {
        instruction.reads().filter_map(|name| self.number(name)).collect()
    }

    /// What it writes in any case.
    fn written(&mut self, instruction: &Instruction<'a>) -> Vec<usize> {
        let result = instruction.result().filter(|_| instruction.guard.is_none());
        result.iter().flat_map(|result| &result.names).filter_map(|name| self.number(name)).collect()
    }
}

/// Statements that are executed one after the other.
#[derive(Default)]
struct Block {
    statements: Range<usize>,
    /// The blocks that may come next.
    next: Vec<usize>,
    written: BTreeSet<usize>,
    /// Where it begins.
    alive: BTreeSet<usize>,
}

fn alive_behind(blocks: &[Block], number: usize) -> BTreeSet<usize> {
    blocks[number].next.iter().flat_map(|next| &blocks[*next].alive).copied().collect()
}

/// The blocks of `code`. None where a branch has no label in it.
fn blocks(code: &Code<'_>) -> Known<Vec<Block>> {
    let mut labels = HashMap::new();
    let mut blocks = vec![Block::default()];
    for (at, statement) in code.statements.iter().enumerate() {
        let branches = matches!(statement, Statement::Instruction(it) if it.target().is_some() || it.ends());
        let last = blocks.len() - 1;
        if let Statement::Label(name, _) = statement {
            let begins = blocks[last].statements.is_empty();
            labels.insert(*name, if begins { last } else { last + 1 });
            if !begins {
                blocks.push(Block { statements: at..at, ..Block::default() });
            }
        }
        let last = blocks.len() - 1;
        blocks[last].statements.end = at + 1;
        if branches {
            blocks.push(Block { statements: at + 1..at + 1, ..Block::default() });
        }
    }
    let count = blocks.len();
    for (number, block) in blocks.iter_mut().enumerate() {
        let last = code.statements[block.statements.clone()].last();
        let Some(Statement::Instruction(last)) = last else {
            block.next.extend((number + 1 < count).then_some(number + 1));
            continue;
        };
        if let Some(target) = last.target() {
            block.next.push(*labels.get(target)?);
        }
        block.next.extend((!last.ends() && number + 1 < count).then_some(number + 1));
    }
    Some(blocks)
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;

    use super::super::{heap, team};
    use super::*;

    const PREAMBLE: &str = ".version 7.3\n.target sm_52\n.address_size 64\n";

    fn of(body: &str) -> Option<u32> {
        most_alive(&Code::of(&format!("{{\n{body}\n}}"))?)
    }

    #[test]
    fn what_is_read_later_is_alive_and_nothing_else() {
        // Two of 64 bits at most: the third is written where the first isn't needed any more.
        let body = ".reg .u64 %a,%b;\n.reg .u64 %c;\n.reg .u32 %unused<100>;\nld.param.u64 %a,[%in];\nadd.u64 %b,%a,1;\nadd.u64 %c,%b,%a;\n\
                    st.u64 [%c],%b;\nret;";
        assert_eq!(of(body), Some(4));
        assert_eq!(of("ret;"), Some(0));
        assert_eq!(
            of(".reg .pred %p;\n.reg .u32 %r<3>;\nsetp.eq.u32 %p,%r1,%r2;\n@%p st.u32 [%r0],1;\nret;"),
            Some(3)
        );
    }

    #[test]
    fn what_the_next_turn_of_a_loop_reads_is_alive_in_all_of_it() {
        let body = |read: &str| {
            format!(
                ".reg .u32 %i,%far,%x;\n.reg .pred %p;\nmov.u32 %i,0;\nmov.u32 %far,7;\n$L1:\nadd.u32 %i,%i,{read};\n\
                 ld.u32 %x,[%i];\nst.u32 [%i],%x;\nsetp.ne.u32 %p,%i,9;\n@%p bra $L1;\nret;"
            )
        };
        assert_eq!(of(&body("1")), Some(2));
        assert_eq!(of(&body("%far")), Some(3));
    }

    #[test]
    fn what_is_written_under_a_guard_keeps_what_it_was() {
        let body = |guard: &str| {
            format!(
                ".reg .u32 %a,%b,%c;\n.reg .pred %p;\nmov.u32 %a,1;\nmov.u32 %b,2;\nadd.u32 %c,%b,%b;\n{guard}mov.u32 %a,3;\n\
                 st.u32 [%c],%a;\nret;"
            )
        };
        assert_eq!((of(&body("")), of(&body("@%p "))), (Some(2), Some(2)));
        let later = |guard: &str| body(guard).replace("add.u32 %c,%b,%b", "mov.u32 %c,%b");
        assert_eq!((of(&later("")), of(&later("@!%p "))), (Some(2), Some(2)));
    }

    #[test]
    fn the_function_that_needs_most_decides_and_unknown_forms_need_too_many() {
        let many: String = (0..=MOST_ALIVE).map(|i| format!("ld.u32 %r{i},[x];\n")).collect();
        let sum: String = (0..=MOST_ALIVE).map(|i| format!("st.u32 [x],%r{i};\n")).collect();
        let function = |body: &str| format!("{PREAMBLE}.func f\n{{\n.reg .u32 %r<50>;\n{body}ret;\n}}\n");
        let (small, large) = (function(""), function(&(many + &sum)));
        let calls =
            function("{\n.param .u64 %o;\n$P: .callprototype _ (.param .u64 _);\ncall %r1,(%o),$P;\n}\n");
        assert!(fit(&[&calls, &small]) && !fit(&[&calls, &large]));
        assert!(!fit(&[&small, &small]), "kernels take what their own functions need");
        for unknown in ["brx.idx %r1,$T;\n", "bra $elsewhere;\n"] {
            assert!(!fit(&[&calls, &function(unknown)]));
        }
        assert!(!fit(&[&calls, "nonsense"]));
    }

    fn fit(texts: &[&str]) -> bool {
        let texts: Vec<_> =
            texts.iter().map(|text| Cow::Owned(CString::new(*text).expect("no NUL"))).collect();
        wants_cap(&texts)
    }

    #[test]
    fn our_heap_leaves_room_for_the_cap_and_our_requests_do_not() {
        for capability in [30, 90] {
            let calls = ".func f\n{\n$P: .callprototype _ ();\n}\n";
            assert!(fit(&[calls, heap::runtime(capability), team::runtime(capability)]));
            assert!(!fit(&[calls, device_object!("target_ext", capability)]));
        }
    }
}
