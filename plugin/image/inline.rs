//! Puts functions of libgomp's into those that call them, where a parallel region or a kernel begins and ends.
//!
//! libgomp's functions lie in objects of their own, and the JIT compiles each function by itself: each keeps registers in memory for its
//! caller, finds the thread's structure anew, and reads again what its caller knows. A parallel region goes through 14 of them.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write;

use super::calls::Call;
use super::code::{Code, Instruction, Statement};
use super::edit::Edit;
use super::items::{Item, Kind, items};
use super::names::MAIN;
use super::tokens::{Known, Scanner, Token};

/// The functions into which others are put.
pub const CALLERS: [&str; 3] = [MAIN, "GOMP_parallel", "GOMP_teams4"];
/// Those that are put into them and into each other.
const CALLED: [&str; 15] = [
    "GOMP_parallel_end",
    "__nvptx_lowlat_init",
    "gomp_dynamic_max_threads",
    "gomp_end_task",
    "gomp_fini_work_share",
    "gomp_free_thread",
    "gomp_init_task",
    "gomp_init_work_share",
    "gomp_new_icv",
    "gomp_new_team",
    "gomp_resolve_num_threads",
    "gomp_team_barrier_wait_end",
    "gomp_team_barrier_wait_final",
    "gomp_team_end",
    "gomp_team_start",
];

/// What each text becomes, if it changes. None where one has a form that isn't known.
pub fn inline(texts: &[&str]) -> Known<Vec<Option<String>>> {
    let objects = texts.iter().map(|text| items(text)).collect::<Option<Vec<_>>>()?;
    let mut functions = HashMap::new();
    for (object, items) in objects.iter().enumerate() {
        for item in items.iter().filter(|item| item.kind == Kind::Definition && CALLED.contains(&item.name)) {
            let function = Function::of(object, texts[object], item);
            // Of two by the same name it isn't known which one is meant.
            let is_only = functions.insert(item.name, function).is_none();
            is_only.then_some(())?;
        }
    }
    let functions = functions.into_iter().filter_map(|(name, function)| Some((name, function?))).collect();
    let mut inliner = Inliner { texts, objects: &objects, functions, count: 0, open: vec![] };
    (0..texts.len()).map(|object| inliner.inline_in(object)).collect()
}

/// A function that can be put into others.
struct Function<'a> {
    object: usize,
    /// Its parameters: their types and names.
    parameters: Vec<(&'a str, &'a str)>,
    /// What it returns by, if it returns anything.
    value: Option<(&'a str, &'a str)>,
    body: &'a str,
    uses: &'a [&'a str],
}

impl<'a> Function<'a> {
    fn of(object: usize, text: &'a str, item: &'a Item<'a>) -> Option<Function<'a>> {
        let head = text[item.code..item.body].strip_prefix(".func")?;
        let (before, after) = head.split_once(item.name)?;
        let value = match &parameters(before)?[..] {
            [] => None,
            [value] => Some(*value),
            _ => return None,
        };
        let body = &text[item.body..item.span.end];
        let has_memory =
            [".local", ".shared .", ".global .", ".const ."].iter().any(|space| body.contains(space));
        (item.visible && !has_memory).then_some(Function {
            object,
            parameters: parameters(after)?,
            value,
            body,
            uses: &item.uses,
        })
    }
}

/// The types and names of parameters: `(.param .u64 %in_ar0, .param .u32 %in_ar1)`.
fn parameters(list: &str) -> Known<Vec<(&str, &str)>> {
    let mut scanner = Scanner::new(list);
    let mut found = vec![];
    while let Some(token) = scanner.token()? {
        if token == Token::Directive(".param") {
            let (Token::Directive(kind), Token::Word(name)) = (scanner.must()?, scanner.must()?) else {
                return None;
            };
            found.push((kind, name));
        }
    }
    Some(found)
}

struct Inliner<'t, 'a> {
    texts: &'t [&'a str],
    objects: &'t [Vec<Item<'a>>],
    functions: HashMap<&'a str, Function<'t>>,
    /// How many calls have been replaced.
    count: usize,
    /// The functions whose bodies are being put somewhere, the innermost last.
    open: Vec<&'a str>,
}

