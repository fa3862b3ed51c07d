//! `cargo xtask regen`: makes anew what is generated and checked in, by the build script's feature `regenerate`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::layout;
use crate::shell::{self, progress};
use crate::tally::Tally;
use crate::toolchain::write_if_changed;

/// The major version of the clang, Debian 12's, that made what is checked in. Another one makes other text.
const CLANG: &str = "14";

/// Makes all and puts it where it belongs.
pub fn regenerate() -> Result<()> {
    if let Some(reason) = other_clang() {
        progress(format!("beware: {reason}"));
    }
    progress("running the build script");
    for Output { path, text } in generate()? {
        write_if_changed(&layout::repository().join(&path), text)?;
        progress(path.display().to_string());
    }
    Ok(())
}

/// Compares what is checked in with what would be made. Skipped where there is no such clang.
pub fn check() -> Result<Tally> {
    let mut tally = Tally::default();
    if let Some(reason) = other_clang() {
        progress(format!("skipped: comparing what is generated: {reason}"));
        tally.skipped += 1;
        return Ok(tally);
    }
    progress("comparing what is generated with what is checked in");
    for Output { path, text } in generate()? {
        match fs::read_to_string(layout::repository().join(&path)) {
            Ok(old) if old == text => tally.passed += 1,
            _ => tally.fail(format!("{}: not what `cargo xtask regen` makes", path.display())),
        }
    }
    Ok(tally)
}

/// A file that was made.
struct Output {
    /// Relative to the repository.
    path: PathBuf,
    text: String,
}

fn generate() -> Result<Vec<Output>> {
    let folder = layout::made().join("regenerated");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let mut cargo = shell::cargo();
    cargo.args(["check", "--package", "boomerang", "--features", "regenerate"]);
    // With a target folder of its own: the feature changes the crate that others are building.
    cargo.env("CARGO_TARGET_DIR", layout::made().join("regen")).env("BOOMERANG_REGENERATED", &folder);
    let log = layout::logs().join("regen.log");
    shell::status_logged(&mut cargo, &log)?;
    // The script's own word: the rest of the crate may need what is made here before it compiles.
    let complete = folder.join("complete");
    ensure!(
        complete.exists(),
        "the build script failed; the end of {}:\n{}",
        log.display(),
        shell::tail(&log, 20)
    );
    fs::remove_file(complete)?;
    let mut outputs = Vec::new();
    collect(&folder, &folder, &mut outputs)?;
    outputs.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(outputs)
}

fn collect(top: &Path, folder: &Path, outputs: &mut Vec<Output>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("nothing was made in {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            collect(top, &path, outputs)?;
        } else {
            outputs
                .push(Output { path: path.strip_prefix(top)?.to_owned(), text: fs::read_to_string(&path)? });
        }
    }
    Ok(())
}

/// Why the clang that there is won't do.
fn other_clang() -> Option<String> {
    let Some(version) = shell::query(Command::new("clang").arg("--version")) else {
        return Some("clang is not installed".to_owned());
    };
    let found = major(&version).unwrap_or("of an unknown version");
    (found != CLANG).then(|| format!("clang is {found}, and what is checked in was made by clang {CLANG}"))
}

/// The major version in what `clang --version` prints.
fn major(version: &str) -> Option<&str> {
    version.split_once("clang version ")?.1.split('.').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_is_found() {
        assert_eq!(major("Debian clang version 14.0.6\nTarget: x86_64-pc-linux-gnu\n"), Some("14"));
        assert_eq!(major("Ubuntu clang version 18.1.3 (1ubuntu1)\n"), Some("18"));
        assert_eq!(major("gcc 12"), None);
    }
}
