//! Running a program in many orders of the simulator's warps.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;

use crate::catalog::Program;
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
        match failures(&outcomes) {
            None => {
                tally.passed += 1;
                progress(format!("ok      {name} [{} seeds] {seconds:.1} s", outcomes.len()));
            }
            Some(failures) => {
                progress(format!("FAILED  {name} {failures}"));
                tally
                    .fail(format!("{name} {failures}\n    {} and the like", place.logs.join(name).display()));
            }
        }
    }
    Ok(())
}

/// The runs that failed, and what the first one did.
fn failures(outcomes: &[Outcome]) -> Option<String> {
    let failed = outcomes.iter().filter_map(|outcome| match &outcome.verdict {
        Verdict::Failed(why) => Some((&outcome.run.variant.first()?.1, why)),
        _ => None,
    });
    let failed: Vec<(&String, &String)> = failed.collect();
    let (_, why) = failed.first()?;
    let seeds: Vec<&str> = failed.iter().map(|(seed, _)| seed.as_str()).collect();
    Some(format!("[BOOMERANG_SIM_SEED={}]: {why}", seeds.join(", ")))
}
