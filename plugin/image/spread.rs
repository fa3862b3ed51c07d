//! Shares out among its lanes what a team's first thread does for all threads of its team.
//!
//! As a kernel starts, it clears the array of threads (`gomp_nvptx_main`), and as a parallel region does, it fills in a structure for each
//! thread, one after the other (`gomp_team_start`). All 32 lanes do the same then, as outside of SIMD regions everywhere. Here each lane
//! clears other words, and fills in other threads' structures: what is done for one depends on nothing that is done for
//! another (GCC 13 to 16, libgomp/config/nvptx/team.c).

use std::collections::HashSet;
use std::fmt::Write;

use super::calls::Call;
use super::code::{Code, Instruction, Statement};
use super::edit::Edit;
use super::items::{Item, Kind, items};
use super::names::MAIN;
use super::tokens::Known;

/// Has lanes meet, and memory that one has written be what the others read (PTX ISA, bar.warp.sync). A text that has it is of a PTX
/// version that does.
const MEET: &str = "bar.warp.sync 0xffffffff;";
const LANES: u32 = 32;
/// What the loop calls, and what that calls.
const CALLED: [&str; 2] = ["gomp_init_task", "memcpy"];
/// Instructions that do the same whatever other lanes do.
const ALONE: [&str; 16] = [
    "add", "and", "cvt", "cvta", "ld", "mad", "mov", "mul", "not", "or", "selp", "setp", "shl", "shr", "st",
    "sub",
];

/// What each text becomes, if it changes. None where one that has what the loop calls is of a form that isn't known.
pub fn over_lanes(texts: &[&str]) -> Known<Vec<Option<String>>> {
    let mut starts_alone = true;
    for name in CALLED {
        for text in texts {
            starts_alone &= acts_alone(text, name)?;
        }
    }
    Some(texts.iter().map(|text| share_out(text, starts_alone)).collect())
}

/// Whether a function, if this text defines it, does what it does with any lanes: it waits for none.
fn acts_alone(text: &str, name: &str) -> Known<bool> {
    if !text.contains(name) {
        return Some(true);
    }
    for item in items(text)?.iter().filter(|item| item.kind == Kind::Definition && item.name == name) {
        let code = Code::of(&text[item.body..item.span.end])?;
        let is_alone = |statement: &Statement<'_>| match statement {
            Statement::Instruction(it) => is_alone(it) || matches!(it.name, "bra" | "ret"),
            Statement::Label(..) => true,
        };
        if !code.statements.iter().all(is_alone) {
            return Some(false);
        }
    }
    Some(true)
}

/// Whether an instruction computes, accesses memory or calls one of [`CALLED`].
fn is_alone(it: &Instruction<'_>) -> bool {
    match it.name {
        "call" => it.operands.iter().any(|callee| CALLED.contains(&callee.text)),
        name => ALONE.contains(&name),
    }
}

/// `text` with both shared out, the loop over threads only if that `starts_alone`. None where it has neither, or a form that isn't known.
fn share_out(text: &str, starts_alone: bool) -> Option<String> {
    text.contains(MEET).then_some(())?;
    let items = items(text)?;
    let body = |item: &Item<'_>| item.body..item.span.end;
    let find = |name| items.iter().find(|item| item.kind == Kind::Definition && item.name == name).map(body);
    let changes = [
        find(MAIN).and_then(|span| Some((span.clone(), clear(&text[span])?))),
        find("gomp_team_start")
            .filter(|_| starts_alone)
            .and_then(|span| Some((span.clone(), start(&text[span])?))),
    ];
    let mut changes: Vec<_> = changes.into_iter().flatten().collect();
    changes.sort_by_key(|(span, _)| span.start);
    let mut edit = Edit::of(text);
    changes.into_iter().for_each(|(span, body)| edit.replace(span, &body));
    edit.changed()
}

