//! The table of allocations: who owns which addresses.

use super::arena::Arena;
use super::os::{self, Reservation};
use super::written::Written;
use super::{AccessError, Actor, Allocation, Kind, Neighbour, OutOfMemory};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, RwLock};

/// Device allocations start at a multiple of this, as `cuMemAlloc`'s do.
const ALIGN: u64 = 512;
/// Between two device allocations lie at least so many bytes that belong to none, so that an overrun faults.
const GUARD: u64 = 4096;
/// How many freed allocations are remembered for reports.
const HISTORY: usize = 1024;
/// How many freed ranges of a device rest before their addresses are used again, so that who still uses them is found out.
const RESTING: usize = 1024;
/// A neighbour farther away than this explains nothing.
const NEAR: u64 = 1 << 20;

struct DeviceSpace {
    range: Reservation,
    written: Option<Written>,
    capacity: u64,
    peers: AtomicU64,
    state: Mutex<SpaceState>,
}

struct SpaceState {
    arena: Resting,
    used: u64,
    heap: Option<Resting>,
}

/// An arena that uses freed ranges again as late as it can.
struct Resting {
    arena: Arena,
    resting: VecDeque<(u64, u64)>,
}

impl Resting {
    fn new(base: u64, len: u64) -> Resting {
        Resting { arena: Arena::new(base, len), resting: VecDeque::new() }
    }

    fn take(&mut self, len: u64, align: u64) -> Option<u64> {
        self.arena.take(len, align).or_else(|| {
            self.resting.drain(..).for_each(|(at, len)| self.arena.give(at, len));
            self.arena.take(len, align)
        })
    }

    fn give(&mut self, at: u64, len: u64) {
        self.resting.push_back((at, len));
        if self.resting.len() > RESTING {
            let (at, len) = self.resting.pop_front().expect("it is not empty");
            self.arena.give(at, len);
        }
    }
}

#[derive(Default)]
struct Table {
    live: BTreeMap<u64, Allocation>,
    freed: VecDeque<Allocation>,
    /// Who allocated and who freed, by the allocation's id.
    actors: HashMap<u64, [Option<Actor>; 2]>,
    next_id: u64,
}

impl Table {
    fn find(&self, addr: u64) -> Option<Allocation> {
        let (_, allocation) = self.live.range(..=addr).next_back()?;
        allocation.contains(addr, 1).then_some(*allocation)
    }

    fn insert(&mut self, base: u64, size: u64, kind: Kind, device: usize) -> Allocation {
        self.next_id += 1;
        let allocation = Allocation { base, size, kind, device, id: self.next_id };
        self.live.insert(base, allocation);
        allocation
    }

    fn remove(&mut self, base: u64, kinds: impl Fn(Kind) -> bool) -> Option<Allocation> {
        if !kinds(self.live.get(&base)?.kind) {
            return None;
        }
        let allocation = self.live.remove(&base)?;
        if self.freed.len() == HISTORY {
            let forgotten = self.freed.pop_front().expect("it is full");
            self.actors.remove(&forgotten.id);
        }
        self.freed.push_back(allocation);
        Some(allocation)
    }

    fn neighbour(&self, allocation: &Allocation, freed: bool) -> Neighbour {
        let [allocated_by, freed_by] = self.actors.get(&allocation.id).cloned().unwrap_or_default();
        Neighbour { allocation: *allocation, freed, allocated_by, freed_by }
    }
}

/// A range that a device may access, and how the simulator reaches it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View {
    /// First address.
    pub low: u64,
    /// Address after the last.
    pub high: u64,
    /// Added (wrapping) to a device address it gives the simulator's address.
    pub delta: u64,
}

impl View {
    /// A view of nothing.
    pub const EMPTY: View = View { low: 1, high: 0, delta: 0 };
}

/// The address space of the process.
pub struct Memory {
    spaces: Vec<DeviceSpace>,
    table: RwLock<Table>,
    /// Counts removals from the table: who caches a [`View`] compares it before use.
    generation: AtomicU64,
}

impl Memory {
    /// Bytes of a device's heap (CUDA's default for `CU_LIMIT_MALLOC_HEAP_SIZE`).
    pub const DEFAULT_HEAP: u64 = 8 << 20;

    /// An address space with one device for each of the capacities, in bytes. Fails when the system refuses the address
    /// ranges.
    pub fn new(capacities: &[u64]) -> io::Result<Memory> {
        assert!(capacities.len() <= 64, "peer access is a mask of 64 bits");
        let space = |&capacity: &u64| {
            // Twice the capacity leaves room for guards and lets freed addresses rest before they are used again.
            let range = Reservation::new((2 * capacity).next_multiple_of(1 << 21) + (1 << 30))?;
            let arena = Resting::new(range.base, range.len);
            let state = Mutex::new(SpaceState { arena, used: 0, heap: None });
            Ok(DeviceSpace { range, written: None, capacity, peers: AtomicU64::new(0), state })
        };
        let spaces = capacities.iter().map(space).collect::<io::Result<_>>()?;
        Ok(Memory { spaces, table: RwLock::default(), generation: AtomicU64::new(0) })
    }

