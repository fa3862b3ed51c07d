//! Loops that wait for memory to change.
//!
//! GCC makes an atomic read without an order a plain load, which the JIT may take for one of memory that nobody else writes: it has a loop
//! of such loads read once, and where nothing else decides when the loop ends, takes it out. A loop that carries nothing from turn to turn
//! and stores nothing does the same in every turn, until somebody else changes memory. So its loads are made volatile: then they are as
//! relaxed atomic ones of system scope (PTX ISA, ld.volatile). No other loop is touched. One that counts its turns, searches or sums
//! carries something; one that stores, calls, or has a fence or a barrier does not keep the JIT in the belief that memory stays the same.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use super::edit::Edit;
use super::tokens::{Known, Scanner, Token};

/// Instructions that neither change memory nor have other threads seen to do so, besides loads and those that leave the loop.
const ON_REGISTERS: [&str; 38] = [
    "abs",
    "activemask",
    "add",
    "and",
    "bfe",
    "bfi",
    "bfind",
    "brev",
    "clz",
    "cnot",
    "cvt",
    "cvta",
    "div",
    "fma",
    "isspacep",
    "lop3",
    "mad",
    "max",
    "min",
    "mov",
    "mul",
    "neg",
    "not",
    "or",
    "popc",
    "prmt",
    "rem",
    "sad",
    "selp",
    "set",
    "setp",
    "shf",
    "shfl",
    "shl",
    "shr",
    "sub",
    "vote",
    "xor",
];
/// What a load is that the JIT does not merge with others, or whose memory does not change while the kernel runs.
const LEFT: [&str; 9] =
    [".volatile", ".relaxed", ".acquire", ".mmio", ".weak", ".nc", ".param", ".const", ".local"];
/// Cache operators. PTX doesn't let volatile loads have one (PTX ISA, ld).
const CACHED: [&str; 5] = [".ca", ".cg", ".cs", ".lu", ".cv"];

/// `text` with volatile loads in loops that wait for memory. None where there are no such loops, or it has a form that isn't known.
pub fn keep_reading(text: &str) -> Option<String> {
    let mut edit = Edit::of(text);
    loads_to_wait_by(text)?.into_iter().for_each(|at| edit.replace(at..at, ".volatile"));
    edit.changed()
}

/// Behind the `ld` of all loads that loops wait by.
fn loads_to_wait_by(text: &str) -> Known<BTreeSet<usize>> {
    let mut loads = BTreeSet::new();
    // Of the function that the scanner is in, where they stand.
    let mut labels = HashMap::new();
    let mut scanner = Scanner::new(text);
    let mut depth = 0_u32;
    while let Some(token) = scanner.token()? {
        match token {
            Token::Sign(b'{') => depth += 1,
            Token::Sign(b'}') => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    labels.clear();
                }
            }
            Token::Word("bra") => {
                scanner.take_if(|token| matches!(token, Token::Directive(_)))?;
                let Token::Word(target) = scanner.must()? else { return None };
                if let Some(&start) = labels.get(target) {
                    loads.extend(waiting_loads(text, start..scanner.at())?.into_iter().flatten());
                }
            }
            Token::Word(name) if scanner.take_if(|token| token == Token::Sign(b':'))? => {
                labels.insert(name, scanner.at());
            }
            _ => {}
        }
    }
    Some(loads)
}

/// Behind the `ld` of the loads of the loop that stands here, behind its label and up to a branch to it, if it is one and does the same
/// in every turn.
fn waiting_loads(text: &str, at: Range<usize>) -> Known<Option<Vec<usize>>> {
    let text = &text[..at.end];
    let mut targets = HashSet::new();
    loop {
        let known = targets.len();
        let loads = waiting_loads_to(text, at.start, &mut targets)?;
        // Else a branch back has led to where the last look did not go.
        if targets.len() == known {
            return Some(loads);
        }
    }
}

