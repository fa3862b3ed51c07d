//! `cargo xtask test`: everything that CI runs.

use std::process::ExitCode;

use anyhow::{Result, bail};
use regex_lite::Regex;

use crate::catalog;
use crate::checks;
use crate::conformance;
use crate::dist;
use crate::dry_run;
use crate::layout;
use crate::machine::Machine;
use crate::programs;
use crate::run::Place;
use crate::schedule::processors;
use crate::seeds;
use crate::shell::progress;
use crate::tally::Tally;
use crate::toolchain::Toolchain;

/// Runs all checks and programs, or only the programs whose name matches.
pub fn test(gcc: Option<u32>, filter: Option<Regex>) -> Result<ExitCode> {
    let toolchain = Toolchain::provide(gcc)?;
    let dist = dist::build()?;
    let mut selected = catalog::read(&layout::repository())?;
    if let Some(filter) = &filter {
        selected.retain(|program| filter.is_match(&program.name));
        if selected.is_empty() && !filter.is_match(dry_run::NAME) {
            bail!("no program's name matches {filter}");
        }
    }
    let mut tally = Tally::default();
    let place = Place {
        machine: Machine::new(&toolchain, &dist, true),
        logs: layout::logs().join("programs"),
        deadline: None,
        given: Vec::new(),
        mps: false,
    };
    let binaries = programs::compile_all(&toolchain, &selected, &mut tally)?;
    let runs = programs::collect(&selected, &binaries, &place, &mut tally);
    progress(format!("running {} programs on the simulator, {} runs", selected.len(), runs.len()));
    programs::run_all(runs, &place, processors(), |outcome| {
        programs::count(outcome, &mut tally);
        Ok(())
    })?;
    seeds::run_all(&selected, &binaries, &place, &mut tally)?;
    if filter.as_ref().is_none_or(|filter| filter.is_match(dry_run::NAME)) {
        dry_run::check(&toolchain, &dist, &mut tally)?;
    }
    if filter.is_none() {
        tally.add(checks::all()?);
        match conformance::part(&toolchain, &place.machine) {
            Ok(part) => tally.add(part),
            Err(error) => tally.fail(format!("GCC's tests of libgomp: {error:#}")),
        }
    }
    Ok(tally.finish())
}
