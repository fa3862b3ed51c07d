//! What users get: the plugin and the simulator, each in a folder for the loader's path.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::layout;
use crate::shell::{self, progress};

/// The assembled folders.
#[derive(Clone, Debug)]
pub struct Dist {
    /// The folder that holds both.
    pub folder: PathBuf,
}

impl Dist {
    /// Holds `libgomp-plugin-nvptx.so.1`.
    pub fn plugin(&self) -> PathBuf {
        self.folder.join("plugin")
    }

    /// Holds `libcuda.so.1`.
    pub fn simulator(&self) -> PathBuf {
        self.folder.join("simulator")
    }
}

/// Builds the plugin and the simulator and lays them out.
pub fn build() -> Result<Dist> {
    progress("building the plugin and the simulator");
    let mut cargo = shell::cargo();
    cargo.args(["build", "--release", "--package", "boomerang", "--package", "boomerang-simulator"]);
    shell::run(&mut cargo)?;
    let dist = Dist { folder: layout::made().join("dist") };
    place(&layout::release().join("libboomerang.so"), &dist.plugin().join("libgomp-plugin-nvptx.so.1"))?;
    place(&layout::release().join("libcuda.so"), &dist.simulator().join("libcuda.so"))?;
    link("libcuda.so", &dist.simulator().join("libcuda.so.1"))?;
    Ok(dist)
}

/// Copies a file in such a way that whoever has the old one loaded keeps it.
pub fn place(from: &Path, to: &Path) -> Result<()> {
    let folder = to.parent().context("a file without a folder")?;
    fs::create_dir_all(folder)?;
    let partial = to.with_extension(format!("partial-{}", std::process::id()));
    fs::copy(from, &partial)
        .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    fs::rename(&partial, to)?;
    Ok(())
}

fn link(target: &str, path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    symlink(target, path).with_context(|| format!("cannot make {}", path.display()))
}
