//! What a result depends on besides the plugin: the day, the state of the sources, the device.

use std::process::Command;

use crate::layout;
use crate::schedule::processors;
use crate::shell;

/// The day, as 2026-11-30.
pub fn today() -> String {
    shell::query(Command::new("date").arg("+%F")).unwrap_or_default()
}

/// The commit that is checked out, with a `+` where files were changed since.
pub fn commit() -> String {
    let mut git = Command::new("git");
    git.args(["describe", "--always", "--exclude=*", "--dirty=+"]).current_dir(layout::repository());
    shell::query(&mut git).unwrap_or_else(|| "unknown".to_owned())
}

/// The device of this name, its driver, and the host's processors.
pub fn device(name: &str) -> String {
    let mut query = Command::new("nvidia-smi");
    query.args(["--query-gpu=driver_version", "--format=csv,noheader", "--id=0"]);
    let driver = shell::query(&mut query).map_or(String::new(), |version| format!(", driver {version}"));
    format!("{name}{driver}, {} processors", processors())
}
