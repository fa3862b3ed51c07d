//! A dry run of the GPU bundle: its run.sh on this machine, where it takes the simulator for a GPU. What would fail on the GPU
//! machine for another reason than the GPU fails here.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use crate::bundle;
use crate::catalog;
use crate::chart;
use crate::compile;
use crate::dist::Dist;
use crate::layout;
use crate::programs;
use crate::results::Results;
use crate::shell::{self, progress};
use crate::tally::Tally;
use crate::toolchain::{Toolchain, write_if_changed};

/// What the bundle holds: one program of each kind, and benches that are done soon.
const PROGRAMS: [&str; 4] =
    ["reverse/hello", "omp/saxpy_over_teams", "abi/kernel_is_launched", "benches/allocation"];
const FOLDER: &str = "dry-run";

/// By what name `cargo xtask test REGEX` knows it.
pub const NAME: &str = "gpu-bundle/dry-run";

/// Makes the small bundle and runs it as `all` and as `mps`.
pub fn check(toolchain: &Toolchain, dist: &Dist, tally: &mut Tally) -> Result<()> {
    progress("dry run of the GPU bundle");
    let mut few = catalog::read(&layout::repository())?;
    few.retain(|program| PROGRAMS.contains(&program.name.as_str()));
    let binaries = programs::compile_all(toolchain, &few, tally)?;
    // A root's own programs find it there: the binaries may need a newer glibc than the machine's.
    let folder = toolchain.work().join(FOLDER);
    bundle::lay_out(&folder.join("bundle"), toolchain, dist, &few, &binaries)?;
    compile::copy_tree(&dist.simulator(), &folder.join("driver"))?;
    let mps = folder.join("bin/nvidia-cuda-mps-control");
    write_if_changed(&mps, "#!/bin/sh\n")?;
    fs::set_permissions(&mps, fs::Permissions::from_mode(0o755))?;

    for what in ["all", "mps"] {
        match run(toolchain, &folder, what) {
            Ok(()) => tally.passed += 1,
            Err(error) => tally.fail(format!("{NAME}, {what}: {error:#}")),
        }
    }
    Ok(())
}

fn run(toolchain: &Toolchain, folder: &Path, what: &str) -> Result<()> {
    let seen = match toolchain.root {
        Some(_) => Path::new("/boomerang").join(FOLDER),
        None => folder.to_owned(),
    };
    let mut command = match &toolchain.root {
        Some(root) => root.command("/", "env"),
        None => Command::new("env"),
    };
    command.arg(format!("LD_LIBRARY_PATH={}", seen.join("driver").display()));
    command.arg(format!("PATH={}:/usr/bin:/bin", seen.join("bin").display()));
    command.arg("bash").arg(seen.join("bundle/run.sh")).arg(seen.join(what)).arg(what);
    let only = format!("^({})$", PROGRAMS.join("|"));
    command.args(["--only", &only, "--seconds", "100"]);
    shell::run_logged(&mut command, &layout::logs().join(format!("dry-run-{what}.log")))?;

    let results = Results::read(&folder.join(what).join("results.json"))?;
    ensure!(results.simulated, "the simulator's figures pass for those of {}", results.device);
    for program in PROGRAMS.iter().filter(|name| what == "all" || !name.starts_with("benches/")) {
        let passed = |plugin: &str| {
            let mut runs = results.runs.iter().filter(|run| run.name == *program && run.with == plugin);
            runs.any(|run| run.verdict == "passed")
        };
        ensure!(passed("ours"), "{program} did not pass with our plugin");
        let with_stock = what == "all" && !program.starts_with("abi/");
        ensure!(!with_stock || passed("stock"), "{program} did not pass with GCC's plugin");
    }
    if what == "all" {
        let name = "alloc-free-4-mib";
        let measured = |plugin| results.figure(name, plugin).map_or(0, |figure| figure.values.len());
        ensure!(measured("ours") == 3 && measured("stock") == 3, "{name} was not measured in three rounds");
        ensure!(chart::draw(&results).contains(name), "{name} is not in the picture");
    }
    ensure!(folder.join(what).join("logs.tar.gz").exists(), "no logs.tar.gz");
    Ok(())
}
