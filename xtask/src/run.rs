//! Running one program once and judging what it did.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::catalog::Program;
use crate::directives::{Device, Expected, Stock, Variables};
use crate::machine::{Machine, Plugin};
use crate::shell;

/// The time that a run which may fail is given: what was to die may hang instead.
const HANG_LIMIT: Duration = Duration::from_secs(10);
/// What our plugin says to the first program behind one whose kernel failed, or that ended before its kernel had: the MPS server ends itself
/// then (NVIDIA's documentation of MPS, error containment), and a new one comes for the next program.
const SERVER_ENDED: &str = "cuDevicePrimaryCtxRetain error: unspecified launch failure";
/// The most time that a run is given on a GPU, unless its program's header says otherwise.
const GPU_LIMIT: Duration = Duration::from_secs(30);

/// A run to be made.
#[derive(Clone, Debug)]
pub struct Run {
    /// What is run.
    pub program: Program,
    /// Its binary.
    pub binary: PathBuf,
    /// With which plugin.
    pub plugin: Plugin,
    /// With which variables beside the program's own.
    pub variant: Variables,
}

/// How a run is judged.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// As expected.
    Passed,
    /// The stock plugin failed, which the program's header had said it may, for this reason.
    Differs(String),
    /// Not as expected.
    Failed(String),
    /// Not made, for this reason.
    Skipped(String),
}

/// A run that was made.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Which one.
    pub run: Run,
    /// How it is judged.
    pub verdict: Verdict,
    /// How long it took.
    pub seconds: f64,
    /// The file with its standard output. Beside it lie `.stderr`, and `.sh`, which repeats the run.
    pub stdout: PathBuf,
}

/// Where runs are made.
#[derive(Clone, Debug)]
pub struct Place {
    /// The libraries.
    pub machine: Machine,
    /// The folder for output.
    pub logs: PathBuf,
    /// When runs are to end.
    pub deadline: Option<Instant>,
    /// Variables for all runs; a program's own and a variant's come before them.
    pub given: Variables,
    /// Whether the GPU is reached by an MPS server.
    pub mps: bool,
}

impl Place {
    /// The device that programs find.
    pub fn device(&self) -> Device {
        if self.machine.simulator.is_some() { Device::Simulator } else { Device::Gpu }
    }
}

impl Run {
    /// The run of a program with our plugin on a simulator that orders its warps by `seed`.
    pub fn seeded(program: &Program, binary: &Path, seed: u32) -> Run {
        let variant = vec![("BOOMERANG_SIM_SEED".to_owned(), seed.to_string())];
        Run { program: program.clone(), binary: binary.to_owned(), plugin: Plugin::Ours, variant }
    }

    /// All the runs of a program in a place, but those with seeds.
    pub fn all_of(program: &Program, binary: &Path, place: &Place) -> Vec<Run> {
        let directives = &program.directives;
        if directives.only.is_some_and(|only| only != place.device()) {
            return Vec::new();
        }
        let run =
            |plugin, variant| Run { program: program.clone(), binary: binary.to_owned(), plugin, variant };
        if directives.is_bench && directives.system_compiler {
            return vec![run(Plugin::Raw, Vec::new())];
        }
        let mut runs = Vec::new();
        if directives.ours {
            runs.push(run(Plugin::Ours, Vec::new()));
            let simulated =
                |variant: &&Variables| variant.iter().any(|(name, _)| name.starts_with("BOOMERANG_SIM_"));
            let on_gpu = place.device() == Device::Gpu;
            let variants = directives.variants.iter().filter(|variant| !(on_gpu && simulated(variant)));
            runs.extend(variants.map(|variant| run(Plugin::Ours, variant.clone())));
        }
        if directives.stock != Stock::Skipped {
            runs.push(run(Plugin::Stock, Vec::new()));
        }
        runs
    }

    /// The plugin and the variant, for people: `ours BOOMERANG_WAIT=block`.
    pub fn label(&self) -> String {
        let variables = self.variant.iter().map(|(name, value)| format!(" {name}={value}"));
        std::iter::once(self.plugin.name().to_owned()).chain(variables).collect()
    }