impl<'t, 'a> Inliner<'t, 'a> {
    /// What becomes of a text.
    fn inline_in(&mut self, object: usize) -> Known<Option<String>> {
        let (text, items) = (self.texts[object], &self.objects[object]);
        let is_caller = |item: &&Item<'_>| item.kind == Kind::Definition && CALLERS.contains(&item.name);
        let mut declared: HashSet<&str> = items.iter().map(|item| item.name).collect();
        let mut edit = Edit::of(text);
        for item in items.iter().filter(is_caller) {
            let mut used = BTreeSet::new();
            let body = self.expand(&text[item.body..item.span.end], object, &mut used)?;
            if used.is_empty() {
                continue;
            }
            let mut declarations = String::new();
            for (from, name) in
                used.iter().flat_map(|name| self.functions[name].uses.iter().map(|used| (*name, *used)))
            {
                if declared.insert(name) {
                    declarations += &self.declaration(self.functions[from].object, name);
                }
            }
            edit.replace(item.span.start..item.span.start, &declarations);
            edit.replace(item.body..item.span.end, &body);
        }
        Some(edit.changed())
    }

    /// Declares what a text declares or defines, if it does, for another text.
    fn declaration(&self, object: usize, name: &str) -> String {
        let item = self.objects[object].iter().find(|item| item.name == name);
        item.map_or(String::new(), |item| format!("\n.extern {};\n", item.declaration(self.texts[object])))
    }

    /// A body with calls replaced. What has been put into it goes to `used`.
    fn expand(&mut self, body: &str, object: usize, used: &mut BTreeSet<&'a str>) -> Known<String> {
        let code = Code::of(body)?;
        let mut edit = Edit::of(body);
        for at in 0..code.statements.len() {
            let Some(call) = Call::of(&code, at) else { continue };
            let Some((&name, function)) = self.functions.get_key_value(call.callee) else { continue };
            let fits = function.parameters.len() == call.arguments.len() && !self.open.contains(&name);
            if !fits || !self.is_known_to(function, object) {
                continue;
            }
            used.insert(name);
            let mut instead = String::new();
            self.put(name, &call, object, used, &mut instead)?;
            edit.replace(call.begin..call.end, &instead);
        }
        Some(edit.whole())
    }

    /// Whether all names that a function uses mean the same in this text. What a text alone sees does not.
    fn is_known_to(&self, function: &Function<'_>, object: usize) -> bool {
        let is_own =
            |item: &Item<'_>, name: &str| item.name == name && item.kind == Kind::Definition && !item.visible;
        let mut items = [function.object, object].into_iter().flat_map(|object| &self.objects[object]);
        function.object == object || !items.any(|item| function.uses.iter().any(|name| is_own(item, name)))
    }

    /// Writes what does the same as a call.
    fn put(
        &mut self,
        name: &'a str,
        call: &Call<'_>,
        object: usize,
        used: &mut BTreeSet<&'a str>,
        out: &mut String,
    ) -> Known<()> {
        self.open.push(name);
        let body = self.expand(self.functions[name].body, object, used)?;
        self.open.pop();
        let Function { parameters, value, .. } = &self.functions[name];
        self.count += 1;
        let prefix = format!("boomerang{}_", self.count);
        for ((kind, parameter), argument) in parameters.iter().zip(&call.arguments) {
            let register = renamed(parameter, &prefix);
            write!(out, ".reg {kind} {register};\nmov{kind} {register},{argument};\n").ok()?;
        }
        if let Some((kind, value)) = value {
            writeln!(out, ".reg {kind} {};", renamed(value, &prefix)).ok()?;
        }
        let code = Code::of(&body)?;
        let mut edit = Edit::of(&body);
        for it in code.instructions() {
            let Some(instead) = instead(it, parameters, *value)? else { continue };
            edit.replace(it.span.clone(), &instead);
        }
        rename(&edit.whole(), &code, &prefix, out)?;
        write!(out, "\n${prefix}{END}:").ok()?;
        if let (Some(result), Some((kind, value))) = (call.result, value) {
            write!(out, "\nmov{kind} {result},{};", renamed(value, &prefix)).ok()?;
        }
        Some(())
    }
}

/// The label behind a function's body.
const END: &str = "end";

fn renamed(name: &str, prefix: &str) -> String {
    format!("{}{prefix}{}", &name[..1], &name[1..])
}

