//! Results as a picture: our plugin beside GCC's and the raw floor, on logarithmic scales.

use std::fmt::Write;

use crate::quantity;
use crate::results::{Figure, Results};

const WIDTH: f64 = 1000.0;
const MARGIN: f64 = 20.0;
const ROW: f64 = 22.0;
/// Where the scale of a panel begins and ends; names of figures stand before it, values behind it.
const SCALE: (f64, f64) = (270.0, 690.0);

/// Who is drawn, as runs call it, and how: its name, its colour (told apart with any eyesight: Okabe and Ito), its marker.
const SERIES: [(&str, &str, &str, Marker); 3] = [
    ("ours", "Boomerang", "#0072b2", Marker::Disc),
    ("stock", "GCC's plugin", "#d55e00", Marker::Square),
    ("raw", "driver alone", "#555555", Marker::Bar),
];

#[derive(Clone, Copy)]
enum Marker {
    Disc,
    Square,
    Bar,
}

/// A figure with its value from each of [`SERIES`].
struct Row<'a> {
    name: &'a str,
    figures: [Option<&'a Figure>; 3],
}

/// Draws the medians that were measured with either plugin, times in one panel and each other unit in one of its own.
pub fn draw(results: &Results) -> String {
    let mut body = String::new();
    let mut y = header(&mut body, results);
    for unit in units(results) {
        y = panel(&mut body, y + 24.0, unit, &rows(results, unit));
    }
    let height = y + MARGIN;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"13\" fill=\"#222222\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{body}</svg>\n"
    )
}

fn is_drawn(figure: &Figure) -> bool {
    let plain = SERIES.iter().any(|(with, ..)| figure.with == *with);
    plain && figure.median > 0.0 && !figure.is_of_tail()
}

/// The units to draw: times first, but after the counts where they are the simulator's.
fn units(results: &Results) -> Vec<&str> {
    let mut units: Vec<&str> = Vec::new();
    for figure in results.figures.iter().filter(|figure| is_drawn(figure)) {
        let unit = quantity::common(0.0, &figure.unit).1;
        if !units.contains(&unit) {
            units.push(unit);
        }
    }
    let is_first = |unit: &str| (unit == "us" || quantity::is_rate(unit)) != results.simulated;
    units.sort_by_key(|unit| (!is_first(unit), *unit != "us"));
    units
}

fn rows<'a>(results: &'a Results, unit: &str) -> Vec<Row<'a>> {
    let mut rows: Vec<Row<'a>> = Vec::new();
    let drawn = results.figures.iter().filter(|figure| is_drawn(figure));
    for figure in drawn.filter(|figure| quantity::common(0.0, &figure.unit).1 == unit) {
        if !rows.iter().any(|row| row.name == figure.name) {
            let figures =
                SERIES.map(|(with, ..)| results.figure(&figure.name, with).filter(|one| is_drawn(one)));
            rows.push(Row { name: &figure.name, figures });
        }
    }
    rows
}

fn header(body: &mut String, results: &Results) -> f64 {
    text(body, MARGIN, 34.0, "font-size=\"20\" font-weight=\"bold\"", "Boomerang and GCC's own plugin");
    let below = format!(
        "{}, {}; programs built by GCC {}; medians, with the spread of all rounds",
        results.device, results.date, results.gcc
    );
    text(body, MARGIN, 56.0, "", &below);
    let mut y = 56.0;
    if !results.remark.is_empty() {
        y += 20.0;
        text(body, MARGIN, y, "", &results.remark);
    }
    if results.simulated {
        y += 20.0;
        let warning = "The simulator: these times and rates say nothing about a GPU.";
        text(body, MARGIN, y, "fill=\"#c00000\" font-weight=\"bold\"", warning);
    }
    y += 26.0;
    for (index, (_, name, colour, marker)) in SERIES.iter().enumerate() {
        let x = MARGIN + 10.0 + 150.0 * index as f64;
        mark(body, *marker, x, y - 4.0, colour);
        text(body, x + 14.0, y, "", name);
    }
    y
}

