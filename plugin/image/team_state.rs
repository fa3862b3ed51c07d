//! Gives each team its own copy of what libgomp's device library keeps once for the device, though every kernel sets it as it
//! starts: the number of teams (`gomp_num_teams_var`, set by GOMP_teams4) and the ICVs that threads begin with (`gomp_global_icv`,
//! to which `gomp_nvptx_main` stores the kernel's threads a team). GCC's own plugin runs one kernel at a time. Of two that run at
//! once, one would share out its loops among the other's teams, or wait for threads that its blocks don't have.
//!
//! Both become shared variables, as `__gomp_team_num` beside them is one. Such variables have no initial value: `gomp_nvptx_main`,
//! with which every kernel of OpenMP's begins, gives them theirs.

//!
//! The form is that of GCC's texts: a line for each declaration, definition and instruction.

use std::fmt::Write;

/// The variables.
const NAMES: [&str; 2] = ["gomp_global_icv", "gomp_num_teams_var"];
/// Each kernel begins with it. Its first warp sets up the team, while the others wait at a barrier.
const MAIN: &str = ".func gomp_nvptx_main ";
/// Behind this line, declarations may stand.
const PREAMBLE: &str = ".address_size 64\n";

/// A variable as some text defines it.
#[derive(Debug)]
struct Variable<'a> {
    /// `.u64 NAME[ELEMENTS]`
    form: &'a str,
    kind: &'a str,
    name: &'a str,
    values: Vec<&'a str>,
}

/// Makes the variables shared. None where there is nothing to do, or a text has a form that isn't known; else what each text becomes, if
/// it changes.
pub fn share(texts: &[&str]) -> Option<Vec<Option<String>>> {
    let mut defined = Vec::new();
    let shared: Option<Vec<_>> = texts.iter().map(|text| share_in(text, &mut defined)).collect();
    let mut shared = shared?;
    let mut mains = (0..texts.len()).filter(|&i| main_body(texts[i]).is_some());
    let (Some(main), None, false) = (mains.next(), mains.next(), defined.is_empty()) else { return None };
    let text = shared[main].get_or_insert_with(|| texts[main].to_owned());
    let body = main_body(text)?;
    text.insert_str(body, &initialize(&defined)?);
    let preamble = text.find(PREAMBLE)? + PREAMBLE.len();
    // It may have them already.
    for Variable { form, kind, .. } in defined.iter().filter(|v| !texts[main].contains(v.form)) {
        text.insert_str(preamble, &format!(".extern .shared .align {} {form};\n", bytes(kind)?));
    }
    Some(shared)
}

/// Where the body of [`MAIN`] begins, behind the brace. Its declaration may stand before.
fn main_body(text: &str) -> Option<usize> {
    text.match_indices(MAIN).find_map(|(head, _)| {
        let end = head + text[head..].find(['{', ';'])?;
        text[end..].starts_with('{').then_some(end + 1)
    })
}

fn bytes(kind: &str) -> Option<usize> {
    match kind {
        ".u32" => Some(4),
        ".u64" => Some(8),
        _ => None,
    }
}

/// Makes the variables of one text shared. What it defines goes to `defined`. None where it has a form that isn't known.
fn share_in<'a>(text: &'a str, defined: &mut Vec<Variable<'a>>) -> Option<Option<String>> {
    if !NAMES.iter().any(|name| text.contains(name)) {
        return Some(None);
    }
    let mut shared = String::with_capacity(text.len());
    let mut lines = text.split_inclusive('\n');
    while let Some(line) = lines.next() {
        let name = NAMES.into_iter().find(|name| line.contains(name));
        let Some(name) = name.filter(|_| !line.starts_with("//")) else {
            shared.push_str(line);
            continue;
        };
        let (before, after) = line.split_once(".global")?;
        if after.contains(".global") {
            return None;
        }
        let Some(definition) = line.strip_prefix(".visible .global .align ") else {
            write!(shared, "{before}.shared{after}").ok()?;
            continue;
        };
        // `8 .u64 NAME[5] =`, with the values in braces on the next line, or `4 .u32 NAME[1];`
        let (_, form) = definition.trim_end().split_once(' ')?;
        let (kind, elements) = form.split_once(' ')?;
        let count = elements.strip_prefix(name)?.strip_prefix('[')?.split_once(']')?.0.parse().ok()?;
        let (form, values) = match form.strip_suffix(" =") {
            Some(form) => (form, lines.next()?.trim().strip_prefix('{')?.strip_suffix("};")?.split(',')),
            None => (form.strip_suffix(';')?, "".split(',')),
        };
        let mut values: Vec<&str> = values.map(str::trim).filter(|value| !value.is_empty()).collect();
        let numbers = values.iter().all(|value| value.parse::<i64>().is_ok());
        (numbers && values.len() <= count).then_some(())?;
        values.resize(count, "0");
        writeln!(shared, ".visible .shared .align {} {form};", bytes(kind)?).ok()?;
        defined.push(Variable { form, kind, name, values });
    }
    Some(Some(shared))
}

