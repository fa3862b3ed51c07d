//! The project's commands: `cargo xtask demo`, `test`, `conformance`, `dist`, `regen` and `gpu-bundle`.
//!
//! The binary also travels in the GPU bundle, where `run-bundle` runs the programs and benches that lie beside it.

mod apt;
mod bundle;
mod bundle_conformance;
mod bundle_run;
mod catalog;
mod checks;
mod compile;
mod conformance;
mod demo;
mod directives;
mod dist;
mod expectations;
mod gcc_source;
mod glibc;
mod gpu;
mod json;
mod layout;
mod machine;
mod mmdebstrap;
mod programs;
mod regen;
mod results;
mod root;
mod run;
mod schedule;
mod seeds;
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
    tests: conformance::Options,
    /// The options given that only some commands take.
    options: Vec<String>,
    free: Vec<String>,
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
    let (mut tests, mut options) = (conformance::Options::default(), Vec::new());
    while let Some(argument) = parser.next()? {
        match argument {
            Long("gcc") => gcc = Some(parser.value()?.string()?),
            Long(name @ ("suite" | "only" | "plugin" | "device")) => {
                let name = name.to_owned();
                tests.set(&name, parser.value()?.string()?)?;
                options.push(name);
            }
            Long("conformance") => options.push("conformance".to_owned()),
            Long("help") | Short('h') => words.insert(0, "help".to_owned()),
            Value(word) => words.push(word.string()?),
            other => return Err(other.unexpected().into()),
        }
    }
    let gcc = gcc.map(|text| toolchain::parse_version(&text)).transpose()?;
    if words.is_empty() {
        bail!("{USAGE}");
    }
    Ok(Arguments { command: words.remove(0), gcc, tests, options, free: words })
}

fn execute(arguments: Arguments) -> Result<ExitCode> {
    let free = &arguments.free;
    let most = match arguments.command.as_str() {
        "test" => 1,
        "run-bundle" => 3,
        _ => 0,
    };
    let own: &[&str] = match arguments.command.as_str() {
        "conformance" => &["suite", "only", "plugin", "device"],
        "gpu-bundle" => &["conformance"],
        _ => &[],
    };
    if let Some(option) = arguments.options.iter().find(|option| !own.contains(&option.as_str())) {
        bail!("{} takes no --{option}\n{USAGE}", arguments.command);
    }
    if free.len() > most {
        bail!("{} takes no argument {:?}\n{USAGE}", arguments.command, free[most]);
    }
    match arguments.command.as_str() {
        "help" => println!("{USAGE}"),
        "demo" => demo::demo(arguments.gcc)?,
        "dist" => println!("{}", dist::build()?.folder.display()),
        "regen" => regen::regenerate()?,
        "conformance" => return conformance::conformance(arguments.gcc, &arguments.tests),
        "gpu-bundle" if !arguments.options.is_empty() => bundle_conformance::make(arguments.gcc)?,
        "gpu-bundle" => bundle::make(arguments.gcc)?,
        "test" => {
            let filter = free.first().map(|text| Regex::new(text)).transpose();
            return test::test(arguments.gcc, filter.context("the filter is no regular expression")?);
        }
        "run-bundle" => {
            let folder = free.first().map(PathBuf::from).context("run-bundle needs an output folder")?;
            return match free.get(1).map_or("all", String::as_str) {
                "conformance" => bundle_conformance::run(&folder, free.get(2).map(String::as_str)),
                what => bundle_run::run(&folder, what),
            };
        }
        other => bail!("no command {other:?}\n{USAGE}"),
    }
    Ok(ExitCode::SUCCESS)
}
