//! The list of the environment variables that the plugin reads. `docs/environment.md` holds [`documentation`].

use std::ops::RangeInclusive;
use std::path::Path;

use super::{DeviceChoice, PtxFiles, PtxPasses, Settings, WaitPolicy};

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
    pub(super) apply: fn(&mut Settings, &str) -> Option<()>,
}

/// What libgomp writes into a team's low-latency pool as a kernel starts, in bytes (basic-allocator.c): two descriptors of 8.
const LEAST_LOWLAT_POOL: u32 = 16;

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
                "sim" => {
                    // Unless the user names others.
                    settings.ptx_passes = PtxPasses::CHECKED;
                    DeviceChoice::Simulator
                }
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
    // These two in this order: the second overrides the first.
    Variable {
        name: "CUDA_INJECTION64_PATH",
        allowed: "a path",
        default: "not set",
        help: "Read by the CUDA driver: the library of a profiler. The default of BOOMERANG_GRAPHS is 0 with it.",
        apply: |settings, _| {
            settings.graphs = None;
            Some(())
        },
    },
    Variable {
        name: "BOOMERANG_GRAPHS",
        allowed: "a number of launches",
        default: "32; 0 where CUDA_INJECTION64_PATH is set",
        help: "From which launch on a target region is launched as a CUDA graph of one kernel, which takes 2 us less; 0 is never. To make the \
               graph takes 50 us. Only regions whose ends are told of by a stream, and no reverse-offload regions. A profiler may show a \
               graph as a whole, without the kernel's name: 0 is for such.",
        apply: |settings, value| {
            let launches: u32 = value.trim().parse().ok()?;
            settings.graphs = (launches > 0).then_some(launches);
            Some(())
        },
    },
    Variable {
        name: "BOOMERANG_DEVICE_RUNTIME",
        allowed: "ring, stock",
        default: "ring",
        help: "How kernels post reverse-offload requests: many at a time through our device runtime, which is put into the \
               program's device code as it is loaded (ring), or one at a time through the one that GCC linked (stock).",
        apply: |settings, value| {
            settings.ring = match value {
                "ring" => true,
                "stock" => false,
                _ => return None,
            };
            Some(())
        },
    },
    Variable {
        name: "BOOMERANG_INLINE",
        allowed: "a number of bytes from 0 to 65536",
        default: "2048",
        help: "How many bytes of mapped data travel with a reverse-offload request itself. Larger items are copied apart, which \
               takes some microseconds each.",
        apply: |settings, value| {
            settings.inline_bytes = bytes(value, 0..=65536)?.next_multiple_of(16).max(16);
            Some(())
        },
    },
    Variable {
        name: "GOMP_REVERSE_OFFLOAD_THREADS",
        allowed: "a number from 0 to 64",
        default: "0",
        help: "How many threads for each device serve reverse-offload requests beside the threads that launched the target regions. \
               With 0 a request is served by the thread that launched its region, and by no other; that of a nowait region by a thread that the plugin keeps \
               for those. Only requests that come through \
               our device runtime are shared out (BOOMERANG_DEVICE_RUNTIME=ring).",
        apply: |settings, value| {
            settings.helpers = value.trim().parse().ok().filter(|helpers| *helpers <= 64)?;
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
        name: "BOOMERANG_PTX_OPT",
        allowed: "0, or a list of direct, prune, copies, loads, atomics, fences, heap, team, inline and registers with commas between them",
        default: "all of these; with BOOMERANG_DEVICE=sim all but heap and team, so that the simulator checks each block of malloc",
        help: "What is done to the program's device code before the driver's PTX compiler gets it; 0 is nothing. prune leaves out what \
               target regions cannot reach, and has large texts compiled in parts: the code is ready several times sooner, and most kernels need \
               fewer registers. direct \
               leaves out libgomp's preparations for threads in target regions that neither start any nor ask for them. copies \
               makes copies of up to 80 bytes without a call of memcpy. loads has loops that GCC has unrolled load what the next \
               turns need before they store, where the two don't overlap. atomics adds doubles atomically, at the end of reductions too, by one instruction in place of a loop. fences \
               makes libgomp's memory fences wait for the threads of the device only and not for the host, in loops for those of \
               the team only, and leaves out those that do nothing more; the program's own fences stay as they are. heap gives \
               malloc and free in device code a heap of ours, which many threads can use at once, and whose memory can be copied \
               (see BOOMERANG_HEAP). team, which includes heap, has what libgomp keeps of a team in the team's shared memory, \
               4 KiB of it. inline puts functions of libgomp's into those that call them as teams and parallel regions begin and end. registers sets BOOMERANG_REGISTERS to 64 for images that start threads, if no function needs more.",
        apply: |settings, value| {
            settings.ptx_passes = PtxPasses::named(value)?;
            Some(())
        },
    },
    Variable {
        name: "BOOMERANG_HEAP",
        allowed: "a number of bytes from 131072 to 2^36",
        default: "a quarter of the device's memory, 64 GiB at most",
        help: "The most memory that malloc in device code has. 64 MiB of it, or 1/64 of the device's memory where that is less, are \
               allocated as the first program image is loaded that has malloc. What is more is managed memory: it takes memory of the \
               device where device code first writes to it, 2 MiB at a time, and keeps it then. Where the device cannot do that (no \
               concurrent managed access), all of it is allocated at once, and 64 MiB is the default. What has no room comes from the CUDA \
               driver's own heap (8 MiB). Beyond 4 GiB, blocks of less than 512 bytes have room in a \
               part of it only. GOMP_DEBUG=1 tells at the end how much was in use at most, in whole pages, how many requests \
               there was no room for, and what was not freed.",
        apply: |settings, value| {
            settings.heap_bytes = Some(bytes(value, 131072..=1 << 36)?);
            Some(())
        },
    },
    Variable {
        name: "BOOMERANG_HEAP_CHECK",
        allowed: "0, 1",
        default: "0",
        help: "1 ends a kernel that frees memory which is not allocated or is freed already, or which it has \
               written in front of. Otherwise a free of what is not allocated does nothing. Memory that is not the heap's is given \
               to the CUDA driver's free, either way.",
        apply: |settings, value| {
            settings.heap_check = match value {
                "0" => false,
                "1" => true,
                _ => return None,
            };
            Some(())
        },
    },
    Variable {
        name: "BOOMERANG_REGISTERS",
        allowed: "a number from 16 to 255",
        default: "64 for an image that starts threads, if no function needs more (BOOMERANG_PTX_OPT, registers); else the CUDA driver's choice",
        help: "The most registers that device code may use for each GPU thread. With fewer of them more teams fit on a multiprocessor at \
               once, but values that find no register go through memory. It holds for all device code of the program.",
        apply: |settings, value| {
            settings.jit.registers =
                Some(value.trim().parse().ok().filter(|most| (16..=255).contains(most))?);
            Some(())
        },
    },
    Variable {
        name: "BOOMERANG_POOL",
        allowed: "off, or a number of bytes",
        default: "1/8 of the device's memory; off with BOOMERANG_DEVICE=sim",
        help: "How much device memory that the program has freed is kept for its next allocations, which then take no driver call. It is \
               given back when the program runs out of memory, but other processes and other libraries cannot have it. With off or 0 \
               nothing is kept and each allocation is as large as the program says: what checkers of memory accesses need.",
        apply: |settings, value| {
            settings.pool = Some(if value.trim() == "off" { 0 } else { bytes(value, 0..=usize::MAX)? });
            Some(())
        },
    },
    // These three in this order: each overrides the one before.
    Variable {
        name: "HOME",
        allowed: "an absolute path",
        default: "not set",
        help: "The user's folder, for the default of BOOMERANG_CACHE.",
        apply: |settings, value| {
            if value.starts_with('/') {
                settings.cache = Some(Path::new(value).join(".cache/boomerang"));
            }
            // Anything else is not for us to judge.
            Some(())
        },
    },
    Variable {
        name: "XDG_CACHE_HOME",
        allowed: "an absolute path",
        default: "`$HOME/.cache`",
        help: "The user's folder for caches, for the default of BOOMERANG_CACHE.",
        apply: |settings, value| {
            if value.starts_with('/') {
                settings.cache = Some(Path::new(value).join("boomerang"));
            }
            // XDG Base Directory Specification: a relative path is to be ignored.
            Some(())
        },
    },
    Variable {
        name: "BOOMERANG_CACHE",
        allowed: "off, or a path",
        default: "`$XDG_CACHE_HOME/boomerang`",
        help: "The folder that device code is kept in when the driver has compiled and linked it, for the next start of the \
               program: at most 256 MiB, of which the least recently used goes first. Where it can't be written, nothing is kept.",
        apply: |settings, value| {
            settings.cache = (value != "off").then(|| value.into());
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
                settings.jit.optimization =
                    Some(["0", "1", "2", "3", "4"].iter().position(|l| *l == level)? as u32);
            }
            Some(())
        },
    },
    Variable {
        name: "BOOMERANG_JIT_THREADS",
        allowed: "a number from 0 to 1024",
        default: "1; 0 for images of which target regions reach more than 128 KiB of one object and less of each other",
        help: "The most threads that the driver's PTX compiler uses for one object file of an image; 0 is one for each processor. \
               Drivers before CUDA 13.0 have no such option and use one thread.",
        apply: |settings, value| {
            settings.jit.threads = Some(value.trim().parse().ok().filter(|threads| *threads <= 1024)?);
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
        allowed: "a number of bytes from 0 to 49152",
        default: "8192",
        help: "Shared memory of each team for OpenMP's low-latency allocator. Less than 16 is taken for 16: libgomp's list of what is free \
               begins there. Of the 48 KiB of a team, device code needs some for itself.",
        apply: |settings, value| {
            settings.lowlat_pool = (bytes(value, 0..=48 << 10)? as u32).max(LEAST_LOWLAT_POOL);
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
            let bytes = bytes(value, 0..=u32::MAX as usize)?;
            settings.native_stack = (bytes != 0).then_some(bytes);
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

/// A number of bytes, which K, M, G or T may follow.
fn bytes(value: &str, allowed: RangeInclusive<usize>) -> Option<usize> {
    let value = value.trim();
    let unit = value.chars().last()?.to_ascii_uppercase();
    let (digits, shift) = match "KMGT".find(unit) {
        Some(at) => (&value[..value.len() - 1], 10 * (at + 1)),
        None => (value, 0),
    };
    digits.parse::<usize>().ok()?.checked_mul(1 << shift).filter(|bytes| allowed.contains(bytes))
}

/// What [`VARIABLES`] says, in Markdown.
pub fn documentation() -> String {
    let mut text = String::from(
        "# Environment variables\n\n\
         Generated from the list in `plugin/env/variables.rs`. A value that is not allowed is reported in one line and the \
         default holds. Numbers of bytes may have K, M, G or T behind them.\nGOMP_DEBUG=1, which libgomp reads, makes the plugin say what it does.\n",
    );
    for Variable { name, allowed, default, help, .. } in VARIABLES {
        text += &format!("\n## {name}\n\n{help}\n\nAllowed: {allowed}. Default: {default}.\n");
    }
    text += "\n## For the CUDA driver\n\nBefore the driver starts, the plugin sets CUDA_MODULE_LOADING=EAGER where the user has not set \
             it: the first launch of a\nkernel that is loaded lazily can block behind a sleeping host thread.\n\n\
             CUDA_DEVICE_MAX_CONNECTIONS is left as it is: the driver makes 8 hardware connections, 2 under MPS, and each takes \
             14 ms as\nthe program starts. With 1 or 2 a sleeping host thread can hold back its own region, so host threads do not \
             sleep in stream\nwaits. A quarter of the connections serves to tell threads of their regions' ends; where more regions \
             run at a time, threads\nask the driver.\n";
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_is_up_to_date() {
        assert_eq!(include_str!("../../docs/environment.md"), documentation());
    }

    #[test]
    fn each_variable_is_listed_once() {
        for (i, variable) in VARIABLES.iter().enumerate() {
            assert!(VARIABLES[..i].iter().all(|other| other.name != variable.name), "{}", variable.name);
        }
    }
}
