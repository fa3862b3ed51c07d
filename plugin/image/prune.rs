//! Leaves out of PTX texts what isn't needed: the JIT takes time for every function, and most of what an image has are parts of
//! libgomp and newlib that it doesn't use.

use super::items::Item;
use super::reach::{Need, Reach};

/// The texts that `reach` was made from, without what isn't needed, and without texts of which nothing is.
pub fn prune(texts: &[&str], reach: &Reach<'_>) -> Vec<String> {
    let objects = texts.iter().zip(&reach.objects).zip(&reach.needs);
    let mut pruned: Vec<String> =
        objects.filter_map(|((text, items), needs)| prune_object(text, items, needs)).collect();
    if pruned.is_empty() {
        // The linker wants an object.
        pruned.extend(texts.first().map(|text| text.to_string()));
    }
    pruned
}

fn prune_object(text: &str, items: &[Item<'_>], needs: &[Need]) -> Option<String> {
    let mut pruned = String::with_capacity(text.len());
    let mut defines = false;
    for (item, need) in items.iter().zip(needs) {
        match need {
            Need::None => continue,
            Need::Idle(body) => {
                pruned.push_str(&text[item.span.start..item.body]);
                pruned.push_str(body);
            }
            Need::Whole => pruned.push_str(&text[item.span.clone()]),
        }
        defines |= item.defines();
    }
    pruned.push('\n');
    defines.then_some(pruned)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREAMBLE: &str =
        "// BEGIN PREAMBLE\n.version 7.3\n.target sm_52\n.address_size 64\n// END PREAMBLE\n";

    fn program() -> String {
        format!(
            "{PREAMBLE}// BEGIN GLOBAL FUNCTION DECL: used\n.extern .func (.param .u32 %value_out) used (.param .u64 %in_ar0);\n\
             // BEGIN GLOBAL FUNCTION DECL: absent\n.extern .func absent;\n\
             // BEGIN VAR DEF: $own\n.global .align 4 .u32 $own[1] = {{7 }};\n\
             // BEGIN FUNCTION DECL: unused\n.func unused;\n\
             .visible .entry k (.param .u64 %arg)\n{{\n.reg .u64 %r0;\n.reg .u32 %r1;\ncvta.global.u64 %r0,$own;\n{{\n\
             .param .u32 %value_in;\n.param .u64 %out;\nst.param.u64 [%out],%r0;\n\
             call (%value_in),used,(%out);\nld.param.u32 %r1,[%value_in];\n}}\nret;\n}}\n\
             // BEGIN FUNCTION DEF: unused\n.func unused\n{{\ncall absent;\nret;\n}}\n"
        )
    }

    fn library() -> String {
        format!(
            "{PREAMBLE}// BEGIN GLOBAL FUNCTION DEF: used\n.visible .func (.param .u32 %value_out) used (.param .u64 %in_ar0)\n\
             {{\n.reg .u32 %r1;\nmov.u32 %r1,1;\nst.param.u32 [%value_out],%r1;\nret;\n}}\n\
             // BEGIN GLOBAL VAR DEF: idle\n.visible .global .align 8 .u64 idle[1];\n\
             // BEGIN GLOBAL VAR DEF: looked_up\n.visible .global .align 8 .u64 looked_up[1];\n"
        )
    }

    fn pruned(texts: &[&str]) -> Vec<String> {
        prune(texts, &Reach::of(texts, &["looked_up"]).expect("known form"))
    }

    fn link(texts: &[impl AsRef<str>]) -> boomerang_ptx::Program {
        let parse = |text: &_| boomerang_ptx::parse(AsRef::<str>::as_ref(text)).expect("well formed");
        boomerang_ptx::link(texts.iter().map(parse).collect()).expect("nothing is missing")
    }

    #[test]
    fn what_is_left_links_and_has_only_what_is_needed() {
        let (program, library) = (program(), library());
        let idle = format!("{PREAMBLE}.visible .func never\n{{\nret;\n}}\n");
        let pruned = pruned(&[&idle, &program, &library]);
        assert_eq!(pruned.len(), 2, "an object that nothing is left of is left out");
        let all = pruned.concat();
        for gone in ["absent", "unused", "idle", "never"] {
            assert!(!all.contains(gone), "{gone}: {all}");
        }
        let program = link(&pruned);
        let names: Vec<_> = program.functions.iter().map(|function| function.name.as_str()).collect();
        assert!(["k", "used"].iter().all(|name| names.contains(name)), "{names:?}");
        assert_eq!(program.variables.iter().filter(|variable| variable.name == "looked_up").count(), 1);
    }

    #[test]
    fn an_image_of_which_all_is_needed_stays_as_it_is() {
        let text = library().replace("idle", "$idle");
        let reach = Reach::of(&[&text], &["used", "$idle", "looked_up"]).expect("known form");
        assert_eq!(prune(&[&text], &reach), [text]);
    }

    #[test]
    fn an_idle_function_gets_another_body_and_still_links() {
        let program = program().replace("used", "build_indirect_map");
        let library = library().replace("used", "build_indirect_map").replace("idle", "looked_up_too");
        let pruned = pruned(&[&program, &library]);
        let head = "build_indirect_map (.param .u64 %in_ar0)\n{\nret;\n}";
        assert!(pruned[1].contains(head), "{}", pruned[1]);
        link(&pruned);
    }

    #[test]
    fn an_image_without_kernels_keeps_an_object() {
        let idle = format!("{PREAMBLE}.visible .func never\n{{\nret;\n}}\n");
        assert_eq!(pruned(&[&idle, &idle]), [idle]);
    }
}
