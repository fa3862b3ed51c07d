//! Linking of small modules.

use boomerang_ptx::ast::{Callee, Initial, Linkage, Operand, Symbol};
use boomerang_ptx::{Problem, Program, link, parse};

fn try_link(texts: &[&str]) -> Result<Program, Vec<Problem>> {
    let modules = texts.iter().map(|text| {
        let text = format!(".version 7.3\n.target sm_70\n.address_size 64\n{text}");
        parse(&text).unwrap_or_else(|error| panic!("{error} in\n{text}"))
    });
    link(modules.collect()).map_err(|error| error.problems)
}

fn linked(texts: &[&str]) -> Program {
    try_link(texts).expect("modules that link")
}

/// The names of the functions that `caller` calls, with the modules they come from.
fn callees<'a>(program: &'a Program, caller: &str) -> Vec<(&'a str, u32)> {
    let caller = program.functions.iter().find(|f| f.name == caller && f.body.is_some()).expect("a caller");
    let operands = caller.body.iter().flat_map(|b| &b.instructions).flat_map(|i| &i.operands);
    let calls = operands.filter_map(|operand| match operand {
        Operand::Call(call) => Some(call.callee),
        _ => None,
    });
    calls
        .map(|callee| match callee {
            Callee::Direct(id) => {
                let function = &program.functions[id.index()];
                (function.name.as_str(), function.module)
            }
            other => panic!("not a direct call: {other:?}"),
        })
        .collect()
}

#[test]
fn an_extern_declaration_means_the_definition_of_another_module() {
    let program = linked(&[
        ".extern .func f (.param .u32 %x);
         .visible .entry main { .param .u32 %p; call f, (%p); }",
        ".visible .func f (.param .u32 %y) { ret; }",
    ]);
    assert_eq!(callees(&program, "main"), [("f", 1)]);
    assert!(program.functions.iter().all(|f| f.body.is_some()));
}

#[test]
fn names_without_linkage_are_their_modules_own() {
    let module = |entry| {
        format!(".global .u32 v = 1; .func helper {{ ret; }} .visible .entry {entry} {{ call helper; }}")
    };
    let program = linked(&[&module("a"), &module("b")]);
    assert_eq!(callees(&program, "a"), [("helper", 0)]);
    assert_eq!(callees(&program, "b"), [("helper", 1)]);
    assert_eq!(program.variables.len(), 2);
}

#[test]
fn a_visible_definition_wins_over_weak_ones_and_the_first_weak_one_over_the_rest() {
    let weak = ".weak .func f { ret; } .weak .func g { ret; }";
    let program = linked(&[
        weak,
        weak,
        ".visible .func f { ret; } .extern .func g; .visible .entry main { call f; call g; }",
    ]);
    assert_eq!(callees(&program, "main"), [("f", 2), ("g", 0)]);
    assert_eq!(program.functions.len(), 3);
}

#[test]
fn the_largest_of_common_variables_serves() {
    let program =
        linked(&[".common .global .u32 c[2];", ".common .global .u32 c[5];", ".common .global .u32 c[3];"]);
    assert_eq!(program.variables.len(), 1);
    assert_eq!(program.variables[0].size(), 20);
}

#[test]
fn two_definitions_are_reported_with_their_modules() {
    let problems = try_link(&[".visible .func f { ret; }", "", ".visible .func f { ret; }"]).unwrap_err();
    assert_eq!(problems, [Problem::MultipleDefinitions { name: "f".into(), modules: [0, 2] }]);
}

