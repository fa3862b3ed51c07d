//! `cargo xtask bench`: figures of our plugin and of GCC's, measured side by side.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use regex_lite::Regex;

use crate::catalog::{self, Program};
use crate::chart;
use crate::circumstances;
use crate::dist;
use crate::gpu;
use crate::layout;
use crate::machine::Machine;
use crate::programs;
use crate::report;
use crate::results::Results;
use crate::run::Place;
use crate::session::Session;
use crate::shell::progress;
use crate::tally::Tally;
use crate::toolchain::Toolchain;

/// How often each bench runs on a GPU. On the simulator once is enough: what counts there does not scatter.
const ROUNDS: usize = 5;

/// Runs the benches whose name matches, on the GPU if there is one, else on the simulator.
pub fn bench(gcc: Option<u32>, filter: Option<Regex>) -> Result<ExitCode> {
    let toolchain = Toolchain::provide(gcc)?;
    let dist = dist::build()?;
    let mut benches = catalog::read(&layout::repository())?;
    benches.retain(|program| program.directives.is_bench);
    if let Some(filter) = &filter {
        benches.retain(|program| filter.is_match(&program.name));
        if benches.is_empty() {
            bail!("no bench's name matches {filter}");
        }
    }
    let mut tally = Tally::default();
    let binaries = programs::compile_all(&toolchain, &benches, &mut tally)?;
    let with_binary = |program: Program| {
        let binary = binaries.get(program.binary())?.clone();
        Some((program, binary))
    };
    let benches: Vec<(Program, PathBuf)> = benches.into_iter().filter_map(with_binary).collect();

    let gpu = gpu::find();
    if let Err(why) = &gpu {
        progress(format!(
            "on the simulator, for there is no GPU here ({why}): its times say nothing about one"
        ));
    }
    let simulated = gpu.is_err();
    let folder = layout::made().join("bench");
    fs::create_dir_all(&folder)?;
    let machine = Machine::new(&toolchain, &dist, simulated);
    let device = circumstances::device(gpu.as_deref().unwrap_or("the simulator"));
    let (date, commit) = (circumstances::today(), circumstances::commit());
    let gcc = toolchain.version.to_string();
    let mut session = Session {
        place: Place {
            machine,
            logs: layout::logs().join("benches"),
            deadline: None,
            given: Vec::new(),
            mps: false,
        },
        results: Results { date, device, simulated, gcc, commit, ..Results::default() },
        tally,
        file: folder.join("results.json"),
    };
    for number in 0..if simulated { 1 } else { ROUNDS } {
        session.round(&benches, number)?;
    }
    session.variants(&benches)?;
    let picture = folder.join("performance.svg");
    show(&session.results, &picture)?;
    println!("{}: all of it; cargo xtask bench --from that file draws {}", session.file.display(), PICTURE);
    Ok(session.tally.finish())
}

/// Where the picture of a run that is to be kept lies, in the repository.
const PICTURE: &str = "docs/performance.svg";

/// Prints the tables of a results.json, and draws the picture for the documents.
pub fn from(file: &Path) -> Result<()> {
    show(&Results::read(file)?, &layout::repository().join(PICTURE))
}

fn show(results: &Results, picture: &Path) -> Result<()> {
    print!("\n{}\n", report::tables(results));
    if !results.figures.is_empty() {
        fs::write(picture, chart::draw(results))?;
        println!("{}: the picture", picture.display());
    }
    Ok(())
}
