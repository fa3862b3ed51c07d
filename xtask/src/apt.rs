//! The machine's own package mirror, read from apt's configuration.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::shell;

/// A Debian or Ubuntu release, and where this machine gets its packages from.
#[derive(Debug, PartialEq)]
pub struct Mirror {
    /// `debian` or `ubuntu`.
    pub distribution: String,
    /// The code name of the machine's own release.
    pub codename: String,
    /// The archive's address, as apt takes it.
    pub uri: String,
    /// The key file that apt checks the archive with, where its configuration names one.
    pub signed_by: Option<String>,
}

/// One archive of apt's configuration.
#[derive(Debug, Default, PartialEq)]
struct Source {
    uris: Vec<String>,
    suites: Vec<String>,
    components: Vec<String>,
    signed_by: Option<String>,
}

/// Finds the machine's main archive.
pub fn mirror() -> Result<Mirror> {
    let release = fs::read_to_string("/etc/os-release").context("cannot read /etc/os-release")?;
    let field = |name: &str| {
        let line = release.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        line.map(|value| value.trim_matches('"').to_owned())
    };
    let distribution = field("ID").unwrap_or_default();
    if !["debian", "ubuntu"].contains(&distribution.as_str()) {
        bail!(
            "this is {distribution:?}: only Debian and Ubuntu have the packages that a compiler root is made of"
        );
    }
    let codename = field("VERSION_CODENAME").context("/etc/os-release has no VERSION_CODENAME")?;
    let sources = configured_sources();
    let main = sources.iter().find(|source| {
        source.suites.contains(&codename) && source.components.iter().any(|component| component == "main")
    });
    let main = main.with_context(|| format!("apt's configuration names no archive with {codename} main"))?;
    let uri = main.uris.first().context("an archive of apt's configuration has no address")?.clone();
    Ok(Mirror { distribution, codename, uri, signed_by: main.signed_by.clone() })
}

/// The settings of apt that a download needs as well: proxies and time-outs.
pub fn download_options() -> Vec<String> {
    let dump = shell::query(Command::new("apt-config").arg("dump")).unwrap_or_default();
    let wanted = |line: &&str| {
        ["Acquire::http::", "Acquire::https::", "Acquire::Retries"]
            .iter()
            .any(|start| line.starts_with(start))
            && !line.ends_with("\"\";")
    };
    dump.lines().filter(wanted).map(|line| line.trim_end_matches(';').to_owned()).collect()
}

fn configured_sources() -> Vec<Source> {
    let mut paths = vec![Path::new("/etc/apt/sources.list").to_owned()];
    if let Ok(folder) = fs::read_dir("/etc/apt/sources.list.d") {
        paths.extend(folder.flatten().map(|entry| entry.path()));
    }
    paths.sort();
    let mut sources = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).unwrap_or_default();
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("list") => sources.extend(text.lines().filter_map(one_line)),
            Some("sources") => sources.extend(stanzas(&text)),
            _ => {}
        }
    }
    sources
}

/// Parses `deb [options] URI SUITE COMPONENT...`.
fn one_line(line: &str) -> Option<Source> {
    let mut rest = line.split('#').next()?.trim().strip_prefix("deb ")?.trim_start();
    let mut signed_by = None;
    if let Some(bracket) = rest.strip_prefix('[') {
        let (options, after) = bracket.split_once(']')?;
        signed_by = options
            .split_whitespace()
            .find_map(|option| option.strip_prefix("signed-by="))
            .map(str::to_owned);
        rest = after.trim_start();
    }
    let mut words = rest.split_whitespace().map(str::to_owned);
    let (uri, suite) = (words.next()?, words.next()?);
    Some(Source { uris: vec![uri], suites: vec![suite], components: words.collect(), signed_by })
}

/// Parses a file in deb822 form.
fn stanzas(text: &str) -> Vec<Source> {
    let mut sources = Vec::new();
    let mut types = String::new();
    let mut current = Source::default();
    for line in text.lines().filter(|line| !line.starts_with('#')).chain([""]) {
        if line.trim().is_empty() {
            let source = std::mem::take(&mut current);
            if std::mem::take(&mut types).split_whitespace().any(|kind| kind == "deb") {
                sources.push(source);
            }
            continue;
        }
        // Continued lines occur only in keys given in the file itself, which mmdebstrap finds by its own means.
        let Some((name, value)) = line.split_once(':').filter(|_| !line.starts_with(' ')) else { continue };
        let words = || value.split_whitespace().map(str::to_owned).collect();
        match name.to_ascii_lowercase().as_str() {
            "types" => types = value.to_owned(),
            "uris" => current.uris = words(),
            "suites" => current.suites = words(),
            "components" => current.components = words(),
            "signed-by" if value.trim().starts_with('/') => current.signed_by = Some(value.trim().to_owned()),
            _ => {}
        }
    }
    sources
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_one_line_source_is_read_with_its_options() {
        let source =
            one_line("deb [arch=amd64 signed-by=/k.gpg] https://m.example/debian trixie main contrib # x")
                .unwrap();
        assert_eq!(source.uris, words("https://m.example/debian"));
        assert_eq!(source.suites, words("trixie"));
        assert_eq!(source.components, words("main contrib"));
        assert_eq!(source.signed_by.as_deref(), Some("/k.gpg"));
    }

    #[test]
    fn comments_and_source_packages_are_no_archives() {
        assert_eq!(one_line("# deb http://m.example/debian trixie main"), None);
        assert_eq!(one_line("deb-src http://m.example/debian trixie main"), None);
        assert_eq!(stanzas("Types: deb-src\nURIs: http://m.example\nSuites: trixie\nComponents: main\n"), []);
    }

    #[test]
    fn each_stanza_of_a_deb822_file_is_one_archive() {
        let text = "Types: deb deb-src\n# a comment\nURIs: http://a.example/ubuntu\nSuites: noble noble-updates\n\
                    Components: main universe\nSigned-By:\n -----BEGIN\n Key: x\n\nTypes: deb\nURIs: http://b.example\n\
                    Suites: s\nComponents: c\nSigned-By: /k.gpg\n";
        let sources = stanzas(text);
        assert_eq!(sources.len(), 2);
        assert_eq!(sources[0].suites, words("noble noble-updates"));
        assert_eq!(sources[0].signed_by, None);
        assert_eq!(sources[1].signed_by.as_deref(), Some("/k.gpg"));
    }
}