/// The body of `gomp_nvptx_main` with its call of `memset` shared out, unless something isn't a multiple of 8. All lanes are there, for none
/// has been in a SIMD region yet.
fn clear(body: &str) -> Known<String> {
    let code = Code::of(body)?;
    let mut calls = (0..code.statements.len())
        .filter_map(|at| Call::of(&code, at))
        .filter(|call| call.callee == "memset");
    let (Call { begin, end, arguments, result, .. }, None) = (calls.next()?, calls.next()) else {
        return None;
    };
    let [to, value, bytes] = arguments[..] else { return None };
    let result = result.map_or(String::new(), |result| format!("mov.u64 {result},{to};\n"));
    let mut out = body[..begin].to_owned();
    write!(
        out,
        ".reg .pred %boomerang_p;\n.reg .u32 %boomerang_lane;\n.reg .u64 %boomerang_at,%boomerang_to,%boomerang_word;\n\
         or.b64 %boomerang_at,{to},{bytes};\nand.b64 %boomerang_at,%boomerang_at,7;\nsetp.ne.u64 %boomerang_p,%boomerang_at,0;\n\
         @%boomerang_p bra $boomerang_call;\ncvt.u64.u32 %boomerang_word,{value};\nand.b64 %boomerang_word,%boomerang_word,255;\n\
         mul.lo.u64 %boomerang_word,%boomerang_word,0x0101010101010101;\nmov.u32 %boomerang_lane,%laneid;\n\
         mul.wide.u32 %boomerang_at,%boomerang_lane,8;\n$boomerang_clear:\nsetp.ge.u64 %boomerang_p,%boomerang_at,{bytes};\n\
         @%boomerang_p bra $boomerang_clear_end;\nadd.u64 %boomerang_to,{to},%boomerang_at;\nst.u64 [%boomerang_to],%boomerang_word;\n\
         add.u64 %boomerang_at,%boomerang_at,{};\nbra $boomerang_clear;\n$boomerang_clear_end:\n{MEET}\n{result}bra $boomerang_cleared;\n\
         $boomerang_call:\n{}\n$boomerang_cleared:{}",
        8 * LANES,
        &body[begin..end],
        &body[end..]
    )
    .ok()?;
    Some(out)
}

