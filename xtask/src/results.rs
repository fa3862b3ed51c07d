//! The figures that benches print, and the table of them.

use std::fmt::Write;
use std::fs;

use crate::json::Json;
use crate::machine::Plugin;
use crate::run::{Outcome, Verdict};

/// One figure of one run, from a line `result: NAME VALUE UNIT`.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    name: String,
    /// The plugin and the variant that it was measured with.
    with: String,
    value: f64,
    unit: String,
}

impl Figure {
    /// The figure as an object.
    pub fn json(&self) -> Json {
        Json::Object(vec![
            ("name", Json::text(&self.name)),
            ("with", Json::text(&self.with)),
            ("value", Json::Number(self.value)),
            ("unit", Json::text(&self.unit)),
        ])
    }
}

/// Reads the figures that runs have printed.
pub fn figures(outcomes: &[Outcome]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for outcome in outcomes {
        let text = fs::read(&outcome.stdout).unwrap_or_default();
        let with = outcome.run.label();
        figures.extend(String::from_utf8_lossy(&text).lines().filter_map(|line| figure(line, &with)));
    }
    figures
}

fn figure(line: &str, with: &str) -> Option<Figure> {
    let mut words = line.strip_prefix("result:")?.split_whitespace();
    let name = words.next()?.to_owned();
    let value = words.next()?.parse().ok()?;
    let unit = words.collect::<Vec<_>>().join(" ");
    Some(Figure { name, with: with.to_owned(), value, unit })
}

/// A Markdown table of all programs: what became of each with either plugin. With ours, the variants that failed are named.
pub fn verdicts(outcomes: &[Outcome]) -> String {
    let mut names: Vec<&str> = outcomes.iter().map(|outcome| outcome.run.program.name.as_str()).collect();
    names.dedup();
    let mut text = "| program | ours | stock |\n|---|---|---|\n".to_owned();
    for name in names {
        let cell = |plugin| {
            let own = outcomes.iter().filter(|one| one.run.program.name == name && one.run.plugin == plugin);
            let own: Vec<&Outcome> = own.collect();
            match own.iter().filter(|one| one.verdict != Verdict::Passed).collect::<Vec<_>>().as_slice() {
                [] if own.is_empty() => String::new(),
                [] => format!("passed ({})", own.len()),
                bad => bad.iter().map(|one| remark(one)).collect::<Vec<_>>().join("; "),
            }
        };
        let _ = writeln!(text, "| {name} | {} | {} |", cell(Plugin::Ours), cell(Plugin::Stock));
    }
    text
}

fn remark(outcome: &Outcome) -> String {
    let variant: String =
        outcome.run.variant.iter().map(|(name, value)| format!(" with {name}={value}")).collect();
    match &outcome.verdict {
        Verdict::Passed => format!("passed{variant}"),
        Verdict::Differs(why) => format!("differs{variant}: {why}"),
        Verdict::Failed(why) => format!("**failed**{variant}: {why}"),
        Verdict::Skipped(why) => format!("skipped{variant}: {why}"),
    }
}

/// A Markdown table: a row for each figure, a column for each plugin and variant.
pub fn table(figures: &[Figure]) -> String {
    let mut columns: Vec<&str> = Vec::new();
    let mut rows: Vec<(&str, &str)> = Vec::new();
    for figure in figures {
        if !columns.contains(&figure.with.as_str()) {
            columns.push(&figure.with);
        }
        if !rows.contains(&(&figure.name, &figure.unit)) {
            rows.push((&figure.name, &figure.unit));
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let mut text =
        format!("| | unit | {} |\n|---|---|{}\n", columns.join(" | "), "---|".repeat(columns.len()));
    for (name, unit) in rows {
        let _ = write!(text, "| {name} | {unit} |");
        for column in &columns {
            let cell = figures
                .iter()
                .find(|figure| figure.name == name && figure.unit == unit && figure.with == *column);
            let _ = write!(text, " {} |", cell.map_or(String::new(), |figure| figure.value.to_string()));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_has_a_name_a_value_and_a_unit() {
        let figure = figure("result: request 3.25 us", "ours").unwrap();
        assert_eq!((figure.name.as_str(), figure.value, figure.unit.as_str()), ("request", 3.25, "us"));
    }

    #[test]
    fn other_lines_are_no_figures() {
        assert_eq!(figure("request 3.25 us", "ours"), None);
        assert_eq!(figure("result: request many us", "ours"), None);
    }

    #[test]
    fn the_same_figure_of_several_plugins_stands_in_one_row() {
        let all: Vec<Figure> =
            [("result: a 1 us", "ours"), ("result: a 2.5 us", "stock"), ("result: b 3 GB/s", "raw")]
                .iter()
                .filter_map(|(line, with)| figure(line, with))
                .collect();
        let expected = "| | unit | ours | stock | raw |\n|---|---|---|---|---|\n| a | us | 1 | 2.5 |  |\n| b | GB/s |  |  | 3 |\n";
        assert_eq!(table(&all), expected);
    }
}
