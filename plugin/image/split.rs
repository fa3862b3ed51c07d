//! Splits large texts. The driver's compiler takes more than twice as long for a text that is twice as large, and most of what it takes
//! more is on one thread: 22.7 s of CPU time for the 2.8 MB that kernels of GCC's for-9.c reach, 14.4 s in four parts, 13.3 in sixteen
//! (nvJitLink 12.9; registers and code as before: it looks at each function by itself).

use std::collections::{HashMap, HashSet};

use super::edit::rename_by;
use super::items::{Item, Kind, items};
use super::tokens::Known;

/// How many bytes the functions of a part may have, where they are more than one.
const PART: usize = 512 << 10;

/// The parts of a text that is large, each a text by itself. None where it is not, or has a form that isn't known. `number` is another one
/// for each text of an image: what only this text could see gets a name with it where parts share it.
pub fn split(text: &str, number: usize) -> Option<Vec<String>> {
    split_by(text, number, PART)
}

fn split_by(text: &str, number: usize, bytes: usize) -> Option<Vec<String>> {
    if text.len() <= bytes {
        return None;
    }
    let text = Text::of(text, items(text)?, bytes)?;
    let count = text.parts.values().max()? + 1;
    if count < 2 {
        return None;
    }
    // What each part uses.
    let mut used = vec![HashSet::new(); count];
    for (item, part) in text.definitions() {
        used[part].extend(item.uses.iter().copied());
    }
    // PTX has no declaration of a kernel.
    let is_used = |item: &Item<'_>| used.iter().any(|used| used.contains(item.name));
    (!text.definitions().any(|(item, _)| item.kind == Kind::Kernel && is_used(item))).then_some(())?;
    // What only this text could see, and several parts use.
    let is_shared = |item: &Item<'_>, own: usize| {
        !item.visible && (0..count).any(|part| part != own && used[part].contains(item.name))
    };
    let shared: HashMap<&str, String> = text
        .definitions()
        .filter(|(item, own)| is_shared(item, *own))
        .map(|(item, _)| (item.name, format!("{}$boomerang{number}", item.name)))
        .collect();
    let part = |(part, used)| {
        let made = text.part(part, used, |name| shared.contains_key(name));
        rename_by(&made, |word| shared.get(word).map(String::as_str))
    };
    used.iter().enumerate().map(part).collect()
}

/// A text, and to which part each item that defines something goes.
struct Text<'t> {
    text: &'t str,
    items: Vec<Item<'t>>,
    parts: HashMap<&'t str, usize>,
}

