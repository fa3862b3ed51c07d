//! Counting what passed and what did not.

use std::process::ExitCode;

/// The counts, and what is to be said of each failure.
#[derive(Debug, Default)]
pub struct Tally {
    /// How many passed.
    pub passed: usize,
    /// How many could not be run here.
    pub skipped: usize,
    failures: Vec<String>,
}

impl Tally {
    /// Counts a failure.
    pub fn fail(&mut self, what: impl Into<String>) {
        self.failures.push(what.into());
    }

    /// How many failed.
    pub fn failed(&self) -> usize {
        self.failures.len()
    }

    /// Adds what was counted elsewhere.
    pub fn add(&mut self, other: Tally) {
        self.passed += other.passed;
        self.skipped += other.skipped;
        self.failures.extend(other.failures);
    }

    /// Lists the failures and prints the closing line.
    pub fn finish(&self) -> ExitCode {
        if !self.failures.is_empty() {
            println!("\nfailures:");
            self.failures.iter().for_each(|failure| println!("  {}", failure.trim_end()));
            println!();
        }
        println!("{} passed, {} failed, {} skipped", self.passed, self.failures.len(), self.skipped);
        if self.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}