/// A loop `do ... while (++i != end)` of one block.
struct Loop<'c, 'a> {
    /// Its label, and where its first statement begins.
    label: &'a str,
    begin: usize,
    instructions: Vec<&'c Instruction<'a>>,
    /// What counts its turns, and where that ends.
    counter: &'a str,
    end: &'a str,
    /// What each turn adds to registers that it finds as the last one left them: where that stands, the register, the number.
    steps: Vec<(&'c Instruction<'a>, &'a str, u64)>,
}

impl<'c, 'a> Loop<'c, 'a> {
    /// The loop that begins with this statement if one does whose turns may be made at the same time as far as registers go: each finds
    /// what the one before left only in those that it adds a number to, and nobody else reads what it writes.
    fn of(code: &'c Code<'a>, at: usize) -> Option<Loop<'c, 'a>> {
        let Statement::Label(label, begin) = code.statements[at] else { return None };
        let mut instructions = vec![];
        for statement in &code.statements[at + 1..] {
            let Statement::Instruction(instruction) = statement else { return None };
            instructions.push(instruction);
            if instruction.name == "bra" {
                break;
            }
        }
        let [turn @ .., compare, back] = &instructions[..] else { return None };
        let [(predicate, false), ..] = [back.guard?] else { return None };
        let [condition, counter, end] = &compare.operands[..] else { return None };
        let is_back = back.target() == Some(label) && back.modifiers.is_empty();
        let is_compared =
            (compare.name, compare.modifiers) == ("setp", ".ne.u64") && condition.text == predicate;
        (is_back && is_compared && compare.guard.is_none()).then_some(())?;
        turn.iter().all(|it| it.guard.is_none() && is_alone(it)).then_some(())?;
        // Nobody comes from elsewhere.
        let branches = code.statements.iter().filter(
            |statement| matches!(statement, Statement::Instruction(it) if it.target() == Some(label)),
        );
        (branches.count() == 1).then_some(())?;

        let results = instructions.iter().filter_map(|it| it.result());
        let written: HashSet<&str> = results.flat_map(|to| to.names.iter().copied()).collect();
        let mut known = HashSet::new();
        let mut carried = HashSet::new();
        for it in &instructions {
            carried.extend(it.reads().filter(|name| written.contains(name) && !known.contains(name)));
            known.extend(it.result().into_iter().flat_map(|to| to.names.iter().copied()));
        }
        let mut steps = vec![];
        for it in turn.iter().filter(|it| it.result().is_some_and(|to| carried.contains(to.text))) {
            let [to, from, step] = &it.operands[..] else { return None };
            let is_sum = (it.name, it.modifiers) == ("add", ".u64") && to.text == from.text;
            is_sum.then_some(())?;
            steps.push((*it, to.text, step.text.parse().ok()?));
        }
        let stepped: HashSet<&str> = steps.iter().map(|(_, register, _)| *register).collect();
        let is_counter = steps.iter().any(|(_, register, step)| *register == counter.text && *step == 1);
        (stepped == carried && stepped.len() == steps.len() && is_counter && !written.contains(end.text))
            .then_some(())?;
        let first = instructions.first()?.span.start;
        let last = back.span.end;
        let is_read_elsewhere = code.instructions().any(|it| {
            !(first..last).contains(&it.span.start) && it.reads().any(|name| written.contains(name))
        });
        (!is_read_elsewhere).then_some(Loop {
            label,
            begin,
            counter: counter.text,
            end: end.text,
            steps,
            instructions,
        })
    }
}

/// The body of `gomp_team_start` with its loop over threads shared out, where the team's first thread is in no SIMD region. Each lane makes
/// each 32nd turn. The loop is for teams of two threads or more, and begins with the second.
fn start(body: &str) -> Known<String> {
    let code = Code::of(body)?;
    let mut loops = (0..code.statements.len()).filter_map(|at| Loop::of(&code, at));
    let (Loop { label, begin, instructions, counter, end, steps }, None) = (loops.next()?, loops.next())
    else {
        return None;
    };
    let [.., compare, back] = instructions[..] else { return None };
    let calls = instructions.iter().filter(|it| it.name == "call");
    calls.map(|it| it.operands[0].text).eq([CALLED[0]]).then_some(())?;
    let before = body[..begin].strip_suffix(':')?.strip_suffix(label)?.len();
    let mut out = body[..before].to_owned();
    out += ".reg .pred %boomerang_all,%boomerang_p;\n.reg .u32 %boomerang_lane;\n.reg .u64 %boomerang_turn,%boomerang_step,%boomerang_uni;\n\
            mov.u32 %boomerang_lane,%tid.y;\nmul.wide.u32 %boomerang_turn,%boomerang_lane,4;\nmov.u64 %boomerang_uni,__nvptx_uni;\n\
            add.u64 %boomerang_uni,%boomerang_uni,%boomerang_turn;\nld.shared.u32 %boomerang_lane,[%boomerang_uni];\n\
            setp.eq.u32 %boomerang_all,%boomerang_lane,0;\nmov.u32 %boomerang_lane,%laneid;\ncvt.u64.u32 %boomerang_turn,%boomerang_lane;\n\
            selp.b64 %boomerang_turn,%boomerang_turn,0,%boomerang_all;\n";
    writeln!(out, "selp.b64 %boomerang_step,{LANES},1,%boomerang_all;").ok()?;
    for (_, register, step) in &steps {
        writeln!(out, "mad.lo.u64 {register},%boomerang_turn,{step},{register};").ok()?;
    }
    write!(out, "setp.ge.u64 %boomerang_p,{counter},{end};\n@%boomerang_p bra $boomerang_started;\n{label}:")
        .ok()?;
    let mut copied = begin;
    for (it, register, step) in &steps {
        out += &body[copied..it.span.start];
        write!(out, "mad.lo.u64 {register},%boomerang_step,{step},{register};").ok()?;
        copied = it.span.end;
    }
    out += &body[copied..compare.span.start];
    let predicate = compare.operands[0].text;
    write!(
        out,
        "setp.lt.u64 {predicate},{counter},{end};{}\n$boomerang_started:\n@%boomerang_all {MEET}{}",
        &body[compare.span.end..back.span.end],
        &body[back.span.end..]
    )
    .ok()?;
    Some(out)
}

#[cfg(test)]
mod tests {
    /// A loop as GCC 13 to 16 write it, and a call of `memset`.
    fn text() -> String {
        ".version 7.3\n.target sm_52\n.address_size 64\n.extern .shared .u32 __nvptx_uni[32];\n\
         .extern .func gomp_init_task (.param .u64 %in_ar0, .param .u64 %in_ar1);\n\
         .extern .func (.param .u64 %value_out) memset (.param .u64 %in_ar0, .param .u32 %in_ar1, .param .u64 %in_ar2);\n\
         .visible .func gomp_team_start (.param .u64 %in_ar0, .param .u64 %in_ar1)\n{\n.reg .u64 %r45;\n.reg .u64 %r46;\n.reg .u64 %r54;\n\
         .reg .u64 %r60;\n.reg .u64 %r32;\n.reg .u64 %r47;\n.reg .pred %r105;\nld.param.u64 %r60,[%in_ar0];\nld.param.u64 %r54,[%in_ar1];\n\
         add.u64 %r45,%r60,1240;\nmov.u64 %r46,1;\n$L5:\n.loc 1 2 3\nshl.b64 %r47,%r46,3;\nadd.u64 %r47,%r60,%r47;\nst.u64 [%r47],%r46;\n\
         add.u64 %r32,%r45,-40;\n{\n.param .u64 %out_arg1;\nst.param.u64 [%out_arg1],%r32;\n.param .u64 %out_arg2;\n\
         st.param.u64 [%out_arg2],%r60;\ncall gomp_init_task,(%out_arg1,%out_arg2);\n}\nst.u64 [%r45],%r60;\nadd.u64 %r46,%r46,1;\n\
         add.u64 %r45,%r45,224;\nsetp.ne.u64 %r105,%r46,%r54;\n@%r105 bra $L5;\n$L7:\nbar.warp.sync 0xffffffff;\nret;\n}\n\
         .visible .func gomp_nvptx_main\n{\n.reg .u64 %r80;\n.reg .u64 %r82;\n.reg .u64 %r97;\n.reg .u32 %r68;\nmov.u64 %r82,896;\n\
         mov.u32 %r68,0;\nmov.u64 %r80,4096;\n{\n.param .u64 %value_in;\n.param .u64 %out_arg1;\nst.param.u64 [%out_arg1],%r80;\n\
         .param .u32 %out_arg2;\nst.param.u32 [%out_arg2],%r68;\n.param .u64 %out_arg3;\nst.param.u64 [%out_arg3],%r82;\n\
         call (%value_in),memset,(%out_arg1,%out_arg2,%out_arg3);\nld.param.u64 %r97,[%value_in];\n}\nret;\n}\n"
            .to_owned()
    }

