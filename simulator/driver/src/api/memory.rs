//! Memory.

use crate::c::{In, Out};
use crate::core::context;
use crate::core::device::{self, platform};
use crate::core::memory;
use crate::core::sched::scheduler;
use crate::error::{Error, Result};
use crate::types::{
    CUcontext, CUdevice, CUdeviceptr, CUmemoryPool, MEMORYTYPE_DEVICE, MEMORYTYPE_HOST, MEMORYTYPE_UNIFIED,
};
use boomerang_gpu::Kind;
use std::ffi::{c_int, c_uint, c_void};
use std::ops::RangeInclusive;

/// `CU_MEMHOSTALLOC_PORTABLE`, `_DEVICEMAP`, `_WRITECOMBINED`.
const HOST_ALLOC_FLAGS: c_uint = 7;
/// `CU_MEMHOSTREGISTER_PORTABLE`, `_DEVICEMAP`; I/O memory and read-only registration aren't supported.
const HOST_REGISTER_FLAGS: c_uint = 3;
/// `CU_MEM_ATTACH_GLOBAL`.
const ATTACH_GLOBAL: c_uint = 1;
/// `CU_MEM_ATTACH_HOST`.
const ATTACH_HOST: c_uint = 2;
/// `CU_MEM_ADVISE_SET_READ_MOSTLY` to `_UNSET_ACCESSED_BY`.
const ADVICE: RangeInclusive<c_uint> = 1..=6;
/// `CU_DEVICE_CPU`.
const DEVICE_CPU: CUdevice = -1;

/// `cuMemGetInfo`
pub fn info(free: Out<usize>, total: Out<usize>) -> Result {
    let ordinal = context::current()?.device.ordinal;
    let memory = &platform().memory;
    free.set_if_wanted(memory.free_bytes(ordinal) as usize);
    total.set_if_wanted(memory.capacity(ordinal) as usize);
    Ok(())
}

/// `cuMemAlloc`
pub fn alloc(address: Out<CUdeviceptr>, bytes: usize) -> Result {
    let context = context::current()?;
    address.require()?.set(memory::allocate(&context, bytes as u64, false)?)
}

/// `cuMemAllocPitch`
pub fn alloc_pitch(
    address: Out<CUdeviceptr>,
    pitch: Out<usize>,
    width: usize,
    height: usize,
    element: c_uint,
) -> Result {
    let context = context::current()?;
    if !matches!(element, 4 | 8 | 16) {
        return Err(Error::INVALID_VALUE);
    }
    let row = width.checked_next_multiple_of(512).ok_or(Error::INVALID_VALUE)?;
    let bytes = row.checked_mul(height).ok_or(Error::INVALID_VALUE)?;
    pitch.require()?.set(row)?;
    address.require()?.set(memory::allocate(&context, bytes as u64, false)?)
}

/// `cuMemAllocManaged`
pub fn alloc_managed(address: Out<CUdeviceptr>, bytes: usize, flags: c_uint) -> Result {
    let context = context::current()?;
    if !matches!(flags, ATTACH_GLOBAL | ATTACH_HOST) {
        return Err(Error::INVALID_VALUE);
    }
    address.require()?.set(memory::allocate_host(&context, bytes, Kind::Managed, flags)?)
}

/// `cuMemAdvise`: nothing changes, since managed memory is the host's here.
pub fn advise(address: CUdeviceptr, bytes: usize, advice: c_uint, device: CUdevice) -> Result {
    context::current()?;
    if !ADVICE.contains(&advice) || (device != DEVICE_CPU && device::device(device).is_err()) {
        return Err(Error::INVALID_VALUE);
    }
    match memory::find(address) {
        Some((a, _)) if a.kind == Kind::Managed && bytes > 0 && a.contains(address, bytes as u64) => Ok(()),
        _ => Err(Error::INVALID_VALUE),
    }
}

/// `cuMemFree`
pub fn free(address: CUdeviceptr) -> Result {
    context::current()?;
    memory::free(address, &[Kind::Device, Kind::Managed], "cuMemFree")
}

/// `cuMemAllocHost`
pub fn alloc_host(address: Out<u64>, bytes: usize) -> Result {
    host_alloc(address, bytes, 0)
}

/// `cuMemHostAlloc`
pub fn host_alloc(address: Out<u64>, bytes: usize, flags: c_uint) -> Result {
    let context = context::current()?;
    if flags & !HOST_ALLOC_FLAGS != 0 {
        return Err(Error::INVALID_VALUE);
    }
    address.require()?.set(memory::allocate_host(&context, bytes, Kind::Pinned, flags)?)
}

