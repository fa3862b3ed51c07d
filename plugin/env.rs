//! Environment variables: the one list of those that the plugin reads, and the only code that touches the
//! environment. `docs/environment.md` holds [`documentation`].

use std::ffi::{CStr, CString, OsString, c_char};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::abi::host;

/// Where devices come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The CUDA driver.
    Auto,
    /// The simulator.
    Simulator,
}

/// How a host thread waits for the end of its region, and for the requests that the region makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitPolicy {
    /// Spin for some tens of microseconds after the last activity, then sleep.
    Adaptive,
    /// Spin on host memory.
    Spin,
    /// Sleep at once.
    Block,
    /// Ask the driver again and again; no stream memory operations.
    Poll,
}

/// Whether PTX is written out, or read in place of the image's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PtxFiles {
    /// Neither.
    Off,
    /// Each object is written to `gomp-nvptx.N.ptx` in the current folder.
    Write,
    /// Each object is taken from `gomp-nvptx.N.ptx` in the current folder.
    Read,
}

/// The values of all variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `BOOMERANG_DEVICE`
    pub device: DeviceChoice,
    /// `BOOMERANG_SIMULATOR`
    pub simulator: Option<PathBuf>,
    /// `BOOMERANG_WAIT`
    pub wait: WaitPolicy,
    /// `GOMP_NVPTX_JIT`: the JIT's optimization level, or `None` for its own default.
    pub jit_optimization: Option<u32>,
    /// `GOMP_NVPTX_PTXRW`
    pub ptx_files: PtxFiles,
    /// `GOMP_NVPTX_LOWLAT_POOL`: dynamic shared memory of each team, in bytes.
    pub lowlat_pool: u32,
    /// `GOMP_NVPTX_NATIVE_GPU_THREAD_STACK_SIZE`: bytes of each GPU thread's own stack, or `None` for the driver's.
    pub native_stack: Option<usize>,
    /// `BOOMERANG_SUMMARY`: whether each device's use is summed up on standard error at the end.
    pub summary: bool,
    /// `OMP_TARGET_OFFLOAD=mandatory`: the program must not run on the host.
    pub mandatory: bool,
    /// `OMP_DEFAULT_DEVICE`
    pub default_device: Option<usize>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            device: DeviceChoice::Auto,
            simulator: None,
            wait: WaitPolicy::Adaptive,
            jit_optimization: None,
            ptx_files: PtxFiles::Off,
            lowlat_pool: 8 * 1024,
            native_stack: None,
            summary: false,
            mandatory: false,
            default_device: None,
        }
    }
}

/// A variable that the plugin reads.
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What is allowed, in words.
    pub allowed: &'static str,
    /// What holds when it is not set, in words.
    pub default: &'static str,
    /// What it does.
    pub help: &'static str,
    /// Puts a value into the settings; `None` when the value is not allowed.
    apply: fn(&mut Settings, &str) -> Option<()>,
}

