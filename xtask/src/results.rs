//! What a run of benches and programs gave: the content of results.json.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::run::{Outcome, Verdict};
use crate::shell;

/// All of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// The day.
    pub date: String,
    /// The device and its driver.
    pub device: String,
    /// Whether that is the simulator: its times say nothing about a GPU.
    pub simulated: bool,
    /// The GCC that built the programs.
    pub gcc: String,
    /// The commit of the plugin; with a `+` where it was changed since. Several where a session was taken up by a later one.
    pub commit: String,
    /// What is to be known besides.
    pub remark: String,
    /// What the benches measured.
    pub figures: Vec<Figure>,
    /// What became of each run.
    pub runs: Vec<Record>,
}

/// A figure, as often as it was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Its name.
    pub name: String,
    /// The plugin and the variant that it was measured with.
    pub with: String,
    /// The unit of the values.
    pub unit: String,
    /// The median of the values.
    pub median: f64,
    /// One value for each round.
    pub values: Vec<f64>,
}

/// What became of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The program.
    pub name: String,
    /// The plugin and the variant.
    pub with: String,
    /// `passed`, `differs` (GCC's plugin failed, as it was known that it may), `failed` or `skipped`.
    pub verdict: String,
    /// The reason, unless it passed.
    pub why: String,
    /// How long it took.
    pub seconds: f64,
    /// The end of its standard error, if it failed.
    pub stderr: String,
}

impl Results {
    /// Reads a results.json.
    pub fn read(file: &Path) -> Result<Results> {
        let text = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        serde_json::from_slice(&text).with_context(|| format!("{} is no results.json", file.display()))
    }

    /// Writes a results.json. Whoever reads the file meanwhile sees the old one or the new one.
    pub fn write(&self, file: &Path) -> Result<()> {
        let partial = file.with_extension("partial");
        fs::write(&partial, serde_json::to_string_pretty(self)? + "\n")?;
        fs::rename(&partial, file).with_context(|| format!("cannot write {}", file.display()))
    }

    /// Takes over what an earlier session gave, but not what failed or found no time there.
    pub fn take_up(&mut self, earlier: Results) -> Result<()> {
        for (mine, other) in
            [(&self.device, &earlier.device), (&self.gcc, &earlier.gcc), (&self.remark, &earlier.remark)]
        {
            ensure!(
                mine == other,
                "the results to take up are not of the same kind: {other:?}, not {mine:?}"
            );
        }
        if !earlier.commit.split(", ").any(|commit| commit == self.commit) {
            self.commit = format!("{}, {}", earlier.commit, self.commit);
        } else {
            self.commit = earlier.commit;
        }
        self.figures = earlier.figures;
        self.runs = earlier.runs;
        self.runs.retain(|run| ["passed", "differs"].contains(&run.verdict.as_str()));
        Ok(())
    }

    /// Adds a run and the figures that it has printed.
    pub fn add(&mut self, outcome: &Outcome) {
        let with = outcome.run.label();
        // A run that failed may have measured anything; the file of one that was skipped is an older run's.
        if matches!(outcome.verdict, Verdict::Passed | Verdict::Differs(_)) {
            let text = fs::read(&outcome.stdout).unwrap_or_default();
            for (name, value, unit) in String::from_utf8_lossy(&text).lines().filter_map(figure) {
                self.measured(name, &with, value, unit);
            }
        }
        self.runs.push(Record::of(outcome));
    }

    fn measured(&mut self, name: &str, with: &str, value: f64, unit: &str) {
        let same = |figure: &&mut Figure| figure.name == name && figure.with == with && figure.unit == unit;
        let figure = match self.figures.iter_mut().find(same) {
            Some(figure) => figure,
            None => {
                let (name, with, unit) = (name.to_owned(), with.to_owned(), unit.to_owned());
                self.figures.push(Figure { name, with, unit, median: value, values: Vec::new() });
                self.figures.last_mut().expect("just put there")
            }
        };
        figure.values.push(value);
        figure.median = median(&figure.values);
    }

    /// The figure of this name that was measured with this plugin and variant.
    pub fn figure(&self, name: &str, with: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.name == name && figure.with == with)
    }
}

