//! Whatever text is loaded and run, the process goes on: errors and faults, never a panic, never an endless wait.
//!
//! `PROPTEST_CASES=100000 cargo test --test fuzz` looks longer.

mod support;

use boomerang_gpu::*;
use boomerang_ptx::ast::{Linkage, Module as Ptx, Span};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use support::Gpu;

/// Every opcode, without what is refused.
static INSTRUCTIONS: LazyLock<String> = LazyLock::new(|| {
    let refused = ["vmad.", ", _}", "mov.b128", "%reserved_smem", "barrier.cluster"];
    let all = include_str!("../../ptx/tests/data/instructions.ptx").lines();
    all.filter(|line| !refused.iter().any(|word| line.contains(word))).collect::<Vec<_>>().join("\n")
});
/// What compilers made of small programs.
const COMPILED: [&str; 4] = [
    include_str!("../../ptx/tests/data/gcc14-teams.ptx"),
    include_str!("../../ptx/tests/data/gcc16-simd.ptx"),
    include_str!("../../ptx/tests/data/gcc16-mathematics.ptx"),
    include_str!("../../ptx/tests/data/clang14-kernels.ptx"),
];

/// One for all cases: a panic in one of its threads would show in all that follow.
static GPU: LazyLock<Gpu> = LazyLock::new(|| {
    Gpu::with(DeviceConfig { multiprocessors: 2, workers: 2, seed: 1, ..DeviceConfig::default() })
});

/// How long a kernel that does not end by itself runs.
const PATIENCE: Duration = Duration::from_millis(30);

/// Ends the launch whose flag it was sent, unless that is withdrawn in time.
fn watch(done: Receiver<()>, cancel: &AtomicBool) {
    if done.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
        cancel.store(true, Relaxed);
    }
}

/// Runs a kernel on two blocks of 48 threads, with the address of a buffer for each parameter.
fn run(kernel: &Kernel, buffer: u64) {
    let params = buffer.to_le_bytes().repeat(kernel.params_size().div_ceil(8) as usize);
    let threads = kernel.max_threads().min(48);
    let params = &params[..kernel.params_size() as usize];
    let launch = Launch { kernel, grid: [2, 1, 1], block: [threads, 1, 1], dynamic_shared: 1024, params };
    let cancel = AtomicBool::new(false);
    let (end, done) = channel();
    let result = std::thread::scope(|scope| {
        let flag = &cancel;
        scope.spawn(move || watch(done, flag));
        let result = run_grid(&launch, &cancel);
        // The watcher may have gone already.
        let _ = end.send(());
        result
    });
    if let Err(fault) = result {
        assert!(!fault.to_string().contains("an error of the simulator"), "{fault}");
    }
    GPU.device.drain_printf();
}

/// A module that defines the functions and variables that another one only declares: they do nothing.
fn stubs(text: &str, module: &Ptx) -> String {
    let mut stubs = String::from(".version 7.8 .target sm_90 .address_size 64\n");
    let undefined = module.functions.iter().filter(|f| f.body.is_none() && f.alias.is_none());
    for function in undefined.filter(|f| f.linkage == Linkage::Extern) {
        let Span { start, end, .. } = function.declarations[0];
        let declaration = &text[start as usize..end as usize - 1];
        stubs += &format!("{} {{ ret; }}\n", declaration.replacen(".extern", ".visible", 1));
    }
    for variable in module.variables.iter().filter(|v| v.linkage == Linkage::Extern && v.size() > 0) {
        let Span { start, end, .. } = variable.span;
        stubs += &format!("{}\n", text[start as usize..end as usize].replacen(".extern", ".visible", 1));
    }
    stubs
}

/// Parses, links, loads and runs what can be.
fn process(text: &str) {
    let Ok(module) = boomerang_ptx::parse(text) else { return };
    let stubs = stubs(text, &module);
    let Ok(stub_module) = boomerang_ptx::parse(&stubs) else { return };
    let Ok(program) = boomerang_ptx::link(vec![module, stub_module]) else { return };
    let object = |text: &str| Object { name: "fuzz.ptx".into(), text: text.into() };
    let Ok(module) = Module::load(&program, vec![object(text), object(&stubs)], &GPU.device) else { return };
    let buffer = GPU.buffer(&[0u64; 512]);
    for name in module.kernel_names().take(4) {
        run(&module.kernel(name).expect("it was named"), buffer);
    }
    GPU.memory.free_device(buffer);
}

