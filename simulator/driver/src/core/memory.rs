//! Memory: who owns which allocation, allocating and freeing.

use super::caller::Caller;
use super::context::Context;
use super::device::platform;
use super::sched::scheduler;
use crate::error::{Error, Result};
use crate::types::CUcontext;
use boomerang_gpu::{Actor, Allocation, Kind};
use std::alloc::Layout;
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard};

/// Pinned and managed memory comes in pages, as on hardware.
const PAGE: usize = 4096;

/// What the address space doesn't know about an allocation.
#[derive(Clone, Copy)]
pub struct Owned {
    /// The context it was made in.
    pub context: CUcontext,
    /// Flags of `cuMemHostAlloc`, `cuMemHostRegister` or `cuMemAllocManaged`.
    pub flags: u32,
    /// Where host memory of ours lies, to give back to the allocator.
    block: Option<(u64, Layout)>,
    /// Made by `cuMemAllocAsync`.
    pub pooled: bool,
}

static OWNED: LazyLock<Mutex<HashMap<u64, Owned>>> = LazyLock::new(Mutex::default);

fn owned() -> MutexGuard<'static, HashMap<u64, Owned>> {
    OWNED.lock().expect("no panic under this lock")
}

/// The live allocation that holds an address, with its owner; modules' variables have none.
pub fn find(address: u64) -> Option<(Allocation, Option<Owned>)> {
    let allocation = platform().memory.lookup(address).filter(|a| a.kind != Kind::DeviceHeap)?;
    Some((allocation, owned().get(&allocation.base).copied()))
}

/// Notes for reports that the program has just allocated or freed what starts at `base`.
fn credit(base: u64) {
    platform().memory.credit(base, Actor::new(Caller::here()));
}

/// Device memory.
pub fn allocate(context: &Context, bytes: u64, pooled: bool) -> Result<u64> {
    if bytes == 0 {
        return Err(Error::INVALID_VALUE);
    }
    let allocated = platform().memory.alloc_device(context.device.ordinal, bytes, 512);
    let base = allocated.map_err(|_| Error::OUT_OF_MEMORY)?;
    credit(base);
    owned().insert(base, Owned { context: context.handle, flags: 0, block: None, pooled });
    Ok(base)
}

/// Host memory that devices may access: pinned, or managed.
pub fn allocate_host(context: &Context, bytes: usize, kind: Kind, flags: u32) -> Result<u64> {
    if bytes == 0 {
        return Err(Error::INVALID_VALUE);
    }
    // Aligned by ourselves: `alloc_zeroed` writes to all that it aligns, and of managed memory mostly little is used.
    let size = bytes.checked_next_multiple_of(PAGE).and_then(|size| size.checked_add(PAGE));
    let layout = size.and_then(|size| Layout::from_size_align(size, 16).ok()).ok_or(Error::OUT_OF_MEMORY)?;
    // SAFETY: the layout's size is not 0.
    let block = unsafe { std::alloc::alloc_zeroed(layout) } as u64;
    if block == 0 {
        return Err(Error::OUT_OF_MEMORY);
    }
    let base = block.next_multiple_of(PAGE as u64);
    // SAFETY: the memory is ours until `release` has unregistered it.
    let registered =
        unsafe { platform().memory.register_host(base, bytes as u64, kind, context.device.ordinal) };
    if registered.is_err() {
        // The program freed memory that it had registered, and the allocator gave it to us.
        eprintln!("boomerang-sim: host memory at {base:#x} was freed while registered");
        // SAFETY: allocated above with this layout.
        unsafe { std::alloc::dealloc(block as *mut u8, layout) };
        return Err(Error::ILLEGAL_STATE);
    }
    credit(base);
    owned()
        .insert(base, Owned { context: context.handle, flags, block: Some((block, layout)), pooled: false });
    Ok(base)
}

/// Registers the program's own memory.
pub fn register(context: &Context, base: u64, bytes: u64, flags: u32) -> Result {
    if base == 0 || bytes == 0 || base.checked_add(bytes).is_none() {
        return Err(Error::INVALID_VALUE);
    }
    if platform().memory.device_of(base).is_some() {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: the program promises the range to be its own until it unregisters it (`cuMemHostRegister`).
    let registered =
        unsafe { platform().memory.register_host(base, bytes, Kind::Registered, context.device.ordinal) };
    registered.map_err(|_| Error::HOST_MEMORY_ALREADY_REGISTERED)?;
    credit(base);
    owned().insert(base, Owned { context: context.handle, flags, block: None, pooled: false });
    Ok(())
}

/// Ends a registration.
pub fn unregister(base: u64) -> Result {
    match find(base) {
        Some((a, _)) if a.base == base && a.kind == Kind::Registered => {}
        _ => return Err(Error::HOST_MEMORY_NOT_REGISTERED),
    }
    platform().memory.unregister_host(base);
    credit(base);
    owned().remove(&base);
    Ok(())
}

/// Frees the allocation of one of `kinds` that starts at `base`, once its context is at rest: `call` blocks
/// while a stream wait is pending or a kernel runs, as measured on hardware.
pub fn free(base: u64, kinds: &[Kind], call: &'static str) -> Result {
    let owner = match find(base) {
        Some((a, Some(owner))) if a.base == base && kinds.contains(&a.kind) => owner,
        _ => return Err(Error::INVALID_VALUE),
    };
    if let Ok(context) = super::context::get(owner.context) {
        scheduler().quiesce(context.domain, call)?;
    }
    if !release(base) {
        return Err(Error::INVALID_VALUE);
    }
    credit(base);
    Ok(())
}

/// Gives memory back at once; false if another thread did.
pub fn release(base: u64) -> bool {
    let Some(owner) = owned().remove(&base) else { return false };
    let memory = &platform().memory;
    if memory.free_device(base).is_none() {
        memory.unregister_host(base);
    }
    if let Some((block, layout)) = owner.block {
        // SAFETY: allocated with this layout; the entry taken above names it once.
        unsafe { std::alloc::dealloc(block as *mut u8, layout) };
    }
    true
}

/// Frees everything that a context made.
pub fn forget(context: &Context) {
    let bases: Vec<u64> =
        owned().iter().filter(|(_, o)| o.context == context.handle).map(|(base, _)| *base).collect();
    for base in bases {
        release(base);
    }
}

/// Bytes that `cuMemAllocAsync` holds on the device.
pub fn pooled_bytes(ordinal: usize) -> u64 {
    let bases: Vec<u64> = owned().iter().filter(|(_, o)| o.pooled).map(|(base, _)| *base).collect();
    let of_device = |base: &u64| platform().memory.lookup(*base).filter(|a| a.device == ordinal);
    bases.iter().filter_map(of_device).map(|a| a.size).sum()
}
