//! The only code that touches the environment. [`variables`] lists what is read from it.

pub mod variables;

use std::ffi::{CStr, CString, OsString, c_char};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::abi::host;
use variables::{VARIABLES, Variable};

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

/// Which rewrites the program's PTX goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PtxPasses {
    /// Kernels that need nothing of libgomp call their function themselves.
    pub direct: bool,
    /// The JIT gets only what kernels reach.
    pub prune: bool,
    /// Small copies are made without a call.
    pub copies: bool,
    /// Unrolled loops load ahead of their stores.
    pub loads: bool,
    /// Doubles are added atomically by one instruction.
    pub atomics: bool,
    /// libgomp's fences get device scope.
    pub fences: bool,
    /// Device code gets a heap of ours.
    pub heap: bool,
    /// libgomp's structures of a team lie in shared memory; needs the heap.
    pub team: bool,
    /// libgomp's functions are put into those that call them.
    pub inline: bool,
    /// The JIT gets a cap on registers where that costs nothing.
    pub registers: bool,
}

impl PtxPasses {
    const NONE: PtxPasses = PtxPasses::each(false);
    const ALL: PtxPasses = PtxPasses::each(true);
    /// Those that leave it to the simulator to tell what is wrong with a use of memory.
    const CHECKED: PtxPasses = PtxPasses { heap: false, team: false, ..PtxPasses::ALL };

    const fn each(is_made: bool) -> PtxPasses {
        PtxPasses {
            direct: is_made,
            prune: is_made,
            copies: is_made,
            loads: is_made,
            atomics: is_made,
            fences: is_made,
            heap: is_made,
            team: is_made,
            inline: is_made,
            registers: is_made,
        }
    }

    /// Those that a value of `BOOMERANG_PTX_OPT` names.
    fn named(value: &str) -> Option<PtxPasses> {
        if value.trim() == "0" {
            return Some(PtxPasses::NONE);
        }
        let mut passes = PtxPasses::NONE;
        for name in value.split(',') {
            match name.trim() {
                "direct" => passes.direct = true,
                "prune" => passes.prune = true,
                "copies" => passes.copies = true,
                "loads" => passes.loads = true,
                "atomics" => passes.atomics = true,
                "fences" => passes.fences = true,
                "inline" => passes.inline = true,
                "registers" => passes.registers = true,
                "heap" => passes.heap = true,
                "team" => (passes.heap, passes.team) = (true, true),
                _ => return None,
            }
        }
        Some(passes)
    }
}

/// What the driver's PTX compiler, the JIT, is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jit {
    /// `GOMP_NVPTX_JIT`: the optimization level, 0 to 4, or `None` for its own default.
    pub optimization: Option<u32>,
    /// `BOOMERANG_REGISTERS`: the most registers for each GPU thread, or `None` for its own choice.
    pub registers: Option<u32>,
    /// `BOOMERANG_JIT_THREADS`: the most threads that it uses for one object, as far as the driver lets us choose; 0 for one for each
    /// processor, or `None` for what suits the image.
    pub threads: Option<u32>,
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
    /// `BOOMERANG_GRAPHS`: with which of its launches a kernel becomes a graph, or `None` for never.
    pub graphs: Option<u32>,
    /// `BOOMERANG_DEVICE_RUNTIME`: whether kernels get our device runtime.
    pub ring: bool,
    /// `BOOMERANG_INLINE`: bytes of the inline area of each request, a multiple of 16.
    pub inline_bytes: usize,
    /// `GOMP_REVERSE_OFFLOAD_THREADS`: threads of each device that serve requests beside those that launched the regions.
    pub helpers: usize,
    /// How the driver compiles device code.
    pub jit: Jit,
    /// `BOOMERANG_PTX_OPT`
    pub ptx_passes: PtxPasses,
    /// `BOOMERANG_HEAP`: bytes of the heap for device code, or `None` for the default.
    pub heap_bytes: Option<usize>,
    /// `BOOMERANG_HEAP_CHECK`: whether a wrong `free` in device code ends the kernel.
    pub heap_check: bool,
    /// `BOOMERANG_POOL`: bytes of freed device memory that are kept for reuse, or `None` for the default.
    pub pool: Option<usize>,
    /// `BOOMERANG_CACHE`: the folder that linked code is kept in, or `None` where it isn't kept.
    pub cache: Option<PathBuf>,
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
            // What the graph takes is regained after as many launches more.
            graphs: Some(32),
            ring: true,
            inline_bytes: 2048,
            helpers: 0,
            jit: Jit { optimization: None, registers: None, threads: None },
            ptx_passes: PtxPasses::ALL,
            heap_bytes: None,
            heap_check: false,
            pool: None,
            cache: None,
            ptx_files: PtxFiles::Off,
            lowlat_pool: 8 * 1024,
            native_stack: None,
            summary: false,
            mandatory: false,
            default_device: None,
        }
    }
}

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
            None => {
                mistakes.push(format!("{name}: '{value}' is not one of: {allowed}; default ({default}) used"))
            }
        }
    }
    (settings, mistakes)
}

