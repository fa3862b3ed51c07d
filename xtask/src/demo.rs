//! `cargo xtask demo`: one program with reverse offload, on the GPU if there is one.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use regex_lite::Regex;

use crate::catalog;
use crate::compile;
use crate::dist;
use crate::gpu;
use crate::layout;
use crate::machine::{Machine, Plugin};
use crate::shell::{self, progress};
use crate::toolchain::Toolchain;

const PROGRAM: &str = "reverse/hello";
/// Seconds.
const LIMIT: f64 = 120.0;

/// Sets up what is missing, builds, compiles the program, runs it, and says what the plugin did.
pub fn demo(gcc: Option<u32>) -> Result<()> {
    let toolchain = Toolchain::provide(gcc)?;
    let dist = dist::build()?;
    let programs = catalog::read(&layout::repository())?;
    let program = programs.iter().find(|program| program.name == PROGRAM);
    let program = program.with_context(|| format!("there is no program {PROGRAM}"))?;
    progress(format!("compiling {PROGRAM} with gcc-{}", toolchain.version));
    compile::stage(&toolchain)?;
    let binary = compile::compile(&toolchain, program)?.context("this GCC is too old for the program")?;

    let gpu = gpu::find();
    let on = match &gpu {
        Ok(name) => format!("on the GPU, {name}"),
        Err(why) => format!("on the simulator, for there is no GPU here ({why})"),
    };
    progress(format!("running {PROGRAM} {on}"));
    // Not with the simulator on the loader's path: as a user would, by BOOMERANG_DEVICE.
    let machine = Machine::new(&toolchain, &dist, false);
    let summary = run(&mut machine.command(&binary, Plugin::Ours, false, LIMIT), gpu.is_err())?;
    println!("demo: {summary}");
    Ok(())
}

/// Runs the program, shows what it prints, and returns the plugin's summary: `<n> reverse-offload requests served on <name>`.
fn run(command: &mut Command, simulator: bool) -> Result<String> {
    let log = layout::logs().join("demo.stderr");
    std::fs::create_dir_all(log.parent().unwrap_or(Path::new("")))?;
    command.env("OMP_TARGET_OFFLOAD", "mandatory").env("BOOMERANG_SUMMARY", "1");
    if simulator {
        command.env("BOOMERANG_DEVICE", "sim");
    }
    let status = command.stdin(Stdio::null()).stderr(std::fs::File::create(&log)?).status()?;
    let stderr = std::fs::read_to_string(&log)?;
    let line = Regex::new(r"^boomerang: device \d+ \((.*)\): (\d+) reverse-offload requests served")?;
    let (summaries, rest): (Vec<&str>, Vec<&str>) = stderr.lines().partition(|text| line.is_match(text));
    rest.iter().for_each(|text| eprintln!("{text}"));
    if !status.success() {
        bail!("the program failed: {}", shell::describe(command));
    }
    let summary = summaries.first().and_then(|text| line.captures(text));
    let summary = summary.context("the plugin gave no summary: the program did not run on a device")?;
    Ok(format!("{} reverse-offload requests served on {}", &summary[2], &summary[1]))
}
