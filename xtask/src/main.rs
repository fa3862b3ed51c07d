//! The project's commands: `cargo xtask demo`, `test`, `bench`, `dist`, `regen` and `gpu-bundle`.
//!
//! The binary also travels in the GPU bundle, where `run-bundle` runs the programs and benches that lie beside it.

mod apt;
mod bench;
mod bundle;
mod bundle_run;
mod catalog;
mod chart;
mod checks;
mod circumstances;
mod compile;
mod demo;
mod directives;
mod dist;
mod dry_run;
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
  bench [--gcc N] [REGEX]  measure our plugin beside GCC's, on the GPU or else, where times mean nothing, on the simulator
  bench --from FILE        show a results.json, of a run of `bench` or of the GPU bundle, and draw docs/performance.svg
  dist                     build the plugin and the simulator into target/boomerang/dist
  regen                    make anew what is generated and checked in: PTX of device-runtime/, bindings of include/
  gpu-bundle [--gcc N]     make target/boomerang/gpu-bundle, for a machine that has a GPU but no compilers

N is 13, 14, 15 or 16 (or set BOOMERANG_GCC); without it an installed GCC with nvptx offloading is used,
else GCC 14 is installed into a root of its own under target/boomerang.";

/// One parsed command line.
struct Arguments {
    command: String,
    gcc: Option<u32>,
    /// A results.json to be shown.
    from: Option<PathBuf>,
    /// Which programs of a bundle to run.
    only: Option<Regex>,
    /// How long a bundle's run may take.
    seconds: Option<u64>,
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
    let (mut from, mut only, mut seconds) = (None, None, None);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("gcc") => gcc = Some(parser.value()?.string()?),
            Long("from") => from = Some(PathBuf::from(parser.value()?)),
            Long("only") => only = Some(regex(&parser.value()?.string()?)?),
            Long("seconds") => seconds = Some(parser.value()?.parse()?),
            Long("help") | Short('h') => words.insert(0, "help".to_owned()),
            Value(word) => words.push(word.string()?),
            other => return Err(other.unexpected().into()),
        }
    }
    let gcc = gcc.map(|text| toolchain::parse_version(&text)).transpose()?;
    if words.is_empty() {
        bail!("{USAGE}");
    }
    Ok(Arguments { command: words.remove(0), gcc, from, only, seconds, free: words })
}

fn execute(arguments: Arguments) -> Result<ExitCode> {
    let free = &arguments.free;
    let most = match arguments.command.as_str() {
        "test" | "bench" => 1,
        "run-bundle" => 4,
        _ => 0,
    };
    if free.len() > most {
        bail!("{} takes no argument {:?}\n{USAGE}", arguments.command, free[most]);
    }
    let filter = || free.first().map(|text| regex(text)).transpose();
    match arguments.command.as_str() {
        "help" => println!("{USAGE}"),
        "demo" => demo::demo(arguments.gcc)?,
        "dist" => println!("{}", dist::build()?.folder.display()),
        "regen" => regen::regenerate()?,
        "gpu-bundle" => bundle::make(arguments.gcc)?,
        "test" => return test::test(arguments.gcc, filter()?),
        "bench" => match &arguments.from {
            Some(file) => bench::from(file)?,
            None => return bench::bench(arguments.gcc, filter()?),
        },
        "run-bundle" => {
            let [bundle, work, out, what @ ..] = free.as_slice() else {
                bail!("run-bundle needs three folders")
            };
            let part = what.first().map_or(Ok(bundle_run::Part::All), |name| name.parse())?;
            let order = bundle_run::Order { part, only: arguments.only, seconds: arguments.seconds };
            return bundle_run::run(bundle.as_ref(), work.as_ref(), out.as_ref(), &order);
        }
        other => bail!("no command {other:?}\n{USAGE}"),
    }
    Ok(ExitCode::SUCCESS)
}

fn regex(text: &str) -> Result<Regex> {
    Regex::new(text).with_context(|| format!("{text:?} is no regular expression"))
}
