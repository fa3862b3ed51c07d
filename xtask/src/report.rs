//! Results as Markdown tables.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::quantity;
use crate::results::{Figure, Record, Results};

/// All tables, as far as there is something to fill them.
pub fn tables(results: &Results) -> String {
    joined(
        results,
        [comparison(results), variants(results), counts(&results.runs), exceptions(&results.runs)],
    )
}

/// The tables without percentiles and extremes, and without what failed, for a log that has that anyhow.
pub fn summary(results: &Results) -> String {
    let mut short = results.clone();
    short.figures.retain(|figure| !figure.is_of_tail());
    joined(results, [comparison(&short), variants(&short), counts(&results.runs)])
}

/// Tables below what they depend on.
fn joined<const N: usize>(results: &Results, tables: [String; N]) -> String {
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
    for table in tables.iter().filter(|table| !table.is_empty()) {
        let _ = write!(text, "\n{table}");
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

/// A row for each figure that was measured with ours in several variants, in a table for those with the same variants.
fn variants(results: &Results) -> String {
    let is_variant = |with: &str| with.starts_with("ours ");
    let mut tables: Vec<(Vec<&str>, String)> = Vec::new();
    for name in names(&results.figures, is_variant) {
        let own = results.figures.iter().filter(|figure| figure.name == name && is_variant(&figure.with));
        let columns: Vec<&str> = own.map(|figure| figure.with.as_str()).collect();
        let cells = std::iter::once(&"ours").chain(&columns).map(|with| cell(results.figure(name, with)));
        let row = format!("| {name} | {} |\n", cells.collect::<Vec<_>>().join(" | "));
        match tables.iter_mut().find(|(others, _)| *others == columns) {
            Some((_, rows)) => *rows += &row,
            None => tables.push((columns, row)),
        }
    }
    let table = |(columns, rows): &(Vec<&str>, String)| {
        let titles: Vec<&str> = columns.iter().map(|with| with.trim_start_matches("ours ")).collect();
        format!(
            "| figure | ours | {} |\n|---|---|{}\n{rows}",
            titles.join(" | "),
            "---|".repeat(columns.len())
        )
    };
    tables.iter().map(table).collect::<Vec<_>>().join("\n")
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

/// How many runs of each folder went how, with either plugin.
fn counts(records: &[Record]) -> String {
    let mut rows: BTreeMap<(&str, String), [usize; VERDICTS.len()]> = BTreeMap::new();
    for record in records {
        let folder = record.name.split('/').next().unwrap_or_default();
        let (plugin, variant) = record.plugin_and_variant();
        let with = format!("{plugin}{}", if variant.is_empty() { "" } else { ", variants" });
        if let Some(column) = VERDICTS.iter().position(|(verdict, _)| *verdict == record.verdict) {
            rows.entry((folder, with)).or_default()[column] += 1;
        }
    }
    let titles = VERDICTS.map(|(_, title)| title).join(" | ");
    let mut text = format!("| runs | with | {titles} |\n|---|---|{}\n", "---|".repeat(VERDICTS.len()));
    for ((folder, with), counts) in &rows {
        let cells = counts.map(|count| if count == 0 { String::new() } else { count.to_string() });
        let _ = writeln!(text, "| {folder} | {with} | {} |", cells.join(" | "));
    }
    if rows.is_empty() { String::new() } else { text }
}

/// The verdicts, and what they are called here.
const VERDICTS: [(&str, &str); 4] = [
    ("passed", "passed"),
    ("differs", "not passed, as known"),
    ("failed", "failed"),
    ("skipped", "no time left"),
];

/// The runs that did not pass, and why.
fn exceptions(records: &[Record]) -> String {
    let mut rows: Vec<String> = Vec::new();
    for record in records.iter().filter(|record| ["differs", "failed"].contains(&record.verdict.as_str())) {
        let stars = if record.verdict == "failed" { "**" } else { "" };
        let why = format!("{}{}", record.why, complaint(&record.stderr)).replace('|', "\\|");
        rows.push(format!("| {stars}{}{stars} | {} | {why} |\n", record.name, record.with));
    }
    if rows.is_empty() {
        return String::new();
    }
    format!("| not passed (bold: failed) | with | why |\n|---|---|---|\n{}", rows.concat())
}

/// Of the end of a program's standard error the line that says what was wrong: that of a check, else the last one.
fn complaint(stderr: &str) -> String {
    let mut lines = stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines.clone().find(|line| line.starts_with("tests/programs/")).or(lines.next_back());
    line.map_or(String::new(), |line| format!("; `{}`", line.chars().take(LINE).collect::<String>()))
}

/// Characters of a program's line that a table shows.
const LINE: usize = 240;

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
    fn figures_with_the_same_variants_share_a_table() {
        let figures = vec![
            figure("a", "ours X=1", "us", &[4.0]),
            figure("b", "ours Y=1", "us", &[5.0]),
            figure("c", "ours X=1", "us", &[6.0]),
        ];
        let text = variants(&Results { figures, ..Results::default() });
        let head = |variant| format!("| figure | ours | {variant} |\n|---|---|---|\n");
        let (x, y) = (head("X=1"), head("Y=1"));
        assert_eq!(text, format!("{x}| a |  | 4.00 us |\n| c |  | 6.00 us |\n\n{y}| b |  | 5.00 us |\n"));
    }

    #[test]
    fn a_summary_has_no_percentiles() {
        let figures = vec![figure("a", "ours", "us", &[4.0]), figure("a-p99", "ours", "us", &[5.0])];
        let results = Results { figures, ..Results::default() };
        assert!(tables(&results).contains("| a-p99 |"));
        assert!(summary(&results).contains("| a |") && !summary(&results).contains("p99"));
    }

    #[test]
    fn of_a_programs_last_words_the_check_that_failed_is_shown() {
        assert_eq!(complaint("  \n"), "");
        assert_eq!(complaint("    one\n    two\n"), "; `two`");
        assert_eq!(
            complaint("    one\n    tests/programs/omp/a.c:1: x\n    two\n"),
            "; `tests/programs/omp/a.c:1: x`"
        );
    }

    #[test]
    fn runs_are_counted_and_what_did_not_pass_is_named() {
        let records = [
            record("omp/b", "ours", "passed", ""),
            record("omp/b", "ours X=1", "failed", "exit status 1"),
            record("omp/a", "ours", "passed", ""),
            record("omp/b", "stock", "differs", "hangs"),
            record("omp/a", "stock", "skipped", "no time"),
        ];
        let rows = |text: &str| text.lines().skip(2).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(
            rows(&counts(&records)),
            [
                "| omp | ours | 2 |  |  |  |",
                "| omp | ours, variants |  |  | 1 |  |",
                "| omp | stock |  | 1 |  | 1 |"
            ]
        );
        assert_eq!(
            rows(&exceptions(&records)),
            ["| **omp/b** | ours X=1 | exit status 1 |", "| omp/b | stock | hangs |"]
        );
    }

    #[test]
    fn times_of_the_simulator_come_with_a_warning() {
        let simulated = Results { simulated: true, ..Results::default() };
        assert!(tables(&simulated).contains("say NOTHING about a GPU"));
        assert!(!tables(&Results::default()).contains("NOTHING"));
    }
}
