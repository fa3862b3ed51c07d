//! The `boomerang:` lines at the head of a test program or bench; tests/programs/README.md describes them.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use regex_lite::{Regex, RegexBuilder};

/// Environment variables to set.
pub type Variables = Vec<(String, String)>;

/// What a program's header says.
#[derive(Clone, Debug)]
pub struct Directives {
    /// The property checked, or the figures measured.
    pub sentence: String,
    /// Whether it is a bench.
    pub is_bench: bool,
    /// The program whose binary is run, for a `.test` file.
    pub program: Option<String>,
    /// Further sources, in the same folder.
    pub sources: Vec<String>,
    /// The source, in the same folder, of a shared library that the program loads from beside itself.
    pub library: Option<String>,
    /// Further flags of the compiler.
    pub flags: Vec<String>,
    /// Further flags of the device compiler.
    pub device_flags: Vec<String>,
    /// Whether the system's compiler builds it.
    pub system_compiler: bool,
    /// The program's arguments.
    pub args: Vec<String>,
    /// Variables for all runs.
    pub env: Variables,
    /// Further runs, each with these variables.
    pub variants: Vec<Variables>,
    /// How many orders of the simulator's warps it is run in, beside the runs above.
    pub seeds: u32,
    /// What a run must look like.
    pub expected: Expected,
    /// Whether it runs with our plugin.
    pub ours: bool,
    /// Whether, and with what hope, it runs with the stock plugin.
    pub stock: Stock,
    /// The only device that it makes sense on.
    pub only: Option<Device>,
    /// Whether it must not find a libcuda.
    pub without_libcuda: bool,
    /// The least GCC that compiles it.
    pub gcc: u32,
    /// The time allowed for one run.
    pub timeout: Duration,
    /// The same on a GPU, where that isn't the usual.
    pub gpu_timeout: Option<Duration>,
    /// Whether nothing else may run on the same GPU.
    pub alone: bool,
}

/// What a run must look like.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    /// The exit status; None for any but 0.
    pub exit: Option<i32>,
    /// What standard output must contain.
    pub stdout: Vec<Regex>,
    /// What standard error must contain.
    pub stderr: Vec<Regex>,
    /// What standard error must not contain.
    pub not_stderr: Vec<Regex>,
    /// The most lines of standard error.
    pub stderr_lines: Option<usize>,
}

/// What is expected of the stock plugin.
#[derive(Clone, Debug, PartialEq)]
pub enum Stock {
    /// The same as of ours.
    Passes,
    /// It may hang, for this reason.
    Hangs(String),
    /// It may end with an error, for this reason.
    Dies(String),
    /// It isn't run.
    Skipped,
}

/// Where a program runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Device {
    /// The simulator.
    Simulator,
    /// A GPU.
    Gpu,
}

