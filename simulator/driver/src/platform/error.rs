//! What is wrong with a platform file.

use std::fmt;

/// Names the file, the line and the key.
#[derive(Clone, Debug, PartialEq)]
pub struct PlatformError {
    /// The file's path.
    pub file: String,
    /// The line, from 1; 0 where the file can't be read.
    pub line: usize,
    /// The key, with the table it is in: `link.latency_us`; empty where the text is no TOML.
    pub key: String,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for PlatformError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PlatformError { file, line, key, what } = self;
        match (line, key.as_str()) {
            (0, _) => write!(f, "{file}: {what}"),
            (_, "") => write!(f, "{file}:{line}: {what}"),
            (_, key) => write!(f, "{file}:{line}: {key}: {what}"),
        }
    }
}
