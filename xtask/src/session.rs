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
    /// Makes runs, so many at once, and writes down what they gave.
    pub fn make(&mut self, runs: Vec<Run>, workers: usize) -> Result<()> {
        for outcome in programs::run_all(runs, &self.place, workers)? {
            self.results.add(&outcome);
            programs::count(&outcome, &mut self.tally);
        }
        self.results.write(&self.file)
    }

    /// Makes a round of benches: each with our plugin and with GCC's, one right after the other, so that what drifts on the
    /// machine hits both. Which comes first changes with the round. What failed in an earlier round is not tried again.
    pub fn round(&mut self, benches: &[(Program, PathBuf)], number: usize) -> Result<()> {
        for (program, binary) in benches {
            let mut own = Run::all_of(program, binary, &self.place);
            own.retain(|run| run.variant.is_empty() && !self.has_failed(run));
            if number % 2 == 1 {
                own.reverse();
            }
            self.make(own, 1)?;
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

    fn has_failed(&self, run: &Run) -> bool {
        let mut earlier = self.results.runs.iter().filter(|one| one.name == run.program.name);
        earlier.any(|one| one.with == run.label() && one.verdict != "passed")
    }
}
