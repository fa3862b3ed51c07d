//! Starting other programs, and telling the user how far things are.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::LazyLock;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::layout;

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Says on standard output what is being done, with the time since the start.
pub fn progress(message: impl AsRef<str>) {
    println!("[{:6.1} s] {}", START.elapsed().as_secs_f64(), message.as_ref());
}

/// Runs a command to its end; what it prints goes to the user.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", describe(command)))?;
    if !status.success() {
        bail!("{}: {status}", describe(command));
    }
    Ok(())
}

/// Runs a command to its end; what it prints goes to a file, whose end is part of the error.
pub fn run_logged(command: &mut Command, log: &Path) -> Result<()> {
    let status = status_logged(command, log)?;
    if !status.success() {
        bail!("{}: {status}; the end of {}:\n{}", describe(command), log.display(), tail(log, 20));
    }
    Ok(())
}

/// As [`run_logged`], for callers that judge the status themselves.
pub fn status_logged(command: &mut Command, log: &Path) -> Result<ExitStatus> {
    if let Some(folder) = log.parent() {
        fs::create_dir_all(folder)?;
    }
    let file = fs::File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
    command.stdout(file.try_clone()?).stderr(file);
    command.status().with_context(|| format!("cannot start {}", describe(command)))
}

/// Runs a command and returns what it prints, or None where it fails or isn't there.
pub fn query(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The last lines of a file, indented; empty ones are left out.
pub fn tail(path: &Path, lines: usize) -> String {
    let bytes = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let all: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    all[all.len().saturating_sub(lines)..].iter().map(|line| format!("    {line}\n")).collect()
}

/// The command line, for messages.
pub fn describe(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// A shell script that runs a command again by hand.
pub fn script(command: &Command) -> String {
    let quote = |word: &OsStr| format!("'{}'", word.to_string_lossy().replace('\'', "'\\''"));
    let mut words = vec!["env".to_owned()];
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => words.push(format!("{}={}", name.to_string_lossy(), quote(value))),
            None => words.push(format!("--unset={}", name.to_string_lossy())),
        }
    }
    words.extend(std::iter::once(command.get_program()).chain(command.get_args()).map(quote));
    format!("#!/bin/sh\n{} \"$@\"\n", words.join(" "))
}

/// The cargo that runs us, in the repository.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(layout::repository());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_keeps_words_together_and_sets_the_variables() {
        let mut command = Command::new("a b");
        command.arg("it's").env("X", "1 2").env_remove("Y");
        assert_eq!(script(&command), "#!/bin/sh\nenv X='1 2' --unset=Y 'a b' 'it'\\''s' \"$@\"\n");
    }
}
