//! Parsing: what a text becomes, and how a wrong one is reported.

use boomerang_ptx::ast::*;
use boomerang_ptx::parse;

const INSTRUCTIONS: &str = include_str!("data/instructions.ptx");

fn module(text: &str) -> Module {
    let text = format!(".version 7.3\n.target sm_70\n.address_size 64\n{text}");
    parse(&text).unwrap_or_else(|error| panic!("{error} in\n{text}"))
}

/// The body of a kernel with some registers declared.
fn body(code: &str) -> Body {
    let text = format!(
        ".visible .entry k (.param .u32 n) {{ .reg .pred %p<2>; .reg .u32 %r<4>; .reg .u64 %d<4>; .reg .f32 %f<4>; {code} }}"
    );
    module(&text).functions.pop().and_then(|function| function.body).expect("a body")
}

/// Where and at which token the parse of a module with this first line after the directives fails, and what it expected.
fn failure(text: &str) -> (u32, u32, String, String) {
    let text = format!(".version 7.3 .target sm_70 .address_size 64\n{text}");
    let error = parse(&text).expect_err("a text that does not parse");
    (error.line, error.column, error.token, error.expected)
}

fn failure_in_body(code: &str) -> (String, String) {
    let text = format!(".func f {{ .reg .pred %p; .reg .u32 %r<4>; .reg .u64 %d;\n{code}\n}}");
    let (line, _, token, expected) = failure(&text);
    assert_eq!(line, 3, "{code}");
    (token, expected)
}

fn register<'a>(body: &'a Body, operand: &Operand) -> &'a Register {
    match operand {
        Operand::Register(id) => &body.registers[id.index()],
        other => panic!("not a register: {other:?}"),
    }
}

#[test]
fn the_header_is_read() {
    let module = parse(INSTRUCTIONS).expect("a module");
    assert_eq!((module.version, module.sm, module.address_size), ((8, 0), 90, 64));
    assert_eq!(module.target_options, ["a", "debug"]);
    assert_eq!(module.files, [File { index: 1, name: "directory/file.c".to_owned() }]);
}

#[test]
fn every_opcode_occurs_in_the_test_data() {
    let module = parse(INSTRUCTIONS).expect("a module");
    let bodies = module.functions.iter().filter_map(|function| function.body.as_ref());
    let found: Vec<_> =
        bodies.flat_map(|body| &body.instructions).map(|instruction| instruction.opcode).collect();
    for opcode in Opcode::ALL {
        assert!(found.contains(opcode), "{opcode}");
    }
}

#[test]
fn a_parameter_keeps_its_attributes() {
    let module = parse(INSTRUCTIONS).expect("a module");
    let kernel = module.functions.iter().find(|function| function.entry).expect("a kernel");
    let [out, structure, count] = kernel.signature.parameters.as_slice() else { panic!("three parameters") };
    assert_eq!(out.pointee, Some(Pointee { space: Some(Space::Global), align: 16 }));
    assert_eq!((structure.align, structure.size()), (8, 16));
    assert_eq!((count.align, count.size()), (4, 4));
    assert_eq!(kernel.bounds.max_threads, Some([256, 2, 1]));
    assert_eq!((kernel.bounds.min_blocks, kernel.bounds.max_registers), (Some(1), Some(64)));
}

#[test]
fn an_operand_means_the_declaration_of_the_innermost_scope() {
    let body = body("mov.u32 %r0, 1; { .reg .u64 %r0; mov.u64 %r0, 2; } mov.u32 %r0, 3;");
    let types: Vec<_> = body.instructions.iter().map(|i| register(&body, &i.operands[0]).ty).collect();
    assert_eq!(types, [Type::U32, Type::U64, Type::U32]);
}

#[test]
fn each_call_scope_has_parameters_of_its_own() {
    let scope = "{ .param .u32 a; st.param.u32 [a], %r0; }";
    let body = body(&format!("{scope} {scope}"));
    let bases: Vec<_> = body.instructions.iter().map(|i| i.operands[0].clone()).collect();
    let local = |id| Operand::Address(Address { base: Base::Symbol(Symbol::Local(LocalId(id))), offset: 0 });
    assert_eq!(bases, [local(0), local(1)]);
}

#[test]
fn a_label_is_found_in_its_scope_and_the_enclosing_ones() {
    let body = body("bra end; { top: bra top; bra end; } { top: bra top; { bra end; } } end: ret;");
    let targets: Vec<_> = body
        .instructions
        .iter()
        .filter_map(|instruction| match instruction.operands.as_slice() {
            [Operand::Label(label)] => Some(body.labels[label.index()].target),
            _ => None,
        })
        .collect();
    assert_eq!(targets, [5, 1, 5, 3, 5]);
}

