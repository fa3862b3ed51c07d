//! Compiling the test programs and benches.

use std::collections::hash_map::DefaultHasher;
use std::ffi::OsStr;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::catalog::{FOLDERS, Language, Program};
use crate::directives::Directives;
use crate::dist;
use crate::layout;
use crate::shell;
use crate::toolchain::{Toolchain, write_if_changed};

/// Flags for programs that the system's compiler builds.
const SYSTEM_FLAGS: [&str; 4] = ["-O2", "-Wall", "-Wextra", "-std=gnu11"];

/// Where programs find our device API: `-Idevice`, `-Ldevice`.
const DEVICE: &str = "device";

/// Copies the sources, and our device API, to where the compiler sees them: a root has no view of the repository. [`dist::build`] has
/// been called.
pub fn stage(toolchain: &Toolchain) -> Result<()> {
    for folder in FOLDERS {
        copy_tree(&layout::repository().join(folder), &toolchain.work().join(folder))?;
    }
    copy_tree(&dist::device(), &toolchain.work().join(DEVICE))
}

/// Compiles a program, and its library if it has one, unless they are up to date, and returns the binary's path.
///
/// None where this compiler is too old for it. `stage` must have been called.
pub fn compile(toolchain: &Toolchain, program: &Program) -> Result<Option<PathBuf>> {
    let Some((source, language)) = &program.source else {
        bail!("{} has no source of its own", program.name)
    };
    let directives = &program.directives;
    if !directives.system_compiler && directives.gcc > toolchain.version {
        return Ok(None);
    }
    let beside = |name: &String| source.with_file_name(name);
    if let Some(library) = &directives.library {
        let output = Path::new("bin").join(&program.name).with_file_name(library).with_extension("so");
        build(toolchain, directives, *language, &[beside(library)], &output, &["-shared", "-fPIC"])?;
    }
    let sources: Vec<PathBuf> =
        std::iter::once(source.clone()).chain(directives.sources.iter().map(beside)).collect();
    build(toolchain, directives, *language, &sources, &Path::new("bin").join(&program.name), &[]).map(Some)
}

/// Runs the compiler, all paths being relative to the work folder, and returns the output's whole path.
fn build(
    toolchain: &Toolchain,
    directives: &Directives,
    language: Language,
    sources: &[PathBuf],
    output: &Path,
    flags: &[&str],
) -> Result<PathBuf> {
    let mut command;
    if directives.system_compiler {
        command = Command::new("cc");
        command.args(SYSTEM_FLAGS).current_dir(toolchain.work());
    } else {
        command = toolchain.compiler(language);
        command.args(toolchain.flags()).args(device_flags(language, &directives.device_flags));
    }
    command.args(flags).arg("-Iinclude").args(sources).args(&directives.flags).arg("-o").arg(output);
    if directives.system_compiler {
        command.args(["-pthread", "-ldl"]);
    }

    let whole = toolchain.work().join(output);
    let mut stamp = whole.clone().into_os_string();
    stamp.push(".stamp");
    let fingerprint = fingerprint(&toolchain.work(), sources, &shell::describe(&command))?;
    if whole.exists() && fs::read_to_string(&stamp).is_ok_and(|old| old == fingerprint) {
        return Ok(whole);
    }
    fs::create_dir_all(whole.parent().unwrap_or(Path::new("")))?;
    let log = layout::logs().join("compile").join(output.strip_prefix("bin").unwrap_or(output));
    shell::run_logged(&mut command, &log.with_extension("log"))?;
    fs::write(&stamp, fingerprint)?;
    Ok(whole)
}

/// Flags for the device side, each handed through.
fn device_flags(language: Language, own: &[String]) -> Vec<String> {
    let library = if language == Language::Fortran { &["-lgfortran", "-lm"][..] } else { &[] };
    let all = own.iter().map(String::as_str).chain(library.iter().copied());
    all.map(|flag| format!("-foffload-options=nvptx-none={flag}")).collect()
}

/// What a binary depends on: the command, its sources, and the headers and the archive that these may use.
fn fingerprint(work: &Path, sources: &[PathBuf], command: &str) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    let mut files: Vec<PathBuf> = sources.to_vec();
    let folder = sources.first().and_then(|source| source.parent()).unwrap_or(Path::new(""));
    for folder in [folder, Path::new("tests/programs"), Path::new("include"), Path::new(DEVICE)] {
        let mut headers: Vec<PathBuf> =
            fs::read_dir(work.join(folder))?.flatten().map(|entry| folder.join(entry.file_name())).collect();
        headers.retain(|path| {
            ["h", "hpp", "inc", "a"].map(OsStr::new).contains(&path.extension().unwrap_or_default())
        });
        headers.sort();
        files.extend(headers);
    }
    for file in files {
        fs::read(work.join(file))?.hash(&mut hasher);
    }
    Ok(format!("{:016x} {command}\n", hasher.finish()))
}

/// Copies what is below a folder; files that are the same already are left alone.
pub fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else {
            write_if_changed(&target, fs::read(entry.path())?)?;
        }
    }
    Ok(())
}