/// Draws a panel and returns where it ends.
fn panel(body: &mut String, top: f64, unit: &str, rows: &[Row<'_>]) -> f64 {
    let better = if quantity::is_rate(unit) { "to the right is better" } else { "to the left is better" };
    let title = if unit == "us" { "time".to_owned() } else { unit.to_owned() };
    let head = top + 14.0;
    text(body, MARGIN, head, "font-weight=\"bold\"", &format!("{title}, logarithmic: {better}"));
    for (index, (_, name, colour, _)) in SERIES.iter().enumerate() {
        text(body, column(index), head, &format!("fill=\"{colour}\" text-anchor=\"end\""), name);
    }

    let scale = Scale::of(rows);
    let (first, last) = (head + 10.0, head + 10.0 + ROW * rows.len() as f64);
    for decade in scale.low..=scale.high {
        let value = 10f64.powi(decade);
        let x = scale.x(value);
        line(body, (x, first), (x, last), "#dddddd", 1.0);
        text(body, x, last + 16.0, "fill=\"#555555\" text-anchor=\"middle\"", &round_text(value, unit));
    }
    for (index, row) in rows.iter().enumerate() {
        let y = first + ROW * (index as f64 + 0.5);
        text(body, SCALE.0 - 14.0, y + 4.0, "text-anchor=\"end\"", row.name);
        // Ours last, so that it lies on top.
        for (column_index, figure) in row.figures.iter().enumerate().rev() {
            let Some(figure) = figure else { continue };
            let (_, _, colour, marker) = SERIES[column_index];
            let place = |value| scale.x(quantity::common(value, &figure.unit).0);
            let (least, most) = figure.spread();
            line(body, (place(least), y), (place(most), y), colour, 2.0);
            mark(body, marker, place(figure.median), y, colour);
            let value = quantity::text(figure.median, &figure.unit);
            text(
                body,
                column(column_index),
                y + 4.0,
                &format!("fill=\"{colour}\" text-anchor=\"end\""),
                &value,
            );
        }
    }
    last + 22.0
}

/// The right edge of a series' column of values.
fn column(index: usize) -> f64 {
    WIDTH - MARGIN - 95.0 * (SERIES.len() - 1 - index) as f64
}

/// A logarithmic scale of whole decades.
struct Scale {
    low: i32,
    high: i32,
}

impl Scale {
    fn of(rows: &[Row<'_>]) -> Scale {
        let figures = rows.iter().flat_map(|row| row.figures.iter().flatten());
        let values = figures.flat_map(|figure| {
            let (least, most) = figure.spread();
            [least, most].map(|value| quantity::common(value, &figure.unit).0.log10())
        });
        let (low, high) = values
            .filter(|value| value.is_finite())
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let low = low.floor() as i32;
        Scale { low, high: (high.ceil() as i32).max(low + 1) }
    }

    /// Where a value stands; what is too small, such as 0, stands at the edge.
    fn x(&self, value: f64) -> f64 {
        let share = (value.log10() - f64::from(self.low)) / f64::from(self.high - self.low);
        SCALE.0 + (SCALE.1 - SCALE.0) * share.clamp(0.0, 1.0)
    }
}

/// A power of ten without the digits that are all 0.
fn round_text(value: f64, unit: &str) -> String {
    let text = quantity::text(value, unit);
    let (number, unit) = text.split_once(' ').unwrap_or((&text, ""));
    let number =
        if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
    format!("{number} {unit}")
}

fn text(body: &mut String, x: f64, y: f64, attributes: &str, text: &str) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let _ = writeln!(body, "<text x=\"{x:.1}\" y=\"{y:.1}\" {attributes}>{text}</text>");
}

fn line(body: &mut String, from: (f64, f64), to: (f64, f64), colour: &str, width: f64) {
    let _ = writeln!(
        body,
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{colour}\" stroke-width=\"{width}\"/>",
        from.0, from.1, to.0, to.1
    );
}

fn mark(body: &mut String, marker: Marker, x: f64, y: f64, colour: &str) {
    let _ = match marker {
        Marker::Disc => writeln!(body, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\" fill=\"{colour}\"/>"),
        Marker::Square => rectangle(body, (x - 4.5, y - 4.5), (9.0, 9.0), colour),
        Marker::Bar => rectangle(body, (x - 1.5, y - 8.0), (3.0, 16.0), colour),
    };
}

fn rectangle(body: &mut String, at: (f64, f64), size: (f64, f64), colour: &str) -> std::fmt::Result {
    writeln!(
        body,
        "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{}\" height=\"{}\" fill=\"{colour}\"/>",
        at.0, at.1, size.0, size.1
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout;

    #[test]
    fn a_scale_spans_whole_decades_and_holds_every_value() {
        let figure = |values: &[f64]| Figure {
            name: "a".to_owned(),
            with: "ours".to_owned(),
            unit: "ms".to_owned(),
            median: values[0],
            values: values.to_vec(),
        };
        let one = figure(&[0.5, 20.0]);
        let scale = Scale::of(&[Row { name: "a", figures: [Some(&one), None, None] }]);
        assert_eq!((scale.low, scale.high), (2, 5));
        assert_eq!((scale.x(100.0), scale.x(1e5), scale.x(0.0)), (SCALE.0, SCALE.1, SCALE.0));
        let same = figure(&[1.0]);
        let scale = Scale::of(&[Row { name: "a", figures: [Some(&same), None, None] }]);
        assert_eq!((scale.low, scale.high), (3, 4));
    }

    #[test]
    fn powers_of_ten_are_written_short() {
        let texts = [(1.0, "us"), (1e4, "us"), (0.1, "us"), (1e6, "us"), (10.0, "GB/s"), (1000.0, "calls")];
        let expected = ["1 us", "10 ms", "0.1 us", "1 s", "10 GB/s", "1000 calls"];
        assert_eq!(texts.map(|(value, unit)| round_text(value, unit)), expected);
    }

    #[test]
    fn the_picture_in_the_documents_is_of_the_results_beside_it() {
        let docs = layout::repository().join("docs");
        let results = Results::read(&docs.join("performance.json")).unwrap();
        let picture = std::fs::read_to_string(docs.join("performance.svg")).unwrap();
        assert!(picture == draw(&results), "cargo xtask bench --from docs/performance.json");
    }
}