impl<'t> Text<'t> {
    fn of(text: &'t str, items: Vec<Item<'t>>, bytes: usize) -> Known<Text<'t>> {
        let (functions, variables): (Vec<_>, Vec<_>) =
            items.iter().filter(|item| item.defines()).partition(|item| item.has_body());
        let (mut part, mut filled) = (0, 0);
        let mut parts = HashMap::new();
        // Of each name the first part that uses it.
        let mut users = HashMap::new();
        for function in functions {
            if filled > 0 && filled + function.span.len() > bytes {
                (part, filled) = (part + 1, 0);
            }
            filled += function.span.len();
            function.uses.iter().for_each(|name| {
                users.entry(*name).or_insert(part);
            });
            // A name has one definition.
            parts.insert(function.name, part).is_none().then_some(())?;
        }
        for variable in variables {
            // An alias has to be where its function is.
            (!variable.is_alias(text)).then_some(())?;
            let part = users.get(variable.name).copied().unwrap_or(0);
            parts.insert(variable.name, part).is_none().then_some(())?;
        }
        Some(Text { text, items, parts })
    }

    /// What it defines, with its part.
    fn definitions(&self) -> impl Iterator<Item = (&Item<'t>, usize)> {
        self.items.iter().filter(|item| item.defines()).map(|item| (item, self.parts[item.name]))
    }

    /// The text of a part that uses these names. `is_shared`: what several parts use, and is not visible yet.
    fn part(&self, part: usize, used: &HashSet<&str>, is_shared: impl Fn(&str) -> bool) -> String {
        let (mut head, mut variables, mut functions) = (String::new(), String::new(), String::new());
        for item in &self.items {
            let is_used = used.contains(item.name);
            match (item.kind, self.parts.get(item.name)) {
                (Kind::Header, _) => head += &self.text[item.span.clone()],
                (Kind::Declaration, None) if is_used => head += &self.text[item.span.clone()],
                // What the text defines is declared anew.
                (Kind::Declaration, _) => {}
                (Kind::Definition | Kind::Kernel, own) => {
                    let is_own = own == Some(&part);
                    let linkage = match (is_own, is_shared(item.name)) {
                        (false, _) => "\n.extern ",
                        (true, true) => "\n.visible ",
                        (true, false) => &self.text[item.span.start..item.code],
                    };
                    if is_used && (item.has_body() || !is_own) {
                        head += &format!("{linkage}{};", item.declaration(self.text));
                    }
                    if is_own {
                        let defined = if item.has_body() { &mut functions } else { &mut variables };
                        *defined += linkage;
                        *defined += &self.text[item.code..item.span.end];
                    }
                }
            }
        }
        // Functions use variables.
        head + &variables + &functions + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel and functions that use each other and variables, as GCC writes them, with what a test puts in between.
    fn program(more: &str) -> String {
        format!(
            "// BEGIN PREAMBLE\n.version 7.3\n.target sm_52\n.address_size 64\n// END PREAMBLE\n.file 1 \"<dummy>\"\n\
             // BEGIN FUNCTION DECL: twice\n.func (.param .u32 %value_out) twice (.param .u32 %in_ar0);\n\
             // BEGIN GLOBAL FUNCTION DECL: outer\n.visible .func outer;\n\
             // BEGIN GLOBAL FUNCTION DECL: elsewhere\n.extern .func elsewhere;\n\
             // BEGIN VAR DEF: $LC0\n.const .align 1 .u8 $LC0[4] = {{37,99,0,0 }};\n\
             // BEGIN VAR DEF: state\n.shared .align 8 .u64 state[2];\n\
             // BEGIN GLOBAL VAR DEF: seen\n.visible .global .align 8 .u64 seen[1];\n{more}\
             // BEGIN FUNCTION DEF: twice\n.func (.param .u32 %value_out) twice (.param .u32 %in_ar0)\n{{\n.reg .u32 %r1;\n\
             ld.param.u32 %r1,[%in_ar0];\nadd.u32 %r1,%r1,%r1;\nst.shared.u32 [state],%r1;\nst.param.u32 [%value_out],%r1;\n\
             call outer;\nret;\n}}\n\
             // BEGIN GLOBAL FUNCTION DEF: outer\n.visible .func outer\n{{\n.reg .u64 %r1;\n.reg .u32 %r2;\ncvta.const.u64 %r1,$LC0;\n\
             st.global.u64 [seen],%r1;\nst.shared.u64 [state],%r1;\n{{\n.param .u32 %value_in;\n.param .u32 %out_arg1;\n\
             st.param.u32 [%out_arg1],1;\ncall (%value_in),twice,(%out_arg1);\n}}\ncall elsewhere;\nret;\n}}\n\
             .visible .entry k (.param .u64 %arg)\n{{\n.reg .u64 %r1;\nmov.u64 %r1,twice;\nst.global.u64 [seen],%r1;\nret;\n}}\n"
        )
    }

    const LIBRARY: &str = ".version 7.3\n.target sm_52\n.address_size 64\n.visible .func elsewhere\n{\nret;\n}\n\
         .func twice\n{\nret;\n}\n.visible .func other\n{\ncall twice;\nret;\n}\n";

    #[test]
    fn the_parts_link_to_what_the_text_was() {
        let text = program("");
        let whole = boomerang_ptx::link(
            [&text, LIBRARY].iter().map(|text| boomerang_ptx::parse(text).expect("well formed")).collect(),
        );
        let whole = whole.expect("nothing is missing");
        for (bytes, count) in [(600, 2), (300, 3), (1, 3)] {
            let parts = split_by(&text, 7, bytes).expect("known form");
            assert_eq!(parts.len(), count, "{bytes}");
            let texts = parts.iter().map(String::as_str).chain([LIBRARY]);
            let modules =
                texts.map(|text| boomerang_ptx::parse(text).unwrap_or_else(|e| panic!("{e:?}:\n{text}")));
            let linked = boomerang_ptx::link(modules.collect()).expect("nothing is missing or there twice");
            assert_eq!(linked.functions.len(), whole.functions.len());
            assert_eq!(linked.variables.len(), whole.variables.len());
        }
    }

    #[test]
    fn what_parts_share_gets_a_name_that_no_other_text_has() {
        let parts = split_by(&program(""), 7, 300).expect("known form");
        let all = parts.concat();
        assert!(
            all.contains(".visible .func (.param .u32 %value_out) twice$boomerang7 (.param .u32 %in_ar0)\n{"),
            "{all}"
        );
        assert!(
            all.contains(".extern .func (.param .u32 %value_out) twice$boomerang7 (.param .u32 %in_ar0);")
        );
        assert!(all.contains(".visible .shared .align 8 .u64 state$boomerang7[2];"));
        assert!(all.contains(".extern .shared .align 8 .u64 state$boomerang7[2];"));
        // One part only uses it, and all could see these.
        assert!(all.contains("\n.const .align 1 .u8 $LC0[4] = {37,99,0,0 };") && !all.contains("LC0$"));
        assert!(all.contains("outer\n{") && !all.contains("outer$") && !all.contains("seen$"));
    }

    #[test]
    fn a_small_text_or_one_of_unknown_form_stays_whole() {
        let text = program("");
        assert_eq!(split(&text, 0), None);
        assert_eq!(split_by(&text, 0, text.len()), None);
        for more in [".visible .func twin;\n.alias twin,outer;\n", ".section .debug_info { .b8 1 }\n"] {
            assert_eq!(split_by(&program(more), 0, 400), None, "{more}");
        }
        // A kernel's address.
        assert_eq!(split_by(&program(".visible .global .align 8 .u64 table[1] = {k };\n"), 0, 400), None);
    }

    #[test]
    fn a_truncated_text_stays_whole_or_is_split_and_never_a_panic() {
        let text = program("");
        for end in 0..text.len() {
            let _ = split_by(&text[..end], 0, 100);
        }
    }
}
