//! The commands of a bundle's run.sh: running all that the bundle holds, on the GPU.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::catalog::{self, Program};
use crate::json::Json;
use crate::machine::{Machine, Plugin};
use crate::programs;
use crate::results::{Figure, figures, table, verdicts};
use crate::run::{Outcome, Place, Run, Verdict};
use crate::shell::{self, progress};
use crate::tally::Tally;

/// After this time nothing more is started: a GPU machine may be lent for ten minutes.
const TIME: Duration = Duration::from_secs(500);
/// Programs at once. More would wait for each other's turns on the GPU.
const WORKERS: usize = 4;

/// Runs the programs, the benches, or all; the output goes to `out`.
pub fn run(out: &Path, what: &str) -> Result<ExitCode> {
    let (with_programs, with_benches, plugins): (bool, bool, &[Plugin]) = match what {
        "all" => (true, true, &[Plugin::Ours, Plugin::Stock, Plugin::Raw]),
        "programs" => (true, false, &[Plugin::Ours, Plugin::Stock]),
        "bench" => (false, true, &[Plugin::Ours, Plugin::Stock, Plugin::Raw]),
        "mps" => (true, false, &[Plugin::Ours]),
        _ => bail!("{what:?} is none of all, programs, bench and mps"),
    };
    let bundle = folder()?;
    let place =
        Place { machine: machine(&bundle), logs: out.join("logs"), deadline: Some(Instant::now() + TIME) };
    let mut tally = Tally::default();
    let programs = catalog::read(&bundle.join("tree"))?;
    let (benches, programs): (Vec<_>, Vec<_>) =
        programs.into_iter().partition(|program| program.directives.is_bench);
    let device = shell::query(
        Command::new("nvidia-smi").args(["--query-gpu=name,driver_version", "--format=csv,noheader"]),
    );
    let device = device.unwrap_or_else(|| "unknown device".to_owned());
    let gcc = gcc_version(&bundle)?;
    progress(format!("{device}; programs built by GCC {gcc}"));

    let mut make = |programs: &[Program], wanted: bool, workers| {
        let mut runs = Vec::new();
        for program in programs.iter().filter(|_| wanted) {
            let binary = bundle.join("programs").join(program.binary());
            let own = if binary.exists() { Run::all_of(program, &binary, &place) } else { Vec::new() };
            tally.skipped += usize::from(own.is_empty());
            runs.extend(own.into_iter().filter(|run| plugins.contains(&run.plugin)));
        }
        programs::run_all(runs, &place, workers)
    };
    // Benches first, while nothing else has heated the machine, and one at a time.
    let bench_outcomes = make(&benches, with_benches, 1)?;
    let program_outcomes = make(&programs, with_programs, WORKERS)?;

    let figures = figures(&bench_outcomes);
    print!("\n{}\n{}", table(&figures), verdicts(&program_outcomes));
    let all: Vec<Outcome> = bench_outcomes.into_iter().chain(program_outcomes).collect();
    all.iter().for_each(|outcome| programs::count(outcome, &mut tally));
    let report = Json::Object(vec![
        ("date", Json::text(shell::query(Command::new("date").arg("+%F")).unwrap_or_default())),
        ("device", Json::text(device)),
        ("gcc", Json::text(gcc)),
        ("what", Json::text(what)),
        ("figures", Json::List(figures.iter().map(Figure::json).collect())),
        ("runs", Json::List(all.iter().map(json).collect())),
    ]);
    fs::write(out.join("results.json"), format!("{report}\n"))?;
    Ok(tally.finish())
}

/// The machine that programs of the bundle run on.
pub fn machine(bundle: &Path) -> Machine {
    Machine {
        loader: None,
        plugin: bundle.join("plugin"),
        stock: bundle.join("stock"),
        runtime: Some(bundle.join("lib")),
        simulator: None,
    }
}

/// The bundle that the running program lies in.
pub fn folder() -> Result<PathBuf> {
    let runner = std::env::current_exe()?;
    let folder = runner.parent().and_then(Path::parent).context("the runner lies in no bundle")?;
    Ok(folder.to_owned())
}

/// The GCC that built the bundle's programs.
pub fn gcc_version(bundle: &Path) -> Result<String> {
    Ok(fs::read_to_string(bundle.join("gcc-version"))?.trim().to_owned())
}

fn json(outcome: &Outcome) -> Json {
    let (verdict, why) = match &outcome.verdict {
        Verdict::Passed => ("passed", ""),
        Verdict::Differs(why) => ("differs", why.as_str()),
        Verdict::Failed(why) => ("failed", why.as_str()),
        Verdict::Skipped(why) => ("skipped", why.as_str()),
    };
    Json::Object(vec![
        ("name", Json::text(&outcome.run.program.name)),
        ("with", Json::text(outcome.run.label())),
        ("verdict", Json::text(verdict)),
        ("why", Json::text(why)),
        ("seconds", Json::Number((outcome.seconds * 1000.0).round() / 1000.0)),
    ])
}
