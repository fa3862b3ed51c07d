//! `cargo xtask gpu-bundle`: a folder to be carried to a machine with a GPU but without compilers.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::catalog::{self, FOLDERS, Program};
use crate::circumstances;
use crate::compile;
use crate::dist::{self, Dist};
use crate::glibc;
use crate::layout;
use crate::programs;
use crate::shell::{self, progress};
use crate::tally::Tally;
use crate::toolchain::Toolchain;

/// The glibc of the oldest system that the bundle must run on, Ubuntu 24.04.
const GLIBC: glibc::Release = (2, 39);
/// Bytes.
const MOST: u64 = 60 << 20;
/// What the compilers' programs need at run time, beside glibc. Not every program needs each, nor has every GCC each.
const RUNTIME: [&str; 6] = [
    "libgomp.so.1",
    "libgcc_s.so.1",
    "libstdc++.so.6",
    "libgfortran.so.5",
    "libquadmath.so.0",
    "libatomic.so.1",
];

/// Builds all that belongs into the bundle and lays it out.
pub fn make(gcc: Option<u32>) -> Result<()> {
    let toolchain = Toolchain::provide(gcc)?;
    let dist = dist::build()?;
    let all = catalog::read(&layout::repository())?;
    let mut tally = Tally::default();
    let binaries = programs::compile_all(&toolchain, &all, &mut tally)?;
    if tally.failed() > 0 {
        tally.finish();
        bail!("not all programs compile");
    }

    let bundle = layout::made().join("gpu-bundle");
    progress(format!("laying out {}", bundle.display()));
    lay_out(&bundle, &toolchain, &dist, &all, &binaries)?;
    let size = size_of(&bundle)?;
    ensure!(size < MOST, "the bundle has {} MiB, more than {}", size >> 20, MOST >> 20);
    progress(format!(
        "{}: {:.1} MiB; there: bash run.sh OUTDIR",
        bundle.display(),
        size as f64 / f64::from(1 << 20)
    ));
    Ok(())
}

/// Makes the folder anew, with these binaries of the programs.
pub fn lay_out(
    bundle: &Path,
    toolchain: &Toolchain,
    dist: &Dist,
    all: &[Program],
    binaries: &HashMap<String, PathBuf>,
) -> Result<()> {
    if bundle.exists() {
        fs::remove_dir_all(bundle)?;
    }
    put_common(bundle, toolchain, dist)?;
    for (name, binary) in binaries {
        let target = bundle.join("programs").join(name);
        dist::place(binary, &target)?;
        let owner = all.iter().find(|program| program.name == *name);
        if let Some(library) = owner.and_then(|program| program.directives.library.as_ref()) {
            let beside = |path: &Path| path.with_file_name(library).with_extension("so");
            dist::place(&beside(binary), &beside(&target))?;
        }
    }
    for folder in FOLDERS {
        compile::copy_tree(&layout::repository().join(folder), &bundle.join("tree").join(folder))?;
    }
    fs::write(bundle.join("commit"), format!("{}\n", circumstances::commit()))?;

    lower_all(bundle, toolchain)?;
    pack(bundle)
}

/// Puts what every bundle has into it: both plugins, the compiler's libraries, and the runner.
pub fn put_common(bundle: &Path, toolchain: &Toolchain, dist: &Dist) -> Result<()> {
    let plugin = "libgomp-plugin-nvptx.so.1";
    dist::place(&dist.plugin().join(plugin), &bundle.join("plugin").join(plugin))?;
    dist::place(&toolchain.library(plugin).context("no stock plugin")?, &bundle.join("stock").join(plugin))?;
    for name in RUNTIME {
        match toolchain.library(name) {
            Some(library) => dist::place(&library, &bundle.join("lib").join(name))?,
            None => ensure!(name != RUNTIME[0], "the compiler has no {name}"),
        }
    }
    let runner = bundle.join("bin/xtask");
    dist::place(&std::env::current_exe()?, &runner)?;
    // Without its debug information, three quarters of it. Where there is no strip, it is just larger.
    let _ = Command::new("strip").arg("--strip-debug").arg(&runner).status();
    dist::place(&layout::repository().join("xtask/run.sh"), &bundle.join("run.sh"))?;
    fs::write(bundle.join("gcc-version"), format!("{}\n", toolchain.version))?;
    Ok(())
}

/// Makes all files of the bundle run with [`GLIBC`].
pub fn lower_all(bundle: &Path, toolchain: &Toolchain) -> Result<()> {
    // The compiler's programs were linked with its root's glibc, ours with the machine's.
    let mut folders: Vec<PathBuf> = toolchain.root.iter().map(|root| root.libraries()).collect();
    folders.push(PathBuf::from("/lib/x86_64-linux-gnu"));
    for file in files_below(bundle)? {
        for change in glibc::lower(&file, GLIBC, &folders)? {
            progress(format!("{}: {change}", file.strip_prefix(bundle).unwrap_or(&file).display()));
        }
    }
    Ok(())
}

/// Packs the programs: each holds the same device libraries as text, so they shrink to a fifth.
fn pack(bundle: &Path) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.args(["--create", "--gzip", "--file", "programs.tar.gz", "programs"]).current_dir(bundle);
    shell::run(&mut tar)?;
    Ok(fs::remove_dir_all(bundle.join("programs"))?)
}

fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            files.extend(files_below(&entry.path())?);
        } else {
            files.push(entry.path());
        }
    }
    Ok(files)
}

fn size_of(folder: &Path) -> Result<u64> {
    files_below(folder)?.iter().map(|file| Ok(file.metadata()?.len())).sum()
}