/// Every variable that the plugin reads.
pub const VARIABLES: &[Variable] = &[
    Variable {
        name: "BOOMERANG_DEVICE",
        allowed: "auto, sim",
        default: "auto",
        help: "Where devices come from: the CUDA driver (auto), or the simulator (sim), which needs no GPU.",
        apply: |settings, value| {
            settings.device = match value {
                "auto" => DeviceChoice::Auto,
                "sim" => DeviceChoice::Simulator,
                _ => return None,
            };
            Some(())
        },
    },
    Variable {
        name: "BOOMERANG_SIMULATOR",
        allowed: "a path",
        default: "`../simulator/libcuda.so` seen from the plugin's folder",
        help: "The simulator's library, for BOOMERANG_DEVICE=sim.",
        apply: |settings, value| {
            settings.simulator = Some(value.into());
            Some(())
        },
    },
    Variable {
        name: "BOOMERANG_WAIT",
        allowed: "adaptive, spin, block, poll",
        default: "adaptive",
        help: "How a host thread waits for its target region and for reverse-offload requests: spin for some tens of \
               microseconds and then sleep (adaptive), only spin (lowest latency, one core busy), sleep at once \
               (least CPU time), or keep asking the driver (poll, which is also what happens on devices without \
               stream memory operations).",
        apply: |settings, value| {
            settings.wait = match value {
                "adaptive" => WaitPolicy::Adaptive,
                "spin" => WaitPolicy::Spin,
                "block" => WaitPolicy::Block,
                "poll" => WaitPolicy::Poll,
                _ => return None,
            };
            Some(())
        },
    },
    Variable {
        name: "BOOMERANG_SUMMARY",
        allowed: "0, 1",
        default: "0",
        help: "1 prints, at the end of the program, how many kernels each device ran and how many reverse-offload requests \
               were served.",
        apply: |settings, value| {
            settings.summary = match value {
                "0" => false,
                "1" => true,
                _ => return None,
            };
            Some(())
        },
    },
    Variable {
        name: "GOMP_NVPTX_JIT",
        allowed: "-O0, -O1, -O2, -O3, -O4",
        default: "the driver's",
        help: "Optimization level of the driver's PTX compiler.",
        apply: |settings, value| {
            for word in value.split_whitespace() {
                let level = word.strip_prefix("-O")?;
                settings.jit_optimization = Some(["0", "1", "2", "3", "4"].iter().position(|l| *l == level)? as u32);
            }
            Some(())
        },
    },
    Variable {
        name: "GOMP_NVPTX_PTXRW",
        allowed: "w, r",
        default: "not set",
        help: "w writes the PTX objects of each image to gomp-nvptx.N.ptx in the current folder, counting from 0 over \
               all images; r takes them from there in place of the program's own.",
        apply: |settings, value| {
            settings.ptx_files = match value {
                "w" | "W" => PtxFiles::Write,
                "r" | "R" => PtxFiles::Read,
                _ => return None,
            };
            Some(())
        },
    },
    Variable {
        name: "GOMP_NVPTX_LOWLAT_POOL",
        allowed: "a number of bytes",
        default: "8192",
        help: "Shared memory of each team for OpenMP's low-latency allocator.",
        apply: |settings, value| {
            settings.lowlat_pool = value.trim().parse().ok()?;
            Some(())
        },
    },
    Variable {
        name: "GOMP_NVPTX_NATIVE_GPU_THREAD_STACK_SIZE",
        allowed: "a number of bytes, or 0 for the default",
        default: "the driver's (1024)",
        help: "Stack of each GPU thread for what the compiler does not keep on OpenMP's own stacks: raise it when deep \
               recursion or large local arrays end in an illegal memory access.",
        apply: |settings, value| {
            let bytes: u32 = value.trim().parse().ok()?;
            settings.native_stack = (bytes != 0).then_some(bytes as usize);
            Some(())
        },
    },
    Variable {
        name: "OMP_TARGET_OFFLOAD",
        allowed: "default, mandatory, disabled",
        default: "default",
        help: "Read by libgomp. With mandatory, the plugin says why there is no device.",
        apply: |settings, value| {
            settings.mandatory = value.trim().eq_ignore_ascii_case("mandatory");
            // Anything else is libgomp's to judge.
            Some(())
        },
    },
    Variable {
        name: "OMP_DEFAULT_DEVICE",
        allowed: "a device's number",
        default: "0",
        help: "Read by libgomp. The plugin makes sure that this device can be used before it tells libgomp of any.",
        apply: |settings, value| {
            settings.default_device = value.trim().parse().ok();
            // As above.
            Some(())
        },
    },
];

/// Whether GOMP_DEBUG asks for debug output. libgomp reads it too, and decides what becomes of the lines.
pub fn debug() -> bool {
    static DEBUG: OnceLock<bool> = OnceLock::new();
    *DEBUG.get_or_init(|| read("GOMP_DEBUG").is_some_and(|value| !matches!(value.trim(), "" | "0")))
}

/// The values of this process, read once. A wrong one is reported and its default holds.
pub fn settings() -> &'static Settings {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    if let Some(settings) = SETTINGS.get() {
        return settings;
    }
    let (settings, mistakes) = parse(read);
    if SETTINGS.set(settings).is_ok() {
        for mistake in mistakes {
            host::error(&mistake);
        }
    }
    SETTINGS.get().expect("set just above, or by another thread")
}

