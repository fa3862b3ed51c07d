//! Launching a grid.

use crate::fault::{Fault, REGION_MARK};
use crate::ir::{KernelInfo, Program};
use crate::mem::{Memory, View};
use crate::module::Kernel;
use crate::random::Random;
use crate::{Device, exec::pool};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// What to run.
pub struct Launch<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// Blocks in x, y, z; none may be 0.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z; none may be 0, the product at most [`Kernel::max_threads`].
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// The parameters, laid out as [`Kernel::params`] says; short buffers are an illegal access when read.
    pub params: &'a [u8],
}

/// What a grid did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Instructions executed, counted once for each active lane.
    pub thread_instructions: u64,
    /// Instructions executed, counted once a warp.
    pub warp_instructions: u64,
}

/// Runs a grid to its end and returns what it did, or the first fault.
///
/// It runs on the device that the kernel's module was loaded on and blocks; several threads may run grids of one device at once
/// and share its workers fairly. Raising `cancel` ends the grid with [`crate::FaultKind::Cancelled`] within milliseconds.
pub fn run_grid(launch: &Launch<'_>, cancel: &AtomicBool) -> Result<Stats, Box<Fault>> {
    run_grid_observed(launch, cancel, &AtomicU64::new(0))
}

/// As [`run_grid`]; adds to `effects`, once a time slice, the number of changes that the grid has made to memory: while it stands still,
/// all threads compute or wait.
pub fn run_grid_observed(
    launch: &Launch<'_>,
    cancel: &AtomicBool,
    effects: &AtomicU64,
) -> Result<Stats, Box<Fault>> {
    let grid = Arc::new(Grid::new(launch, cancel, effects));
    pool::run(grid)
}

/// A grid that runs.
pub(crate) struct Grid {
    kernel: Kernel,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub dynamic_shared: u32,
    params: Vec<u64>,
    params_size: u64,
    local_size: u32,
    /// Where the soft stacks of a target region of OpenMP begin, and the size of each.
    soft_stacks: Option<(u64, u64)>,
    pub started: Instant,
    cancel: *const AtomicBool,
    effects: *const AtomicU64,
}

// SAFETY: the fields that are not `Send` and `Sync` by themselves are the pointers to the caller's atomics, which outlive every
// use of the grid: `run_grid` returns only when no worker runs it any more.
unsafe impl Send for Grid {}
// SAFETY: as above.
unsafe impl Sync for Grid {}

/// A time slice, in instructions of a warp. Short, as hardware issues from its warps in turn: the barrier of GCC 16's libgomp resets
/// its count *behind* the barrier instruction, and works because no warp gets far ahead of another.
pub(crate) const SLICE: u32 = 64;

/// Limits of a multiprocessor of compute capability 9.0 (CUDA C++ Programming Guide, technical specifications).
const BLOCKS_PER_MULTIPROCESSOR: u64 = 32;
const THREADS_PER_MULTIPROCESSOR: u64 = 2048;
const SHARED_PER_MULTIPROCESSOR: u64 = 228 << 10;
/// What the system takes of shared memory for each block.
const SHARED_RESERVED: u64 = 1 << 10;
const REGISTERS_PER_MULTIPROCESSOR: u64 = 1 << 16;

impl Grid {
    fn new(launch: &Launch<'_>, cancel: &AtomicBool, effects: &AtomicU64) -> Grid {
        let mut params = vec![0u64; launch.params.len().div_ceil(8)];
        for (n, byte) in launch.params.iter().enumerate() {
            params[n / 8] |= u64::from(*byte) << (n % 8 * 8);
        }
        let kernel = launch.kernel.clone();
        // mkoffload's kernels take the arguments, the soft stacks and the size of each (nvptx.cc, `write_omp_entry`).
        let soft_stacks = match params[..] {
            [_, base, size] if kernel.name().contains(REGION_MARK) => Some((base, size)),
            _ => None,
        };
        let stack = kernel.device().stack_limit().min(u64::from(u32::MAX / 64)) as u32;
        Grid {
            grid: launch.grid,
            block: launch.block,
            dynamic_shared: launch.dynamic_shared,
            params,
            params_size: launch.params.len() as u64,
            local_size: kernel.info().local_size.max(stack).next_multiple_of(16),
            soft_stacks,
            started: Instant::now(),
            cancel,
            effects,
            kernel,
        }
    }

    pub fn device(&self) -> &Arc<Device> {
        self.kernel.device()
    }

    pub fn memory(&self) -> &Memory {
        self.device().memory()
    }