/// How many hardware connections the driver has between this process and a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Channels {
    /// Connections, at least as far as known.
    pub connections: u32,
}

impl Channels {
    /// Whether what waits on one stream may hold back any other. Measured on an H200 (docs/driver.md): with 1 or 2 connections a
    /// pending wait, or a mark behind a running kernel, does.
    pub fn are_narrow(self) -> bool {
        self.connections < 3
    }

    /// How many streams carry nothing but copies.
    pub fn for_copies(self) -> usize {
        if self.connections < 16 { 2 } else { 4 }
    }

    /// How many streams may carry marks behind kernels. Measured on an H200 (docs/driver.md): nothing is blocked until there are as many
    /// marked kernels as connections. The others are for the wait, for copies, and for what the program itself enqueues behind kernels.
    pub fn for_marks(self) -> usize {
        self.connections as usize / 4
    }
}

/// The driver's default. It is left as it is: each connection takes 14 ms as the context is made (docs/driver.md).
const CONNECTIONS: u32 = 8;
/// MPS's default.
const MPS_CONNECTIONS: u32 = 2;
/// The most there are.
const MOST_CONNECTIONS: u32 = 32;

/// Sets what the driver reads from the environment in `cuInit`. Call it before.
pub fn prepare() -> Channels {
    static CHANNELS: OnceLock<Channels> = OnceLock::new();
    *CHANNELS.get_or_init(|| {
        set_if_unset(c"CUDA_MODULE_LOADING", c"EAGER");
        let chosen = read("CUDA_DEVICE_MAX_CONNECTIONS").and_then(|value| value.trim().parse().ok());
        Channels { connections: connections(chosen, uses_mps()) }
    })
}

/// The number of connections, given the user's choice and whether an MPS server stands in between.
fn connections(chosen: Option<u32>, mps: bool) -> u32 {
    chosen.unwrap_or(if mps { MPS_CONNECTIONS } else { CONNECTIONS }).clamp(1, MOST_CONNECTIONS)
}