/// Instructions by which the first warp of a team gives the variables their values. All of its lanes do, as with all that GCC has them
/// do.
fn initialize(variables: &[Variable<'_>]) -> Option<String> {
    let mut text =
        "\n{\n.reg .pred %first;\n.reg .u32 %value_u32;\n.reg .u64 %value_u64;\nmov.u32 %value_u32,%tid.y;\n\
                    setp.eq.u32 %first,%value_u32,0;\n"
            .to_owned();
    for Variable { kind, name, values, .. } in variables {
        let register = kind.replace('.', "%value_");
        for (i, value) in values.iter().enumerate() {
            let offset = i * bytes(kind)?;
            writeln!(
                text,
                "mov{kind} {register},{value};\n@%first st.shared{kind} [{name}+{offset}],{register};"
            )
            .ok()?;
        }
    }
    text.push('}');
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str =
        "// BEGIN PREAMBLE\n.version 7.3\n.target sm_52\n.address_size 64\n// END PREAMBLE\n";

    /// What libgomp's members hold of it: definitions, the kernels' main function, and functions that use the variables.
    fn library() -> [String; 3] {
        let env = "// BEGIN GLOBAL VAR DEF: gomp_global_icv\n.visible .global .align 8 .u64 gomp_global_icv[5] =\n\
                   {1,4294967298,-2147483648,256,0 };\n// BEGIN GLOBAL VAR DEF: gomp_num_teams_var\n\
                   .visible .global .align 4 .u32 gomp_num_teams_var[1];\n";
        let team = ".extern .global .align 8 .u64 gomp_global_icv[5];\n.visible .func gomp_nvptx_main (.param .u64 %in_ar0);\n.visible .func gomp_nvptx_main (.param .u64 %in_ar0)\n{\n\
                    .reg .u64 %r1;\n.reg .u32 %r2;\ncvta.global.u64 %r1,gomp_global_icv;\nmov.u32 %r2,%ntid.y;\n\
                    st.u32 [%r1+20],%r2;\nst.global.u32 [gomp_global_icv+20],%r2;\nret;\n}\n";
        let teams = ".extern .global .align 4 .u32 gomp_num_teams_var[1];\n.visible .func (.param .u32 %value_out) omp_get_num_teams\n\
                     {\n.reg .u32 %r1;\nld.global.u32 %r1,[gomp_num_teams_var];\nst.param.u32 [%value_out],%r1;\nret;\n}\n";
        [env, team, teams].map(|text| format!("{HEADER}{text}"))
    }

    fn shared(texts: &[String]) -> Option<Vec<String>> {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let shared = share(&texts)?.into_iter().zip(texts);
        Some(shared.map(|(shared, text)| shared.unwrap_or(text.into())).collect())
    }

    #[test]
    fn the_variables_are_shared_everywhere_and_get_their_values_first() {
        let texts = shared(&library()).expect("known form");
        assert!(texts.iter().all(|text| !text.contains(".global")), "{texts:?}");
        for line in [
            ".extern .shared .align 4 .u32 gomp_num_teams_var[1];\n",
            "mov.u64 %value_u64,4294967298;\n@%first st.shared.u64 [gomp_global_icv+8],%value_u64;\n",
            "mov.u64 %value_u64,-2147483648;\n@%first st.shared.u64 [gomp_global_icv+16],%value_u64;\n",
            "mov.u32 %value_u32,0;\n@%first st.shared.u32 [gomp_num_teams_var+0],%value_u32;\n",
            "cvta.shared.u64 %r1,gomp_global_icv;\n",
        ] {
            assert!(texts[1].contains(line), "{line} in {}", texts[1]);
        }
        let parse = |text: &String| boomerang_ptx::parse(text).expect("well formed");
        boomerang_ptx::link(texts.iter().map(parse).collect()).expect("nothing is missing");
    }

    #[test]
    fn what_is_not_reached_is_not_set() {
        let [env, team, _] = library();
        let env = env.replace(".visible .global .align 4 .u32 gomp_num_teams_var[1];\n", "");
        let texts = shared(&[env, team]).expect("known form");
        assert!(!texts[1].contains("gomp_num_teams_var"), "{}", texts[1]);
    }

    #[test]
    fn texts_without_the_main_function_or_of_another_form_stay_as_they_are() {
        let [env, team, teams] = library();
        assert_eq!(shared(&[env.clone(), teams.clone()]), None, "nobody would set them");
        assert_eq!(shared(&[team.clone(), teams.clone()]), None, "nobody defines them");
        let by_mov =
            teams.replace("ld.global.u32 %r1,[gomp_num_teams_var];", "mov.u64 %r9,gomp_num_teams_var;");
        assert_eq!(shared(&[env.clone(), team.clone(), by_mov]), None);
        let of_bytes = env.replace(".u32 gomp_num_teams_var[1]", ".u8 gomp_num_teams_var[4]");
        assert_eq!(shared(&[of_bytes, team, teams]), None);
    }

    #[test]
    fn truncated_texts_are_left_alone_or_changed_and_never_a_panic() {
        let texts = library();
        for i in 0..texts.len() {
            for end in 0..texts[i].len() {
                let mut cut = texts.clone();
                cut[i].truncate(end);
                let _ = shared(&cut);
            }
        }
    }
}
