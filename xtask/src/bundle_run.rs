//! The commands of a bundle's run.sh: running all that the bundle holds, on the GPU.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::time::{Duration, Instant};

use anyhow::{Error, Result, anyhow, bail};
use regex_lite::Regex;

use crate::catalog::{self, Program};
use crate::circumstances;
use crate::directives::Variables;
use crate::gpu;
use crate::machine::{Machine, Plugin};
use crate::report;
use crate::results::Results;
use crate::run::{self, Place, Run};
use crate::session::Session;
use crate::shell::progress;
use crate::tally::Tally;

/// After so many seconds all ends: a GPU machine may be lent for ten minutes.
const SECONDS: u64 = 500;
/// Programs at once, for those that wait or hang. The driver starts one process after the other: 4 at once take 4 s each on an
/// H200, one alone 1 s.
const WORKERS: usize = 4;
/// The most rounds of benches: of benches alone, and beside programs.
const ROUNDS: usize = 5;
const ROUNDS_OF_ALL: usize = 3;
/// The folders of programs, those first that matter most.
const FOLDERS: [&str; 5] = ["reverse", "omp", "abi", "openacc", "errors"];

/// Which part of the bundle is to be run.
#[derive(Clone, Copy, PartialEq)]
pub enum Part {
    /// Everything.
    All,
    /// The programs.
    Programs,
    /// The benches.
    Bench,
    /// The programs with our plugin, under MPS.
    Mps,
}

impl FromStr for Part {
    type Err = Error;

    fn from_str(name: &str) -> Result<Part> {
        match name {
            "all" => Ok(Part::All),
            "programs" => Ok(Part::Programs),
            "bench" => Ok(Part::Bench),
            "mps" => Ok(Part::Mps),
            _ => bail!("{name:?} is none of all, programs, bench and mps"),
        }
    }
}

/// What is to be run.
pub struct Order {
    /// Of the bundle.
    pub part: Part,
    /// Of that, what has a name that matches.
    pub only: Option<Regex>,
    /// After how many seconds all ends, if not the usual.
    pub seconds: Option<u64>,
    /// The results.json of an earlier session, to be completed.
    pub resume: Option<PathBuf>,
}

/// Programs or benches, each with its binary.
type Programs = Vec<(Program, PathBuf)>;

/// What a bundle's programs are run with.
pub fn machine(bundle: &Path) -> Machine {
    Machine {
        loader: None,
        plugin: bundle.join("plugin"),
        stock: bundle.join("stock"),
        runtime: Some(bundle.join("lib")),
        simulator: None,
    }
}

/// What a file of the bundle's says of it: `gcc-version`, `commit`.
pub fn about(bundle: &Path, name: &str) -> Result<String> {
    Ok(fs::read_to_string(bundle.join(name))?.trim().to_owned())
}

