//! Loads ahead of stores.
//!
//! GCC unrolls the loops that lanes share, `a[i] = b[i] + c[i]`, eight times, and leaves loads and stores in the program's order: it
//! can't know that the arrays are different ones. The JIT can't either, so each turn's loads wait for the store before them, and a warp has two loads
//! under way instead of sixteen. Here such a block gets a second form with the loads in front, and takes it where what
//! it stores doesn't overlap what it loads, which a few additions tell.
//!
//! Nothing else can tell the two forms apart: the accesses are weak ones, of one thread, without a fence or barrier between them (PTX
//! ISA, Memory Consistency Model).

use std::collections::HashMap;
use std::fmt::Write;
use std::ops::Range;

use super::accesses::{Access, Values, joined};
use super::code::{Code, Instruction, Statement};
use super::edit::{Edit, rename_by};
use super::items::items;
use super::tokens::Known;

/// Instructions that compute, and do nothing else.
const COMPUTE: [&str; 17] = [
    "abs", "add", "and", "cvt", "div", "fma", "mad", "max", "min", "mov", "mul", "neg", "or", "selp", "shl",
    "shr", "sub",
];
/// How many registers of 32 bits loads may take ahead of their use. Eight doubles are as fast as sixteen.
const AHEAD: u32 = 16;
/// How many pairs of what is stored and what is loaded may have to be compared.
const MOST_PAIRS: usize = 4;

/// `text` with loads ahead of stores in such loops. None where it has none, or a form that isn't known.
pub fn ahead(text: &str) -> Option<String> {
    let (mut edit, mut count) = (Edit::of(text), 0);
    for item in items(text)?.iter().filter(|item| item.has_body()) {
        let body = &text[item.body..item.span.end];
        let code = Code::of(body)?;
        for block in blocks(&code).filter_map(|instructions| Block::of(&code, instructions)) {
            let span = block.span();
            let mut instead = String::new();
            block.write(body, count, &mut instead)?;
            edit.replace(item.body + span.start..item.body + span.end, &instead);
            count += 1;
        }
    }
    edit.changed()
}

/// The loops of one block: their instructions without the branch.
fn blocks<'c, 'a>(code: &'c Code<'a>) -> impl Iterator<Item = Vec<&'c Instruction<'a>>> {
    code.statements.iter().enumerate().filter_map(|(at, statement)| {
        let Statement::Label(label, _) = statement else { return None };
        let mut instructions = vec![];
        for statement in &code.statements[at + 1..] {
            let Statement::Instruction(instruction) = statement else { return None };
            if let Some(target) = instruction.target() {
                return (target == *label).then_some(instructions);
            }
            instructions.push(instruction);
        }
        None
    })
}

/// A block that can get a second form.
struct Block<'c, 'a> {
    /// Up to the last access.
    instructions: Vec<&'c Instruction<'a>>,
    /// What its loads access, in order.
    loads: Vec<Access<'a>>,
    /// The types of the registers that loads write.
    kinds: HashMap<&'a str, &'a str>,
    /// What must not overlap.
    pairs: Vec<(Access<'a>, Access<'a>)>,
}

