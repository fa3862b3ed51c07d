//! One GPU: its fixed properties, the limits that the driver may set, the printf FIFO.

use crate::exec::pool::Pool;
use crate::fault::Fault;
use crate::mem::Memory;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The rate of the clock that kernels read, as `%clock`: an H200's.
pub const CLOCK_KHZ: i32 = 1_980_000;

/// The fixed properties of a device.
#[derive(Debug, Clone)]
pub struct DeviceConfig {
    /// Index of the device in its [`Memory`].
    pub ordinal: usize,
    /// Streaming multiprocessors; with the limits of sm_90 they bound how many blocks are resident at once.
    pub multiprocessors: u32,
    /// Compute capability times ten; 90 is sm_90.
    pub sm: u32,
    /// Host threads that execute blocks: no more cores than this are ever busy for the device.
    pub workers: usize,
    /// Permutes the order of blocks and the lengths of time slices; 0 leaves both regular.
    pub seed: u64,
    /// When threads have only waited for each other for so long, that is a deadlock.
    pub deadlock: Duration,
    /// Called, once a grid, when its threads have waited so long for the host ([`crate::FaultKind::Stalled`]).
    pub stalled: fn(&Fault),
    /// What is looked for beyond what every access is checked for.
    pub checks: Checks,
}

/// Checks that cost time, and are made if asked for. What they find is a fault.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Checks {
    /// Reads of memory never written; the memory must [track writes](Memory::track_writes).
    pub uninitialized: bool,
    /// Data races between threads of a block.
    pub races: bool,
}

impl Checks {
    /// Whether there are any.
    pub fn any(self) -> bool {
        self.uninitialized || self.races
    }
}

impl Default for DeviceConfig {
    fn default() -> Self {
        let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
        DeviceConfig {
            ordinal: 0,
            multiprocessors: 132,
            sm: 90,
            workers,
            seed: 0,
            deadlock: Duration::from_secs(10),
            stalled: |_| {},
            checks: Checks::default(),
        }
    }
}

/// One GPU.
pub struct Device {
    config: DeviceConfig,
    memory: Arc<Memory>,
    stack_limit: AtomicU64,
    heap_limit: AtomicU64,
    printf: Mutex<Vec<u8>>,
    pool: Pool,
}

impl Device {
    /// CUDA's default for `CU_LIMIT_STACK_SIZE`, in bytes a thread.
    pub const DEFAULT_STACK_LIMIT: u64 = 1024;

    /// A device over device memory `config.ordinal` of `memory`.
    pub fn new(config: DeviceConfig, memory: Arc<Memory>) -> Arc<Device> {
        Arc::new(Device {
            pool: Pool::new(config.workers, config.seed),
            config,
            memory,
            stack_limit: AtomicU64::new(Self::DEFAULT_STACK_LIMIT),
            heap_limit: AtomicU64::new(Memory::DEFAULT_HEAP),
            printf: Mutex::new(Vec::new()),
        })
    }

    /// The fixed properties.
    pub fn config(&self) -> &DeviceConfig {
        &self.config
    }

    /// The address space it works in.
    pub fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    /// Bytes of local stack that each thread of later launches has (`CU_LIMIT_STACK_SIZE`).
    pub fn stack_limit(&self) -> u64 {
        self.stack_limit.load(Ordering::Relaxed)
    }

    /// Sets [`Device::stack_limit`].
    pub fn set_stack_limit(&self, bytes: u64) {
        self.stack_limit.store(bytes, Ordering::Relaxed);
    }

    /// Bytes of the heap that `malloc` in kernels allocates from (`CU_LIMIT_MALLOC_HEAP_SIZE`).
    pub fn heap_limit(&self) -> u64 {
        self.heap_limit.load(Ordering::Relaxed)
    }

    /// Sets [`Device::heap_limit`]; without effect once a kernel has called `malloc`.
    pub fn set_heap_limit(&self, bytes: u64) {
        self.heap_limit.store(bytes, Ordering::Relaxed);
    }

    /// Takes what kernels printed since the last call, for the driver to write at a synchronisation.
    pub fn drain_printf(&self) -> Vec<u8> {
        std::mem::take(&mut *self.printf.lock().unwrap())
    }

    /// Adds to what kernels printed.
    pub(crate) fn print(&self, text: &[u8]) {
        self.printf.lock().unwrap().extend_from_slice(text);
    }

    /// The threads that execute its blocks.
    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }
}