    /// Makes the run.
    pub fn make(self, place: &Place) -> Result<Outcome> {
        let directives = &self.program.directives;
        let log = place.logs.join(&self.program.name).join(self.label().replace([' ', '/'], "."));
        let (stdout, stderr) = (log.with_added("stdout"), log.with_added("stderr"));
        let own_limit = self.limit(place);
        let left = place.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        // Whole seconds: `timeout` is told tenths, and must not be earlier than what is compared with below.
        let limit = left.map_or(own_limit, |left| Duration::from_secs(left.as_secs()).min(own_limit));
        if limit < own_limit.min(GPU_LIMIT) / 3 {
            let verdict = Verdict::Skipped("no time is left for it".to_owned());
            return Ok(Outcome { verdict, seconds: 0.0, stdout, run: self });
        }
        let folder = log.with_added(&format!("work-{}", std::process::id()));
        fs::create_dir_all(&folder)?;

        let mut command = self.command(place, limit);
        fs::write(log.with_added("sh"), shell::script(&command))?;
        command.current_dir(&folder).stdin(Stdio::null());
        let mut attempt = || -> Result<_> {
            command.stdout(File::create(&stdout)?).stderr(File::create(&stderr)?);
            let start = Instant::now();
            let status = command.status().with_context(|| format!("cannot run {}", self.program.name))?;
            Ok((status, start.elapsed()))
        };
        let (mut status, mut elapsed) = attempt()?;
        if place.mps && read(&stderr).contains(SERVER_ENDED) {
            (status, elapsed) = attempt()?;
        }
        // As a shell has it; `timeout` ends itself by the signal that ended the program.
        let code = status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(-1);
        fs::remove_dir_all(&folder)?;
        if elapsed >= limit && limit < own_limit {
            let verdict = Verdict::Skipped("the time left for it was not enough".to_owned());
            return Ok(Outcome { verdict, seconds: elapsed.as_secs_f64(), stdout, run: self });
        }
        let complaint = if elapsed >= limit {
            Some(format!("still running after {:.0} s", limit.as_secs_f64()))
        } else {
            directives.expected.complaint(code, &read(&stdout), &read(&stderr))
        };
        let verdict = match (complaint, self.plugin, &directives.stock) {
            (None, ..) => Verdict::Passed,
            (Some(complaint), Plugin::Stock, Stock::Hangs(why) | Stock::Dies(why)) => {
                Verdict::Differs(format!("{complaint}, as expected: {why}"))
            }
            (Some(complaint), ..) => Verdict::Failed(complaint),
        };
        Ok(Outcome { verdict, seconds: elapsed.as_secs_f64(), stdout, run: self })
    }

    fn command(&self, place: &Place, limit: Duration) -> Command {
        let directives = &self.program.directives;
        let mut machine = place.machine.clone();
        if directives.without_libcuda {
            machine.simulator = None;
        }
        let system = directives.system_compiler;
        let mut command = machine.command(&self.binary, self.plugin, system, limit.as_secs_f64());
        clear_variables(&mut command);
        command.env("OMP_TARGET_OFFLOAD", "mandatory");
        let own = directives.env.iter().chain(&self.variant);
        command.envs(place.given.iter().chain(own).map(|(name, value)| (name, value)));
        command.args(&directives.args);
        command
    }

    fn limit(&self, place: &Place) -> Duration {
        let directives = &self.program.directives;
        let limit = match place.device() {
            Device::Simulator => directives.timeout,
            Device::Gpu => directives.gpu_timeout.unwrap_or(directives.timeout.min(GPU_LIMIT)),
        };
        match directives.stock {
            Stock::Hangs(_) | Stock::Dies(_) if self.plugin == Plugin::Stock => limit.min(HANG_LIMIT),
            _ => limit,
        }
    }
}