fn parse(read: impl Fn(&str) -> Option<String>) -> (Settings, Vec<String>) {
    let mut settings = Settings::default();
    let mut mistakes = Vec::new();
    for Variable { name, allowed, default, apply, .. } in VARIABLES {
        let value = read(name).filter(|value| !value.is_empty());
        host::debug(|| match &value {
            Some(value) => format!("{name}: '{value}'"),
            None => format!("{name}: <Not defined>"),
        });
        let Some(value) = value else { continue };
        let mut changed = settings.clone();
        match apply(&mut changed, &value) {
            Some(()) => settings = changed,
            None => mistakes.push(format!("{name}: '{value}' is not one of: {allowed}; default ({default}) used")),
        }
    }
    (settings, mistakes)
}

/// What [`VARIABLES`] says, in Markdown.
pub fn documentation() -> String {
    let mut text = String::from(
        "# Environment variables\n\n\
         Generated from the list in `plugin/env.rs`. A value that is not allowed is reported in one line and the \
         default holds.\nGOMP_DEBUG=1, which libgomp reads, makes the plugin say what it does.\n",
    );
    for Variable { name, allowed, default, help, .. } in VARIABLES {
        text += &format!("\n## {name}\n\n{help}\n\nAllowed: {allowed}. Default: {default}.\n");
    }
    text += "\n## Set for the CUDA driver\n\nBefore the driver starts, the plugin sets these two where the user has \
             not:\n\n- CUDA_MODULE_LOADING=EAGER: the first launch of a kernel that is loaded lazily can block behind \
             a sleeping\n  host thread.\n- CUDA_DEVICE_MAX_CONNECTIONS=8: with 1 or 2 hardware connections (2 is the default \
             under MPS) a sleeping host\n  thread can hold back its own region; where the user set 1 or 2, host threads \
             do not sleep in stream waits.\n";
    text
}

/// How many hardware connections the driver has between this process and a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Channels {
    /// Connections, at least as far as known.
    pub connections: u32,
}

impl Channels {
    /// Whether a wait pending on one stream leaves the others alone. Measured: with 1 or 2 connections it holds back
    /// some of them, with 3 and more none.
    pub fn may_sleep_in_stream_wait(self) -> bool {
        self.connections >= 3
    }
}

/// What we set CUDA_DEVICE_MAX_CONNECTIONS to, which is also the driver's default without MPS.
const CONNECTIONS: u32 = 8;
/// MPS's default.
const MPS_CONNECTIONS: u32 = 2;

/// Sets what the driver reads from the environment in `cuInit`. Call it before.
pub fn prepare() -> Channels {
    static CHANNELS: OnceLock<Channels> = OnceLock::new();
    *CHANNELS.get_or_init(|| {
        set_if_unset(c"CUDA_MODULE_LOADING", c"EAGER");
        let chosen = read("CUDA_DEVICE_MAX_CONNECTIONS").and_then(|value| value.trim().parse().ok());
        set_if_unset(c"CUDA_DEVICE_MAX_CONNECTIONS", c"8");
        Channels { connections: connections(chosen, uses_mps(), host::is_loaded(c"libcuda.so.1")) }
    })
}

/// The number of connections, given the user's choice, whether an MPS server stands in between, and whether the
/// program itself may have started the driver before we could set anything.
fn connections(chosen: Option<u32>, mps: bool, driver_started: bool) -> u32 {
    match chosen {
        Some(connections) => connections,
        None if mps && driver_started => MPS_CONNECTIONS,
        None => CONNECTIONS,
    }
}

/// The hardware connections, as [`prepare`] found or made them.
pub fn channels() -> Channels {
    prepare()
}

/// Whether CUDA programs go through an MPS server: the driver looks for its pipes in this folder.
fn uses_mps() -> bool {
    let folder = read("CUDA_MPS_PIPE_DIRECTORY").unwrap_or_else(|| "/tmp/nvidia-mps".into());
    Path::new(&folder).join("control").exists()
}

unsafe extern "C" {
    fn setenv(name: *const c_char, value: *const c_char, overwrite: i32) -> i32;
    fn secure_getenv(name: *const c_char) -> *const c_char;
}

fn set_if_unset(name: &CStr, value: &CStr) {
    // SAFETY: both end in NUL. Another thread that reads the environment right now sees the old or the new one: glibc
    // keeps what it replaces, but for the array of pointers, which grows at the first of our two calls at the latest.
    unsafe { setenv(name.as_ptr(), value.as_ptr(), 0) };
}

