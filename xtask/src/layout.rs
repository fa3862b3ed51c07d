//! Where things lie in the working copy.

use std::path::{Path, PathBuf};

/// The repository's root folder.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the repository").to_owned()
}

/// What cargo builds with `--release`.
pub fn release() -> PathBuf {
    cargo_target().join("release")
}

/// The folder below cargo's target folder that holds all that the commands make.
pub fn made() -> PathBuf {
    cargo_target().join("boomerang")
}

/// Where the output of compilers, programs and checks is kept.
pub fn logs() -> PathBuf {
    made().join("logs")
}

fn cargo_target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => repository().join(folder),
        None => repository().join("target"),
    }
}
