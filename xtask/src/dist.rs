//! What users get: the plugin and the simulator, each in a folder for the loader's path, and the device library for GCC's linker.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::layout;
use crate::shell::{self, progress};
use crate::toolchain::write_if_changed;

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

    /// Holds `libcuda.so.1`, and `h200.toml`, a platform to run it with.
    pub fn simulator(&self) -> PathBuf {
        self.folder.join("simulator")
    }
}

/// The folder that holds `boomerang.h`, the public device API, and the `libboomerang-device.a` that its users link with.
pub fn device() -> PathBuf {
    folder().join("device")
}

fn folder() -> PathBuf {
    layout::made().join("dist")
}

/// Builds the plugin and the simulator and lays them out.
pub fn build() -> Result<Dist> {
    progress("building the plugin and the simulator");
    let mut cargo = shell::cargo();
    cargo.args(["build", "--release", "--package", "boomerang", "--package", "boomerang-simulator"]);
    shell::run(&mut cargo)?;
    let dist = Dist { folder: folder() };
    place(&layout::release().join("libboomerang.so"), &dist.plugin().join("libgomp-plugin-nvptx.so.1"))?;
    place(&layout::release().join("libcuda.so"), &dist.simulator().join("libcuda.so"))?;
    link("libcuda.so", &dist.simulator().join("libcuda.so.1"))?;
    let platform = layout::repository().join("simulator/driver/platforms/h200.toml");
    place(&platform, &dist.simulator().join("h200.toml"))?;
    write_if_changed(&device().join("libboomerang-device.a"), device_library()?)?;
    place(&layout::repository().join("device-runtime/boomerang.h"), &device().join("boomerang.h"))?;
    Ok(dist)
}

/// The archive for `-foffload-options=nvptx-none=-lboomerang-device`. It holds our own API only. `GOMP_target_ext` comes from libgomp
/// and is replaced as the program's image is loaded: an archive can't replace it without the rest of libgomp's object
/// (`GOMP_teams4`), which isn't ours to give.
fn device_library() -> Result<Vec<u8>> {
    let text = fs::read(layout::repository().join("device-runtime/boomerang_device.ptx"))?;
    Ok(archive("boomerang.o", &text))
}

/// An ar archive of one member (ar(5)), its times and owners zero: the same text always gives the same archive.
fn archive(name: &str, member: &[u8]) -> Vec<u8> {
    let header =
        format!("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", format!("{name}/"), 0, 0, 0, 644, member.len());
    let padding: &[u8] = if member.len() % 2 == 1 { b"\n" } else { b"" };
    [b"!<arch>\n", header.as_bytes(), member, padding].concat()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ar_reads_the_archive() {
        let folder = std::env::temp_dir().join(format!("boomerang-ar-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("the folder for temporary files can be written");
        for member in ["even", "odd length"] {
            let file = folder.join("test.a");
            fs::write(&file, archive("member.o", member.as_bytes())).expect("it can be written");
            let ar = |command| shell::query(std::process::Command::new("ar").args([command]).arg(&file));
            assert_eq!(ar("t").as_deref(), Some("member.o"));
            assert_eq!(ar("p").as_deref(), Some(member));
        }
        fs::remove_dir_all(&folder).expect("it was made here");
    }
}