/// Runs what `order` says; the results go to `out`, at any time as far as they are known, the logs to `work`.
pub fn run(bundle: &Path, work: &Path, out: &Path, order: &Order) -> Result<ExitCode> {
    // Else every single run would say it.
    let name = gpu::find().map_err(|why| anyhow!("there is no GPU to run on: {why}"))?;
    let machine = machine(bundle);
    let deadline = Instant::now() + Duration::from_secs(order.seconds.unwrap_or(SECONDS));
    let given = run::given_variables();
    let mut session = Session {
        place: Place {
            machine,
            logs: work.join("logs"),
            deadline: Some(deadline),
            given: given.clone(),
            mps: order.part == Part::Mps,
        },
        results: Results {
            date: circumstances::today(),
            device: circumstances::device(&name),
            simulated: gpu::is_simulated(&name),
            gcc: about(bundle, "gcc-version")?,
            commit: about(bundle, "commit")?,
            remark: remark(order.part, &given),
            ..Results::default()
        },
        tally: Tally::default(),
        file: out.join("results.json"),
    };
    let Results { device, gcc, commit, .. } = &session.results;
    progress(format!("{device}; programs built by GCC {gcc}, commit {commit}"));
    if let Some(file) = &order.resume {
        session.results.take_up(Results::read(file)?)?;
        progress(format!("{} runs of {} are not made again", session.results.runs.len(), file.display()));
    }

    let (benches, programs) = read(bundle, work, order, &mut session.tally)?;
    match order.part {
        // What matters most first: the time may not be enough for all.
        Part::All => {
            session.round(&benches, 0)?;
            session.variants(&benches)?;
            session.make(runs(&programs, &session.place, Plugin::Ours, false), WORKERS)?;
            for number in 1..ROUNDS_OF_ALL {
                session.round(&benches, number)?;
            }
            session.make(runs(&programs, &session.place, Plugin::Stock, false), WORKERS)?;
            session.make(runs(&programs, &session.place, Plugin::Ours, true), WORKERS)?;
        }
        Part::Programs => {
            session.make(runs(&programs, &session.place, Plugin::Ours, false), WORKERS)?;
            session.make(runs(&programs, &session.place, Plugin::Stock, false), WORKERS)?;
            session.make(runs(&programs, &session.place, Plugin::Ours, true), WORKERS)?;
        }
        Part::Bench => {
            session.round(&benches, 0)?;
            session.variants(&benches)?;
            for number in 1..ROUNDS {
                session.round(&benches, number)?;
            }
        }
        // One at a time: a fault ends all clients of the GPU.
        Part::Mps => {
            session.make(runs(&programs, &session.place, Plugin::Ours, false), 1)?;
            session.make(runs(&programs, &session.place, Plugin::Ours, true), 1)?;
        }
    }
    print!("\n{}\n", report::summary(&session.results));
    Ok(session.tally.finish())
}

/// What makes this session's results others than those of a plain one.
fn remark(part: Part, given: &Variables) -> String {
    let mps = (part == Part::Mps).then(|| "Under MPS.".to_owned());
    let set: String = given.iter().map(|(name, value)| format!("{name}={value} ")).collect();
    let set = (!set.is_empty()).then(|| format!("With {set}where a run doesn't set it otherwise."));
    mps.into_iter().chain(set).collect::<Vec<_>>().join(" ")
}

/// The benches and programs of the bundle that are to be run, in the order of their importance.
fn read(bundle: &Path, work: &Path, order: &Order, tally: &mut Tally) -> Result<(Programs, Programs)> {
    // run.sh unpacks them where it may write.
    let binaries = [bundle, work].map(|folder| folder.join("programs"));
    let mut all = catalog::read(&bundle.join("tree"))?;
    all.retain(|program| order.only.as_ref().is_none_or(|only| only.is_match(&program.name)));
    let rank = |program: &Program| FOLDERS.iter().position(|folder| program.name.starts_with(folder));
    all.sort_by_key(rank);
    let (mut benches, mut programs, mut absent) = (Vec::new(), Vec::new(), Vec::new());
    for program in all {
        let paths = binaries.iter().map(|folder| folder.join(program.binary()));
        match paths.into_iter().find(|path| path.exists()) {
            Some(binary) if program.directives.is_bench => benches.push((program, binary)),
            Some(binary) => programs.push((program, binary)),
            None => absent.push(program.name),
        }
    }
    if !absent.is_empty() {
        progress(format!("skipped, for the bundle's GCC can't compile them: {}", absent.join(", ")));
        tally.skipped += absent.len();
    }
    Ok((benches, programs))
}

/// The runs of programs with a plugin: their variants, or else the plain runs.
fn runs(programs: &Programs, place: &Place, plugin: Plugin, variants: bool) -> Vec<Run> {
    let all = programs.iter().flat_map(|(program, binary)| Run::all_of(program, binary, place));
    all.filter(|run| run.plugin == plugin && run.variant.is_empty() != variants).collect()
}
