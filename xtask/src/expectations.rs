//! What is known of the tests of GCC's that do not pass: `tests/conformance/gcc-N.toml`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// Why each test that does not pass doesn't, by its name: `"FAIL: reads in front of an array"`. The first word is a status, or
/// VARIES where it depends on how fast or how busy the machine is.
pub type Known = BTreeMap<String, String>;

/// What run.py says of one test.
#[derive(Clone, Debug, Deserialize)]
pub struct Outcome {
    /// `libgomp.c/target-1.c`.
    pub name: String,
    /// `libgomp.c`.
    pub suite: String,
    /// One of those listed in run.py.
    pub status: String,
    /// Why it has that status, where that isn't plain.
    pub reason: String,
    /// How long it ran.
    #[serde(default)]
    pub seconds: f64,
    /// The end of its output.
    #[serde(default)]
    pub output: String,
}

/// How a test's outcome compares with what is known.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It passes.
    Passed,
    /// It doesn't pass, and that is known.
    Known,
    /// It isn't for this machine, or fails as GCC expects.
    Skipped,
    /// It is not as it should be.
    Failed(String),
}

/// Reads what is known of the tests of one GCC with one plugin on one kind of device.
pub fn read(folder: &Path, gcc: u32, plugin: &str, device: &str) -> Result<Known> {
    let path = folder.join(format!("gcc-{gcc}.toml"));
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    parse(&text, plugin, device).with_context(|| path.display().to_string())
}

fn parse(text: &str, plugin: &str, device: &str) -> Result<Known> {
    let mut all: BTreeMap<String, Known> = toml::from_str(text)?;
    for name in all.keys() {
        let parts = name.split_once('-');
        if !parts.is_some_and(|(plugin, device)| {
            ["ours", "stock"].contains(&plugin) && ["sim", "gpu"].contains(&device)
        }) {
            bail!("[{name}] is none of ours-sim, ours-gpu, stock-sim and stock-gpu");
        }
    }
    for (name, reason) in all.values().flatten() {
        if !reason.split_once(": ").is_some_and(|(status, _)| is_status(status)) {
            bail!("{name}: {reason:?} does not start with a status such as \"FAIL: \"");
        }
    }
    Ok(all.remove(&format!("{plugin}-{device}")).unwrap_or_default())
}

/// Whether a reason may start with it.
fn is_status(status: &str) -> bool {
    ["FAIL", "CRASH", "TIMEOUT", "BUILD", "VARIES"].contains(&status)
}

impl Outcome {
    /// Compares the outcome with what is known.
    pub fn verdict(&self, known: &Known) -> Verdict {
        let expected = known.get(&self.name).map(String::as_str);
        let status = expected.and_then(|reason| reason.split(':').next());
        match (self.status.as_str(), status) {
            ("SKIP" | "XFAIL", _) => Verdict::Skipped,
            // It may be in time on a faster machine.
            ("PASS" | "XPASS", None | Some("TIMEOUT" | "VARIES")) => Verdict::Passed,
            ("PASS" | "XPASS", Some(_)) => Verdict::Failed(format!(
                "passes, but is recorded with {:?}: remove that line",
                expected.unwrap_or_default()
            )),
            (_, Some("VARIES")) => Verdict::Known,
            (now, Some(then)) if now == then => Verdict::Known,
            (now, _) => Verdict::Failed(format!("{now}, {}", self.reason)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout;

    fn outcome(name: &str, status: &str) -> Outcome {
        let text = format!(r#"{{"name": "{name}", "suite": "s", "status": "{status}", "reason": "r"}}"#);
        serde_json::from_str(&text).unwrap()
    }

    const TEXT: &str =
        "[ours-sim]\n\"s/a.c\" = \"FAIL: wording\"\n\"s/b.c\" = \"TIMEOUT: slow\"\n[stock-gpu]\n";

    #[test]
    fn what_is_recorded_must_be_so() {
        let known = parse(TEXT, "ours", "sim").unwrap();
        assert_eq!(outcome("s/a.c", "FAIL").verdict(&known), Verdict::Known);
        assert!(matches!(outcome("s/a.c", "PASS").verdict(&known), Verdict::Failed(_)));
        assert!(matches!(outcome("s/a.c", "CRASH").verdict(&known), Verdict::Failed(_)));
        assert_eq!(outcome("s/b.c", "PASS").verdict(&known), Verdict::Passed);
        assert_eq!(outcome("s/c.c", "PASS").verdict(&known), Verdict::Passed);
        assert_eq!(outcome("s/c.c", "FAIL").verdict(&known), Verdict::Failed("FAIL, r".to_owned()));
        assert_eq!(outcome("s/c.c", "XFAIL").verdict(&known), Verdict::Skipped);
    }

    #[test]
    fn each_plugin_and_device_has_a_table_of_its_own() {
        assert_eq!(parse(TEXT, "stock", "gpu").unwrap(), Known::new());
        assert_eq!(parse(TEXT, "stock", "sim").unwrap(), Known::new());
        assert_eq!(parse(TEXT, "ours", "sim").unwrap().len(), 2);
    }

    #[test]
    fn tables_and_reasons_of_another_form_are_refused() {
        assert!(parse("[ours]\n", "ours", "sim").is_err());
        assert!(parse("[ours-sim]\n\"s/a.c\" = \"wording\"\n", "ours", "sim").is_err());
    }

    #[test]
    fn the_recorded_expectations_can_be_read() {
        for gcc in 13..=16 {
            read(&layout::repository().join("tests/conformance"), gcc, "ours", "sim").unwrap();
        }
    }

    #[test]
    fn nothing_that_passes_with_the_stock_plugin_may_fail_with_ours() {
        for gcc in 13..=16 {
            for device in ["sim", "gpu"] {
                let read = |plugin| {
                    read(&layout::repository().join("tests/conformance"), gcc, plugin, device).unwrap()
                };
                let stock = read("stock");
                for name in read("ours").keys() {
                    assert!(
                        stock.contains_key(name),
                        "gcc-{gcc}.toml: {name} is recorded for ours-{device} only"
                    );
                }
            }
        }
    }
}