impl Outcome {
    /// The file with the run's standard error.
    pub fn stderr(&self) -> PathBuf {
        self.stdout.with_extension("stderr")
    }
}

impl Expected {
    /// What is wrong with a run, if anything is.
    fn complaint(&self, code: i32, stdout: &str, stderr: &str) -> Option<String> {
        match self.exit {
            Some(expected) if code != expected => return Some(format!("exit status {code}")),
            None if code == 0 => return Some("exit status 0".to_owned()),
            _ => {}
        }
        for (text, name, patterns) in [(stdout, "stdout", &self.stdout), (stderr, "stderr", &self.stderr)] {
            if let Some(missing) = patterns.iter().find(|pattern| !pattern.is_match(text)) {
                return Some(format!("{name} has nothing that matches {missing}"));
            }
        }
        if let Some(unwanted) = self.not_stderr.iter().find(|pattern| pattern.is_match(stderr)) {
            return Some(format!("stderr has something that matches {unwanted}"));
        }
        let lines = stderr.lines().filter(|line| !line.trim().is_empty()).count();
        self.stderr_lines.filter(|most| lines > *most).map(|_| format!("stderr has {lines} lines"))
    }
}

/// Keeps from a command all variables of the user's that would change what a program does.
pub fn clear_variables(command: &mut Command) {
    for (name, _) in std::env::vars().filter(|(name, _)| steers_programs(name)) {
        command.env_remove(name);
    }
    // What one version of the plugin or the simulator has linked is not another's.
    command.env("BOOMERANG_CACHE", "off");
}

/// The user's variables that steer the plugins, for who wants programs to be run with them. The simulator's reach them anyway.
pub fn given_variables() -> Variables {
    let steers =
        |name: &str| name.starts_with("BOOMERANG_") || name.starts_with("GOMP_") || name == CONNECTIONS;
    let mut given: Variables =
        std::env::vars().filter(|(name, _)| steers_programs(name) && steers(name)).collect();
    given.sort();
    given
}

/// How many hardware channels the driver gives a process.
const CONNECTIONS: &str = "CUDA_DEVICE_MAX_CONNECTIONS";

