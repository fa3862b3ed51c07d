//! The GCC that compiles the programs: an installed one, or one in a root under target/.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::catalog::Language;
use crate::layout;
use crate::mmdebstrap;
use crate::root::Root;
use crate::shell::{self, progress};

/// Versions that are looked for, the best tried first.
const VERSIONS: [u32; 4] = [14, 15, 16, 13];

/// A GCC with nvptx offloading.
#[derive(Clone, Debug)]
pub struct Toolchain {
    /// Its major version.
    pub version: u32,
    /// The root that it lies in; None for an installed one.
    pub root: Option<Root>,
}

impl Toolchain {
    /// Finds or installs the compiler, of version `wanted` if that is given.
    pub fn provide(wanted: Option<u32>) -> Result<Toolchain> {
        let versions = wanted.map_or(VERSIONS.to_vec(), |version| vec![version]);
        for version in versions {
            let installed = Toolchain { version, root: None };
            if installed.works().is_ok() {
                progress(format!("using the installed gcc-{version}"));
                return Ok(installed);
            }
        }
        let version = wanted.unwrap_or(mmdebstrap::DEFAULT_GCC);
        let root = mmdebstrap::provide(version).with_context(|| {
            let asked = wanted.map_or("13 to 16".to_owned(), |version| version.to_string());
            format!("no GCC {asked} with nvptx offloading (gcc, g++, gfortran) is installed, and it can't be put under target/")
        })?;
        let toolchain = Toolchain { version, root: Some(root) };
        toolchain.works().with_context(|| {
            let folder =
                toolchain.root.as_ref().map(|root| root.folder.display().to_string()).unwrap_or_default();
            format!("the compiler in {folder} does not work (remove that folder to have it installed anew)")
        })?;
        progress(format!("using gcc-{version} in {}", toolchain.work().display()));
        Ok(toolchain)
    }

    /// A command that runs the compiler for `language` in the work folder.
    pub fn compiler(&self, language: Language) -> Command {
        let driver = match language {
            Language::C => "gcc",
            Language::Cxx => "g++",
            Language::Fortran => "gfortran",
        };
        self.in_work(&format!("{driver}-{}", self.version))
    }

    /// A command that runs a program of the compiler's system in the work folder.
    pub fn in_work(&self, program: &str) -> Command {
        match &self.root {
            Some(root) => root.command("/boomerang", program),
            None => {
                let mut command = Command::new(program);
                command.current_dir(self.work());
                command
            }
        }
    }

    /// The folder, as seen from outside, that compilers work in. It lies inside the root where there is one.
    pub fn work(&self) -> PathBuf {
        match &self.root {
            Some(root) => root.folder.join("boomerang"),
            None => layout::made().join(format!("gcc-{}", self.version)),
        }
    }

    /// Flags that every OpenMP program is compiled with.
    pub fn flags(&self) -> Vec<&'static str> {
        let mut flags = vec!["-O2", "-Wall", "-fopenmp", "-foffload=nvptx-none"];
        if self.version < 15 {
            // Their default, sm_30, can't do reverse offload: they drop the device code then, with but a warning.
            flags.push("-foffload-options=nvptx-none=-march=sm_35");
        }
        flags
    }

    /// Where a library of the compiler or its system lies; None where it has no such library.
    pub fn library(&self, name: &str) -> Option<PathBuf> {
        if let Some(root) = &self.root {
            return Some(root.libraries().join(name)).filter(|path| path.exists());
        }
        let flag = format!("-print-file-name={name}");
        let path = shell::query(self.compiler(Language::C).arg(flag)).map(PathBuf::from)?;
        path.is_absolute().then(|| path.canonicalize().unwrap_or(path))
    }

    /// Whether all three languages, offloading and the stock plugin are there.
    fn works(&self) -> Result<()> {
        if self.root.is_none() {
            let gcc = format!("gcc-{}", self.version);
            ensure!(shell::query(Command::new(&gcc).arg("--version")).is_some(), "no {gcc}");
        }
        fs::create_dir_all(self.work())?;
        for language in [Language::C, Language::Cxx, Language::Fortran] {
            let version = shell::query(self.compiler(language).arg("--version"));
            ensure!(version.is_some(), "no {language:?} compiler for GCC {}", self.version);
        }
        ensure!(self.library("libgomp-plugin-nvptx.so.1").is_some(), "no libgomp-plugin-nvptx.so.1");
        let probe = "int main(void)\n{\n\tint x = 0;\n#pragma omp target\n\tx = 1;\n\treturn !x;\n}\n";
        write_if_changed(&self.work().join("probe.c"), probe)?;
        let mut compile = self.compiler(Language::C);
        compile.args(self.flags()).args(["probe.c", "-o", "probe"]);
        shell::run_logged(&mut compile, &layout::logs().join(format!("probe-gcc-{}.log", self.version)))
    }
}

/// Reads a GCC version given by the user.
pub fn parse_version(text: &str) -> Result<u32> {
    match text.parse() {
        Ok(version) if VERSIONS.contains(&version) => Ok(version),
        _ => bail!("GCC {text:?} is none of the versions 13, 14, 15 and 16"),
    }
}

/// Writes a file unless it already has this content, so that its time tells when it really changed.
pub fn write_if_changed(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    let content = content.as_ref();
    if fs::read(path).is_ok_and(|old| old == content) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))
}
