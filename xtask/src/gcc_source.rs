//! GCC's source, of which its testsuite is used: from the distribution's package, never part of the repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::layout;
use crate::shell::{self, progress};
use crate::toolchain::Toolchain;

/// What the tests of libgomp are, and what they include from elsewhere.
const WANTED: [&str; 5] = [
    "*/libgomp/*",
    "*/include/*",
    "*/gcc/testsuite/*/goacc/*",
    "*/gcc/testsuite/gfortran.fortran-torture/execute/*",
    "*/gcc/testsuite/*.target/nvptx/*",
];

/// Returns the folder with the source that goes with the compiler, fetched first where it isn't there yet. It lies where the
/// compiler sees it.
pub fn provide(toolchain: &Toolchain) -> Result<PathBuf> {
    let folder = toolchain.work().join("gcc-source");
    if folder.exists() {
        return Ok(folder);
    }
    let package = format!("gcc-{}-source", toolchain.version);
    progress(format!("fetching {package} (90 MB)"));
    let archive = download(toolchain, &package)?;
    // Under another name until it is complete: an interrupted run leaves nothing that looks like the source.
    let partial = folder.with_extension("partial");
    if partial.exists() {
        fs::remove_dir_all(&partial)?;
    }
    fs::create_dir(&partial)?;
    unpack(&archive, &partial, &log("unpack"))?;
    fs::rename(&partial, &folder).context("cannot put GCC's source into its place")?;
    fs::remove_file(&archive)?;
    Ok(folder)
}

/// Has apt, the root's or else the machine's, fetch a package.
fn download(toolchain: &Toolchain, package: &str) -> Result<PathBuf> {
    let get = |words: &[&str]| {
        let mut command = toolchain.in_work("apt-get");
        // Without privileges there is no other user to drop to.
        command.args(["--option", "APT::Sandbox::User=root"]).args(words);
        shell::run_logged(&mut command, &log(words[0]))
    };
    if get(&["download", package]).is_err() {
        // A root has no lists of packages yet, and old ones name files that are gone.
        get(&["update"])?;
        get(&["download", package])?;
    }
    let mut found = fs::read_dir(toolchain.work())?.flatten().map(|entry| entry.path());
    let start = format!("{package}_");
    let archive =
        found.find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&start)));
    archive.with_context(|| format!("apt-get has fetched no {package}"))
}

/// Unpacks what is wanted of the archive in a package.
fn unpack(package: &Path, folder: &Path, log: &Path) -> Result<()> {
    let script = "set -o pipefail; dpkg-deb --fsys-tarfile \"$0\" \
                  | tar --extract --to-stdout --wildcards './usr/src/*/gcc-*.tar.xz' \
                  | tar --extract --xz --directory \"$1\" --no-same-owner --strip-components=1 --wildcards \"${@:2}\"";
    let mut command = Command::new("bash");
    command.args(["-c", script]).args([package, folder]).args(WANTED);
    shell::run_logged(&mut command, log)
}

fn log(name: &str) -> PathBuf {
    layout::logs().join(format!("gcc-source-{name}.log"))
}