/// As above, in what can be reached from `start`, as far as that is known from the `targets` of branches. Adds to these.
fn waiting_loads_to<'a>(
    text: &'a str,
    start: usize,
    targets: &mut HashSet<&'a str>,
) -> Known<Option<Vec<usize>>> {
    let mut scanner = Scanner::new(text);
    scanner.skip_to(start);
    let (mut loads, mut written, mut carried) = (vec![], HashSet::new(), HashSet::new());
    let (mut is_reached, mut is_end_reached) = (true, false);
    while let Some(token) = scanner.token()? {
        let mut token = token;
        let mut reads = vec![];
        if token == Token::Sign(b'@') {
            scanner.take_if(|token| token == Token::Sign(b'!'))?;
            let Token::Word(guard) = scanner.must()? else { return None };
            reads.push(guard);
            token = scanner.must()?;
        }
        let is_guarded = !reads.is_empty();
        let name = match token {
            Token::Word(name) => name,
            Token::Sign(b'{' | b'}') => continue,
            // Has no semicolon.
            Token::Directive(".loc") => {
                while scanner.take_if(|token| token == Token::Number)? {}
                continue;
            }
            Token::Directive(".reg") => {
                while scanner.must()? != Token::Sign(b';') {}
                continue;
            }
            _ if !is_reached => {
                while scanner.token()?.is_some_and(|token| token != Token::Sign(b';')) {}
                continue;
            }
            _ => return Some(None),
        };
        let behind = scanner.at();
        if scanner.take_if(|token| token == Token::Sign(b':'))? {
            is_reached |= targets.contains(name);
            continue;
        }
        is_end_reached = is_reached;
        let mut is_left = name != "ld";
        let mut operand = loop {
            match scanner.token()? {
                Some(Token::Directive(modifier)) => {
                    is_left |= LEFT.contains(&modifier) || CACHED.contains(&modifier)
                }
                token => break token,
            }
        };
        let leaves = matches!(name, "bra" | "ret" | "exit");
        if is_reached && name == "ld" && !is_left {
            loads.push(behind);
        } else if is_reached && name != "ld" && !leaves && !ON_REGISTERS.contains(&name) {
            return Some(None);
        }
        let (mut writes, mut is_result, mut braces) = (vec![], !leaves, 0);
        // The region ends with its branch, before the semicolon.
        while let Some(token) = operand.filter(|token| *token != Token::Sign(b';')) {
            match token {
                Token::Sign(b'{') => braces += 1,
                Token::Sign(b'}') => braces -= 1,
                Token::Sign(b',') if braces == 0 => is_result = false,
                Token::Word(register) if is_result => writes.push(register),
                Token::Word(register) => reads.push(register),
                _ => {}
            }
            operand = scanner.token()?;
        }
        if is_reached && name == "bra" {
            targets.extend(reads.last());
        } else if is_reached {
            carried.extend(reads.into_iter().filter(|register| !written.contains(register)));
            written.extend(writes);
        }
        is_reached &= is_guarded || !leaves;
    }
    let is_same = carried.is_disjoint(&written);
    Some((is_end_reached && is_same).then_some(loads))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(body: &str) -> Option<String> {
        let text = |body: &str| format!(".func f (.param .u64 %in)\n{{\n.reg .u32 %r1;\n{body}\nret;\n}}\n");
        let kept = keep_reading(&text(body))?;
        Some(kept[text("").len() - "\nret;\n}\n".len()..kept.len() - "\nret;\n}\n".len()].to_owned())
    }

    /// By GCC 16 from two `atomic read`s in `do { ... } while (there < 8 || !let_go)`.
    const READS: &str = "$L2:\nld.u32 %r22,[%r28];\nld.u32 %r23,[%r37];\nsetp.le.s32 %r45,%r22,7;\nselp.u32 %r51,1,0,%r45;\n\
        cnot.b32 %r52,%r23;\nor.b32 %r50,%r51,%r52;\ncvt.u16.u32 %r53,%r50;\nsetp.ne.u16 %r54,%r53,0;\n@%r54 bra $L2;";

    #[test]
    fn a_loop_of_atomic_reads_alone_goes_on_reading() {
        let kept = kept(READS).expect("waits");
        assert!(kept.contains("ld.volatile.u32 %r22,[%r28];\nld.volatile.u32 %r23,[%r37];"), "{kept}");
        assert_eq!(kept.replace(".volatile", ""), READS);
    }

    #[test]
    fn a_loop_with_several_ways_out_goes_on_reading_in_any_form() {
        let body = "$L3:\n.loc 1 2 3\nld.global.u32 %r1,[%r2];\nsetp.eq.u32 %p,%r1,0;\n@!%p bra $L4;\n{\n.reg .u32 %t;\n\
            ld.v2.u32 {%r5,%r6},[%r7+8];\nmov.u32 %t,%r6;\nadd.u32 %r5,%t,%r5;\n}\nsetp.ne.u32 %p,%r5,0;\n@%p ret;\nbra.uni $L3;\n$L4:";
        let kept = kept(body).expect("waits");
        assert!(kept.contains("ld.volatile.global.u32") && kept.contains("ld.volatile.v2.u32"), "{kept}");
    }

    #[test]
    fn loads_with_a_cache_operator_stay_as_they_are() {
        let kept = kept("$L1:\nld.cg.s32 %r129,[zero];\nsetp.ne.u32 %p,%r129,0;\n@%p bra $L1;");
        assert!(kept.is_none_or(|kept| !kept.contains("volatile")));
    }

    #[test]
    fn a_loop_around_one_that_waits_is_its_own() {
        let kept =
            kept(&format!("mov.u32 %n,0;\n$L1:\nld.u32 %r1,[%n];\n{READS}\nadd.u32 %n,%n,1;\nbra $L1;"));
        assert_eq!(kept.expect("waits").matches(".volatile").count(), 2);
    }

    #[test]
    fn loops_that_carry_something_or_act_on_memory_are_left() {
        let search = "$L2:\nld.u32 %r1,[%r2];\nadd.u64 %r2,%r2,4;\nsetp.ne.u32 %p,%r1,%r9;\n@%p bra $L2;";
        let list = "$L2:\nmov.u64 %r3,%r2;\nld.u64 %r2,[%r3];\nsetp.ne.u64 %p,%r2,0;\n@%p bra $L2;";
        let turn = |instruction: &str| {
            format!("$L2:\n{instruction}\nld.u32 %r1,[%r2];\nsetp.ne.u32 %p,%r1,0;\n@%p bra $L2;")
        };
        let acting = [
            "st.u32 [%r5],%r6;",
            "membar.sys;",
            "atom.add.u32 _,[%r28],1;",
            "bar.sync 0;",
            "call f,(%r5);",
            "add.u32 %n,%n,1;",
        ];
        for body in [search, list].map(str::to_owned).into_iter().chain(acting.map(turn)) {
            assert_eq!(kept(&body), None, "{body}");
        }
        assert!(kept(&turn("")).is_some());
        assert_eq!(kept("$L2:\nld.param.u32 %r1,[%in];\nsetp.ne.u32 %p,%r1,0;\n@%p bra $L2;"), None);
    }

    #[test]
    fn a_branch_back_to_code_that_does_not_lead_to_it_is_no_loop() {
        let body = "bra $L3;\n$L2:\nld.u32 %r1,[%r2];\nbra $L4;\n$L3:\nld.u32 %r5,[%r6];\nsetp.eq.u32 %p,%r5,0;\n@%p bra $L2;\n$L4:";
        assert_eq!(kept(body), None);
    }

    #[test]
    fn what_only_a_branch_back_leads_to_belongs_to_the_loop() {
        let body = "$L1:\nbra $L3;\n$L2:\nst.u32 [%r1],%r3;\n$L3:\nld.u32 %r5,[%r6];\nsetp.eq.u32 %p,%r5,0;\n@%p bra $L2;\n\
            setp.eq.u32 %p,%r5,1;\n@%p bra $L1;";
        assert_eq!(kept(body), None);
        assert!(kept(&body.replace("st.u32 [%r1],%r3;", "mov.u32 %r1,0;")).is_some());
    }

    #[test]
    fn labels_belong_to_their_function_and_branches_forward_are_no_loops() {
        let one = ".func f\n{\n$L2:\nret;\n}\n";
        let other = ".func g\n{\nld.u32 %r1,[%r2];\nsetp.ne.u32 %p,%r1,0;\n@%p bra $L2;\nmov.u32 %r3,0;\n$L2:\nret;\n}\n";
        assert_eq!(keep_reading(&format!("{one}{other}")), None);
    }
}
