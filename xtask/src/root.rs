//! A folder that holds a small Debian or Ubuntu system with an offload compiler.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Such a folder.
///
/// Compilers run inside it, by chroot. Programs do not: they are started by the root's own dynamic loader with the root's
/// libraries, so that they see the machine's devices and driver, and need no privileges.
#[derive(Clone, Debug)]
pub struct Root {
    /// Where it lies.
    pub folder: PathBuf,
}

/// Where Debian and Ubuntu keep libraries.
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";

impl Root {
    /// A command that runs `program` inside, in the folder `work`, an absolute path as seen inside.
    pub fn command(&self, work: &str, program: &str) -> Command {
        let mut command;
        if is_superuser() {
            command = Command::new("chroot");
            command.arg(&self.folder);
        } else {
            // Device files can't be made in a user namespace: the machine's own are shown there.
            let script = "mount --rbind /dev \"$0/dev\" && exec chroot \"$0\" \"$@\"";
            command = Command::new("unshare");
            command.args(["--map-root-user", "--mount", "sh", "-c", script]).arg(&self.folder);
        }
        command.args(["env", "--chdir", work, "PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", program]);
        command
    }

    /// Where the root's shared libraries lie, libgomp and the stock plugin among them.
    pub fn libraries(&self) -> PathBuf {
        self.folder.join(LIBRARIES)
    }

    /// The root's dynamic loader.
    pub fn loader(&self) -> PathBuf {
        self.libraries().join("ld-linux-x86-64.so.2")
    }
}

/// Whether this process runs as root.
pub fn is_superuser() -> bool {
    Path::new("/proc/self").metadata().is_ok_and(|process| process.uid() == 0)
}
