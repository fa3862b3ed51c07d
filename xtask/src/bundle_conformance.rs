//! `cargo xtask gpu-bundle --conformance`: GCC's tests of libgomp for a machine with a GPU but without compilers, in parts
//! that are small enough to be carried, and running them there.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::bundle;
use crate::bundle_run;
use crate::compile;
use crate::conformance::{self, Place, Selection};
use crate::dist;
use crate::layout;
use crate::machine::Plugin;
use crate::shell::progress;
use crate::tally::Tally;
use crate::toolchain::{self, Toolchain};

/// Bytes that a part may have.
const MOST: u64 = 20 << 20;
/// What run.py needs, beside the tests.
const SCRIPTS: [&str; 2] = ["run.py", "suites.py"];
/// The folder of the bundle that the parts with tests unpack into.
const TESTS: &str = "tests";

/// Builds all tests and packs them: part-0 holds the plugins, the libraries and the runner, the others tests.
pub fn make(gcc: Option<u32>) -> Result<()> {
    let toolchain = Toolchain::provide(gcc)?;
    let dist = dist::build()?;
    let built = conformance::build(&toolchain, &Selection::default())?;
    let folder = layout::made().join("gpu-conformance");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let stage = folder.join("stage");
    bundle::put_common(&stage, &toolchain, &dist)?;
    let scripts = stage.join("conformance");
    let expectations = format!("gcc-{}.toml", toolchain.version);
    for name in SCRIPTS.iter().copied().chain([expectations.as_str()]) {
        dist::place(&conformance::scripts().join(name), &scripts.join(name))?;
    }
    bundle::lower_all(&stage, &toolchain)?;
    let mut parts = Vec::new();
    parts.push(pack(&stage, &folder.join("part-0.tar.xz"))?);

    let text = fs::read_to_string(built.join("manifest.json"))?;
    let manifest: Value = serde_json::from_str(&text).context("the tests' manifest is no JSON")?;
    let tests = manifest["tests"].as_array().context("the tests' manifest lists no tests")?;
    let suite = |test: &Value| test["suite"].as_str().unwrap_or_default().to_owned();
    let groups: Vec<&[Value]> = tests.chunk_by(|one, other| suite(one) == suite(other)).collect();
    // A suite that is too large for one part is halved, and so on.
    let mut rest: Vec<&[Value]> = groups.into_iter().rev().collect();
    while let Some(group) = rest.pop() {
        let name = format!("part-{}", parts.len());
        let stage = folder.join("stage").join(TESTS);
        if stage.parent().is_some_and(Path::exists) {
            fs::remove_dir_all(folder.join("stage"))?;
        }
        stage_tests(&stage.join(&name), &built, &manifest, group)?;
        bundle::lower_all(&stage, &toolchain)?;
        let archive = folder.join(format!("{name}.tar.xz"));
        let size = pack(&folder.join("stage"), &archive)?;
        if size > MOST {
            ensure!(group.len() > 1, "{} alone is larger than a part may be", group[0]["name"]);
            let (first, second) = group.split_at(group.len() / 2);
            rest.extend([second, first]);
            continue;
        }
        progress(format!("{name}: {} tests of {}", group.len(), suite(&group[0])));
        parts.push(size);
    }
    fs::remove_dir_all(folder.join("stage"))?;
    ensure!(parts[0] <= MOST, "part-0 has {} MiB", parts[0] >> 20);
    progress(format!(
        "{}: {} parts, {} MiB; there: unpack part-0 and any others into one folder, then bash run.sh OUTDIR conformance [PART]",
        folder.display(),
        parts.len(),
        parts.iter().sum::<u64>() >> 20
    ));
    Ok(())
}

/// Lays out some of the tests as a folder that run.py takes.
fn stage_tests(folder: &Path, built: &Path, manifest: &Value, tests: &[Value]) -> Result<()> {
    let own = json!({"compiler": manifest["compiler"], "probes": manifest["probes"], "tests": tests});
    toolchain::write_if_changed(&folder.join("manifest.json"), own.to_string())?;
    compile::copy_tree(&built.join("data"), &folder.join("data"))?;
    let probes = manifest["probes"].as_object().context("the manifest has no probes")?.values();
    for binary in probes.chain(tests.iter().map(|test| &test["binary"])).filter_map(Value::as_str) {
        dist::place(&built.join(binary), &folder.join(binary))?;
    }
    Ok(())
}

/// Packs a folder and returns the archive's size. The tests hold the same device library each: with a dictionary larger than one
/// test, they shrink to a hundredth.
fn pack(folder: &Path, archive: &Path) -> Result<u64> {
    let mut tar = Command::new("tar");
    tar.args(["--create", "--xz", "--file"]).arg(archive).arg("--directory").arg(folder).arg(".");
    tar.env("XZ_OPT", "-3");
    let status = tar.stdin(Stdio::null()).status().context("cannot start tar")?;
    ensure!(status.success(), "tar: {status}");
    Ok(archive.metadata()?.len())
}

/// On the GPU machine: runs the tests of one part, or of all that are there, with both plugins. Logs go to `work`.
pub fn run(bundle: &Path, work: &Path, part: Option<&str>) -> Result<ExitCode> {
    let mut parts: Vec<_> = fs::read_dir(bundle.join(TESTS))?.flatten().map(|entry| entry.path()).collect();
    parts.retain(|folder| part.is_none_or(|part| folder.ends_with(part)));
    parts.sort();
    if parts.is_empty() {
        bail!("there is no such part in {}", bundle.join(TESTS).display());
    }
    let mut tally = Tally::default();
    for folder in parts {
        let place = Place {
            gcc: toolchain::parse_version(&bundle_run::about(bundle, "gcc-version")?)?,
            machine: bundle_run::machine(bundle),
            scripts: bundle.join("conformance"),
            results: work.join("logs").join(folder.file_name().unwrap_or_default()),
        };
        for plugin in [Plugin::Ours, Plugin::Stock] {
            tally.add(place.run(&folder, plugin)?);
        }
    }
    Ok(tally.finish())
}
