//! The test programs and benches of the tree.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::directives::{Directives, Stock};

/// A programming language, by which a compiler is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Language {
    /// C.
    C,
    /// C++.
    Cxx,
    /// Fortran.
    Fortran,
}

/// One test program or bench.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its folder and name: `omp/saxpy`, `benches/latency`.
    pub name: String,
    /// Its main source, relative to the repository; None for a `.test` file.
    pub source: Option<(PathBuf, Language)>,
    /// What its header says.
    pub directives: Directives,
}

impl Program {
    /// The name of the program whose binary is run.
    pub fn binary(&self) -> &str {
        self.directives.program.as_deref().unwrap_or(&self.name)
    }
}

/// The folders below the repository that hold programs and what they include.
pub const FOLDERS: [&str; 3] = ["tests/programs", "benches", "include"];

/// Reads all programs and benches below `tree`, the repository or a copy of its [`FOLDERS`].
pub fn read(tree: &Path) -> Result<Vec<Program>> {
    let mut programs = Vec::new();
    let mut folders = vec![PathBuf::from("benches")];
    for entry in fs::read_dir(tree.join("tests/programs")).context("cannot read tests/programs")? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            folders.push(Path::new("tests/programs").join(entry.file_name()));
        }
    }
    for folder in folders {
        for entry in
            fs::read_dir(tree.join(&folder)).with_context(|| format!("cannot read {}", folder.display()))?
        {
            let path = folder.join(entry?.file_name());
            let kind = path.extension().and_then(OsStr::to_str).and_then(source_kind);
            if let Some(language) = kind {
                let text = fs::read_to_string(tree.join(&path))?;
                programs.extend(program(&path, language, &text).with_context(|| path.display().to_string())?);
            }
        }
    }
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    if let Some(pair) = programs.windows(2).find(|pair| pair[0].name == pair[1].name) {
        bail!("two programs are named {}", pair[0].name);
    }
    Ok(programs)
}

/// Whether a file with this extension can be a program: the language of a source, None in Some for a `.test` file.
fn source_kind(extension: &str) -> Option<Option<Language>> {
    match extension {
        "c" => Some(Some(Language::C)),
        "cc" => Some(Some(Language::Cxx)),
        "f90" => Some(Some(Language::Fortran)),
        "test" => Some(None),
        _ => None,
    }
}

fn program(path: &Path, language: Option<Language>, text: &str) -> Result<Option<Program>> {
    let Some(mut directives) = Directives::parse(text)? else { return Ok(None) };
    let folder = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    if folder == "abi" {
        directives.system_compiler = true;
        directives.stock = Stock::Skipped;
    }
    let source = language.map(|language| (path.to_owned(), language));
    Ok(Some(Program { name: format!("{folder}/{stem}"), source, directives }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_named_after_its_folder_and_file() {
        let path = Path::new("tests/programs/omp/saxpy.f90");
        let found = program(path, Some(Language::Fortran), "! boomerang: checks: x\n").unwrap().unwrap();
        assert_eq!(found.name, "omp/saxpy");
        assert_eq!(found.binary(), "omp/saxpy");
    }

    #[test]
    fn a_test_file_runs_another_programs_binary() {
        let text = "# boomerang: checks: x\n# boomerang: program: omp/saxpy\n";
        let found = program(Path::new("tests/programs/errors/no_device.test"), None, text).unwrap().unwrap();
        assert_eq!((found.name.as_str(), found.binary()), ("errors/no_device", "omp/saxpy"));
    }

    #[test]
    fn abi_programs_are_built_by_the_system_compiler_and_run_with_our_plugin() {
        let text = "// boomerang: checks: x\n";
        let found =
            program(Path::new("tests/programs/abi/copy.c"), Some(Language::C), text).unwrap().unwrap();
        assert!(found.directives.system_compiler && found.directives.ours);
        assert_eq!(found.directives.stock, Stock::Skipped);
    }
}