    pub fn program(&self) -> &Program {
        self.kernel.program()
    }

    pub fn program_handle(&self) -> Arc<Program> {
        self.kernel.program().clone()
    }

    fn info(&self) -> &KernelInfo {
        self.kernel.info()
    }

    /// Index of the kernel's function.
    pub fn function(&self) -> u32 {
        self.info().function
    }

    pub fn kernel_name(&self) -> &str {
        &self.info().name
    }

    /// Bytes of local memory of a thread.
    pub fn local_size(&self) -> u32 {
        self.local_size
    }

    /// Bytes of shared memory of a block.
    pub fn shared_size(&self) -> u32 {
        self.program().static_shared.saturating_add(self.dynamic_shared)
    }

    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// Number of blocks.
    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|&n| u64::from(n)).product()
    }

    pub fn multiprocessors(&self) -> u32 {
        self.device().config().multiprocessors.max(1)
    }

    /// How many blocks may be resident at once.
    pub fn residency(&self) -> u64 {
        let threads = u64::from(self.threads().next_multiple_of(32));
        let shared = u64::from(self.shared_size()) + SHARED_RESERVED;
        let registers = threads * u64::from(self.info().registers);
        let each = BLOCKS_PER_MULTIPROCESSOR
            .min(THREADS_PER_MULTIPROCESSOR / threads)
            .min(SHARED_PER_MULTIPROCESSOR / shared)
            .min(REGISTERS_PER_MULTIPROCESSOR / registers.max(1));
        each.max(1) * u64::from(self.multiprocessors())
    }

    /// Whether the caller wants it to end.
    pub fn cancelled(&self) -> bool {
        // SAFETY: see `Send`. Nothing is published with the flag, so it needs no order.
        unsafe { &*self.cancel }.load(Ordering::Relaxed)
    }

    /// Tells the caller of changes made to memory.
    pub fn count_effects(&self, count: u32) {
        // SAFETY: see `Send`. Nothing is published with the counter, so it needs no order.
        unsafe { &*self.effects }.fetch_add(count.into(), Ordering::Relaxed);
    }

    /// Length of the next time slice.
    pub fn slice(&self, random: &mut Random) -> u32 {
        match self.device().config().seed {
            0 => SLICE,
            _ => SLICE / 4 + random.below(SLICE.into()) as u32,
        }
    }

    /// Whether lanes that wait where a branch's paths meet go on in the next turn if others of their warp have made accesses by which
    /// threads wait, or have napped, as they may on hardware. Of three seeds one has them do so always, one now and then, and one only
    /// where they must.
    pub fn parts(&self, random: &mut Random) -> bool {
        match self.device().config().seed {
            0 => false,
            seed => match seed % 3 {
                0 => true,
                1 => random.below(8) == 0,
                _ => false,
            },
        }
    }

    /// How many 8-byte loads of shared memory in the next turn come before the one whose lanes see another warp's change in between; none
    /// does without a seed.
    pub fn whole_loads(&self, random: &mut Random) -> u32 {
        match self.device().config().seed {
            0 => u32::MAX,
            _ => random.below(16) as u32,
        }
    }

    /// The simulator's address of `size` bytes of the parameters.
    pub fn param_pointer(&self, addr: u64, size: u64) -> Option<*mut u8> {
        (addr.checked_add(size)? <= self.params_size)
            .then(|| self.params.as_ptr().cast::<u8>().wrapping_add(addr as usize).cast_mut())
    }

    /// What the grid's device may access around an address.
    pub fn view(&self, addr: u64) -> Option<View> {
        self.memory().view(self.device().config().ordinal, addr)
    }

    /// `malloc`: 0 when the heap is full.
    pub fn malloc(&self, size: u64) -> u64 {
        let device = self.device();
        self.memory().heap_alloc(device.config().ordinal, size, device.heap_limit()).unwrap_or(0)
    }

    pub fn print(&self, text: &[u8]) {
        self.device().print(text);
    }

    /// Whether it is a target region of OpenMP.
    pub fn is_openmp(&self) -> bool {
        self.soft_stacks.is_some()
    }

    /// The addresses of a warp's soft stack, which grows down from its end: mkoffload's kernels lay them out by block, then warp.
    pub fn soft_stack(&self, block: u32, warp: u32) -> Option<Range<u64>> {
        let (base, size) = self.soft_stacks?;
        let start = base
            .checked_add(size.checked_mul(u64::from(block) * u64::from(self.block[1]) + u64::from(warp))?)?;
        Some(start..start.saturating_add(size))
    }
}
