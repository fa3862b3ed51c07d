//! `cargo xtask conformance`: GCC's own tests of libgomp, as far as they are about offloading.
//!
//! tests/conformance/build.py reads their directives and compiles them, run.py runs and judges them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::Deserialize;

use crate::dist;
use crate::expectations::{self, Known, Outcome, Verdict};
use crate::gcc_source;
use crate::gpu;
use crate::layout;
use crate::machine::{Machine, Plugin};
use crate::run;
use crate::schedule::processors;
use crate::shell::{self, progress};
use crate::tally::Tally;
use crate::toolchain::Toolchain;

/// Seconds that each test is given, if its directives do not give it more. On a GPU it's the limit that the recorded
/// results of the stock plugin were made with; on the simulator, one that a machine with two busy processors keeps to.
const GPU_LIMIT: u32 = 30;
const SIMULATOR_LIMIT: u32 = 300;
/// Programs at once on a GPU, at most: more would wait for each other's turns.
const GPU_WORKERS: usize = 8;
/// `cargo xtask test` runs the first of so many tests, and so on: with compiling two minutes on two idle processors.
const PART: usize = 4;

/// What the command line may say.
#[derive(Clone, Debug, Default)]
pub struct Options {
    selection: Selection,
    with_stock: bool,
    on_gpu: bool,
}

/// Which tests.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// The suites, such as `libgomp.c`; none for all.
    suites: Vec<String>,
    /// Only those whose name matches this expression of Python's.
    only: Option<String>,
    /// Only the first of so many of these, and so on.
    every: Option<usize>,
}

impl Options {
    /// Takes the option `--name=value`.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match (name, value) {
            ("suite", _) => self.selection.suites.push(value.to_owned()),
            ("only", _) => self.selection.only = Some(value.to_owned()),
            ("plugin", "ours" | "stock") => self.with_stock = value == "stock",
            ("plugin", _) => bail!("--plugin is ours or stock, not {value:?}"),
            ("device", "sim" | "gpu") => self.on_gpu = value == "gpu",
            ("device", _) => bail!("--device is sim or gpu, not {value:?}"),
            _ => bail!("there is no option --{name}"),
        }
        Ok(())
    }
}

/// Where tests run.
pub struct Place {
    /// The compiler that built them.
    pub gcc: u32,
    /// The libraries.
    pub machine: Machine,
    /// The folder with run.py and the expectations.
    pub scripts: PathBuf,
    /// The folder for results.
    pub results: PathBuf,
}

#[derive(Deserialize)]
struct Results {
    tests: Vec<Outcome>,
}

/// The command.
pub fn conformance(gcc: Option<u32>, options: &Options) -> Result<ExitCode> {
    if options.on_gpu {
        gpu::find().map_err(|why| anyhow!("there is no GPU here: {why}"))?;
    }
    ensure!(has_python(), "python3 is missing: it compiles and runs the tests");
    let toolchain = Toolchain::provide(gcc)?;
    let machine = Machine::new(&toolchain, &dist::build()?, !options.on_gpu);
    let bundle = build(&toolchain, &options.selection)?;
    let plugin = if options.with_stock { Plugin::Stock } else { Plugin::Ours };
    let tally = Place::here(&toolchain, machine).run(&bundle, plugin)?;
    Ok(tally.finish())
}

/// The part that `cargo xtask test` runs, chosen evenly from all suites.
pub fn part(toolchain: &Toolchain, machine: &Machine) -> Result<Tally> {
    if !has_python() && std::env::var_os("CI").is_none() {
        progress("skipped: GCC's tests of libgomp, for python3 is not installed");
        let mut tally = Tally::default();
        tally.skipped += 1;
        return Ok(tally);
    }
    let bundle = build(toolchain, &Selection { every: Some(PART), ..Selection::default() })?;
    Place::here(toolchain, machine.clone()).run(&bundle, Plugin::Ours)
}

fn has_python() -> bool {
    shell::query(Command::new("python3").arg("--version")).is_some()
}

/// The folder with the scripts and the expectations.
pub fn scripts() -> PathBuf {
    layout::repository().join("tests/conformance")
}

