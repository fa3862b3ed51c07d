//! Runs one after the other, whose results are on disk at any time: who runs us may end us before we are done.

use std::path::PathBuf;

use anyhow::Result;

use crate::catalog::Program;
use crate::programs;
use crate::results::Results;
use crate::run::{Place, Run};
use crate::tally::Tally;

/// A session of runs.
pub struct Session {
    /// Where runs are made.
    pub place: Place,
    /// What they have given so far.
    pub results: Results,
    /// How they went.
    pub tally: Tally,
    /// The file for the results.
    pub file: PathBuf,
}

impl Session {
    /// Makes runs, so many at once, and writes down what they gave. What has passed before is not run again.
    pub fn make(&mut self, mut runs: Vec<Run>, workers: usize) -> Result<()> {
        runs.retain(|run| !self.is_done(run, 0));
        // First what must be alone: with others it shares the time that is left at the end.
        let (alone, others) = runs.into_iter().partition(|run| run.program.directives.alone);
        self.make_all(alone, 1)?;
        self.make_all(others, workers)
    }

    fn make_all(&mut self, runs: Vec<Run>, workers: usize) -> Result<()> {
        let Session { place, results, tally, file } = self;
        programs::run_all(runs, place, workers, |outcome| {
            results.add(outcome);
            programs::count(outcome, tally);
            results.write(file)
        })
    }

    /// Makes a round of benches: each with our plugin and with GCC's, one right after the other, so that what drifts on the
    /// machine hits both. Which comes first changes with the round. What failed in an earlier round is not tried again.
    pub fn round(&mut self, benches: &[(Program, PathBuf)], number: usize) -> Result<()> {
        for (program, binary) in benches {
            let mut own = Run::all_of(program, binary, &self.place);
            own.retain(|run| run.variant.is_empty() && !self.is_done(run, number));
            if number % 2 == 1 {
                own.reverse();
            }
            self.make_all(own, 1)?;
        }
        Ok(())
    }

    /// Runs each bench once in each of its variants.
    pub fn variants(&mut self, benches: &[(Program, PathBuf)]) -> Result<()> {
        for (program, binary) in benches {
            let own = Run::all_of(program, binary, &self.place).into_iter();
            self.make(own.filter(|run| !run.variant.is_empty()).collect(), 1)?;
        }
        Ok(())
    }

    /// Whether a run needs no further go in a round of this number: it has passed so often, or it doesn't pass.
    fn is_done(&self, run: &Run, number: usize) -> bool {
        let with = run.label();
        let own = self.results.runs.iter().filter(|one| one.name == run.program.name && one.with == with);
        let verdicts: Vec<&str> = own.map(|one| one.verdict.as_str()).collect();
        verdicts.len() > number || verdicts.iter().any(|verdict| *verdict != "passed")
    }
}
