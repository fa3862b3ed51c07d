//! Results as Markdown tables.

use std::fmt::Write;

use crate::quantity;
use crate::results::{Figure, Record, Results};

/// All tables, as far as there is something to fill them.
pub fn tables(results: &Results) -> String {
    let mut text = format!(
        "{}; {}, programs built by GCC {}, commit {}\n",
        results.date, results.device, results.gcc, results.commit
    );
    if !results.remark.is_empty() {
        let _ = writeln!(text, "{}", results.remark);
    }
    if results.simulated {
        text += "\nThe device is the simulator: its times and rates say NOTHING about a GPU. What counts here: the calls of the\n\
                 driver (-driver) and the instructions of kernels (-device) that a step needs.\n";
    }
    for table in [comparison(results), variants(results), verdicts(&results.runs)] {
        if !table.is_empty() {
            let _ = write!(text, "\n{table}");
        }
    }
    text
}

/// A row for each figure: ours, GCC's, the raw floor, how many times better ours is than GCC's, and how many times the floor it is.
fn comparison(results: &Results) -> String {
    let mut text = String::new();
    for name in names(&results.figures, |with| ["ours", "stock", "raw"].contains(&with)) {
        let [ours, stock, raw] = ["ours", "stock", "raw"].map(|with| results.figure(name, with));
        let (better, worse) = if ours.is_some_and(|ours| quantity::is_rate(&ours.unit)) {
            (stock, ours)
        } else {
            (ours, stock)
        };
        let cells = [cell(ours), cell(stock), cell(raw), times(better, worse), times(raw, ours)];
        let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
    }
    if text.is_empty() {
        return text;
    }
    format!(
        "Medians of the rounds (least to most):\n\n| figure | ours | stock | raw | gain | ours / raw |\n\
         |---|---|---|---|---|---|\n{text}"
    )
}

/// How many times `one` the other is.
fn times(one: Option<&Figure>, other: Option<&Figure>) -> String {
    match one.zip(other) {
        Some((one, other)) if one.unit == other.unit && one.median > 0.0 => {
            format!("{}x", quantity::digits(other.median / one.median))
        }
        _ => String::new(),
    }
}

