//! A dry run of the GPU bundle: its run.sh on this machine, where it takes the simulator for a GPU. What would fail on the GPU
//! machine for another reason than the GPU fails here.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
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
use crate::run::clear_variables;
use crate::shell::{self, progress};
use crate::tally::Tally;
use crate::toolchain::{Toolchain, write_if_changed};

/// What the bundle holds: one program of each kind, and benches that are done soon.
const PROGRAMS: [&str; 4] =
    ["reverse/hello", "omp/saxpy_over_teams", "abi/kernel_is_launched", "benches/allocation"];
const FOLDER: &str = "dry-run";

/// By what name `cargo xtask test REGEX` knows it.
pub const NAME: &str = "gpu-bundle/dry-run";

/// Makes the small bundle and runs it as `all`, once more to complete that, and as `mps`.
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

    let checks: [(&str, Check); 3] = [("all", check_run), ("resumed", check_resumed), ("mps", check_run)];
    for (what, check) in checks {
        match check(toolchain, &folder, what) {
            Ok(()) => tally.passed += 1,
            Err(error) => tally.fail(format!("{NAME}, {what}: {error:#}")),
        }
    }
    Ok(())
}

type Check = fn(&Toolchain, &Path, &str) -> Result<()>;

/// Runs the bundle; the results go into the folder `out`.
fn run(toolchain: &Toolchain, folder: &Path, out: &str, arguments: &[&str]) -> Result<Results> {
    let seen = seen(toolchain, folder);
    let mut command = match &toolchain.root {
        Some(root) => root.command("/", "env"),
        None => Command::new("env"),
    };
    clear_variables(&mut command);
    command.env_remove("BOOMERANG_CACHE");
    command.arg(format!("LD_LIBRARY_PATH={}", seen.join("driver").display()));
    command.arg(format!("PATH={}:/usr/bin:/bin", seen.join("bin").display()));
    command.arg("bash").arg(seen.join("bundle/run.sh")).arg(seen.join(out)).args(arguments);
    let only = format!("^({})$", PROGRAMS.join("|"));
    command.args(["--only", &only, "--seconds", "100"]);
    shell::run_logged(&mut command, &layout::logs().join(format!("dry-run-{out}.log")))?;
    ensure!(folder.join(out).join("logs.tar.gz").exists(), "no logs.tar.gz");
    Results::read(&folder.join(out).join("results.json"))
}

/// The folder as programs of the bundle see it.
fn seen(toolchain: &Toolchain, folder: &Path) -> PathBuf {
    if toolchain.root.is_some() { Path::new("/boomerang").join(FOLDER) } else { folder.to_owned() }
}

fn check_run(toolchain: &Toolchain, folder: &Path, what: &str) -> Result<()> {
    let results = run(toolchain, folder, what, &[what])?;
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
    Ok(())
}

/// Takes up a session that lacks a program: its runs are made, and nothing else.
fn check_resumed(toolchain: &Toolchain, folder: &Path, what: &str) -> Result<()> {
    let whole = Results::read(&folder.join("all/results.json"))?;
    let mut part = whole.clone();
    part.runs.retain(|run| run.name != PROGRAMS[0]);
    part.write(&folder.join("part.json"))?;
    let file = seen(toolchain, folder).join("part.json");
    let results = run(toolchain, folder, what, &["all", "--resume", &file.to_string_lossy()])?;
    let names = |results: &Results| {
        let mut names: Vec<_> = results.runs.iter().map(|run| (run.name.clone(), run.with.clone())).collect();
        names.sort();
        names
    };
    ensure!(results.runs[..part.runs.len()] == part.runs, "what had passed was run again");
    ensure!(names(&results) == names(&whole), "not all was run: {:?}", names(&results));
    Ok(())
}