#[test]
fn instructions_know_their_lines_and_their_sources() {
    let module = module(
        ".file 1 \"a.c\"\n.entry k {\n.loc 1 7 2\n  ret;\n.loc 1 9 1, function_name f, inlined_at 1 8 3\nexit; }",
    );
    let body = module.functions[0].body.as_ref().expect("a body");
    let lines: Vec<_> = body.instructions.iter().map(|instruction| instruction.span.line).collect();
    assert_eq!(lines, [7, 9]);
    let location =
        |index: usize| body.locations[body.instructions[index].location.expect("a location").index()];
    assert_eq!((location(0).line, location(0).inlined_at), (7, None));
    let outer = location(1).inlined_at.expect("an outer location");
    assert_eq!((location(1).line, body.locations[outer.index()].line), (9, 8));
}

#[test]
fn spans_cover_exactly_the_text_of_a_function_and_its_declarations() {
    let text = ".version 7.3\n.target sm_70\n.func f;\n// f\n.visible .func f { ret; }\n.global .u32 v;\n";
    let module = parse(text).expect("a module");
    let slice = |span: Span| &text[span.start as usize..span.end as usize];
    let function = &module.functions[0];
    assert_eq!(slice(function.span), ".visible .func f { ret; }");
    assert_eq!(function.declarations.iter().map(|&span| slice(span)).collect::<Vec<_>>(), [".func f;"]);
    assert_eq!(slice(module.variables[0].span), ".global .u32 v;");
    let instruction = &function.body.as_ref().expect("a body").instructions[0];
    assert_eq!(slice(instruction.span), "ret;");
}

#[test]
fn modifiers_become_values() {
    let body = body(
        "atom.acq_rel.gpu.shared.add.u32 %r0, [%d0], -1; setp.lt.and.s32 %p0|%p1, %r0, %r1, !%p0; cvt.rzi.sat.u32.f32 %r0, %f0;",
    );
    let [atom, setp, cvt] = body.instructions.as_slice() else { panic!("three instructions") };
    let m = &atom.modifiers;
    assert_eq!(
        (m.semantics, m.scope, m.space),
        (Some(Semantics::AcqRel), Some(Scope::Gpu), Some(Space::Shared))
    );
    assert_eq!((m.mode, m.types), (Some(Mode::Atomic(AtomicOp::Add)), [Some(Type::U32), None, None]));
    assert_eq!(atom.operands[2], Operand::Integer(u64::MAX));
    assert_eq!((setp.modifiers.compare, setp.modifiers.combine), (Some(Compare::Lt), Some(BoolOp::And)));
    assert!(matches!(setp.operands[..], [Operand::Pair(Some(_), Some(_)), _, _, Operand::Negated(_)]));
    assert_eq!(cvt.modifiers.types, [Some(Type::U32), Some(Type::F32), None]);
    assert!(cvt.modifiers.flags.sat && !cvt.modifiers.flags.ftz);
    assert_eq!(cvt.modifiers.rounding, Some(Rounding::Rzi));
}

#[test]
fn nested_initialisers_are_padded_to_their_dimensions() {
    use Initial::Integer;
    let module = module(
        ".global .u32 a[2][3] = {{1, 2}, {3}}; .global .u8 b[] = {1, 2, 3}; .global .u32 c[2][2] = {1, 2, 3};",
    );
    let [a, b, c] = module.variables.as_slice() else { panic!("three variables") };
    assert_eq!(a.initializer, [1, 2, 0, 3, 0, 0].map(Integer));
    assert_eq!((a.size(), b.size(), c.size()), (24, 3, 16));
    assert_eq!(c.initializer, [1, 2, 3].map(Integer));
}

#[test]
fn initialisers_hold_addresses_of_every_form() {
    let module = module(
        ".func f; .global .u8 x[8]; .global .u64 a[4] = {f, x+4, generic(x)+1, -1}; .global .u8 b[2] = {0xFF(x), 0xFF00(x)};",
    );
    let x = Symbol::Variable(VariableId(0));
    let address = |symbol, offset, generic, mask| Initial::Address { symbol, offset, generic, mask };
    assert_eq!(
        module.variables[1].initializer,
        [
            address(Symbol::Function(FunctionId(0)), 0, false, None),
            address(x, 4, false, None),
            address(x, 1, true, None),
            Initial::Integer(u64::MAX),
        ]
    );
    assert_eq!(
        module.variables[2].initializer,
        [address(x, 0, false, Some(0xff)), address(x, 0, false, Some(0xff00)),]
    );
}

#[test]
fn variables_of_a_static_space_in_a_function_become_the_modules() {
    let module = module(".func f { .shared .u32 s[4]; .reg .u32 %r; ld.shared.u32 %r, [s]; }");
    assert_eq!(module.variables[0].name, "f::s");
    assert_eq!(module.variables[0].linkage, Linkage::Internal);
}

#[test]
fn errors_name_line_column_token_and_what_was_expected() {
    let error = parse(".version 7.3\n.target sm_70\n.entry k {\n  add.u32x %r;\n}").expect_err("an error");
    assert_eq!(error.to_string(), "line 4, column 6: expected a modifier of `add`, found `.u32x`");
    let error = parse(".version 7.3\n.target sm_70\n.entry k {").expect_err("an error");
    assert!(error.to_string().ends_with("found the end of the text"), "{error}");
}