/// A variable's value; none in a set-user-ID program, whose environment is not its owner's.
fn read(name: &str) -> Option<String> {
    let name = CString::new(name).ok()?;
    // SAFETY: `name` ends in NUL; the result is copied at once, and like every reader of the environment in a C
    // program we rely on nobody changing the same variable meanwhile.
    let value = unsafe { secure_getenv(name.as_ptr()) };
    if value.is_null() {
        return None;
    }
    // SAFETY: not null, so it is a C string.
    let value = unsafe { CStr::from_ptr(value) };
    Some(OsString::from_vec(value.to_bytes().to_vec()).to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_one(name: &'static str, value: &'static str) -> (Settings, Vec<String>) {
        parse(|asked| (asked == name).then(|| value.to_string()))
    }

    #[test]
    fn an_empty_environment_gives_the_defaults() {
        assert_eq!(parse(|_| None), (Settings::default(), vec![]));
        assert_eq!(parse(|_| Some(String::new())), (Settings::default(), vec![]));
    }

    #[test]
    fn a_wrong_value_is_reported_in_one_line_and_the_default_holds() {
        for (name, value) in [
            ("BOOMERANG_DEVICE", "gpu"),
            ("BOOMERANG_WAIT", "Spin"),
            ("GOMP_NVPTX_JIT", "-O5"),
            ("GOMP_NVPTX_JIT", "-O2 -O"),
            ("GOMP_NVPTX_PTXRW", "x"),
            ("GOMP_NVPTX_LOWLAT_POOL", "8k"),
            ("GOMP_NVPTX_LOWLAT_POOL", "4294967296"),
            ("GOMP_NVPTX_LOWLAT_POOL", "-1"),
            ("GOMP_NVPTX_NATIVE_GPU_THREAD_STACK_SIZE", "1e4"),
        ] {
            let (settings, mistakes) = parse_one(name, value);
            assert_eq!(settings, Settings::default(), "{name}={value}");
            let [mistake] = &mistakes[..] else { panic!("{name}={value}: {mistakes:?}") };
            let allowed = VARIABLES.iter().find(|v| v.name == name).unwrap().allowed;
            assert!(mistake.contains(name) && mistake.contains(value) && mistake.contains(allowed), "{mistake}");
            assert!(!mistake.contains('\n'));
        }
    }

    #[test]
    fn right_values_are_taken() {
        assert_eq!(parse_one("BOOMERANG_DEVICE", "sim").0.device, DeviceChoice::Simulator);
        assert_eq!(parse_one("BOOMERANG_WAIT", "poll").0.wait, WaitPolicy::Poll);
        assert_eq!(parse_one("GOMP_NVPTX_JIT", " -O0").0.jit_optimization, Some(0));
        assert_eq!(parse_one("GOMP_NVPTX_JIT", "-O1 -O4").0.jit_optimization, Some(4));
        assert_eq!(parse_one("GOMP_NVPTX_PTXRW", "w").0.ptx_files, PtxFiles::Write);
        assert_eq!(parse_one("GOMP_NVPTX_LOWLAT_POOL", "0").0.lowlat_pool, 0);
        assert_eq!(parse_one("GOMP_NVPTX_NATIVE_GPU_THREAD_STACK_SIZE", "16384").0.native_stack, Some(16384));
        assert!(parse_one("OMP_TARGET_OFFLOAD", "MANDATORY").0.mandatory);
    }

    #[test]
    fn too_few_connections_forbid_sleeping_in_a_stream_wait() {
        let may_sleep = |connections| Channels { connections }.may_sleep_in_stream_wait();
        assert!(!may_sleep(connections(Some(1), false, false)));
        assert!(!may_sleep(connections(Some(2), false, false)));
        assert!(may_sleep(connections(Some(3), true, true)));
        assert!(may_sleep(connections(None, false, true)));
        assert!(may_sleep(connections(None, true, false)));
        assert!(!may_sleep(connections(None, true, true)), "the program started CUDA under MPS's default");
    }

    #[test]
    fn the_documentation_is_up_to_date() {
        assert_eq!(include_str!("../docs/environment.md"), documentation());
    }
}