/// `cuMemFreeHost`
pub fn free_host(address: u64) -> Result {
    context::current()?;
    memory::free(address, &[Kind::Pinned], "cuMemFreeHost")
}

/// `cuMemHostRegister`
pub fn host_register(address: u64, bytes: usize, flags: c_uint) -> Result {
    let context = context::current()?;
    if flags & !HOST_REGISTER_FLAGS != 0 {
        return Err(Error::INVALID_VALUE);
    }
    scheduler().quiesce(context.domain, "cuMemHostRegister")?;
    memory::register(&context, address, bytes as u64, flags)
}

/// `cuMemHostUnregister`: not in the measurements; it takes mappings away, so it waits as `cuMemFreeHost` does.
pub fn host_unregister(address: u64) -> Result {
    let context = context::current()?;
    scheduler().quiesce(context.domain, "cuMemHostUnregister")?;
    memory::unregister(address)
}

/// `cuMemHostGetDevicePointer`: the same address, as under unified addressing.
pub fn host_device_pointer(device: Out<CUdeviceptr>, host: u64, flags: c_uint) -> Result {
    context::current()?;
    match memory::find(host) {
        Some((a, _)) if flags == 0 && matches!(a.kind, Kind::Pinned | Kind::Registered) => device.set(host),
        _ => Err(Error::INVALID_VALUE),
    }
}

/// `cuMemHostGetFlags`
pub fn host_flags(flags: Out<c_uint>, address: u64) -> Result {
    context::current()?;
    match memory::find(address) {
        Some((a, Some(owner))) if a.kind == Kind::Pinned => flags.set(owner.flags),
        _ => Err(Error::INVALID_VALUE),
    }
}

/// `cuMemGetAddressRange`
pub fn address_range(base: Out<CUdeviceptr>, bytes: Out<usize>, address: CUdeviceptr) -> Result {
    context::current()?;
    let (allocation, _) = memory::find(address).ok_or(Error::NOT_FOUND)?;
    base.set_if_wanted(allocation.base);
    bytes.set_if_wanted(allocation.size as usize);
    Ok(())
}

/// `cuPointerGetAttribute`
pub fn pointer_attribute(value: Out<c_void>, attribute: c_uint, address: CUdeviceptr) -> Result {
    context::current()?;
    value.require()?;
    store_attribute(value, attribute, address)
}

/// `cuPointerGetAttributes`: what is unknown of an address comes out as 0.
pub fn pointer_attributes(
    count: c_uint,
    attributes: In<c_uint>,
    values: In<Out<c_void>>,
    address: CUdeviceptr,
) -> Result {
    context::current()?;
    for (attribute, value) in attributes.list(count as usize)?.into_iter().zip(values.list(count as usize)?) {
        match store_attribute(value.require()?, attribute, address) {
            Err(Error::INVALID_VALUE) if memory::find(address).is_none() => match attribute {
                2 | 9 => value.cast().set_if_wanted(if attribute == 9 { -2_i32 } else { 0 }),
                8 | 13 => value.cast().set_if_wanted(0_u8),
                _ => value.cast().set_if_wanted(0_u64),
            },
            other => other?,
        }
    }
    Ok(())
}

/// By number: `CUpointer_attribute` of cuda.h.
fn store_attribute(value: Out<c_void>, attribute: c_uint, address: CUdeviceptr) -> Result {
    let (allocation, owner) = memory::find(address).ok_or(Error::INVALID_VALUE)?;
    let host = allocation.kind.is_host();
    let pooled = owner.is_some_and(|o| o.pooled);
    match attribute {
        1 => value.cast::<CUcontext>().set(match owner {
            Some(owner) => owner.context,
            None => context::current()?.handle,
        }),
        2 => value.cast::<c_uint>().set(match allocation.kind {
            Kind::Managed => MEMORYTYPE_UNIFIED,
            _ if host => MEMORYTYPE_HOST,
            _ => MEMORYTYPE_DEVICE,
        }),
        3 => value.cast::<u64>().set(address),
        4 if host => value.cast::<u64>().set(address),
        6 => value.cast::<u8>().set(0),
        7 => value.cast::<u64>().set(allocation.id),
        8 => value.cast::<u8>().set((allocation.kind == Kind::Managed).into()),
        9 => value.cast::<c_int>().set(allocation.device as c_int),
        10 => value.cast::<u8>().set((allocation.kind == Kind::Device && !pooled).into()),
        11 => value.cast::<u64>().set(allocation.base),
        12 => value.cast::<usize>().set(allocation.size as usize),
        13 => value.cast::<u8>().set(1),
        17 if pooled => value.cast::<CUmemoryPool>().set(crate::core::pool::handle(allocation.device)),
        _ => Err(Error::INVALID_VALUE),
    }
}
