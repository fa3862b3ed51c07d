//! Running a program in many orders of the simulator's warps.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;

use crate::catalog::Program;
use crate::programs::failure;
use crate::run::{Outcome, Place, Run, Verdict};
use crate::schedule::{parallel, processors};
use crate::shell::progress;
use crate::tally::Tally;

/// Runs each program as many times as its `seeds` says, and counts it as one test.
pub fn run_all(
    programs: &[Program],
    binaries: &HashMap<String, PathBuf>,
    place: &Place,
    tally: &mut Tally,
) -> Result<()> {
    for program in programs.iter().filter(|program| program.directives.seeds > 0) {
        let Some(binary) = binaries.get(program.binary()) else { continue };
        let start = Instant::now();
        let runs = (1..=program.directives.seeds).map(|seed| Run::seeded(program, binary, seed)).collect();
        let outcomes = parallel(runs, processors(), |run| run.make(place));
        let outcomes = outcomes.into_iter().collect::<Result<Vec<Outcome>>>()?;
        let (name, seconds) = (&program.name, start.elapsed().as_secs_f64());
        let failed: Vec<(&Outcome, &String)> = outcomes.iter().filter_map(failed).collect();
        let Some((first, why)) = failed.first() else {
            tally.passed += 1;
            progress(format!("ok      {name} [{} seeds] {seconds:.1} s", outcomes.len()));
            continue;
        };
        progress(format!("FAILED  {name} [{} of {} seeds]: {why}", failed.len(), outcomes.len()));
        tally.fail(format!("{} of {} seeds; {}", failed.len(), outcomes.len(), failure(first, why)));
    }
    Ok(())
}

/// A run that failed, and why.
fn failed(outcome: &Outcome) -> Option<(&Outcome, &String)> {
    match &outcome.verdict {
        Verdict::Failed(why) => Some((outcome, why)),
        _ => None,
    }
}