/// The hardware connections, as [`prepare`] found them.
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
    // SAFETY: both end in NUL. Done once, at the program's first use of a device: glibc's own lock orders it with other
    // writers, and a thread that reads the environment in that very moment runs the risk of any setenv in a C program.
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
            ("BOOMERANG_PTX_OPT", "1"),
            ("BOOMERANG_PTX_OPT", "heap,0"),
            ("BOOMERANG_REGISTERS", "15"),
            ("BOOMERANG_REGISTERS", "256"),
            ("BOOMERANG_PTX_OPT", "prune,"),
            ("BOOMERANG_HEAP", "1T"),
            ("BOOMERANG_HEAP", "0"),
            ("BOOMERANG_HEAP_CHECK", "yes"),
            ("BOOMERANG_POOL", "-1"),
            ("BOOMERANG_POOL", "1Q"),
            ("BOOMERANG_POOL", "M"),
            ("BOOMERANG_POOL", "99999999T"),
            ("GOMP_REVERSE_OFFLOAD_THREADS", "65"),
            ("GOMP_NVPTX_JIT", "-O5"),
            ("BOOMERANG_JIT_THREADS", "1025"),
            ("BOOMERANG_JIT_THREADS", "all"),
            ("GOMP_NVPTX_JIT", "-O2 -O"),
            ("GOMP_NVPTX_PTXRW", "x"),
            ("GOMP_NVPTX_LOWLAT_POOL", "49k"),
            ("GOMP_NVPTX_LOWLAT_POOL", "4294967296"),
            ("GOMP_NVPTX_LOWLAT_POOL", "-1"),
            ("GOMP_NVPTX_NATIVE_GPU_THREAD_STACK_SIZE", "1e4"),
        ] {
            let (settings, mistakes) = parse_one(name, value);
            assert_eq!(settings, Settings::default(), "{name}={value}");
            let [mistake] = &mistakes[..] else { panic!("{name}={value}: {mistakes:?}") };
            let allowed = VARIABLES.iter().find(|v| v.name == name).unwrap().allowed;
            assert!(
                mistake.contains(name) && mistake.contains(value) && mistake.contains(allowed),
                "{mistake}"
            );
            assert!(!mistake.contains('\n'));
        }
    }

    #[test]
    fn right_values_are_taken() {
        let simulated = parse_one("BOOMERANG_DEVICE", "sim").0;
        assert_eq!((simulated.device, simulated.ptx_passes), (DeviceChoice::Simulator, PtxPasses::CHECKED));
        assert_eq!(parse_one("BOOMERANG_WAIT", "poll").0.wait, WaitPolicy::Poll);
        assert_eq!(parse_one("BOOMERANG_REGISTERS", "40").0.jit.registers, Some(40));
        assert_eq!(parse_one("GOMP_NVPTX_JIT", " -O0").0.jit.optimization, Some(0));
        assert_eq!(parse_one("GOMP_NVPTX_JIT", "-O1 -O4").0.jit.optimization, Some(4));
        assert_eq!(parse_one("BOOMERANG_JIT_THREADS", "0").0.jit.threads, Some(0));
        assert_eq!(parse_one("BOOMERANG_PTX_OPT", "0").0.ptx_passes, PtxPasses::NONE);
        let all = "fences, prune,team,direct,registers,loads , atomics,copies,inline";
        assert_eq!(parse_one("BOOMERANG_PTX_OPT", all).0.ptx_passes, PtxPasses::ALL);
        let fences = PtxPasses { fences: true, ..PtxPasses::NONE };
        assert_eq!(parse_one("BOOMERANG_PTX_OPT", "fences").0.ptx_passes, fences);
        assert_eq!(parse_one("BOOMERANG_HEAP", "1000000").0.heap_bytes, Some(1_000_000));
        assert_eq!(parse_one("BOOMERANG_HEAP", "1G").0.heap_bytes, Some(1 << 30));
        assert!(parse_one("BOOMERANG_HEAP_CHECK", "1").0.heap_check);
        assert_eq!(parse_one("BOOMERANG_POOL", "off").0.pool, Some(0));
        assert_eq!(parse_one("BOOMERANG_POOL", "0").0.pool, Some(0));
        assert_eq!(parse_one("BOOMERANG_POOL", " 3m").0.pool, Some(3 << 20));
        assert_eq!(parse_one("BOOMERANG_POOL", "4096").0.pool, Some(4096));
        assert_eq!(parse_one("GOMP_NVPTX_PTXRW", "w").0.ptx_files, PtxFiles::Write);
        assert_eq!(parse_one("GOMP_NVPTX_LOWLAT_POOL", "0").0.lowlat_pool, 16);
        assert_eq!(parse_one("GOMP_NVPTX_LOWLAT_POOL", "49152").0.lowlat_pool, 49152);
        assert_eq!(parse_one("GOMP_NVPTX_NATIVE_GPU_THREAD_STACK_SIZE", "16384").0.native_stack, Some(16384));
        assert!(parse_one("OMP_TARGET_OFFLOAD", "MANDATORY").0.mandatory);
    }

    #[test]
    fn the_cache_is_where_the_user_says_or_in_the_users_folder_for_caches() {
        let folder = |variables: &[(&str, &str)]| {
            let value = |asked: &str| {
                variables.iter().find(|(name, _)| *name == asked).map(|(_, value)| value.to_string())
            };
            parse(value).0.cache.map(|folder| folder.to_string_lossy().into_owned())
        };
        let (home, xdg) = (("HOME", "/home/u"), ("XDG_CACHE_HOME", "/cache"));
        assert_eq!(folder(&[]), None);
        assert_eq!(folder(&[home]).as_deref(), Some("/home/u/.cache/boomerang"));
        assert_eq!(folder(&[home, xdg]).as_deref(), Some("/cache/boomerang"));
        assert_eq!(
            folder(&[home, ("XDG_CACHE_HOME", "relative")]),
            folder(&[home]),
            "as its specification says"
        );
        assert_eq!(folder(&[home, xdg, ("BOOMERANG_CACHE", "off")]), None);
        assert_eq!(folder(&[home, ("BOOMERANG_CACHE", "here")]).as_deref(), Some("here"));
    }

    #[test]
    fn regions_become_no_graphs_beside_a_profiler_unless_the_user_says_so() {
        let graphs = |variables: &[(&str, &str)]| {
            let value = |asked: &str| {
                variables.iter().find(|(name, _)| *name == asked).map(|(_, value)| value.to_string())
            };
            parse(value).0.graphs
        };
        let profiler = ("CUDA_INJECTION64_PATH", "/lib/profiler.so");
        assert_eq!(graphs(&[]), Some(32));
        assert_eq!(graphs(&[profiler]), None);
        assert_eq!(graphs(&[("BOOMERANG_GRAPHS", "5"), profiler]), Some(5));
        assert_eq!(graphs(&[("BOOMERANG_GRAPHS", "0")]), None);
    }

    #[test]
    fn too_few_connections_are_noticed() {
        let may_sleep = |chosen, mps| !Channels { connections: connections(chosen, mps) }.are_narrow();
        assert!(!may_sleep(Some(1), false));
        assert!(!may_sleep(Some(2), false));
        assert!(may_sleep(Some(3), true));
        assert!(may_sleep(None, false));
        assert!(!may_sleep(None, true), "MPS's default");
    }

    #[test]
    fn marks_leave_most_connections_to_others() {
        let marks = |connections| Channels { connections }.for_marks();
        assert_eq!([1, 3, 4, 8, 32].map(marks), [0, 0, 1, 2, 8]);
    }
}
