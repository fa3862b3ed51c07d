//! What is and what isn't executed.

mod support;
use boomerang_gpu::{LoadError, Module, Object};
use support::*;

/// The parser's corpus, which holds every opcode.
const CORPUS: &str = include_str!("../../ptx/tests/data/instructions.ptx");

/// The instructions of the corpus that have no executable form.
const UNSUPPORTED: &[&str] = &[
    "vmad: ",
    "mov: the register ReservedSmemOffset",
    "mov: the operand Sink",
    "mov: the type b128",
    "barrier: clusters",
    "barrier: clusters",
];

#[test]
fn every_instruction_of_the_corpus_is_executed_or_refused_by_name() {
    let gpu = Gpu::new();
    let mut text = CORPUS.to_string();
    let mut refused = Vec::new();
    loop {
        let module = boomerang_ptx::parse(&text).expect("the corpus parses");
        let program = boomerang_ptx::link(vec![module]).expect("it links");
        let object = Object { name: "corpus.ptx".into(), text: text.clone() };
        match Module::load(&program, vec![object], &gpu.device) {
            Ok(_) => break,
            Err(LoadError::Unsupported { object, line, what }) => {
                assert_eq!(object, "corpus.ptx");
                refused.push(what);
                let without = |(n, text)| if n + 1 == line as usize { "" } else { text };
                text = text.lines().enumerate().map(without).collect::<Vec<_>>().join("\n");
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(refused.len(), UNSUPPORTED.len(), "{refused:#?}");
    for (what, expected) in refused.iter().zip(UNSUPPORTED) {
        assert!(what.starts_with(expected), "{what} is not {expected}");
    }
}

/// The directories that `BOOMERANG_PTX_PROGRAMS` lists hold one directory for each program, with its modules.
#[test]
fn every_program_of_the_corpus_loads() {
    let gpu = Gpu::new();
    let directories = std::env::var_os("BOOMERANG_PTX_PROGRAMS").unwrap_or_default();
    let directories = std::env::split_paths(&directories).filter(|path| !path.as_os_str().is_empty());
    let entries = |path: &std::path::Path| {
        let entries = std::fs::read_dir(path).expect("a directory that can be read");
        entries.map(|entry| entry.expect("an entry that can be read").path()).collect::<Vec<_>>()
    };
    let (mut programs, mut failures) = (0, Vec::new());
    for program in directories.flat_map(|path| entries(&path)).filter(|path| path.is_dir()) {
        let texts: Vec<_> =
            entries(&program).iter().map(|p| std::fs::read_to_string(p).expect("a text")).collect();
        let parsed: Result<Vec<_>, _> = texts.iter().map(|text| boomerang_ptx::parse(text)).collect();
        let linked = parsed.map_err(|e| e.to_string());
        let linked = linked.and_then(|modules| boomerang_ptx::link(modules).map_err(|e| e.to_string()));
        let object = |text: &String| Object { name: String::new(), text: text.clone() };
        let loaded = linked.and_then(|linked| {
            Module::load(&linked, texts.iter().map(object).collect(), &gpu.device).map_err(|e| e.to_string())
        });
        programs += 1;
        failures.extend(loaded.err().map(|e| format!("{}: {e}", program.display())));
    }
    println!("{programs} programs, {} failures", failures.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