/// Compiles what is selected and returns the folder that run.py takes.
pub fn build(toolchain: &Toolchain, selection: &Selection) -> Result<PathBuf> {
    let source = gcc_source::provide(toolchain)?;
    let bundle = toolchain.work().join("conformance");
    progress(format!("compiling GCC {}'s tests of libgomp", toolchain.version));
    let mut command = Command::new("python3");
    command.arg(scripts().join("build.py"));
    command.arg("--source").arg(source).arg("--out").arg(&bundle);
    command.arg(format!("--gcc={}", toolchain.version));
    if let Some(root) = &toolchain.root {
        command.arg("--root").arg(&root.folder);
    }
    command.args(selection.suites.iter().map(|suite| format!("--suite={suite}")));
    command.args(selection.every.iter().map(|every| format!("--every={every}")));
    command.args(selection.only.iter().map(|only| format!("--only={only}")));
    command.arg(format!("--jobs={}", processors()));
    let launcher = match &toolchain.root {
        Some(root) => root.command("{folder}", "{compiler}"),
        None => Command::new("{compiler}"),
    };
    command.arg("--").arg(launcher.get_program()).args(launcher.get_args());
    shell::run(&mut command)?;
    Ok(bundle)
}

impl Place {
    fn here(toolchain: &Toolchain, machine: Machine) -> Place {
        let results = layout::made().join("conformance").join(format!("gcc-{}", toolchain.version));
        Place { gcc: toolchain.version, machine, scripts: scripts(), results }
    }

    /// Runs all tests of a bundle, prints a table of the suites, and compares with what is known.
    pub fn run(&self, bundle: &Path, plugin: Plugin) -> Result<Tally> {
        let (device, limit, workers) = match self.machine.simulator {
            Some(_) => ("sim", SIMULATOR_LIMIT, processors()),
            None => ("gpu", GPU_LIMIT, processors().min(GPU_WORKERS)),
        };
        let known = expectations::read(&self.scripts, self.gcc, plugin.name(), device)?;
        let results = self.results.join(format!("{}-{device}.json", plugin.name()));
        progress(format!(
            "running GCC {}'s tests of libgomp, plugin {}, device {device}",
            self.gcc,
            plugin.name()
        ));
        let mut command = Command::new("python3");
        command.arg(self.scripts.join("run.py"));
        command.arg("--bundle").arg(bundle).arg("--out").arg(&results);
        command.arg(format!("--timeout={limit}")).arg(format!("--jobs={workers}"));
        command.arg("--").args(self.machine.launcher(Path::new("{program}"), plugin, false));
        run::clear_variables(&mut command);
        shell::run(&mut command)?;
        let text = fs::read_to_string(&results)?;
        let tests =
            serde_json::from_str::<Results>(&text).context("run.py has written something else")?.tests;
        println!("{}", table(&tests, &known));
        progress(format!("{}: output and times", results.display()));
        Ok(judge(&tests, &known))
    }
}

/// Counts how tests compare with what is known; tests that are known not to pass count as skipped.
fn judge(tests: &[Outcome], known: &Known) -> Tally {
    let mut tally = Tally::default();
    for test in tests {
        match test.verdict(known) {
            Verdict::Passed => tally.passed += 1,
            Verdict::Known | Verdict::Skipped => tally.skipped += 1,
            Verdict::Failed(why) => {
                let lines: Vec<&str> = test.output.lines().collect();
                let end: String = lines[lines.len().saturating_sub(8)..]
                    .iter()
                    .map(|line| format!("    {line}\n"))
                    .collect();
                tally.fail(format!("{}: {why}\n{end}", test.name));
            }
        }
    }
    tally
}

/// A table of what became of each suite's tests.
fn table(tests: &[Outcome], known: &Known) -> String {
    let mut rows: BTreeMap<&str, ([usize; 4], f64)> = BTreeMap::new();
    for test in tests {
        let (counts, seconds) = rows.entry(&test.suite).or_default();
        *seconds += test.seconds;
        let column = match test.verdict(known) {
            Verdict::Passed => 0,
            Verdict::Failed(_) => 1,
            Verdict::Known => 2,
            Verdict::Skipped => 3,
        };
        counts[column] += 1;
    }
    let mut text =
        "| suite | passed | failed | fails as recorded | skipped | seconds |\n|---|---|---|---|---|---|\n"
            .to_owned();
    for (suite, ([passed, failed, known, skipped], seconds)) in rows {
        let _ = writeln!(text, "| {suite} | {passed} | {failed} | {known} | {skipped} | {seconds:.0} |");
    }
    text
}