impl<'c, 'a> Block<'c, 'a> {
    fn of(code: &Code<'a>, mut instructions: Vec<&'c Instruction<'a>>) -> Option<Block<'c, 'a>> {
        let is_access = |instruction: &&Instruction<'_>| matches!(instruction.name, "ld" | "st");
        let last = instructions.iter().rposition(is_access)?;
        instructions.truncate(last + 1);
        let (mut stored, mut moved): (Vec<Access<'a>>, Vec<Access<'a>>) = (vec![], vec![]);
        let (mut loads, mut kinds, mut values) = (vec![], HashMap::new(), Values::default());
        for instruction in &instructions {
            if instruction.guard.is_some() {
                return None;
            }
            match instruction.name {
                "ld" => {
                    let access = values.access(instruction)?;
                    let overlaps = |store: &Access<'_>| {
                        store.base == access.base
                            && store.bytes.start < access.bytes.end
                            && access.bytes.start < store.bytes.end
                    };
                    if stored.iter().any(overlaps) {
                        return None;
                    }
                    let result = instruction.result()?;
                    let [register] = result.names[..] else { return None };
                    let declared = code.registers.iter().find(|it| it.name == register && !it.is_range)?;
                    // Registers of 8 bits have no `mov`.
                    (!declared.kind.ends_with('8')).then_some(())?;
                    kinds.insert(register, declared.kind);
                    if !stored.is_empty() {
                        moved.push(access.clone());
                    }
                    loads.push(access);
                }
                "st" => stored.push(values.access(instruction)?),
                name if COMPUTE.contains(&name) => {}
                _ => return None,
            }
            values.execute(instruction);
        }
        let (stored, loaded) = (joined(&stored), joined(&moved));
        let pairs: Vec<_> = stored
            .iter()
            .flat_map(|store| loaded.iter().map(move |load| (store.clone(), load.clone())))
            .filter(|(store, load)| store.base != load.base)
            .collect();
        let is_address = |name: &str| {
            code.registers
                .iter()
                .any(|it| it.name == name && !it.is_range && matches!(it.kind, ".u64" | ".b64"))
        };
        let mut bases = stored.iter().chain(&loads).flat_map(|access| &access.base);
        let are_addresses = bases.all(|name| is_address(name));
        let is_worth_it = moved.len() >= 2 && pairs.len() <= MOST_PAIRS && are_addresses;
        is_worth_it.then_some(Block { instructions, loads, kinds, pairs })
    }

    fn span(&self) -> Range<usize> {
        self.instructions[0].span.start..self.instructions[self.instructions.len() - 1].span.end
    }

    /// Writes both forms. `number` tells the block's names from those of others.
    fn write(&self, body: &str, number: usize, out: &mut String) -> Known<()> {
        let (slow, done) = (format!("$boomerang_slow{number}"), format!("$boomerang_done{number}"));
        let (mut declarations, mut ahead) = (String::new(), String::new());
        let mut bases: Vec<&[&str]> = vec![];
        for access in self.loads.iter().chain(self.pairs.iter().map(|(store, _)| store)) {
            if !bases.contains(&&access.base[..]) {
                bases.push(&access.base);
            }
        }
        let base = |access: &Access<'_>| {
            let at = bases.iter().position(|base| *base == access.base).expect("all are there");
            format!("%boomerang_base{at}")
        };
        let mut accesses = self.loads.iter().enumerate();
        // What the block has in another register than the program.
        let mut renamed: HashMap<&str, String> = HashMap::new();
        for group in self.groups() {
            let mut behind = String::new();
            for instruction in group {
                if instruction.name == "ld" {
                    let register = instruction.operands[0].text;
                    let (count, access) = accesses.next()?;
                    let new = format!("%boomerang_ahead{count}");
                    let _ = writeln!(declarations, ".reg {} {new};", self.kinds[register]);
                    let (base, offset) = (base(access), access.bytes.start);
                    let _ = writeln!(ahead, "ld{} {new},[{base}+{offset}];", instruction.modifiers);
                    renamed.insert(register, new);
                    continue;
                }
                let first_read = usize::from(instruction.result().is_some());
                let operands: Vec<String> = instruction
                    .operands
                    .iter()
                    .enumerate()
                    .map(|(at, it)| {
                        if at < first_read {
                            Some(it.text.into())
                        } else {
                            rename_by(it.text, |name| renamed.get(name).map(String::as_str))
                        }
                    })
                    .collect::<Known<_>>()?;
                let _ =
                    writeln!(behind, "{}{} {};", instruction.name, instruction.modifiers, operands.join(","));
                instruction.result().iter().flat_map(|result| &result.names).for_each(|name| {
                    renamed.remove(name);
                });
            }
            ahead.push_str(&behind);
        }
        // Those that are read later.
        let mut left: Vec<_> = renamed.into_iter().collect();
        left.sort_unstable();
        for (register, new) in left {
            let kind = self.kinds[register];
            let _ = writeln!(ahead, "mov{kind} {register},{new};");
        }
        let mut comparisons = String::new();
        for (store, load) in &self.pairs {
            // They overlap where the difference of the registers is one of so many numbers in a row.
            let below = store.bytes.end - load.bytes.start - 1;
            let numbers = below + load.bytes.end - store.bytes.start;
            let _ = write!(
                comparisons,
                "sub.u64 %boomerang_apart,{},{};\nadd.s64 %boomerang_apart,%boomerang_apart,{below};\n\
                 setp.lt.u64 %boomerang_overlap,%boomerang_apart,{numbers};\n@%boomerang_overlap bra {slow};\n",
                base(store),
                base(load)
            );
        }
        let mut sums = String::new();
        for (at, registers) in bases.iter().enumerate() {
            let _ = writeln!(
                sums,
                ".reg .u64 %boomerang_base{at};\nmov.u64 %boomerang_base{at},{};",
                registers[0]
            );
            for other in &registers[1..] {
                let _ = writeln!(sums, "add.u64 %boomerang_base{at},%boomerang_base{at},{other};");
            }
        }
        let original = &body[self.span()];
        let _ = write!(
            out,
            "{{\n.reg .u64 %boomerang_apart;\n.reg .pred %boomerang_overlap;\n{declarations}{sums}{comparisons}{ahead}bra {done};\n{slow}:\n\
             {original}\n{done}:\n}}"
        );
        Some(())
    }

    /// The instructions, in groups whose loads take no more registers than they may.
    fn groups(&self) -> Vec<&[&'c Instruction<'a>]> {
        let mut groups = vec![];
        let (mut begin, mut taken) = (0, 0);
        for (at, instruction) in self.instructions.iter().enumerate() {
            if instruction.name != "ld" {
                continue;
            }
            let width = if self.kinds[instruction.operands[0].text].ends_with("64") { 2 } else { 1 };
            if taken + width > AHEAD {
                groups.push(&self.instructions[begin..at]);
                (begin, taken) = (at, 0);
            }
            taken += width;
        }
        groups.push(&self.instructions[begin..]);
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(turn: &str, end: &str) -> String {
        format!(
            ".version 7.3\n.target sm_52\n.address_size 64\n.visible .func f (.param .u64 %in_ar0)\n{{\n.reg .u64 %r38,%r39,%r41;\n\
             .reg .f64 %r88;\n.reg .f64 %r89;\n.reg .f64 %r90;\n.reg .u32 %r7;\n.reg .pred %r91;\n$L5:\n{turn}{end}@%r91 bra $L5;\nret;\n}}\n"
        )
    }

    /// A turn of a triad as GCC 16.2 unrolls it.
    fn triad(turns: i64) -> String {
        let turn = |at: i64| {
            let at = 256 * at;
            let at = if at == 0 { String::new() } else { format!("+{at}") };
            format!(
                "ld.f64 %r89,[%r41{at}];\nld.f64 %r90,[%r38{at}];\nfma.rn.f64 %r88,%r89,0d4008000000000000,%r90;\nst.f64 [%r39{at}],%r88;\n"
            )
        };
        (0..turns).map(turn).collect()
    }

    const END: &str =
        "add.u64 %r38,%r38,512;\nadd.u64 %r41,%r41,512;\nadd.u64 %r39,%r39,512;\nsetp.ne.u64 %r91,%r38,7;\n";

    #[test]
    fn loads_come_before_stores_that_they_do_not_overlap() {
        let text = ahead(&function(&triad(2), END)).expect("an unrolled loop");
        let expected = "$L5:\n{\n.reg .u64 %boomerang_apart;\n.reg .pred %boomerang_overlap;\n\
            .reg .f64 %boomerang_ahead0;\n.reg .f64 %boomerang_ahead1;\n.reg .f64 %boomerang_ahead2;\n.reg .f64 %boomerang_ahead3;\n\
            .reg .u64 %boomerang_base0;\nmov.u64 %boomerang_base0,%r41;\n.reg .u64 %boomerang_base1;\nmov.u64 %boomerang_base1,%r38;\n\
            .reg .u64 %boomerang_base2;\nmov.u64 %boomerang_base2,%r39;\n\
            sub.u64 %boomerang_apart,%boomerang_base2,%boomerang_base0;\nadd.s64 %boomerang_apart,%boomerang_apart,7;\n\
            setp.lt.u64 %boomerang_overlap,%boomerang_apart,271;\n@%boomerang_overlap bra $boomerang_slow0;\n\
            sub.u64 %boomerang_apart,%boomerang_base2,%boomerang_base1;\nadd.s64 %boomerang_apart,%boomerang_apart,7;\n\
            setp.lt.u64 %boomerang_overlap,%boomerang_apart,271;\n@%boomerang_overlap bra $boomerang_slow0;\n\
            ld.f64 %boomerang_ahead0,[%boomerang_base0+0];\nld.f64 %boomerang_ahead1,[%boomerang_base1+0];\n\
            ld.f64 %boomerang_ahead2,[%boomerang_base0+256];\nld.f64 %boomerang_ahead3,[%boomerang_base1+256];\n\
            fma.rn.f64 %r88,%boomerang_ahead0,0d4008000000000000,%boomerang_ahead1;\nst.f64 [%r39],%r88;\n\
            fma.rn.f64 %r88,%boomerang_ahead2,0d4008000000000000,%boomerang_ahead3;\nst.f64 [%r39+256],%r88;\n\
            mov.f64 %r89,%boomerang_ahead2;\nmov.f64 %r90,%boomerang_ahead3;\nbra $boomerang_done0;\n$boomerang_slow0:\n";
        assert!(text.contains(expected), "{text}");
        assert!(
            text.contains(&format!("{}\n$boomerang_done0:\n}}\n{END}@%r91 bra $L5;\n", triad(2).trim_end())),
            "{text}"
        );
    }

    #[test]
    fn addresses_that_the_block_computes_are_known() {
        // As GCC 14 has it: one register counts, and each address is a sum.
        let turn = "add.u64 %r38,%r39,%r41;\nld.f64 %r89,[%r38];\nadd.u64 %r38,%r41,%r77;\nst.f64 [%r38+8],%r89;\nadd.u64 %r41,%r41,256;\n";
        let text = function(&turn.repeat(3), END).replace(".reg .u32 %r7;", ".reg .u64 %r77;");
        let text = ahead(&text).expect("an unrolled loop");
        let expected = ".reg .u64 %boomerang_base0;\nmov.u64 %boomerang_base0,%r39;\nadd.u64 %boomerang_base0,%boomerang_base0,%r41;\n\
            .reg .u64 %boomerang_base1;\nmov.u64 %boomerang_base1,%r41;\nadd.u64 %boomerang_base1,%boomerang_base1,%r77;\n\
            sub.u64 %boomerang_apart,%boomerang_base1,%boomerang_base0;\n";
        assert!(text.contains(expected), "{text}");
        let expected = "ld.f64 %boomerang_ahead0,[%boomerang_base0+0];\nld.f64 %boomerang_ahead1,[%boomerang_base0+256];\n\
            ld.f64 %boomerang_ahead2,[%boomerang_base0+512];\nadd.u64 %r38,%r39,%r41;\nadd.u64 %r38,%r41,%r77;\n\
            st.f64 [%r38+8],%boomerang_ahead0;\nadd.u64 %r41,%r41,256;\n";
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn what_is_compared_is_whether_any_byte_is_the_same() {
        // Stored: 8 bytes at offsets from -8 on, up to 24. Loaded behind a store: 4 at 100.
        let turn = "st.u64 [%r39+-8],%r38;\nld.u32 %r7,[%r41+100];\nst.u64 [%r39+16],%r38;\nld.global.u32 %r7,[%r41+104];\n";
        let text = ahead(&function(turn, END)).expect("two loads behind stores");
        let number = |before: &str| -> i64 {
            let at = text.find(before).expect("there") + before.len();
            text[at..].split(';').next().and_then(|number| number.parse().ok()).expect("a number")
        };
        let below = number("add.s64 %boomerang_apart,%boomerang_apart,");
        let numbers = number("setp.lt.u64 %boomerang_overlap,%boomerang_apart,");
        for apart in -300..300_i64 {
            let (stored, loaded) = (apart - 8..apart + 24, 100..108);
            let overlap = stored.start < loaded.end && loaded.start < stored.end;
            assert_eq!(((apart + below) as u64) < numbers as u64, overlap, "{apart}");
        }
    }

    #[test]
    fn no_more_loads_are_ahead_than_registers_were_left_for() {
        let text = ahead(&function(&triad(8), END)).expect("an unrolled loop");
        let fast = &text[..text.find("$boomerang_slow0:").expect("there")];
        let order: String = fast
            .lines()
            .filter_map(|line| match line.split('.').next()? {
                "ld" => Some('l'),
                "st" => Some('s'),
                _ => None,
            })
            .collect();
        assert_eq!(order, "llllllllssssllllllllssss");
    }

    #[test]
    fn a_loop_of_any_other_form_stays() {
        let text = function(&triad(2), END);
        assert!(ahead(&text).is_some());
        let others = [
            function(&triad(1), END),
            // In place, one turn reads what the one before has written.
            text.replace("%r41+256", "%r39+4"),
            // Whether the address is known before isn't known.
            text.replace("ld.f64 %r89,[%r41+256]", "shl.b64 %r41,%r41,1;\nld.f64 %r89,[%r41]"),
            text.replace("ld.f64 %r89,[%r41+256]", "add.u64 %r41,%r39,4;\nld.f64 %r89,[%r41]"),
            text.replace("ld.f64 %r89,[%r41+256]", "ld.u64 %r38,[%r41+256]"),
            text.replace("st.f64 [%r39+256]", "membar.gl;\nst.f64 [%r39+256]"),
            text.replace("st.f64 [%r39+256]", "bar.warp.sync 0xffffffff;\nst.f64 [%r39+256]"),
            text.replace("st.f64 [%r39+256]", "st.volatile.f64 [%r39+256]"),
            text.replace("st.f64 [%r39+256]", "st.shared.f64 [%r39+256]"),
            text.replace("st.f64 [%r39+256]", "@%r91 st.f64 [%r39+256]"),
            text.replace("st.f64 [%r39+256]", "$L6:\nst.f64 [%r39+256]"),
            text.replace("st.f64 [%r39+256]", "@%r91 bra $L7;\nst.f64 [%r39+256]"),
            text.replace("ld.f64 %r89,[%r41+256]", "atom.add.u64 %r41,[%r39],1;\nld.f64 %r89,[%r41+256]"),
            text.replace("ld.f64 %r89,[%r41+256]", "ld.volatile.f64 %r89,[%r41+256]"),
            text.replace("ld.f64 %r89,[%r41+256]", "ld.v2.f64 {%r89,%r88},[%r41+256]"),
            text.replace("[%r41", "[variable"),
            text.replace("bra $L5", "bra $L4"),
        ];
        for other in others {
            assert_ne!(other, text);
            assert_eq!(ahead(&other), None, "{other}");
        }
        // One register for both, but apart: there is nothing to compare.
        let text = ahead(&text.replace("%r41", "%r39").replace("%r38", "%r39")).expect("an unrolled loop");
        assert!(!text.contains("setp.lt.u64"), "{text}");
    }
}