impl Figure {
    /// Whether it is a percentile or an extreme: such figures stand in the whole tables only.
    pub fn is_of_tail(&self) -> bool {
        ["-p99", "-max"].iter().any(|end| self.name.ends_with(end))
    }

    /// The least and the largest value.
    pub fn spread(&self) -> (f64, f64) {
        let all = || self.values.iter().copied();
        (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max))
    }
}

impl Record {
    fn of(outcome: &Outcome) -> Record {
        let (verdict, why) = match &outcome.verdict {
            Verdict::Passed => ("passed", ""),
            Verdict::Differs(why) => ("differs", why.as_str()),
            Verdict::Failed(why) => ("failed", why.as_str()),
            Verdict::Skipped(why) => ("skipped", why.as_str()),
        };
        let failed = matches!(outcome.verdict, Verdict::Failed(_));
        Record {
            name: outcome.run.program.name.clone(),
            with: outcome.run.label(),
            verdict: verdict.to_owned(),
            why: why.to_owned(),
            seconds: (outcome.seconds * 1000.0).round() / 1000.0,
            stderr: if failed { shell::tail(&outcome.stderr(), 15) } else { String::new() },
        }
    }

    /// The plugin, and after a blank the variables of the variant.
    pub fn plugin_and_variant(&self) -> (&str, &str) {
        self.with.split_once(' ').unwrap_or((&self.with, ""))
    }
}

/// Reads a line `result: NAME VALUE UNIT`.
fn figure(line: &str) -> Option<(&str, f64, &str)> {
    let mut words = line.strip_prefix("result:")?.split_whitespace();
    let figure = (words.next()?, words.next()?.parse().ok()?, words.next()?);
    words.next().is_none().then_some(figure)
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_has_a_name_a_value_and_a_unit() {
        assert_eq!(figure("result: request 3.25 us"), Some(("request", 3.25, "us")));
    }

    #[test]
    fn other_lines_are_no_figures() {
        for line in
            ["request 3.25 us", "result: request many us", "result: request 3", "result: request 3 us or so"]
        {
            assert_eq!(figure(line), None);
        }
    }

    #[test]
    fn each_round_adds_a_value_to_its_figure() {
        let mut results = Results::default();
        for (with, value) in [("ours", 3.0), ("stock", 9.0), ("ours", 1.0), ("ours", 2.5), ("ours", 4.5)] {
            results.measured("a", with, value, "us");
        }
        let ours = results.figure("a", "ours").unwrap();
        assert_eq!((ours.median, ours.spread(), ours.values.len()), (2.75, (1.0, 4.5), 4));
        assert_eq!(results.figure("a", "stock").unwrap().median, 9.0);
        assert_eq!(results.figure("b", "ours"), None);
    }

    #[test]
    fn what_failed_or_had_no_time_is_not_taken_up() {
        let run = |verdict: &str| {
            let [name, with, why] = ["omp/a", "ours", ""].map(str::to_owned);
            Record { name, with, verdict: verdict.to_owned(), why, seconds: 1.0, stderr: String::new() }
        };
        let new = |commit: &str, verdicts: &[&str]| Results {
            commit: commit.to_owned(),
            runs: verdicts.iter().map(|verdict| run(verdict)).collect(),
            ..Results::default()
        };
        let mut second = new("b", &[]);
        second.take_up(new("a", &["passed", "failed", "skipped", "differs"])).unwrap();
        assert_eq!(second, new("a, b", &["passed", "differs"]));
        let mut third = new("b", &[]);
        third.take_up(second.clone()).unwrap();
        assert_eq!(third, second);
        assert!(Results { gcc: "14".to_owned(), ..new("b", &[]) }.take_up(second).is_err());
    }

    #[test]
    fn what_is_written_is_read_again() {
        let file = std::env::temp_dir().join(format!("boomerang-results-{}.json", std::process::id()));
        let mut results = Results { device: "a \"GPU\"\n".to_owned(), ..Results::default() };
        results.measured("a", "ours", 0.1, "us");
        results.write(&file).unwrap();
        assert_eq!(Results::read(&file).unwrap(), results);
        fs::remove_file(&file).unwrap();
    }
}
