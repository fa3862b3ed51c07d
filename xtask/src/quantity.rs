//! Measured values: their units, and how they are written for people.

/// Whether a figure of this unit is a rate or a factor, and so better the larger it is.
pub fn is_rate(unit: &str) -> bool {
    unit.ends_with("/s") || unit == "x"
}

/// A value in the unit that its kind of quantity is compared in: microseconds for times.
pub fn common(value: f64, unit: &str) -> (f64, &str) {
    match unit {
        "ns" => (value / 1e3, "us"),
        "ms" => (value * 1e3, "us"),
        "s" => (value * 1e6, "us"),
        _ => (value, unit),
    }
}

/// A value with three digits and its unit, times in the unit that suits them.
pub fn text(value: f64, unit: &str) -> String {
    match common(value, unit) {
        (microseconds, "us") if microseconds >= 999.5e3 => format!("{} s", digits(microseconds / 1e6)),
        (microseconds, "us") if microseconds >= 999.5 => format!("{} ms", digits(microseconds / 1e3)),
        (value, unit) => format!("{} {unit}", digits(value)),
    }
}

/// A value with three digits, or more where it has more before the point.
pub fn digits(value: f64) -> String {
    let places = match value.abs() {
        0.0 | 99.5.. => 0,
        9.95.. => 1,
        0.995.. => 2,
        _ => 3,
    };
    format!("{value:.places$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_the_unit_that_suits_them() {
        let texts =
            [(0.123, "us"), (12.34, "us"), (999.6, "us"), (2_700_000.0, "us"), (20.9, "ms"), (50.0, "ns")];
        let expected = ["0.123 us", "12.3 us", "1.00 ms", "2.70 s", "20.9 ms", "0.050 us"];
        assert_eq!(texts.map(|(value, unit)| text(value, unit)), expected);
    }

    #[test]
    fn other_units_stay() {
        assert_eq!(text(7.25, "GB/s"), "7.25 GB/s");
        assert_eq!(text(15045.0, "instructions"), "15045 instructions");
        assert_eq!(text(0.0, "calls"), "0 calls");
    }
}
