//! The project's commands: `cargo xtask demo`, `test`, `conformance`, `bench`, `dist`, `regen` and `gpu-bundle`.
//!
//! The binary also travels in the GPU bundle, where `run-bundle` runs the programs and benches that lie beside it.

mod apt;
mod bench;
mod bundle;
mod bundle_conformance;
mod bundle_run;
mod catalog;
mod chart;
mod checks;
mod circumstances;
mod compile;
mod conformance;
mod demo;
mod directives;
mod dist;
mod dry_run;
mod expectations;
mod gcc_source;
mod glibc;
mod gpu;
mod layout;
mod machine;
mod mmdebstrap;
mod programs;
mod quantity;
mod regen;
mod report;
mod results;
mod root;
mod run;
mod schedule;
mod seeds;
mod session;
mod shell;
mod tally;
mod test;
mod toolchain;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use regex_lite::Regex;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  demo [--gcc N]           build all, run tests/programs/reverse/hello.c on the GPU or else on the simulator
  test [--gcc N] [REGEX]   run everything that CI runs; with REGEX only the programs whose name matches
  conformance [--gcc N] [--suite NAME]... [--only REGEX] [--plugin ours|stock] [--device sim|gpu]
                           run GCC's own tests of libgomp, with our plugin on the simulator unless told otherwise
  bench [--gcc N] [REGEX]  measure our plugin beside GCC's, on the GPU or else, where times mean nothing, on the simulator
  bench --from FILE        show a results.json, of a run of `bench` or of the GPU bundle, and draw docs/performance.svg
  dist                     build the plugin and the simulator into target/boomerang/dist
  regen                    make anew what is generated and checked in: PTX of device-runtime/, bindings of include/
  gpu-bundle [--gcc N] [--conformance]
                           make target/boomerang/gpu-bundle, for a machine that has a GPU but no compilers;
                           with --conformance target/boomerang/gpu-conformance, which holds GCC's tests

N is 13, 14, 15 or 16 (or set BOOMERANG_GCC); without it an installed GCC with nvptx offloading is used,
else GCC 14 is installed into a root of its own under target/boomerang.";

/// One parsed command line.
struct Arguments {
    command: String,
    gcc: Option<u32>,
    /// Names and values of the options that only some commands take.
    options: Vec<(String, String)>,
    free: Vec<String>,
}

impl Arguments {
    fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().rev().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

fn main() -> ExitCode {
    match parse().and_then(execute) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn parse() -> Result<Arguments> {
    use lexopt::prelude::*;
    let mut parser = lexopt::Parser::from_env();
    let mut words = Vec::new();
    let mut gcc = std::env::var("BOOMERANG_GCC").ok();
    let mut options = Vec::new();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("gcc") => gcc = Some(parser.value()?.string()?),
            Long(name @ ("from" | "only" | "seconds" | "resume" | "suite" | "plugin" | "device")) => {
                let name = name.to_owned();
                options.push((name, parser.value()?.string()?));
            }
            Long("conformance") => options.push(("conformance".to_owned(), String::new())),
            Long("help") | Short('h') => words.insert(0, "help".to_owned()),
            Value(word) => words.push(word.string()?),
            other => return Err(other.unexpected().into()),
        }
    }
    let gcc = gcc.map(|text| toolchain::parse_version(&text)).transpose()?;
    if words.is_empty() {
        bail!("{USAGE}");
    }
    Ok(Arguments { command: words.remove(0), gcc, options, free: words })
}

fn execute(arguments: Arguments) -> Result<ExitCode> {
    let free = &arguments.free;
    let most = match arguments.command.as_str() {
        "test" | "bench" => 1,
        "run-bundle" => 5,
        _ => 0,
    };
    let own: &[&str] = match arguments.command.as_str() {
        "conformance" => &["suite", "only", "plugin", "device"],
        "bench" => &["from"],
        "run-bundle" => &["only", "seconds", "resume"],
        "gpu-bundle" => &["conformance"],
        _ => &[],
    };
    if let Some((option, _)) = arguments.options.iter().find(|(option, _)| !own.contains(&option.as_str())) {
        bail!("{} takes no --{option}\n{USAGE}", arguments.command);
    }
    if free.len() > most {
        bail!("{} takes no argument {:?}\n{USAGE}", arguments.command, free[most]);
    }
    let filter = || free.first().map(|text| regex(text)).transpose();
    match arguments.command.as_str() {
        "help" => println!("{USAGE}"),
        "demo" => demo::demo(arguments.gcc)?,
        "dist" => println!("{}", dist::build()?.folder.display()),
        "regen" => regen::regenerate()?,
        "conformance" => {
            let mut tests = conformance::Options::default();
            for (name, value) in &arguments.options {
                tests.set(name, value)?;
            }
            return conformance::conformance(arguments.gcc, &tests);
        }
        "gpu-bundle" if !arguments.options.is_empty() => bundle_conformance::make(arguments.gcc)?,
        "gpu-bundle" => bundle::make(arguments.gcc)?,
        "test" => return test::test(arguments.gcc, filter()?),
        "bench" => match arguments.option("from") {
            Some(file) => bench::from(file.as_ref())?,
            None => return bench::bench(arguments.gcc, filter()?),
        },
        "run-bundle" => {
            let [bundle, work, out, what @ ..] = free.as_slice() else {
                bail!("run-bundle needs three folders")
            };
            let (bundle, work, out) = (bundle.as_ref(), work.as_ref(), out.as_ref());
            let what = what.iter().map(String::as_str).collect::<Vec<_>>();
            let part = match what.as_slice() {
                ["conformance", part @ ..] => {
                    return bundle_conformance::run(bundle, work, part.first().copied());
                }
                [] => bundle_run::Part::All,
                [part, ..] => part.parse()?,
            };
            let only = arguments.option("only").map(regex).transpose()?;
            let seconds = arguments.option("seconds").map(str::parse).transpose()?;
            let resume = arguments.option("resume").map(PathBuf::from);
            return bundle_run::run(bundle, work, out, &bundle_run::Order { part, only, seconds, resume });
        }
        other => bail!("no command {other:?}\n{USAGE}"),
    }
    Ok(ExitCode::SUCCESS)
}

fn regex(text: &str) -> Result<Regex> {
    Regex::new(text).with_context(|| format!("{text:?} is no regular expression"))
}
