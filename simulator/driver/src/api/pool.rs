//! Stream-ordered allocation.

use crate::c::{In, Out};
use crate::core::copy::task;
use crate::core::pool::{RELEASE_THRESHOLD, handle, ordinal};
use crate::core::sched::{Channel, scheduler};
use crate::core::{device, memory, stream};
use crate::error::{Error, Result};
use crate::types::{CUdevice, CUdeviceptr, CUmemoryPool, CUstream};
use std::ffi::c_uint;
use std::sync::atomic::Ordering;

/// `cuDeviceGetDefaultMemPool`, `cuDeviceGetMemPool`
pub fn of_device(pool: Out<CUmemoryPool>, device: CUdevice) -> Result {
    pool.set(handle(device::device(device)?.ordinal))
}

/// `cuMemAllocAsync`. The memory is there at once; programs may rely only on the stream's order.
pub fn alloc_async(address: Out<CUdeviceptr>, bytes: usize, stream: CUstream) -> Result {
    let stream = stream::find(stream)?;
    address.require()?.set(memory::allocate(&stream.context, bytes as u64, true)?)
}

/// `cuMemAllocFromPoolAsync`
pub fn alloc_from_pool_async(
    address: Out<CUdeviceptr>,
    bytes: usize,
    pool: CUmemoryPool,
    stream: CUstream,
) -> Result {
    if stream::find(stream)?.context.device.ordinal != ordinal(pool)? {
        return Err(Error::INVALID_VALUE);
    }
    alloc_async(address, bytes, stream)
}

/// `cuMemFreeAsync`: frees in the stream's order, so it never blocks.
pub fn free_async(address: CUdeviceptr, stream: CUstream) -> Result {
    let stream = stream::find(stream)?;
    match memory::find(address) {
        Some((a, _)) if a.base == address && a.kind == boomerang_gpu::Kind::Device => {}
        _ => return Err(Error::INVALID_VALUE),
    }
    let body = move || if memory::release(address) { Ok(()) } else { Err(Error::ILLEGAL_ADDRESS) };
    scheduler().submit(stream.queue, task("cuMemFreeAsync", Channel::Beside, body)).map(drop)
}

/// `cuMemPoolSetAttribute`: reuse policies are 32-bit flags without effect here.
pub fn set_attribute(pool: CUmemoryPool, attribute: c_uint, value: In<u64>) -> Result {
    ordinal(pool)?;
    match attribute {
        1..=3 if !value.is_null() => Ok(()),
        4 => {
            RELEASE_THRESHOLD.store(value.get()?, Ordering::Relaxed);
            Ok(())
        }
        // The high-water marks may be reset; they are the current values here.
        6 | 8 if value.get()? == 0 => Ok(()),
        _ => Err(Error::INVALID_VALUE),
    }
}

/// `cuMemPoolGetAttribute`
pub fn get_attribute(pool: CUmemoryPool, attribute: c_uint, value: Out<u64>) -> Result {
    let ordinal = ordinal(pool)?;
    match attribute {
        1..=3 => value.cast::<u32>().set(1),
        4 => value.set(RELEASE_THRESHOLD.load(Ordering::Relaxed)),
        5..=8 => value.set(memory::pooled_bytes(ordinal)),
        _ => Err(Error::INVALID_VALUE),
    }
}

/// `cuMemPoolTrimTo`: nothing is kept back, so nothing is given back.
pub fn trim(pool: CUmemoryPool, _keep: usize) -> Result {
    ordinal(pool).map(drop)
}
