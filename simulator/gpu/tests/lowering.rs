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
