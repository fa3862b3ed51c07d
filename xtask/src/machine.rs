//! How a compiled program is started with a given plugin.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::dist::Dist;
use crate::layout;
use crate::toolchain::Toolchain;

/// The offload plugin that a program finds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Plugin {
    /// The one built here.
    Ours,
    /// GCC's own.
    Stock,
    /// None: the program does without.
    Raw,
}

impl Plugin {
    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Plugin::Ours => "ours",
            Plugin::Stock => "stock",
            Plugin::Raw => "raw",
        }
    }
}

/// Where the libraries are that programs are started with.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The dynamic loader that goes with `runtime`; None for the system's.
    pub loader: Option<PathBuf>,
    /// The folder of our plugin.
    pub plugin: PathBuf,
    /// The folder of the stock plugin.
    pub stock: PathBuf,
    /// The folder of libgomp and the other run-time libraries of the compiler; None where the system has them.
    pub runtime: Option<PathBuf>,
    /// The folder of the simulator; None to use the GPU.
    pub simulator: Option<PathBuf>,
}

impl Machine {
    /// The machine that programs run on here.
    pub fn new(toolchain: &Toolchain, dist: &Dist, simulator: bool) -> Machine {
        let libraries = toolchain.root.as_ref().map(|root| root.libraries());
        let stock = toolchain.library("libgomp-plugin-nvptx.so.1");
        Machine {
            loader: toolchain.root.as_ref().map(|root| root.loader()),
            plugin: dist.plugin(),
            stock: stock.and_then(|path| Some(path.parent()?.to_owned())).unwrap_or_default(),
            runtime: libraries,
            simulator: simulator.then(|| dist.simulator()),
        }
    }

    /// A command that runs `program`, ended by force after `limit` seconds.
    ///
    /// `system` says that the system's compiler has built it, so it needs nothing of `runtime`.
    pub fn command(&self, program: &Path, plugin: Plugin, system: bool, limit: f64) -> Command {
        let mut command = Command::new("timeout");
        command.env_remove("LD_LIBRARY_PATH");
        command.arg("--kill-after=1").arg(format!("{limit:.1}")).args(self.launcher(program, plugin, system));
        command
    }

    /// The words of a command line that runs `program`, which may be a pattern; see [`Machine::command`].
    pub fn launcher(&self, program: &Path, plugin: Plugin, system: bool) -> Vec<OsString> {
        let mut path: Vec<&Path> = Vec::new();
        if plugin == Plugin::Ours {
            path.push(&self.plugin);
        }
        path.extend(self.simulator.as_deref());
        // After the simulator, for in a root this folder holds everything.
        if plugin == Plugin::Stock {
            path.push(&self.stock);
        }
        if !system {
            path.extend(self.runtime.as_deref());
        }
        let mut path: Vec<OsString> = path.iter().map(|folder| folder.as_os_str().to_owned()).collect();
        if self.simulator.is_none() {
            path.extend(system_path().into_iter().map(PathBuf::into_os_string));
        }
        let path = path.join(&OsString::from(":"));
        let program = program.as_os_str().to_owned();
        match self.loader.as_deref().filter(|_| !system) {
            // Not by LD_LIBRARY_PATH: what the program itself starts, such as a shell, must not get these libraries.
            Some(loader) => {
                vec![loader.into(), "--argv0".into(), program.clone(), "--library-path".into(), path, program]
            }
            None => vec!["env".into(), join("LD_LIBRARY_PATH=", path), program],
        }
    }
}

/// The user's LD_LIBRARY_PATH, where some machines have the driver's libraries, without what cargo adds to it: its target
/// folder holds the simulator under the name of the driver.
fn system_path() -> Vec<PathBuf> {
    let path = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let others = |folder: &PathBuf| folder.is_absolute() && !folder.starts_with(layout::release());
    std::env::split_paths(&path).filter(others).collect()
}

fn join(start: &str, end: OsString) -> OsString {
    let mut whole = OsString::from(start);
    whole.push(end);
    whole
}
