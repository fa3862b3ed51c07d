//! Installing an offload compiler, with all that it needs, into a folder of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::apt::{self, Mirror};
use crate::layout;
use crate::root::{self, Root};
use crate::shell::{self, progress, run_logged};

/// The GCC that is installed where nothing else is asked for.
pub const DEFAULT_GCC: u32 = 14;

/// Returns the root that holds GCC `version`, making it first where it isn't there yet.
pub fn provide(version: u32) -> Result<Root> {
    let roots = layout::made().join("roots");
    let folder = roots.join(format!("gcc-{version}"));
    let root = Root { folder: folder.clone() };
    if folder.exists() {
        return Ok(root);
    }
    fs::create_dir_all(&roots)?;
    remove_leftovers(&roots)?;
    let mirror = apt::mirror()?;
    let plan = Plan::new(&mirror, version)?;
    install_mmdebstrap()?;
    progress(format!("installing GCC {version} ({}) into {} (about a minute)", plan.suite, folder.display()));
    // Built under another name and renamed when complete: an interrupted run leaves nothing that looks like a root.
    let partial = roots.join(format!("partial-{}", std::process::id()));
    let log = layout::logs().join(format!("root-gcc-{version}.log"));
    if root::is_superuser() {
        run_logged(&mut plan.command(&partial, "root"), &log)?;
    } else {
        // As a tar, unpacked by ourselves, the files belong to the user, and a user namespace of one user is enough.
        let tar = partial.with_extension("tar");
        run_logged(&mut plan.command(&tar, "unshare"), &log)?;
        fs::create_dir(&partial)?;
        let mut unpack = Command::new("tar");
        unpack.args(["--no-same-owner", "--exclude=./dev/*", "-xf"]).arg(&tar).arg("-C").arg(&partial);
        run_logged(&mut unpack, &log.with_extension("tar.log"))?;
        fs::remove_file(&tar)?;
    }
    fs::rename(&partial, &folder).context("cannot put the new root into its place")?;
    Ok(root)
}

/// What is installed, and from where.
struct Plan {
    suite: String,
    lines: Vec<String>,
    packages: String,
    options: Vec<String>,
}

impl Plan {
    fn new(mirror: &Mirror, version: u32) -> Result<Plan> {
        let mut options = apt::download_options();
        let (suite, suites, components) = if mirror.distribution == "ubuntu" {
            let own = mirror.codename.clone();
            (own.clone(), vec![own.clone(), format!("{own}-updates")], "main universe")
        } else if version == DEFAULT_GCC {
            ("trixie".to_owned(), vec!["trixie".to_owned()], "main")
        } else {
            // A mirror's copy of sid can be older than the few days for which its index is signed.
            options.push("Acquire::Check-Valid-Until \"false\"".to_owned());
            ("sid".to_owned(), vec!["sid".to_owned()], "main")
        };
        let signed = mirror.signed_by.as_ref().map_or(String::new(), |key| format!("[signed-by={key}] "));
        let line = |suite: &String| format!("deb {signed}{} {suite} {components}", mirror.uri);
        Ok(Plan {
            suite,
            lines: suites.iter().map(line).collect(),
            packages: format!(
                "gcc-{version}-offload-nvptx,g++-{version},gfortran-{version},libc6-dev,libgomp-plugin-nvptx1"
            ),
            options,
        })
    }

    fn command(&self, target: &Path, mode: &str) -> Command {
        let mut command = Command::new("mmdebstrap");
        command.arg("--variant=minbase").arg(format!("--mode={mode}"));
        command.arg(format!("--include={}", self.packages));
        command.args(self.options.iter().map(|option| format!("--aptopt={option}")));
        command.arg(&self.suite).arg(target).args(&self.lines).stdin(Stdio::null());
        command
    }
}

fn install_mmdebstrap() -> Result<()> {
    let there = |program: &str| shell::query(Command::new(program).arg("--version")).is_some();
    if there("mmdebstrap") {
        return Ok(());
    }
    if !root::is_superuser() {
        bail!(
            "mmdebstrap is missing, and only root may install it: run `sudo apt-get install mmdebstrap uidmap`"
        );
    }
    if !there("apt-get") {
        bail!("mmdebstrap is missing, and there is no apt-get to install it with");
    }
    progress("installing mmdebstrap with apt-get");
    let log = |name: &str| layout::logs().join(format!("apt-get-{name}.log"));
    run_logged(Command::new("apt-get").arg("update"), &log("update"))?;
    let mut install = Command::new("apt-get");
    install.args(["install", "--yes", "--no-install-recommends", "mmdebstrap"]);
    run_logged(install.env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null()), &log("install"))
}

/// Removes what interrupted runs have left.
fn remove_leftovers(roots: &Path) -> Result<()> {
    for entry in fs::read_dir(roots)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(process) = name.strip_prefix("partial-") else { continue };
        let process = process.trim_end_matches(".tar");
        if Path::new("/proc").join(process).exists() {
            continue;
        }
        progress(format!("removing {}, left by an interrupted run", path.display()));
        for mount in mounts_below(&path)? {
            shell::run(Command::new("umount").arg("--lazy").arg(mount))?;
        }
        shell::run(Command::new("rm").args(["-rf", "--one-file-system"]).arg(&path))?;
    }
    Ok(())
}

/// What is mounted below a folder, the innermost first: mmdebstrap mounts /proc, /sys and /dev while it works.
fn mounts_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let table = fs::read_to_string("/proc/self/mountinfo")?;
    let points = table.lines().filter_map(|line| line.split(' ').nth(4)).map(PathBuf::from);
    let mut below: Vec<PathBuf> = points.filter(|point| point.starts_with(folder)).collect();
    below.reverse();
    Ok(below)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mirror(distribution: &str) -> Mirror {
        let text = |text: &str| text.to_owned();
        Mirror {
            distribution: text(distribution),
            codename: text("own"),
            uri: text("http://m.example/archive"),
            signed_by: Some(text("/k.gpg")),
        }
    }

    #[test]
    fn debian_takes_gcc_14_from_trixie_and_the_others_from_sid() {
        let plan = Plan::new(&mirror("debian"), 14).unwrap();
        assert_eq!(plan.lines, ["deb [signed-by=/k.gpg] http://m.example/archive trixie main"]);
        let plan = Plan::new(&mirror("debian"), 16).unwrap();
        assert_eq!(plan.suite, "sid");
        assert!(plan.options.contains(&"Acquire::Check-Valid-Until \"false\"".to_owned()));
        assert!(plan.packages.starts_with("gcc-16-offload-nvptx,g++-16,gfortran-16,"));
    }

    #[test]
    fn ubuntu_takes_the_compiler_from_its_own_release() {
        let plan = Plan::new(&mirror("ubuntu"), 14).unwrap();
        assert_eq!(plan.lines.len(), 2);
        assert!(plan.lines[1].ends_with("own-updates main universe"));
    }
}
