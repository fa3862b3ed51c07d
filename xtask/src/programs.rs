//! Compiling and running many programs, and counting how they went.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Mutex;

use anyhow::{Result, bail};

use crate::catalog::{self, Program};
use crate::compile;
use crate::layout;
use crate::run::{Outcome, Place, Run, Verdict};
use crate::schedule::{parallel, processors};
use crate::shell::{self, progress};
use crate::tally::Tally;
use crate::toolchain::Toolchain;

/// Compiles the programs, and those that they take the binary of, and returns the binaries by name.
///
/// A program that does not compile counts as failed, one that the compiler is too old for as skipped.
pub fn compile_all(
    toolchain: &Toolchain,
    programs: &[Program],
    tally: &mut Tally,
) -> Result<HashMap<String, PathBuf>> {
    compile::stage(toolchain)?;
    let all = catalog::read(&layout::repository())?;
    let mut wanted: Vec<Program> = Vec::new();
    for program in programs {
        match all.iter().find(|other| other.name == program.binary()) {
            Some(owner) if wanted.iter().any(|other| other.name == owner.name) => {}
            Some(owner) => wanted.push(owner.clone()),
            None => bail!("{}: there is no program {}", program.name, program.binary()),
        }
    }
    progress(format!("compiling {} programs", wanted.len()));
    let built = parallel(wanted, processors(), |program| {
        let result = compile::compile(toolchain, &program);
        (program.name, result)
    });
    let mut binaries = HashMap::new();
    for (name, result) in built {
        match result {
            Ok(Some(binary)) => drop(binaries.insert(name, binary)),
            Ok(None) => {
                progress(format!("skipped {name}: needs a newer GCC than {}", toolchain.version));
                tally.skipped += 1;
            }
            Err(error) => {
                progress(format!("FAILED  {name}: does not compile"));
                tally.fail(format!("{name}: {error:#}"));
            }
        }
    }
    Ok(binaries)
}

/// The runs of all programs that have a binary; those with none to make here count as skipped.
pub fn collect(
    programs: &[Program],
    binaries: &HashMap<String, PathBuf>,
    place: &Place,
    tally: &mut Tally,
) -> Vec<Run> {
    let mut runs = Vec::new();
    for program in programs.iter().filter(|program| !program.directives.is_bench) {
        let Some(binary) = binaries.get(program.binary()) else { continue };
        let own = Run::all_of(program, binary, place);
        if own.is_empty() {
            tally.skipped += 1;
        }
        runs.extend(own);
    }
    runs
}

/// Makes the runs, says of each how it went, and hands it on as soon as it has ended.
pub fn run_all(
    runs: Vec<Run>,
    place: &Place,
    workers: usize,
    take: impl FnMut(&Outcome) -> Result<()> + Send,
) -> Result<()> {
    let take = Mutex::new(take);
    let taken = parallel(runs, workers, |run| {
        let outcome = run.make(place)?;
        announce(&outcome);
        take.lock().expect("no holder of this lock panics")(&outcome)
    });
    taken.into_iter().collect()
}

fn announce(outcome: &Outcome) {
    let (word, remark) = match &outcome.verdict {
        // Once the time is up that is all the rest.
        Verdict::Skipped(_) => return,
        Verdict::Passed => ("ok     ", String::new()),
        Verdict::Differs(why) => ("differs", format!(": {why}")),
        Verdict::Failed(why) => ("FAILED ", format!(": {why}")),
    };
    progress(format!(
        "{word} {} [{}] {:.1} s{remark}",
        outcome.run.program.name,
        outcome.run.label(),
        outcome.seconds
    ));
}

/// Adds a run to the counts. A stock run that fails as expected has passed.
pub fn count(outcome: &Outcome, tally: &mut Tally) {
    match &outcome.verdict {
        Verdict::Passed | Verdict::Differs(_) => tally.passed += 1,
        Verdict::Skipped(_) => tally.skipped += 1,
        Verdict::Failed(why) => tally.fail(failure(outcome, why)),
    }
}

/// What is said of a run that failed for the reason `why`: which one, why, and its last words.
pub fn failure(outcome: &Outcome, why: &str) -> String {
    format!(
        "{} [{}]: {why}\n    {} (.stderr; again by .sh) ends with\n{}{}",
        outcome.run.program.name,
        outcome.run.label(),
        outcome.stdout.display(),
        shell::tail(&outcome.stdout, 3),
        shell::tail(&outcome.stderr(), 10),
    )
}