#[test]
fn an_undefined_name_is_reported_with_its_users_once_each() {
    let problems = try_link(&[".extern .func f; .extern .global .u32 v; .extern .func never_used;
         .global .u64 table[2] = {f, f};
         .visible .entry main { .reg .u64 %r; call f; call f; mov.u64 %r, v; }"])
    .unwrap_err();
    let undefined =
        |name: &str, user: &str| Problem::Undefined { name: name.into(), user: user.into(), module: 0 };
    assert_eq!(problems, [undefined("f", "main"), undefined("v", "main"), undefined("f", "table")]);
}

#[test]
fn the_drivers_functions_need_no_definition_but_may_have_one() {
    let user = ".extern .func (.param .b64 r) malloc (.param .b64 size);
        .visible .entry main { .param .b64 r; .param .b64 s; call (r), malloc, (s); }";
    let program = linked(&[user]);
    assert_eq!(callees(&program, "main"), [("malloc", 0)]);
    assert!(program.functions.iter().any(|f| f.name == "malloc" && f.body.is_none()));

    let own = ".visible .func (.param .b64 r) malloc (.param .b64 size) { ret; }";
    assert_eq!(callees(&linked(&[user, own]), "main"), [("malloc", 1)]);
}

#[test]
fn a_declaration_unlike_the_definition_is_reported_with_the_difference() {
    let definition = ".visible .func (.param .b64 r) f (.param .b32 a, .param .b64 b) { ret; }
                      .visible .shared .u64 s[4];";
    let difference = |declaration: &str| match try_link(&[definition, declaration]).unwrap_err().as_slice() {
        [Problem::Mismatch { modules: [0, 1], difference, .. }] => difference.clone(),
        other => panic!("{other:?}"),
    };
    let few = difference(".extern .func (.param .b64 r) f (.param .b32 a);");
    assert_eq!(few, "2 parameters defined, 1 declared");
    let wide = difference(".extern .func (.param .b64 r) f (.param .b32 a, .param .b32 b);");
    assert_eq!(wide, "parameter 2 has 8 bytes as defined, 4 as declared");
    let void = difference(".extern .func f (.param .b32 a, .param .b64 b);");
    assert_eq!(void, "1 return values defined, 0 declared");
    assert_eq!(difference(".extern .shared .u64 s[8];"), "32 bytes defined, 64 declared");
    assert_eq!(difference(".extern .global .u64 s[4];"), "defined in .shared, declared in .global");
    let kernel = difference(".extern .entry f (.param .b32 a, .param .b64 b);");
    assert_eq!(kernel, "a kernel in one, a function in the other");
    assert_eq!(difference(".extern .func s;"), "a function in one, a variable in the other");
    assert!(try_link(&[definition, ".extern .shared .u32 s[];"]).is_ok());
}

#[test]
fn dynamic_shared_memory_stays_extern() {
    let program = linked(&[".extern .shared .u8 pool[];
        .visible .entry main { .reg .u64 %r; mov.u64 %r, pool; }"]);
    assert_eq!(program.variables.len(), 1);
    assert_eq!((program.variables[0].linkage, program.variables[0].size()), (Linkage::Extern, 0));
}

#[test]
fn references_to_an_alias_are_references_to_its_function() {
    let program = linked(&[
        ".visible .func f { ret; } .visible .func g; .alias g, f;",
        ".extern .func g; .visible .entry main { call g; } .global .u64 p = g;",
    ]);
    assert_eq!(callees(&program, "main"), [("f", 0)]);
    let f = program.functions.iter().position(|function| function.name == "f").expect("f") as u32;
    let g = program.functions.iter().find(|function| function.name == "g").expect("g");
    assert_eq!(g.alias.map(|id| id.0), Some(f));
    let Initial::Address { symbol: Symbol::Function(id), .. } = program.variables[0].initializer[0] else {
        panic!("not a function's address")
    };
    assert_eq!(id.0, f);
}

#[test]
fn an_alias_may_stand_before_its_function() {
    let program =
        linked(&[".func f; .func g; .alias g, f; .visible .entry main { call g; } .func f { ret; }"]);
    assert_eq!(callees(&program, "main"), [("f", 0)]);
    let error =
        parse(".version 7.3\n.target sm_70\n.func f; .func g; .alias g, f;").expect_err("no definition");
    assert_eq!((error.expected.as_str(), error.token.as_str()), ("the name of a defined function", "f"));
}

#[test]
fn each_modules_file_table_is_kept() {
    let program = linked(&[".file 1 \"a.c\"", ".file 1 \"b.c\" .visible .entry k { ret; }"]);
    let kernel = &program.functions[0];
    assert_eq!(program.files[kernel.module as usize][0].name, "b.c");
}

#[test]
fn aliases_that_stand_for_each_other_are_reported() {
    let module = |first: &str, second: &str| {
        format!(".weak .func {second} {{ ret; }} .visible .func {first}; .alias {first}, {second};")
    };
    let problems = try_link(&[&module("f", "g"), &module("g", "f")]).unwrap_err();
    assert!(problems.iter().all(|p| matches!(p, Problem::AliasCycle { .. })), "{problems:?}");
}

#[test]
fn many_problems_with_a_long_name_stay_small() {
    let calls: String = (0..2000).map(|n| format!(".extern .func u{n};")).collect();
    let uses: String = (0..2000).map(|n| format!("call u{n};")).collect();
    let problems = try_link(&[&format!("{calls} .func {} {{ {uses} }}", "f".repeat(200_000))]).unwrap_err();
    let bytes: usize = problems.iter().map(|problem| problem.to_string().len()).sum();
    assert!(problems.len() == 2000 && bytes < 1_000_000, "{bytes}");
}

#[test]
fn weak_common_and_extern_variables_join_and_mismatches_are_told() {
    let program = linked(&[
        ".weak .global .u32 w = 1; .common .global .u32 c; .extern .global .u32 v;
         .visible .entry main { .reg .u64 %r<3>; mov.u64 %r0, w; mov.u64 %r1, c; mov.u64 %r2, v; }",
        ".visible .global .u32 w = 2; .visible .global .u32 c = 3; .visible .global .u32 v = 4;",
        ".weak .global .u32 w = 5; .common .global .u32 c;",
    ]);
    let values: Vec<_> = program.variables.iter().map(|v| (v.name.as_str(), v.initializer[0])).collect();
    assert_eq!(values, [("w", Initial::Integer(2)), ("c", Initial::Integer(3)), ("v", Initial::Integer(4))]);
    let problems = try_link(&[".visible .global .u32 v;", ".extern .const .u32 v;"]).unwrap_err();
    assert!(matches!(&problems[..], [Problem::Mismatch { modules: [0, 1], .. }]), "{problems:?}");
}
