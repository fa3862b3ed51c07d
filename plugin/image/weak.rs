//! Makes weak definitions ordinary ones, and leaves out all but one of a name. An image is all that will ever be linked, so that is
//! what the linker would choose. Compiled code of C++ has hundreds, and the driver's linker crashes over some images with them
//! (docs/gpu-runs.md).

use std::collections::HashMap;

use super::edit::Edit;
use super::items::{Item, Kind, items};

const WEAK: &str = ".weak";

/// For each of `texts` what is to stand in its place, none where it stays as it is. None at all where nothing is weak, or one has a form
/// that isn't known.
pub fn settle(texts: &[&str]) -> Option<Vec<Option<String>>> {
    if !texts.iter().any(|text| text.contains(WEAK)) {
        return None;
    }
    let objects = texts.iter().map(|text| items(text)).collect::<Option<Vec<_>>>()?;
    // Of each name the text whose definition stays: an ordinary one, or the first.
    let mut owners: HashMap<&str, (usize, bool)> = HashMap::new();
    for (number, (text, items)) in texts.iter().zip(&objects).enumerate() {
        for item in items.iter().filter(|item| item.visible && item.defines()) {
            (!item.is_alias(text)).then_some(())?;
            let owner = owners.entry(item.name).or_insert((number, item.weak));
            if owner.1 && !item.weak {
                *owner = (number, false);
            }
        }
    }
    let settled = texts.iter().zip(&objects).enumerate().map(|(number, (text, items))| {
        settle_one(text, items, |name| owners.get(name).map(|(owner, _)| *owner == number))
    });
    Some(settled.collect())
}

/// What becomes of a text. `is_own`: whether the definition of a name that stays is this text's, if there is one.
fn settle_one(text: &str, items: &[Item<'_>], is_own: impl Fn(&str) -> Option<bool>) -> Option<String> {
    let mut edit = Edit::of(text);
    for item in items.iter().filter(|item| item.weak) {
        let Some(is_own) = is_own(item.name) else { continue };
        let start = text[..item.code].rfind(WEAK)?;
        match (is_own, item.kind) {
            (true, _) => edit.replace(start..item.code, ".visible "),
            (false, Kind::Declaration) => edit.replace(start..item.code, ".extern "),
            (false, _) => {
                edit.replace(start..item.span.end, &format!(".extern {};", item.declaration(text)));
            }
        }
    }
    edit.changed()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = ".version 7.3\n.target sm_52\n.address_size 64\n";

    fn settled(texts: &[&str]) -> Vec<String> {
        let settled = settle(texts).expect("known form");
        settled
            .into_iter()
            .zip(texts)
            .map(|(settled, text)| settled.unwrap_or_else(|| text.to_string()))
            .collect()
    }

    fn link(texts: &[String]) -> boomerang_ptx::Program {
        let modules = texts.iter().map(|text| boomerang_ptx::parse(text).expect("well formed"));
        boomerang_ptx::link(modules.collect()).expect("nothing is missing or there twice")
    }

    #[test]
    fn the_first_definition_stays_where_all_are_weak_and_the_ordinary_one_where_there_is_one() {
        let function = |linkage: &str, name: &str| {
            format!(
                "// BEGIN GLOBAL FUNCTION DECL: {name}\n{linkage} .func (.param .u32 %value_out) {name} (.param .u64 %in_ar0);\n\
                     // BEGIN GLOBAL FUNCTION DEF: {name}\n{linkage} .func (.param .u32 %value_out) {name} (.param .u64 %in_ar0)\n{{\nret;\n}}\n"
            )
        };
        let table = ".weak .global .align 8 .u64 table[2] = {f,0 };\n";
        let texts = [
            HEAD.to_owned() + &function(".weak", "f") + &function(".weak", "g") + table,
            HEAD.to_owned() + &function(".weak", "f") + &function(".visible", "g") + table,
            HEAD.to_owned()
                + ".weak .func absent;\n.extern .func (.param .u32 %value_out) g (.param .u64 %in_ar0);\n",
        ];
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let settled = settled(&texts);
        assert_eq!(
            settled[0].matches(".visible .func (.param .u32 %value_out) f (").count(),
            2,
            "{}",
            settled[0]
        );
        assert_eq!(
            settled[0].matches(".extern .func (.param .u32 %value_out) g (.param .u64 %in_ar0);").count(),
            2
        );
        assert!(settled[0].contains("\n.visible .global .align 8 .u64 table[2] = {f,0 };"));
        assert_eq!(
            settled[1].matches(".extern .func (.param .u32 %value_out) f (.param .u64 %in_ar0);").count(),
            2
        );
        assert!(
            settled[1].contains("\n.extern .global .align 8 .u64 table[2];")
                && settled[1].contains(".visible .func (.param .u32 %value_out) g")
        );
        // Nobody defines it.
        assert_eq!(settled[2], texts[2]);
        let linked = link(&settled[..2]);
        assert_eq!((linked.functions.len(), linked.variables.len()), (2, 1));
    }

    #[test]
    fn what_has_nothing_weak_or_an_alias_stays() {
        let plain = HEAD.to_owned() + ".visible .func f\n{\nret;\n}\n";
        assert_eq!(settle(&[&plain]), None);
        let weak = HEAD.to_owned() + ".weak .func g\n{\nret;\n}\n";
        assert!(settle(&[&plain, &weak]).is_some_and(|settled| settled[0].is_none() && settled[1].is_some()));
        assert_eq!(settle(&[&weak, &(plain + ".visible .func twin;\n.alias twin,f;\n")]), None);
    }

    #[test]
    fn a_truncated_text_stays_or_is_settled_and_never_a_panic() {
        let text =
            HEAD.to_owned() + ".weak .func f;\n.weak .global .u32 v[1] = {1 };\n.weak .func f\n{\nret;\n}\n";
        for end in 0..text.len() {
            let _ = settle(&[&text, &text[..end]]);
        }
    }
}
