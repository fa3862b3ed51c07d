//! Every environment variable the simulator reads. A wrong value costs one line on stderr that
//! names the variable, the value and what is allowed; the default then holds.

use boomerang_gpu::Checks;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

/// The settings of this process, read at the first driver call.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// `BOOMERANG_SIM_DEVICES`: how many devices there are.
    pub devices: usize,
    /// `BOOMERANG_SIM_SMS`: multiprocessors of each device.
    pub sms: u32,
    /// `BOOMERANG_SIM_MEMORY`: bytes of memory of each device.
    pub memory: u64,
    /// `BOOMERANG_SIM_FAIL`: calls that fail on purpose.
    pub failures: Vec<Failure>,
    /// `BOOMERANG_SIM_SEED`: permutes the order in which warps, and lanes that part, run; each seed is one order.
    pub seed: Option<u64>,
    /// `BOOMERANG_SIM_PLATFORM`: the platform description, a file; it says how many devices there are, their
    /// multiprocessors and memory.
    pub platform: Option<PathBuf>,
    /// `BOOMERANG_SIM_REPORT`: where the timeline goes when the process ends; needs a platform.
    pub report: Option<PathBuf>,
    /// `BOOMERANG_SIM_MEMOPS`: whether the devices have stream memory operations. With a platform they don't
    /// unless this is 1: what the host learns from memory comes at no time of the virtual clock.
    pub memops: bool,
    /// `BOOMERANG_SIM_CALLS`: at the end of the process, tell how often each function was called.
    pub calls: bool,
    /// `BOOMERANG_SIM_DEADLOCK_MS`: how long a blocked call, or threads of a kernel that only wait for each other, may make no progress.
    pub deadlock: Duration,
    /// `BOOMERANG_SIM_CHECK`: what kernels are checked for besides.
    pub checks: Checks,
    /// `CUDA_DEVICE_MAX_CONNECTIONS`: hardware channels that streams share.
    pub connections: usize,
    /// `CUDA_MODULE_LOADING=EAGER`: functions are loaded with their module.
    pub eager: bool,
}

/// From its `from`th call on (counted from 1), the driver function `call` returns `code`.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// The exported name.
    pub call: String,
    /// The first call that fails.
    pub from: u64,
    /// What it returns.
    pub code: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            devices: 1,
            sms: 4,
            memory: 8 << 30,
            failures: Vec::new(),
            seed: None,
            platform: None,
            report: None,
            memops: true,
            calls: false,
            deadlock: Duration::from_secs(10),
            checks: Checks::default(),
            connections: 8, // the driver's default
            eager: false,   // lazy since CUDA 12.2
        }
    }
}

/// The settings, from the environment.
pub fn settings() -> &'static Settings {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    SETTINGS.get_or_init(|| {
        Settings::from_lookup(|name| std::env::var(name).ok(), |line| eprintln!("boomerang-sim: {line}"))
    })
}

impl Settings {
    /// Reads variables through `get`, complaints go to `complain`.
    fn from_lookup(get: impl Fn(&str) -> Option<String>, mut complain: impl FnMut(String)) -> Settings {
        let mut s = Settings::default();
        let mut set = |name: &str, allowed: &str, apply: &mut dyn FnMut(&str) -> Option<()>| {
            if let Some(value) = get(name) {
                if apply(value.trim()).is_none() {
                    complain(format!(
                        "{name}={value}: not understood, allowed is {allowed}; using the default"
                    ));
                }
            }
        };
        set("BOOMERANG_SIM_DEVICES", "a number from 0 to 64", &mut |v| {
            s.devices = v.parse().ok().filter(|n| *n <= 64)?;
            Some(())
        });
        set("BOOMERANG_SIM_SMS", "a number from 1 to 1024", &mut |v| {
            s.sms = v.parse().ok().filter(|n| (1..=1024).contains(n))?;
            Some(())
        });
        set("BOOMERANG_SIM_MEMORY", "bytes, or a number with K, M, G or T, at least 1M", &mut |v| {
            s.memory = bytes(v).filter(|n| *n >= 1 << 20)?;
            Some(())
        });
        set("BOOMERANG_SIM_FAIL", "CALL[#NTH]=CODE, several separated by commas", &mut |v| {
            s.failures = v.split(',').map(failure).collect::<Option<_>>()?;
            Some(())
        });
        set("BOOMERANG_SIM_SEED", "a number", &mut |v| {
            s.seed = Some(v.parse().ok()?);
            Some(())
        });
        let path = |v: &str| (!v.is_empty()).then(|| PathBuf::from(v));
        set("BOOMERANG_SIM_PLATFORM", "a path", &mut |v| {
            s.platform = Some(path(v)?);
            Some(())
        });
        set("BOOMERANG_SIM_REPORT", "a path", &mut |v| {
            s.report = Some(path(v)?);
            Some(())
        });
        s.memops = s.platform.is_none();
        set("BOOMERANG_SIM_MEMOPS", "0 or 1", &mut |v| {
            s.memops = flag(v)?;
            Some(())
        });
        set("BOOMERANG_SIM_CALLS", "0 or 1", &mut |v| {
            s.calls = flag(v)?;
            Some(())
        });
        set("BOOMERANG_SIM_DEADLOCK_MS", "milliseconds, at least 1", &mut |v| {
            s.deadlock = Duration::from_millis(v.parse().ok().filter(|n| *n > 0)?);
            Some(())
        });
        set("BOOMERANG_SIM_CHECK", "a list of uninitialized and races with commas between them", &mut |v| {
            s.checks = checks(v)?;
            Some(())
        });
        set("CUDA_DEVICE_MAX_CONNECTIONS", "a number from 1 to 32", &mut |v| {
            s.connections = v.parse().ok().filter(|n| (1..=32).contains(n))?;
            Some(())
        });
        set("CUDA_MODULE_LOADING", "EAGER, LAZY or DEFAULT", &mut |v| {
            s.eager = match v {
                "EAGER" => true,
                "LAZY" | "DEFAULT" => false,
                _ => return None,
            };
            Some(())
        });
        let given = |name: &&str| get(name).is_some();
        match s.platform {
            Some(_) => {
                let idle = ["BOOMERANG_SIM_DEVICES", "BOOMERANG_SIM_SMS", "BOOMERANG_SIM_MEMORY"];
                for name in idle.iter().filter(|name| given(name)) {
                    complain(format!("{name}: without effect, BOOMERANG_SIM_PLATFORM describes the devices"));
                }
            }
            None if s.report.take().is_some() => {
                complain("BOOMERANG_SIM_REPORT: needs BOOMERANG_SIM_PLATFORM; no report is made".to_owned());
            }
            None => {}
        }
        s
    }
}

