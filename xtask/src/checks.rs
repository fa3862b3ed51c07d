//! The checks that cargo makes: generated files, format, lints, tests.

use std::fs;
use std::process::Command;

use anyhow::{Result, bail};

use crate::layout;
use crate::regen;
use crate::shell::{self, progress};
use crate::tally::Tally;

/// Makes them all. A tool that isn't installed counts as skipped, except in CI.
pub fn all() -> Result<Tally> {
    let mut tally = regen::check()?;
    check(&mut tally, "fmt", &["fmt", "--all", "--check"])?;
    check(
        &mut tally,
        "clippy",
        &["clippy", "--release", "--workspace", "--all-targets", "--", "--deny", "warnings"],
    )?;
    let mut test = shell::cargo();
    test.args(["test", "--release", "--workspace", "--no-fail-fast"]);
    tests(&mut tally, "tests of all crates", test)?;
    // With a target folder of its own, for the flag changes every crate.
    let mut models = shell::cargo();
    models.args(["test", "--release", "--test", "loom_slot", "--test", "loom_ring", "--test", "loom_heap"]);
    models.env("RUSTFLAGS", "--cfg loom").env("CARGO_TARGET_DIR", layout::made().join("loom"));
    tests(&mut tally, "model checks", models)?;
    Ok(tally)
}

fn check(tally: &mut Tally, tool: &str, arguments: &[&str]) -> Result<()> {
    if shell::query(shell::cargo().args([tool, "--version"])).is_none() && std::env::var_os("CI").is_none() {
        progress(format!("skipped: cargo {tool} is not installed"));
        tally.skipped += 1;
        return Ok(());
    }
    progress(format!("cargo {tool}"));
    let log = layout::logs().join(format!("cargo-{tool}.log"));
    if shell::status_logged(shell::cargo().args(arguments), &log)?.success() {
        tally.passed += 1;
    } else {
        tally.fail(format!("cargo {tool}: {}\n{}", log.display(), shell::tail(&log, 30)));
    }
    Ok(())
}

/// Runs a `cargo test` and counts what its test binaries say.
fn tests(tally: &mut Tally, what: &str, mut command: Command) -> Result<()> {
    progress(format!("cargo test: {what}"));
    let log = layout::logs().join(format!("cargo-test-{}.log", what.replace(' ', "-")));
    let passed = shell::status_logged(&mut command, &log)?.success();
    let counts = Counts::parse(&fs::read_to_string(&log)?);
    progress(format!(
        "{what}: {} passed, {} failed, {} skipped",
        counts.passed,
        counts.failed.len(),
        counts.ignored
    ));
    tally.passed += counts.passed;
    tally.skipped += counts.ignored;
    if !passed && counts.failed.is_empty() {
        tally.fail(format!("{what}: {}\n{}", log.display(), shell::tail(&log, 30)));
    }
    counts.failed.iter().for_each(|name| tally.fail(format!("{what}: {name} ({})", log.display())));
    if passed && counts.passed == 0 {
        bail!("no test ran among the {what}; see {}", log.display());
    }
    Ok(())
}

/// What cargo test's output says.
#[derive(Debug, Default, PartialEq)]
struct Counts {
    passed: usize,
    ignored: usize,
    failed: Vec<String>,
}

impl Counts {
    fn parse(text: &str) -> Counts {
        let mut counts = Counts::default();
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED")) {
                counts.failed.push(name.to_owned());
            }
            let Some(result) = line.strip_prefix("test result: ") else { continue };
            let number = |word: &str| {
                let before = result.split(word).next().and_then(|text| text.split_whitespace().last());
                before.and_then(|number| number.parse::<usize>().ok()).unwrap_or(0)
            };
            counts.passed += number(" passed");
            counts.ignored += number(" ignored");
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_results_of_all_test_binaries_are_added_up() {
        let text = "test a ... ok\ntest b::c ... FAILED\n\
                    test result: FAILED. 1 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.1s\n\
                    test result: ok. 7 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s\n";
        let counts = Counts { passed: 8, ignored: 2, failed: vec!["b::c".to_owned()] };
        assert_eq!(Counts::parse(text), counts);
    }
}