/// A row for each figure that was measured with ours in several variants, a column for each variant.
fn variants(results: &Results) -> String {
    let is_variant = |with: &str| with.starts_with("ours ");
    let mut columns: Vec<&str> = Vec::new();
    for figure in results.figures.iter().filter(|figure| is_variant(&figure.with)) {
        if !columns.contains(&figure.with.as_str()) {
            columns.push(&figure.with);
        }
    }
    if columns.is_empty() {
        return String::new();
    }
    let titles: Vec<&str> = columns.iter().map(|with| with.trim_start_matches("ours ")).collect();
    let mut text =
        format!("| figure | ours | {} |\n|---|---|{}\n", titles.join(" | "), "---|".repeat(columns.len()));
    for name in names(&results.figures, is_variant) {
        let cells = std::iter::once(&"ours").chain(&columns).map(|with| cell(results.figure(name, with)));
        let _ = writeln!(text, "| {name} | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
    text
}

/// The names of the figures measured so, each once.
fn names(figures: &[Figure], with: impl Fn(&str) -> bool) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for figure in figures.iter().filter(|figure| with(&figure.with)) {
        if !names.contains(&figure.name.as_str()) {
            names.push(&figure.name);
        }
    }
    names
}

fn cell(figure: Option<&Figure>) -> String {
    let Some(figure) = figure else { return String::new() };
    let text = quantity::text(figure.median, &figure.unit);
    let (least, most) = figure.spread();
    if least == most {
        return text;
    }
    format!("{text} ({} to {})", quantity::text(least, &figure.unit), quantity::text(most, &figure.unit))
}

/// What became of each program with either plugin. With ours, the variants that did not pass are named.
fn verdicts(records: &[Record]) -> String {
    let programs: Vec<&Record> =
        records.iter().filter(|record| !record.name.starts_with("benches/")).collect();
    let mut names: Vec<&str> = programs.iter().map(|record| record.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return String::new();
    }
    let mut text = "| program | ours | stock |\n|---|---|---|\n".to_owned();
    for name in names {
        let cell = |plugin| {
            let own = |record: &&&Record| record.name == name && record.plugin_and_variant().0 == plugin;
            let own: Vec<&&Record> = programs.iter().filter(own).collect();
            match own.iter().filter(|one| one.verdict != "passed").collect::<Vec<_>>().as_slice() {
                [] if own.is_empty() => String::new(),
                [] => format!("passed ({})", own.len()),
                bad => bad.iter().map(|one| remark(one)).collect::<Vec<_>>().join("; "),
            }
        };
        let _ = writeln!(text, "| {name} | {} | {} |", cell("ours"), cell("stock"));
    }
    text
}

fn remark(record: &Record) -> String {
    let stars = if record.verdict == "failed" { "**" } else { "" };
    let (_, variant) = record.plugin_and_variant();
    let variant = if variant.is_empty() { String::new() } else { format!(" with {variant}") };
    format!("{stars}{}{stars}{variant}: {}", record.verdict, record.why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(name: &str, with: &str, unit: &str, values: &[f64]) -> Figure {
        let text = |text: &str| text.to_owned();
        Figure {
            name: text(name),
            with: text(with),
            unit: text(unit),
            median: values[0],
            values: values.to_vec(),
        }
    }

    fn record(name: &str, with: &str, verdict: &str, why: &str) -> Record {
        let [name, with, verdict, why] = [name, with, verdict, why].map(str::to_owned);
        Record { name, with, verdict, why, seconds: 1.0, stderr: String::new() }
    }

    #[test]
    fn a_figure_of_several_plugins_stands_in_one_row() {
        let figures = vec![
            figure("a", "ours", "us", &[2.0, 1.0, 3.0]),
            figure("b", "ours", "GB/s", &[30.0]),
            figure("a", "stock", "us", &[5.0]),
            figure("b", "stock", "GB/s", &[10.0]),
            figure("a", "raw", "us", &[1.5]),
        ];
        let text = comparison(&Results { figures, ..Results::default() });
        let rows: Vec<&str> = text.lines().skip(4).collect();
        assert_eq!(
            rows,
            [
                "| a | 2.00 us (1.00 us to 3.00 us) | 5.00 us | 1.50 us | 2.50x | 1.33x |",
                "| b | 30.0 GB/s | 10.0 GB/s |  | 3.00x |  |"
            ]
        );
    }

    #[test]
    fn variants_have_a_column_each() {
        let figures = vec![figure("a", "ours", "us", &[2.0]), figure("a", "ours X=1", "us", &[4.0])];
        let text = variants(&Results { figures, ..Results::default() });
        assert_eq!(text, "| figure | ours | X=1 |\n|---|---|---|\n| a | 2.00 us | 4.00 us |\n");
    }

    #[test]
    fn what_did_not_pass_is_named_with_its_variant() {
        let records = [
            record("omp/b", "ours", "passed", ""),
            record("omp/b", "ours X=1", "failed", "exit status 1"),
            record("omp/a", "ours", "passed", ""),
            record("omp/b", "stock", "differs", "hangs"),
            record("benches/c", "ours", "passed", ""),
        ];
        let text = verdicts(&records);
        let rows: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(
            rows,
            ["| omp/a | passed (1) |  |", "| omp/b | **failed** with X=1: exit status 1 | differs: hangs |"]
        );
    }

    #[test]
    fn times_of_the_simulator_come_with_a_warning() {
        let simulated = Results { simulated: true, ..Results::default() };
        assert!(tables(&simulated).contains("say NOTHING about a GPU"));
        assert!(!tables(&Results::default()).contains("NOTHING"));
    }
}
