//! Every module of the corpus parses: the files under `tests/data`, and those of the directories that
//! `BOOMERANG_PTX_CORPUS` lists (separated by colons), which may hold compilers' output that is not ours to commit.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn modules(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("a directory that can be read") {
        let path = entry.expect("an entry that can be read").path();
        if path.is_dir() {
            modules(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "ptx") {
            found.push(path);
        }
    }
}

#[test]
fn every_module_of_the_corpus_parses() {
    let mut directories = vec![PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data"))];
    let others = std::env::var_os("BOOMERANG_PTX_CORPUS").unwrap_or_default();
    directories.extend(std::env::split_paths(&others).filter(|path| !path.as_os_str().is_empty()));
    let mut paths = Vec::new();
    directories.iter().for_each(|directory| modules(directory, &mut paths));

    let (mut failures, mut bytes, mut time) = (Vec::new(), 0, Duration::ZERO);
    for path in &paths {
        let text = std::fs::read_to_string(path).expect("a file that can be read");
        let start = Instant::now();
        let result = boomerang_ptx::parse(&text);
        time += start.elapsed();
        bytes += text.len();
        failures.extend(result.err().map(|error| format!("{}: {error}", path.display())));
    }
    println!("{} modules, {bytes} bytes, {time:?}, {} failures", paths.len(), failures.len());
    assert!(!paths.is_empty());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The directories that `BOOMERANG_PTX_PROGRAMS` lists hold one directory for each program, with its modules.
#[test]
fn every_program_of_the_corpus_links() {
    let directories = std::env::var_os("BOOMERANG_PTX_PROGRAMS").unwrap_or_default();
    let directories = std::env::split_paths(&directories).filter(|path| !path.as_os_str().is_empty());
    let (mut programs, mut failures) = (0, Vec::new());
    for program in directories.flat_map(|path| std::fs::read_dir(path).expect("a directory that can be read"))
    {
        let program = program.expect("an entry that can be read").path();
        let mut paths = Vec::new();
        modules(&program, &mut paths);
        let texts = paths.iter().map(|path| std::fs::read_to_string(path).expect("a file that can be read"));
        let parsed: Result<Vec<_>, _> = texts.map(|text| boomerang_ptx::parse(&text)).collect();
        let linked = parsed
            .map_err(|e| e.to_string())
            .map(|parsed| boomerang_ptx::link(parsed).map_err(|e| e.to_string()));
        programs += 1;
        failures
            .extend(linked.and_then(|program| program).err().map(|e| format!("{}: {e}", program.display())));
    }
    println!("{programs} programs, {} failures", failures.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