#[test]
fn wrong_instructions_are_refused_at_the_wrong_token() {
    for (code, token, expected) in [
        ("frobnicate.u32 %r0;", "frobnicate", "a known instruction"),
        ("add.u32 %r0, %r9, 1;", "%r9", "a declared register or symbol, or a special register"),
        ("add.u32 %r0, %r1;", ";", "`add` to have 3 operands at least"),
        ("add.u32 %r0, %r1, %r2, %r3;", ",", "`;`"),
        ("add.u32.u32 %r0, %r1, %r2;", ".u32", "1 type on `add`"),
        ("shl.b8 %r0, %r1, %r2;", ".b8", "a type that `shl` takes"),
        ("slct.u32.u64 %r0, %r1, %r2, %r3;", ".u64", "a type that `slct` takes"),
        ("add %r0, %r1, %r2;", "add", "1 type on `add`"),
        ("cvt.u32 %r0, %r1;", ".u32", "2 types on `cvt`"),
        ("ld.global.shared.u32 %r0, [%d];", ".shared", "a modifier of `ld`"),
        ("add.ftz.ftz.u32 %r0, %r1, %r2;", ".ftz", "a modifier of `add`"),
        ("bra nowhere;", "nowhere", "a label defined in an enclosing scope"),
        ("{ inner: } bra inner;", "inner", "a label defined in an enclosing scope"),
        ("a: a: ret;", "a", "a label not defined before in this scope"),
        (".reg .u32 %r0;", "%r0", "a name not declared before in this scope"),
        ("call g;", "g", "a function declared before, or a register"),
        ("call %d;", ";", "`,` and a prototype or a list of targets"),
        ("@%r0 ret;", "%r0", "a predicate register"),
        ("ld.u32 %r0, [x];", "x", "a declared register or symbol"),
        ("mov.u32 %r0, %tid;", ";", "`.x`, `.y` or `.z`"),
        ("mov.u32 %r0, %r1.x;", ".x", "a component of the register"),
        ("mov.u32 %r0, 0x;", "0x", "a number"),
        ("mov.u32 %r0, \"s\";", "\"s\"", "an operand"),
        ("mov.u32 %r0, %envreg32;", "%envreg32", "a declared register or symbol, or a special register"),
        (".loc 1 2;", ";", "an integer"),
        (".unknown;", ".unknown", "a directive of a function's body"),
    ] {
        assert_eq!(failure_in_body(code), (token.to_owned(), expected.to_owned()), "{code}");
    }
}

#[test]
fn wrong_declarations_are_refused_at_the_wrong_token() {
    for (text, token, expected) in [
        (".global .u32 a; .global .u32 a;", "a", "a name not defined before"),
        (".global .u32 f; .func f;", "f", "a name not declared as something else"),
        (".func f { ret; } .func f { ret; }", "f", "a name not defined before"),
        (".global .align 3 .u32 a;", "3", "a power of two"),
        (".global .u33 a;", ".u33", "a type"),
        (".global .u32 a[2] = {1, 2, 3};", "3", "no more values than the array holds"),
        (".global .u32 a = {{1}};", "{", "a value, not a list, in as many braces as dimensions"),
        (".global .u64 a = b;", "b", "a function or variable declared before"),
        (".global .u8 a[2]; .global .u8 b = 0xFF0(a);", "0xFF0", "a mask that selects one byte, e.g. 0xFF00"),
        (".entry k () .frobnicate 3 {}", ".frobnicate", "a directive of a function"),
        (".section .debug { .b8 1", "", "`}`"),
        ("add.u32;", "add", "a directive"),
        (".surfref s;", ".surfref", "a directive of module scope"),
        (".address_size 16", "16", "32 or 64"),
    ] {
        let (_, _, found, wanted) = failure(text);
        assert_eq!((found.as_str(), wanted.as_str()), (token, expected), "{text}");
    }
}

#[test]
fn sizes_counts_and_depths_are_bounded() {
    let deep = format!(".func f {{ {} }}", "{".repeat(1000));
    let braces = format!(".global .u8 a[2] = {}", "{".repeat(100_000));
    let dimensions = format!(".global .u8 a{};", "[1]".repeat(100));
    let long = format!(".func f {{ .reg .u32 %{}<1000000>; }}", "r".repeat(10_000));
    let statics: String = (0..2000).map(|n| format!(".shared .u32 s{n};")).collect();
    let qualified = format!(".func {} {{ {statics} }}", "f".repeat(100_000));
    for (text, expected) in [
        (".func f { .reg .u32 %r<4000000000>; }", "registers and elements"),
        (".global .u8 a[2][4000000000] = {{1}, {2}};", "registers and elements"),
        (".global .u8 a[4000000000][4000000000];", "a dimension that keeps"),
        (deep.as_str(), "nested scopes"),
        (long.as_str(), "registers and elements"),
        (qualified.as_str(), "registers and elements"),
        (braces.as_str(), "a value, not a list"),
        (dimensions.as_str(), "dimensions"),
        (".func f { .reg .u32 %r; mov.u32 %r, {%r,%r,%r,%r,%r,%r,%r,%r,%r}; }", "elements"),
    ] {
        let (_, _, _, found) = failure(text);
        assert!(found.contains(expected), "{found}");
    }
}