/// Whether a variable of the user's would change what a program does. The simulator's are let through, a seed for example.
fn steers_programs(name: &str) -> bool {
    let ours = name.starts_with("BOOMERANG_") && !name.starts_with("BOOMERANG_SIM_");
    let prefix = ["OMP_", "GOMP_", "ACC_"].iter().any(|start| name.starts_with(start));
    ours || prefix || [CONNECTIONS, "RUST_BACKTRACE"].contains(&name)
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

/// Appending an extension, where a dot in the name must stay.
trait WithAdded {
    fn with_added(&self, extension: &str) -> PathBuf;
}

impl WithAdded for PathBuf {
    fn with_added(&self, extension: &str) -> PathBuf {
        let mut name = self.as_os_str().to_owned();
        name.push(".");
        name.push(extension);
        name.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directives::Directives;

    fn expected(lines: &str) -> Expected {
        let text = format!("// boomerang: checks: x\n{lines}");
        Directives::parse(&text).unwrap().unwrap().expected
    }

    #[test]
    fn a_run_passes_on_exit_status_0_unless_told_otherwise() {
        assert_eq!(expected("").complaint(0, "", "noise"), None);
        assert_eq!(expected("").complaint(3, "", "").as_deref(), Some("exit status 3"));
        assert_eq!(expected("// boomerang: exit: 3").complaint(3, "", ""), None);
        assert_eq!(expected("// boomerang: exit: failure").complaint(134, "", ""), None);
        assert!(expected("// boomerang: exit: failure").complaint(0, "", "").is_some());
    }

    #[test]
    fn every_pattern_must_match_somewhere() {
        let expected = expected("// boomerang: stdout: ^b$\n// boomerang: not-stderr: panicked");
        assert_eq!(expected.complaint(0, "a\nb\n", ""), None);
        assert!(expected.complaint(0, "ab\n", "").is_some());
        assert!(expected.complaint(0, "b", "thread panicked").is_some());
    }

    #[test]
    fn the_lines_of_stderr_are_counted() {
        let expected = expected("// boomerang: stderr-lines: 1");
        assert_eq!(expected.complaint(0, "", "\none\n"), None);
        assert!(expected.complaint(0, "", "one\ntwo\n").is_some());
    }

    #[test]
    fn the_programs_own_variables_come_before_those_given_to_all() {
        let text = "// boomerang: checks: x\n// boomerang: env: A=own\n// boomerang: variants: B=own\n";
        let run = &Run::all_of(&program(text), Path::new("x"), &gpu())[1];
        let command = run.command(&gpu(), Duration::from_secs(1));
        let value = |name: &str| command.get_envs().find(|(other, _)| *other == name).unwrap().1.unwrap();
        assert_eq!(["A", "B", "C"].map(value), ["own", "own", "given"]);
    }

    #[test]
    fn a_gpus_time_is_short_unless_the_program_says_otherwise() {
        let limit = |lines: &str| {
            let text = format!("// boomerang: checks: x\n{lines}");
            Run::all_of(&program(&text), Path::new("x"), &gpu())[0].limit(&gpu()).as_secs()
        };
        assert_eq!(limit(""), 30);
        assert_eq!(limit("// boomerang: timeout: 20\n"), 20);
        assert_eq!(limit("// boomerang: timeout: 120\n"), 30);
        assert_eq!(limit("// boomerang: gpu-timeout: 90\n"), 90);
    }

    #[test]
    fn a_run_that_the_deadline_cuts_short_has_not_failed() {
        let logs = std::env::temp_dir().join(format!("boomerang-deadline-{}", std::process::id()));
        let soon = Some(Instant::now() + Duration::from_millis(1500));
        let place = Place { logs: logs.clone(), deadline: soon, ..gpu() };
        let text = "// boomerang: checks: x\n// boomerang: timeout: 2\n// boomerang: args: 60\n";
        let run = Run::all_of(&program(text), Path::new("/bin/sleep"), &place).remove(0);
        let outcome = run.make(&place).unwrap();
        assert!(matches!(outcome.verdict, Verdict::Skipped(_)), "{:?}", outcome.verdict);
        fs::remove_dir_all(logs).unwrap();
    }

    #[test]
    fn under_mps_who_finds_that_the_server_has_ended_is_run_again() {
        let logs = std::env::temp_dir().join(format!("boomerang-mps-{}", std::process::id()));
        let (script, second) = (logs.join("script"), logs.join("second"));
        fs::create_dir_all(&logs).unwrap();
        let text =
            format!("[ -e {0} ] && exit 0\ntouch {0}\necho {SERVER_ENDED} >&2\nexit 1\n", second.display());
        fs::write(&script, text).unwrap();
        let header = format!("// boomerang: checks: x\n// boomerang: args: {}\n", script.display());
        let verdict = |mps| {
            let place = Place { logs: logs.clone(), mps, ..gpu() };
            Run::all_of(&program(&header), Path::new("/bin/sh"), &place)
                .remove(0)
                .make(&place)
                .unwrap()
                .verdict
        };
        assert_eq!(verdict(true), Verdict::Passed);
        fs::remove_file(second).unwrap();
        assert_eq!(verdict(false), Verdict::Failed("exit status 1".to_owned()));
        fs::remove_dir_all(logs).unwrap();
    }

    fn program(text: &str) -> Program {
        let directives = Directives::parse(text).unwrap().unwrap();
        Program { name: "omp/x".to_owned(), source: None, directives }
    }

    /// A place with a GPU and a variable of each name for all runs.
    fn gpu() -> Place {
        let [plugin, stock, logs] = ["plugin", "stock", "logs"].map(PathBuf::from);
        let machine = Machine { loader: None, plugin, stock, runtime: None, simulator: None };
        let given = ["A", "B", "C"].map(|name| (name.to_owned(), "given".to_owned())).to_vec();
        Place { machine, logs, deadline: None, given, mps: false }
    }
}