/// The lines of a text, mixed: some taken out, doubled, swapped, or with a word of another.
fn mutated(text: &str, edits: &[(u8, Index, Index)]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for (kind, first, second) in edits {
        let (a, b) = (first.index(lines.len()), second.index(lines.len()));
        match kind {
            0 => {
                lines.remove(a);
            }
            1 => lines.insert(a, lines[b].clone()),
            2 => lines.swap(a, b),
            _ => lines[a] = with_word_of(&lines[a], &lines[b], first, second),
        }
        if lines.is_empty() {
            break;
        }
    }
    lines.join("\n")
}

/// The words of a line: names, numbers and single characters.
fn words(line: &str) -> Vec<&str> {
    let part_of_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '%' | '_' | '$');
    let mut words = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let length = match part_of_word(first) {
            true => rest.find(|c| !part_of_word(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (word, after) = rest.split_at(length);
        words.push(word);
        rest = after;
    }
    words
}

/// What a word can stand for: registers of one sort, numbers, names, or itself.
fn sort(word: &str) -> &str {
    match word.as_bytes().first() {
        Some(b'%') => word.trim_end_matches(|c: char| c.is_ascii_digit()),
        Some(b'0'..=b'9') => "0",
        Some(b'a'..=b'z') => "a",
        _ => word,
    }
}

/// A line with one of its words replaced by another's, seldom of another sort.
fn with_word_of(line: &str, other: &str, first: &Index, second: &Index) -> String {
    let mut into = words(line);
    if into.is_empty() {
        return other.to_owned();
    }
    let at = first.index(into.len());
    let any = second.index(16) == 0;
    let from: Vec<_> = words(other).into_iter().filter(|w| any || sort(w) == sort(into[at])).collect();
    if !from.is_empty() {
        into[at] = from[second.index(from.len())];
    }
    into.concat()
}

/// The declarations of the corpus's kernel, and its instructions.
fn kernel_of_corpus() -> (String, Vec<&'static str>) {
    let start = INSTRUCTIONS.find(".visible .entry").expect("a kernel");
    let open = start + INSTRUCTIONS[start..].find("\n{").expect("a body") + 2;
    let close = open + INSTRUCTIONS[open..].find("\n}").expect("an end");
    let body: Vec<&str> = INSTRUCTIONS[open..close].lines().collect();
    let code = body.iter().position(|line| line.trim_start().starts_with("add.")).expect("an addition");
    let declarations = body[..code].join("\n");
    let simple = |line: &&str| line.trim_end().ends_with(';') && !line.contains(['{', '}', ':']);
    let goes_on = |line: &&str| !["trap", "brkpt", "exit"].iter().any(|end| line.contains(end));
    let at_top = |line: &&str| !line.starts_with("\t\t");
    let code = body[code..].iter().copied().filter(simple).filter(goes_on).filter(at_top).collect();
    (format!("{}{declarations}", &INSTRUCTIONS[..open]), code)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_mutation_of_a_program_is_run_or_refused(
        text in select([COMPILED.as_slice(), &[INSTRUCTIONS.as_str()]].concat()),
        edits in prop::collection::vec((0..6u8, any::<Index>(), any::<Index>()), 1..6),
    ) {
        process(&mutated(text, &edits));
    }

    #[test]
    fn any_sequence_of_instructions_ends_or_faults(
        picks in prop::collection::vec((any::<Index>(), any::<Index>(), any::<Index>(), 0..8u8), 1..40),
    ) {
        let (head, lines) = kernel_of_corpus();
        let mut code = String::new();
        for (at, (line, first, second, kind)) in picks.iter().enumerate() {
            let line = lines[line.index(lines.len())];
            code += &format!("L{at}: ");
            code += &match kind {
                0 => format!("@%p{} bra L{};\n", first.index(4), second.index(picks.len())),
                1 => format!("@!%p{} {line}\n", first.index(4)),
                2 => format!("setp.lt.u32 %p{}, %r{}, {};\n", first.index(4), second.index(4), first.index(40)),
                3 => format!("mov.u32 %r{}, %laneid;\n", first.index(4)),
                4 => format!("{}\n", with_word_of(line, lines[second.index(lines.len())], first, second)),
                _ => format!("{line}\n"),
            };
        }
        let addresses: String = (0..8).map(|n| format!("ld.param.u64 %d{n}, [out];\n")).collect();
        process(&format!("{head}\n{addresses}{code} ret;\n}}"));
    }
}

#[test]
fn many_threads_may_load_and_run_at_once() {
    let text = Arc::new(COMPILED[0].to_owned());
    std::thread::scope(|scope| {
        for n in 0..4 {
            let text = text.clone();
            scope.spawn(move || process(&mutated(&text, &[]).replace("main", &format!("main{n}"))));
        }
    });
}
