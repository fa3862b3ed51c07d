//! No text makes the parser or the linker panic, or takes them long.

use boomerang_ptx::{link, parse};
use proptest::prelude::*;
use std::time::{Duration, Instant};

const TEXT: &str = include_str!("data/instructions.ptx");

/// Pieces that mean something to the parser, to be put where they do not belong.
const PIECES: &[&str] = &[
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    ",",
    ";",
    ":",
    "|",
    "!",
    "-",
    "+",
    "@",
    "=",
    "_",
    "\"",
    "/*",
    ".",
    "%r0",
    "%p0",
    "%pair.x",
    ".reg",
    ".u32",
    ".param",
    ".global",
    ".func",
    ".entry",
    ".align",
    "call",
    "bra",
    "0x",
    "0f",
    "1e",
    "18446744073709551615",
    "4294967295",
    "<99999999>",
    "[4294967296]",
    "label:",
    ".loc 1 1 1",
    ".pragma",
    "\u{e9}",
];

fn parse_and_link(text: &str) {
    let start = Instant::now();
    if let Ok(module) = parse(text) {
        let _ = link(vec![module.clone(), module]);
    }
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[test]
fn every_truncation_is_parsed_or_refused() {
    (0..TEXT.len()).for_each(|length| parse_and_link(&TEXT[..length]));
}

#[test]
fn the_lack_of_any_one_token_is_survived() {
    let boundaries: Vec<_> = TEXT
        .char_indices()
        .zip(TEXT.chars().skip(1))
        .filter(|&((_, before), after)| before.is_alphanumeric() != after.is_alphanumeric())
        .map(|((index, _), _)| index + 1)
        .collect();
    for pair in boundaries.windows(2) {
        parse_and_link(&format!("{}{}", &TEXT[..pair[0]], &TEXT[pair[1]..]));
    }
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused(text in "\\PC*") {
        parse_and_link(&text);
    }

    #[test]
    fn any_mutation_is_parsed_or_refused(
        edits in prop::collection::vec((0..TEXT.len(), 0..40usize, prop::sample::select(PIECES)), 1..8),
    ) {
        let mut text = TEXT.to_owned();
        for (position, removed, piece) in edits {
            let start = (0..=position.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
            let end = (start + removed..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len());
            text.replace_range(start..end, piece);
        }
        parse_and_link(&text);
    }
}
