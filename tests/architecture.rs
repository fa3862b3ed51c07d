//! The rules of ARCHITECTURE.md that a search of the sources can check.

use std::fs;
use std::path::{Path, PathBuf};

use regex_lite::Regex;

/// One line of code of the plugin.
struct Line {
    /// The file, below plugin/.
    file: String,
    number: usize,
    /// Without its comment.
    code: String,
}

/// All lines of the plugin but comments.
fn lines() -> Vec<Line> {
    let plugin = Path::new(env!("CARGO_MANIFEST_DIR")).join("plugin");
    let mut files = Vec::new();
    collect(&plugin, &mut files);
    assert!(!files.is_empty());
    let mut lines = Vec::new();
    for path in files {
        let file = path.strip_prefix(&plugin).expect("it lies there").to_string_lossy().into_owned();
        for (index, line) in fs::read_to_string(&path).expect("sources are text").lines().enumerate() {
            let code = line.split("//").next().unwrap_or("").to_owned();
            lines.push(Line { file: file.clone(), number: index + 1, code });
        }
    }
    lines
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// Fails with the list of the lines outside `allowed` that `wrong` holds for.
fn only_in(allowed: &[&str], wrong: impl Fn(&str) -> bool) {
    let all = lines();
    let found = all
        .iter()
        .filter(|line| !allowed.iter().any(|start| line.file.starts_with(start)) && wrong(&line.code));
    let found: Vec<String> =
        found.map(|line| format!("plugin/{}:{}: {}", line.file, line.number, line.code.trim())).collect();
    assert!(found.is_empty(), "allowed only in {allowed:?}:\n{}", found.join("\n"));
}

/// The paths below `crate::` that a line names.
fn crate_paths(code: &str) -> Vec<&str> {
    code.split("crate::").skip(1).collect()
}

#[test]
fn symbols_are_exported_only_by_the_abi() {
    only_in(&["abi/"], |code| code.contains("no_mangle") || code.contains("export_name"));
}

#[test]
fn the_environment_is_read_only_in_env_rs() {
    let reads = ["env::var", "env::set_var", "env::remove_var", "getenv", "setenv"];
    only_in(&["env.rs"], |code| reads.iter().any(|read| code.contains(read)));
}

#[test]
fn the_cuda_driver_is_called_only_by_the_driver_layer() {
    let call = Regex::new(r"\bcu[A-Z]\w*\(").expect("a valid pattern");
    only_in(&["driver/"], |code| call.is_match(code));
}

#[test]
fn memory_shared_with_the_device_becomes_atomic_in_three_files() {
    let makes = |code: &str| {
        code.contains("::from_ptr(") || code.contains("*const Atomic") || code.contains("*mut Atomic")
    };
    only_in(&["reverse/slot.rs", "launch/queue.rs", "memory/staging.rs"], |code| {
        code.contains("Atomic") && makes(code)
    });
}

#[test]
fn the_driver_layer_uses_nothing_above_it() {
    let below = ["driver", "env", "error", "abi::host", "reverse::slot", "reverse::sync"];
    let all = lines();
    let found = all.iter().filter(|line| line.file.starts_with("driver/"));
    for line in found {
        for path in crate_paths(&line.code) {
            let allowed = below.iter().any(|start| path.starts_with(start)) || path.starts_with('{');
            assert!(allowed, "plugin/{}:{}: crate::{path}", line.file, line.number);
        }
    }
}

#[test]
fn only_the_abi_uses_the_abi_but_for_the_host_callbacks() {
    only_in(&["abi/", "lib.rs"], |code| {
        crate_paths(code).iter().any(|path| path.starts_with("abi") && !path.starts_with("abi::host"))
    });
}