/// What stands in a body for an instruction that reads a parameter, sets the value or returns, if it is one.
fn instead(
    it: &Instruction<'_>,
    parameters: &[(&str, &str)],
    value: Option<(&str, &str)>,
) -> Known<Option<String>> {
    let guard = it.guard.map_or(String::new(), |(predicate, is_negated)| {
        format!("@{}{predicate} ", if is_negated { "!" } else { "" })
    });
    let uses =
        |operand: usize, name: &str| it.operands.get(operand).is_some_and(|it| it.names.contains(&name));
    if it.name == "ret" {
        return Some(Some(format!("{guard}bra ${END};")));
    }
    let moved = match it.name {
        "ld" => parameters.iter().find(|(_, name)| uses(1, name)).map(|parameter| (parameter, 0)),
        "st" => value.as_ref().filter(|(_, name)| uses(0, name)).map(|value| (value, 1)),
        _ => None,
    };
    let Some(((kind, name), register)) = moved else { return Some(None) };
    // Whole ones, as GCC passes them.
    let is_whole =
        it.modifiers == format!(".param{kind}") && it.operands[1 - register].text == format!("[{name}]");
    is_whole.then_some(())?;
    let register = it.operands[register].text;
    Some(Some(match it.name {
        "ld" => format!("{guard}mov{kind} {register},{name};"),
        _ => format!("{guard}mov{kind} {name},{register};"),
    }))
}