    fn over_lanes(text: &str) -> Option<String> {
        super::over_lanes(&[text])?.pop().flatten()
    }

    #[test]
    fn each_lane_starts_other_threads_and_clears_other_words() {
        let spread = over_lanes(&text()).expect("known");
        boomerang_ptx::parse(&spread).expect("well formed");
        for part in [
            "mad.lo.u64 %r46,%boomerang_turn,1,%r46;\nmad.lo.u64 %r45,%boomerang_turn,224,%r45;\n\
             setp.ge.u64 %boomerang_p,%r46,%r54;\n@%boomerang_p bra $boomerang_started;\n$L5:\n",
            "mad.lo.u64 %r46,%boomerang_step,1,%r46;\nmad.lo.u64 %r45,%boomerang_step,224,%r45;\n\
             setp.lt.u64 %r105,%r46,%r54;\n@%r105 bra $L5;\n$boomerang_started:\n@%boomerang_all bar.warp.sync 0xffffffff;\n$L7:",
            "bar.warp.sync 0xffffffff;\nmov.u64 %r97,%r80;\nbra $boomerang_cleared;\n$boomerang_call:\nst.param.u64 [%out_arg1],%r80;",
            "ld.param.u64 %r97,[%value_in];\n$boomerang_cleared:\n}",
        ] {
            assert!(spread.contains(part), "{spread}");
        }
    }

    #[test]
    fn turns_that_need_the_one_before_are_made_one_after_the_other() {
        let text = text();
        for (from, to) in [
            ("add.u64 %r45,%r45,224;", "add.u64 %r45,%r45,%r60;"),
            ("add.u64 %r45,%r45,224;", "ld.u64 %r45,[%r45];"),
            ("add.u64 %r45,%r45,224;", "add.u64 %r45,%r45,224;\nadd.u64 %r60,%r60,%r47;"),
            ("add.u64 %r46,%r46,1;", "add.u64 %r46,%r46,2;"),
            ("setp.ne.u64", "setp.gt.u64"),
            ("st.u64 [%r45],%r60;", "@%r105 st.u64 [%r45],%r60;"),
            ("st.u64 [%r45],%r60;", "$L6:"),
            ("call gomp_init_task", "call gomp_other"),
            ("st.u64 [%r45],%r60;", "bar.sync 0;"),
            // Somebody needs what the last turn left.
            ("$L7:", "$L7:\nst.u64 [%r60],%r47;"),
            // Somebody comes from elsewhere.
            ("$L7:", "$L7:\n@%r105 bra $L5;"),
        ] {
            let other = text.replacen(from, to, 1);
            assert!(over_lanes(&other).is_none_or(|spread| !spread.contains("started")), "{to}");
        }
        assert_eq!(over_lanes(&text.replace("bar.warp.sync", "bar.sync")), None, "lanes can't meet");
        let is_started_with = |called: &str| {
            let task = format!(".visible .func gomp_init_task\n{{\n{called}\nret;\n}}\n");
            super::over_lanes(&[&task, &text]).expect("known")[1]
                .as_ref()
                .is_some_and(|spread| spread.contains("started"))
        };
        assert!(is_started_with("call memcpy,(%o);") && !is_started_with("call malloc,(%o);"));
        assert!(!is_started_with("shfl.sync.idx.b32 %r1,%r1,%r2,31,0xffffffff;"));
        for end in 0..text.len() {
            let _ = over_lanes(&text[..end]);
        }
    }

    #[test]
    fn a_function_that_clears_more_than_that_stays_as_it_is() {
        let text = text();
        let call =
            &text[text.find("{\n.param .u64 %value_in").expect("there")..text.len() - "ret;\n}\n".len()];
        for other in [text.replace(call, &call.repeat(2)), text.replace("memset", "memmove")] {
            assert!(over_lanes(&other).is_some_and(|spread| !spread.contains("cleared")), "{other}");
        }
    }
}