impl Directives {
    /// Reads the directives of a file; None where it has none.
    pub fn parse(text: &str) -> Result<Option<Directives>> {
        let mut directives = Directives::new();
        let mut found = false;
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            let start = ["//", "!", "#"].iter().find_map(|comment| line.strip_prefix(comment));
            let Some(directive) = start.and_then(|rest| rest.trim_start().strip_prefix("boomerang:")) else {
                continue;
            };
            let (key, value) =
                directive.split_once(':').with_context(|| format!("line {}: no key", index + 1))?;
            let (key, value) = (key.trim(), value.trim());
            directives.set(key, value).with_context(|| format!("line {}: {key}: {value}", index + 1))?;
            found = true;
        }
        ensure!(!found || !directives.sentence.is_empty(), "directives, but neither `checks` nor `measures`");
        Ok(found.then_some(directives))
    }

    fn new() -> Directives {
        Directives {
            sentence: String::new(),
            is_bench: false,
            program: None,
            sources: Vec::new(),
            library: None,
            flags: Vec::new(),
            device_flags: Vec::new(),
            system_compiler: false,
            args: Vec::new(),
            env: Vec::new(),
            variants: Vec::new(),
            seeds: 0,
            expected: Expected { exit: Some(0), ..Expected::default() },
            ours: true,
            stock: Stock::Passes,
            only: None,
            without_libcuda: false,
            gcc: 13,
            timeout: Duration::from_secs(60),
            gpu_timeout: None,
            alone: false,
        }
    }

    fn set(&mut self, key: &str, value: &str) -> Result<()> {
        let words = || value.split_whitespace().map(str::to_owned);
        match key {
            "checks" | "measures" => {
                self.sentence = value.to_owned();
                self.is_bench = key == "measures";
            }
            "program" => self.program = Some(value.to_owned()),
            "sources" => self.sources.extend(words()),
            "library" => self.library = Some(value.to_owned()),
            "flags" => self.flags.extend(words()),
            "device-flags" => self.device_flags.extend(words()),
            "compiler" if value == "system" => self.system_compiler = true,
            "args" => self.args.extend(words()),
            "env" => self.env.extend(variables(value)?),
            "variants" => {
                for variant in value.split('|') {
                    self.variants.push(variables(variant)?);
                }
            }
            "seeds" => self.seeds = value.parse()?,
            "exit" if value == "failure" => self.expected.exit = None,
            "exit" => self.expected.exit = Some(value.parse()?),
            "stdout" => self.expected.stdout.push(pattern(value)?),
            "stderr" => self.expected.stderr.push(pattern(value)?),
            "not-stderr" => self.expected.not_stderr.push(pattern(value)?),
            "stderr-lines" => self.expected.stderr_lines = Some(value.parse()?),
            "plugins" => match value {
                "ours" => self.stock = Stock::Skipped,
                "stock" => self.ours = false,
                "both" => {}
                _ => bail!("neither ours, stock nor both"),
            },
            "stock" => {
                let (kind, why) = value.split_once(':').context("no reason given: `stock: hangs: WHY`")?;
                self.stock = match kind.trim() {
                    "hangs" => Stock::Hangs(why.trim().to_owned()),
                    "dies" => Stock::Dies(why.trim().to_owned()),
                    "skip" => Stock::Skipped,
                    _ => bail!("neither hangs, dies nor skip"),
                };
            }
            "on" => match value {
                "sim" => self.only = Some(Device::Simulator),
                "gpu" => self.only = Some(Device::Gpu),
                _ => bail!("neither sim nor gpu"),
            },
            "libcuda" if value == "none" => {
                self.without_libcuda = true;
                self.only = Some(Device::Simulator);
            }
            "gcc" => self.gcc = value.parse()?,
            "timeout" => self.timeout = Duration::from_secs(value.parse()?),
            "gpu-timeout" => self.gpu_timeout = Some(Duration::from_secs(value.parse()?)),
            "gpu" if value == "alone" => self.alone = true,
            _ => bail!("no such directive"),
        }
        Ok(())
    }
}

fn variables(text: &str) -> Result<Variables> {
    let pair = |word: &str| {
        let (name, value) = word.split_once('=').with_context(|| format!("{word:?} is not NAME=VALUE"))?;
        Ok((name.to_owned(), value.to_owned()))
    };
    text.split_whitespace().map(pair).collect()
}

fn pattern(text: &str) -> Result<Regex> {
    Ok(RegexBuilder::new(text).multi_line(true).build()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_directives_is_no_program() {
        assert!(Directives::parse("// boomerangs fly\nint main(void) {}\n").unwrap().is_none());
    }

    #[test]
    fn directives_are_read_in_the_comments_of_each_language() {
        for comment in ["//", "!", "#"] {
            let text = format!("{comment} boomerang: checks: x\n{comment} boomerang: env: A=1 B=2\n");
            let directives = Directives::parse(&text).unwrap().unwrap();
            assert_eq!(directives.sentence, "x");
            assert_eq!(directives.env.len(), 2);
        }
    }

    #[test]
    fn each_variant_is_a_set_of_variables() {
        let text =
            "// boomerang: checks: x\n// boomerang: variants: A=1 B=2 | A=3\n// boomerang: variants: C=\n";
        let variants = Directives::parse(text).unwrap().unwrap().variants;
        assert_eq!(variants.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1, 1]);
    }

    #[test]
    fn a_wrong_key_or_value_names_its_line() {
        for wrong in [
            "colour: red",
            "plugins: theirs",
            "stock: hangs",
            "stdout: (",
            "env: A",
            "timeout: soon",
            "gpu: shared",
        ] {
            let text = format!("// boomerang: checks: x\n// boomerang: {wrong}\n");
            let error = format!("{:#}", Directives::parse(&text).unwrap_err());
            assert!(error.starts_with("line 2: "), "{error}");
        }
    }

    #[test]
    fn a_program_must_say_what_it_checks() {
        assert!(Directives::parse("// boomerang: exit: 1\n").is_err());
    }
}