/// Writes a body with names of its own for its registers and labels, and without what belongs to its file's line numbers.
fn rename(body: &str, code: &Code<'_>, prefix: &str, out: &mut String) -> Known<()> {
    let labels: HashSet<&str> = code
        .statements
        .iter()
        .filter_map(|statement| match statement {
            Statement::Label(name, _) => Some(*name),
            Statement::Instruction(_) => None,
        })
        .collect();
    let is_own = |word: &str| match word.as_bytes()[0] {
        b'$' => labels.contains(word) || word[1..] == *END,
        b'%' => {
            word.starts_with("%in_ar")
                || word == "%value_out"
                || code.registers.iter().any(|register| match register.is_range {
                    true => word
                        .strip_prefix(register.name)
                        .is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit())),
                    false => word == register.name,
                })
        }
        _ => false,
    };
    for line in body.split_inclusive('\n').filter(|line| !line.trim_start().starts_with(".loc")) {
        let mut scanner = Scanner::new(line);
        let mut copied = 0;
        while let Some(token) = scanner.token()? {
            let Token::Word(word) = token else { continue };
            let begin = scanner.at() - word.len();
            let word = word.split('.').next()?;
            if is_own(word) {
                out.push_str(&line[copied..begin]);
                out.push_str(&renamed(word, prefix));
                copied = begin + word.len();
            }
        }
        out.push_str(&line[copied..]);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREAMBLE: &str = ".version 7.3\n.target sm_52\n.address_size 64\n";

    fn parallel() -> String {
        format!(
            "{PREAMBLE}.extern .func (.param .u32 %value_out) gomp_dynamic_max_threads;\n.extern .func gomp_end_task;\n\
             .extern .func (.param .u64 %value_out) gomp_new_team (.param .u32 %in_ar0);\n.visible .func GOMP_parallel (.param .u32 %in_ar0)\n{{\n\
             .reg .u32 %ar0;\nld.param.u32 %ar0,[%in_ar0];\n.reg .u32 %r22;\n.reg .u64 %r23;\n.loc 1 2 3\n{{\n.param .u32 %value_in;\n\
             call (%value_in),gomp_dynamic_max_threads;\nld.param.u32 %r22,[%value_in];\n}}\nadd.u32 %r22,%r22,%ar0;\n{{\n\
             .param .u64 %value_in;\n.param .u32 %out_arg1;\nst.param.u32 [%out_arg1],%r22;\ncall (%value_in),gomp_new_team,(%out_arg1);\n\
             ld.param.u64 %r23,[%value_in];\n}}\nst.u64 [%r23],%r23;\n{{\ncall gomp_end_task;\n}}\nret;\n}}\n"
        )
    }

    /// `end` is `gomp_end_task`'s body.
    fn team(end: &str) -> String {
        format!(
            "{PREAMBLE}.visible .shared .align 8 .u64 nvptx_thrs[1];\n// BEGIN GLOBAL VAR DEF: icv\n\
             .visible .global .align 4 .u32 icv[1] =\n{{7 }};\n.visible .func (.param .u32 %value_out) gomp_dynamic_max_threads\n{{\n\
             .reg .u32 %value;\n.reg .u32 %r22;\n.loc 2 7 1\nld.global.u32 %r22,[icv];\nmov.u32 %value,%r22;\n\
             st.param.u32 [%value_out],%value;\nret;\n}}\n\
             .visible .func (.param .u64 %value_out) gomp_new_team (.param .u32 %in_ar0)\n{{\n.reg .u64 %value;\n.reg .u32 %ar0;\n\
             ld.param.u32 %ar0,[%in_ar0];\n.reg .u64 %r22;\n.reg .u32 %w<2>;\n.reg .pred %r23;\n.reg .v2 .u32 %r92;\nmov.u32 %w0,%tid.y;\n\
             setp.eq.u32 %r23,%ar0,%w0;\nmov.v2.u32 %r92,{{ 0,0 }};\nmov.u32 %r92.x,%ar0;\nld.shared.u64 %r22,[nvptx_thrs];\n\
             @%r23 bra $L3;\nst.v2.u32 [%r22],%r92;\n$L3:\n{{\n.param .u32 %value_in;\ncall (%value_in),gomp_dynamic_max_threads;\n}}\n\
             mov.u64 %value,%r22;\nst.param.u64 [%value_out],%value;\nret;\n}}\n.visible .func gomp_other\n{{\nret;\n}}\n\
             .visible .func gomp_end_task\n{end}\n"
        )
    }

    const END_TASK: &str = "{\n.reg .pred %r22;\n@%r22 ret;\ncall gomp_other;\nexit;\n}";

    fn inlined(parallel: &str, team: &str) -> Option<String> {
        let inlined = inline(&[parallel, team])?;
        assert_eq!(inlined[1], None);
        inlined.into_iter().next()?
    }

    #[test]
    fn functions_stand_in_their_caller_with_names_of_their_own() {
        let (parallel, team) = (parallel(), team(END_TASK));
        let inlined = inlined(&parallel, &team).expect("known");
        let modules = [&inlined, &team].map(|text| boomerang_ptx::parse(text).expect("well formed"));
        boomerang_ptx::link(modules.into()).expect("nothing is missing");
        let body = &inlined[inlined.find("GOMP_parallel").expect("there")..];
        for gone in
            ["gomp_dynamic_max_threads", "gomp_new_team", "gomp_end_task", ".loc 2", "param.u64 [%value_out]"]
        {
            assert!(!body.contains(gone), "{body}");
        }
        for declared in [
            ".extern .shared .align 8 .u64 nvptx_thrs[1];",
            ".extern .global .align 4 .u32 icv[1];",
            ".extern .func gomp_other;",
        ] {
            assert_eq!(inlined.matches(declared).count(), 1, "{inlined}");
        }
        // Three labels behind three bodies and a fourth in one of them, each with a branch to it; and the one of its own.
        assert_eq!((body.matches("end:").count(), body.matches("L3:").count()), (4, 1), "{body}");
        assert!(body.contains("%tid.y") && body.contains("r92.x,") && !body.contains(" %r92"), "{body}");
    }

    #[test]
    fn what_cannot_stand_elsewhere_is_still_called() {
        let (parallel, library) = (parallel(), team(END_TASK));
        let is_called = |name: &str, team: &str| {
            let inlined = inlined(&parallel, team).unwrap_or_else(|| parallel.clone());
            inlined[inlined.find("visible .func GOMP_parallel").expect("there")..].contains(name)
        };
        assert!(!is_called("gomp_end_task", &library));
        // Another one that only its own text sees, memory of its own, or no definition that all texts see.
        let own = library.replace(".visible .func gomp_other", ".func gomp_other");
        assert!(is_called("gomp_end_task", &own) && !is_called("gomp_new_team", &own));
        let other = parallel.clone() + ".func gomp_other\n{\nret;\n}\n";
        assert!(inlined(&other, &library).expect("known").contains("call gomp_end_task;"));
        assert!(is_called("gomp_end_task", &team("{\n.local .align 8 .b8 %x[8];\nret;\n}")));
        assert!(is_called(
            "gomp_end_task",
            &library.replace(".visible .func gomp_end_task", ".func gomp_end_task")
        ));
        let part = library.replace("ld.param.u32 %ar0,[%in_ar0];", "ld.param.u16 %ar0,[%in_ar0];");
        assert_eq!(inline(&[&parallel, &part]), None);
        assert_eq!(inline(&[&parallel, &library, &library]), None, "two by one name");
        let endless = team("{\ncall gomp_end_task;\nret;\n}");
        assert!(is_called("gomp_end_task", &endless));
        for end in 0..library.len() {
            let _ = inline(&[&parallel, &library[..end]]);
        }
    }
}