    /// From now on tells device memory that was ever written from what was not. Fails when the system refuses the address ranges.
    pub fn track_writes(&mut self) -> io::Result<()> {
        for space in &mut self.spaces {
            space.written = Some(Written::new(space.range.base, space.range.len)?);
        }
        Ok(())
    }

    fn written(&self, addr: u64) -> Option<&Written> {
        self.spaces[self.device_of(addr)?].written.as_ref()
    }

    /// Notes that `len` bytes at `addr` were written, if they are device memory and that is tracked.
    pub fn mark_written(&self, addr: u64, len: u64) {
        self.written(addr).into_iter().for_each(|written| written.mark(addr, len));
    }

    /// Whether any of `len` bytes at `addr` was written, or that is not tracked.
    pub(crate) fn was_written(&self, addr: u64, len: u64) -> bool {
        self.written(addr).is_none_or(|written| written.any(addr, len))
    }

    fn forget_written(&self, addr: u64, len: u64) {
        self.written(addr).into_iter().for_each(|written| written.forget(addr, len));
    }

    /// Size of a device's memory in bytes.
    pub fn capacity(&self, device: usize) -> u64 {
        self.spaces[device].capacity
    }

    /// Bytes of a device's memory not allocated.
    pub fn free_bytes(&self, device: usize) -> u64 {
        self.spaces[device].capacity - self.spaces[device].state.lock().unwrap().used
    }

    /// Allocates device memory, zeroed; its address is a multiple of 512 and of `align`, a power of two.
    pub fn alloc_device(&self, device: usize, size: u64, align: u64) -> Result<u64, OutOfMemory> {
        let space = &self.spaces[device];
        let base = {
            let mut state = space.state.lock().unwrap();
            let free = space.capacity - state.used;
            let refused = OutOfMemory { requested: size, free };
            let reserved = reserved(size).filter(|_| size <= free).ok_or(refused)?;
            let base = state.arena.take(reserved, align.max(ALIGN)).ok_or(refused)?;
            state.used += size;
            base
        };
        self.forget_written(base, size);
        self.table.write().unwrap().insert(base, size, Kind::Device, device);
        Ok(base)
    }

    /// Frees what [`Memory::alloc_device`] gave; kernels that still access it fault from now on. `None` when `addr` is
    /// not such an address.
    pub fn free_device(&self, addr: u64) -> Option<Allocation> {
        let allocation = self.remove(addr, |kind| kind == Kind::Device)?;
        let space = &self.spaces[allocation.device];
        space.range.discard(addr - space.range.base, allocation.size);
        let mut state = space.state.lock().unwrap();
        state.used -= allocation.size;
        state.arena.give(addr, reserved(allocation.size).expect("it was allocated"));
        Some(allocation)
    }

    /// Makes host memory accessible to all devices at its own address. Fails, with the allocation in the way, when part
    /// of it already is.
    ///
    /// # Safety
    /// The memory must stay mapped, readable and writable until [`Memory::unregister_host`].
    pub unsafe fn register_host(
        &self,
        base: u64,
        len: u64,
        kind: Kind,
        device: usize,
    ) -> Result<Allocation, Allocation> {
        assert!(kind.is_host());
        let mut table = self.table.write().unwrap();
        let below = table.live.range(..base.saturating_add(len)).next_back();
        match below {
            Some((_, other)) if other.base + other.size > base => Err(*other),
            _ => Ok(table.insert(base, len, kind, device)),
        }
    }

    /// Undoes [`Memory::register_host`] of the memory that starts at `base`; `None` if none does.
    pub fn unregister_host(&self, base: u64) -> Option<Allocation> {
        self.remove(base, Kind::is_host)
    }

    /// Lets kernels of `from` access memory of `to`, or no longer.
    pub fn set_peer_access(&self, from: usize, to: usize, allowed: bool) {
        let bit = 1 << to;
        if allowed {
            self.spaces[from].peers.fetch_or(bit, Ordering::Relaxed);
        } else {
            self.spaces[from].peers.fetch_and(!bit, Ordering::Relaxed);
            self.bump();
        }
    }

    /// The live allocation that holds `addr`.
    pub fn lookup(&self, addr: u64) -> Option<Allocation> {
        self.table.read().unwrap().find(addr)
    }

    /// The device whose address range holds `addr`, allocated or not; `None` for host addresses.
    pub fn device_of(&self, addr: u64) -> Option<usize> {
        self.spaces.iter().position(|s| addr >= s.range.base && addr - s.range.base < s.range.len)
    }

    /// Whether the program itself can use `addr`, and no device can; for reports.
    pub(crate) fn is_of_host(&self, addr: u64) -> bool {
        self.device_of(addr).is_none() && self.lookup(addr).is_none() && os::is_mapped(addr)
    }