fn checks(value: &str) -> Option<Checks> {
    let mut checks = Checks::default();
    for name in value.split(',') {
        match name.trim() {
            "uninitialized" => checks.uninitialized = true,
            "races" => checks.races = true,
            _ => return None,
        }
    }
    Some(checks)
}

fn flag(value: &str) -> Option<bool> {
    match value {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

/// Bytes, or a number with K, M, G or T.
pub fn bytes(value: &str) -> Option<u64> {
    let shift = match value.as_bytes().last()?.to_ascii_uppercase() {
        b'K' => 10,
        b'M' => 20,
        b'G' => 30,
        b'T' => 40,
        _ => return value.parse().ok(),
    };
    value[..value.len() - 1].parse::<u64>().ok()?.checked_mul(1 << shift)
}

fn failure(text: &str) -> Option<Failure> {
    let (call, code) = text.trim().split_once('=')?;
    let (call, from) = match call.split_once('#') {
        Some((call, nth)) => (call, nth.parse().ok()?),
        None => (call, 1),
    };
    call.starts_with("cu").then_some(())?;
    Some(Failure { call: call.to_owned(), from, code: code.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> (Settings, Vec<String>) {
        let mut lines = Vec::new();
        let get = |name: &str| pairs.iter().find(|p| p.0 == name).map(|p| p.1.to_owned());
        (Settings::from_lookup(get, |l| lines.push(l)), lines)
    }

    #[test]
    fn an_empty_environment_gives_the_defaults_and_no_line() {
        assert_eq!(read(&[]), (Settings::default(), vec![]));
    }

    #[test]
    fn values_are_understood() {
        let (s, lines) = read(&[
            ("BOOMERANG_SIM_MEMORY", "2G"),
            ("BOOMERANG_SIM_FAIL", "cuInit=999,cuMemAlloc_v2#3=2"),
            ("BOOMERANG_SIM_MEMOPS", "0"),
            ("BOOMERANG_SIM_CHECK", "races,uninitialized"),
            ("CUDA_MODULE_LOADING", "EAGER"),
        ]);
        assert!(lines.is_empty());
        assert_eq!(s.checks, Checks { uninitialized: true, races: true });
        assert_eq!((s.memory, s.memops, s.eager), (2 << 30, false, true));
        assert_eq!(s.failures[1], Failure { call: "cuMemAlloc_v2".into(), from: 3, code: 2 });
    }

    #[test]
    fn a_platform_describes_the_devices_and_takes_stream_memory_operations_away() {
        let (s, lines) = read(&[("BOOMERANG_SIM_PLATFORM", "p.toml"), ("BOOMERANG_SIM_SMS", "8")]);
        assert!(!s.memops && s.platform.is_some());
        assert!(lines.len() == 1 && lines[0].starts_with("BOOMERANG_SIM_SMS"));
        let (s, _) = read(&[("BOOMERANG_SIM_PLATFORM", "p.toml"), ("BOOMERANG_SIM_MEMOPS", "1")]);
        assert!(s.memops);
    }

    #[test]
    fn a_report_without_a_platform_is_not_made() {
        let (s, lines) = read(&[("BOOMERANG_SIM_REPORT", "r.json")]);
        assert_eq!((s.report, lines.len()), (None, 1));
    }

    #[test]
    fn a_wrong_value_costs_one_line_and_the_default_holds() {
        let (s, lines) = read(&[("BOOMERANG_SIM_DEVICES", "many"), ("BOOMERANG_SIM_SMS", "0")]);
        assert_eq!(s, Settings::default());
        assert_eq!(lines.len(), 2);
        assert!(lines[0].contains("BOOMERANG_SIM_DEVICES=many") && lines[0].contains("0 to 64"));
    }
}