    /// Where the simulator reaches `len` bytes of device memory or registered host memory at `addr`; for accesses of the
    /// driver itself, such as stream memory operations. The pointer is good until the allocation is freed.
    pub fn resolve(&self, addr: u64, len: u64) -> Result<*mut u8, AccessError> {
        match self.lookup(addr) {
            Some(a) if a.contains(addr, len) && a.kind != Kind::DeviceHeap => Ok(self.pointer(&a, addr)),
            _ => Err(self.refusal(addr, len)),
        }
    }

    /// The error for an access refused.
    pub(super) fn refusal(&self, address: u64, len: u64) -> AccessError {
        AccessError { address, len, neighbour: self.neighbour(address) }
    }

    fn pointer(&self, allocation: &Allocation, addr: u64) -> *mut u8 {
        addr.wrapping_add(self.delta(allocation)) as *mut u8
    }

    fn delta(&self, allocation: &Allocation) -> u64 {
        if allocation.kind.is_host() {
            return 0;
        }
        let range = &self.spaces[allocation.device].range;
        (range.alias as u64).wrapping_sub(range.base)
    }

    /// What kernels of `device` may access around `addr`.
    pub(crate) fn view(&self, device: usize, addr: u64) -> Option<View> {
        let a = self.lookup(addr)?;
        let peers = self.spaces[device].peers.load(Ordering::Relaxed);
        let allowed = a.kind.is_host() || a.device == device || peers & (1 << a.device) != 0;
        allowed.then(|| View { low: a.base, high: a.base + a.size, delta: self.delta(&a) })
    }

    /// A number that changes whenever a [`View`] handed out earlier may have become wrong.
    pub(crate) fn generation(&self) -> u64 {
        // Pairs with the release in `bump`: who sees the new number sees the table without the allocation.
        self.generation.load(Ordering::Acquire)
    }

    fn bump(&self) {
        self.generation.fetch_add(1, Ordering::Release);
    }

    fn remove(&self, base: u64, kinds: impl Fn(Kind) -> bool) -> Option<Allocation> {
        let removed = self.table.write().unwrap().remove(base, kinds);
        if removed.is_some() {
            self.bump();
        }
        removed
    }

    /// The live allocation that holds `addr`, else the one freed last that held it, else the nearest; for reports.
    pub fn neighbour(&self, addr: u64) -> Option<Neighbour> {
        let table = self.table.read().unwrap();
        if let Some(allocation) = table.find(addr) {
            return Some(table.neighbour(&allocation, false));
        }
        if let Some(allocation) = table.freed.iter().rev().find(|a| a.contains(addr, 1)) {
            return Some(table.neighbour(allocation, true));
        }
        let (below, above) = (table.live.range(..=addr).next_back(), table.live.range(addr..).next());
        let candidates = [below, above].into_iter().flatten().map(|(_, a)| table.neighbour(a, false));
        candidates.filter(|n| n.distance(addr) < NEAR).min_by_key(|n| n.distance(addr))
    }

    /// Says who allocated what starts at `base` or, if it is freed, who freed it.
    pub fn credit(&self, base: u64, actor: Actor) {
        let mut table = self.table.write().unwrap();
        let live = table.live.get(&base).map(|a| (a.id, 0));
        let freed = || table.freed.iter().rev().find(|a| a.base == base).map(|a| (a.id, 1));
        if let Some((id, role)) = live.or_else(freed) {
            table.actors.entry(id).or_default()[role] = Some(actor);
        }
    }

    /// `malloc` in a kernel: a block of the device's heap, which takes `limit` bytes of device memory at the first call.
    pub(crate) fn heap_alloc(&self, device: usize, size: u64, limit: u64) -> Option<u64> {
        let mut state = self.spaces[device].state.lock().unwrap();
        if state.heap.is_none() {
            let base = state.arena.take(limit + GUARD, ALIGN)?;
            state.heap = Some(Resting::new(base, limit));
        }
        let base = state.heap.as_mut()?.take(heap_reserved(size)?, HEAP_ALIGN)?;
        drop(state);
        self.forget_written(base, size);
        self.table.write().unwrap().insert(base, size, Kind::DeviceHeap, device);
        Some(base)
    }

    /// `free` in a kernel; `None` when `addr` is no block of the heap.
    pub(crate) fn heap_free(&self, addr: u64) -> Option<()> {
        let allocation = self.remove(addr, |kind| kind == Kind::DeviceHeap)?;
        let mut state = self.spaces[allocation.device].state.lock().unwrap();
        state.heap.as_mut()?.give(addr, heap_reserved(allocation.size)?);
        Some(())
    }
}

/// Blocks of the device's heap start at a multiple of this, as those of CUDA's do.
const HEAP_ALIGN: u64 = 16;

/// Address space that a heap block takes: at least one byte behind it belongs to no block.
fn heap_reserved(size: u64) -> Option<u64> {
    size.checked_add(HEAP_ALIGN)?.checked_next_multiple_of(HEAP_ALIGN)
}

/// Address space that an allocation takes, with its guard.
fn reserved(size: u64) -> Option<u64> {
    size.max(1).checked_next_multiple_of(ALIGN)?.checked_add(GUARD)
}
