//! Stream memory operations: streams that wait for and write words of memory.

use crate::c::In;
use crate::core::copy::task;
use crate::core::device::platform;
use crate::core::sched::{Channel, Condition, WaitWord, Word, Work, scheduler};
use crate::core::stream::find;
use crate::env::settings;
use crate::error::{Error, Result};
use crate::types::{CUdeviceptr, CUstream, CUstreamBatchMemOp};
use std::ffi::c_uint;

/// `CU_STREAM_WAIT_VALUE_FLUSH`: there is nothing remote to flush here.
const FLUSH: c_uint = 1 << 30;
/// The driver's limit for one batch.
const MOST_OPERATIONS: c_uint = 256;

/// The word of an operation, in memory known to the driver.
fn word(address: CUdeviceptr, wide: bool) -> Result<Word> {
    let size = if wide { 8 } else { 4 };
    if address % size != 0 {
        return Err(Error::INVALID_VALUE);
    }
    let host = platform().memory.resolve(address, size).map_err(|_| Error::INVALID_VALUE)?;
    Ok(Word { host: host as usize, address, wide })
}

fn wait_for(address: CUdeviceptr, value: u64, wide: bool, flags: c_uint) -> Result<Work> {
    let condition = match flags & !FLUSH {
        0 => Condition::Geq,
        1 => Condition::Eq,
        2 => Condition::And,
        3 => Condition::Nor,
        _ => return Err(Error::INVALID_VALUE),
    };
    Ok(Work::Wait(WaitWord { word: word(address, wide)?, value, condition }))
}

fn write_of(address: CUdeviceptr, value: u64, wide: bool, flags: c_uint) -> Result<Work> {
    // CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER is "not supported in the v2 API" (cuda.h), and refused by a driver.
    if flags != 0 {
        return Err(Error::INVALID_VALUE);
    }
    let word = word(address, wide)?;
    // Now, which is before the write is done: whoever reads without waiting for it has another fault.
    platform().memory.mark_written(address, if wide { 8 } else { 4 });
    Ok(Work::Write(word, value))
}

/// Enqueues operations that `make` checks first.
fn enqueue(stream: CUstream, make: impl FnOnce() -> Result<Vec<Work>>) -> Result {
    let stream = find(stream)?;
    if !settings().memops {
        return Err(Error::NOT_SUPPORTED);
    }
    for work in make()? {
        scheduler().submit(stream.queue, work)?;
    }
    Ok(())
}

/// `cuStreamWaitValue32`
pub fn wait32(stream: CUstream, address: CUdeviceptr, value: u32, flags: c_uint) -> Result {
    enqueue(stream, || Ok(vec![wait_for(address, value.into(), false, flags)?]))
}

/// `cuStreamWaitValue64`
pub fn wait64(stream: CUstream, address: CUdeviceptr, value: u64, flags: c_uint) -> Result {
    enqueue(stream, || Ok(vec![wait_for(address, value, true, flags)?]))
}

/// `cuStreamWriteValue32`
pub fn write32(stream: CUstream, address: CUdeviceptr, value: u32, flags: c_uint) -> Result {
    enqueue(stream, || Ok(vec![write_of(address, value.into(), false, flags)?]))
}

/// `cuStreamWriteValue64`
pub fn write64(stream: CUstream, address: CUdeviceptr, value: u64, flags: c_uint) -> Result {
    enqueue(stream, || Ok(vec![write_of(address, value, true, flags)?]))
}

/// `cuStreamBatchMemOp`
pub fn batch(stream: CUstream, count: c_uint, operations: In<CUstreamBatchMemOp>, flags: c_uint) -> Result {
    if flags != 0 || count > MOST_OPERATIONS {
        return Err(Error::INVALID_VALUE);
    }
    enqueue(stream, || operations.list(count as usize)?.iter().map(operation).collect())
}

/// By number: `CUstreamBatchMemOpType`; flushes and barriers (3, 6) have nothing to do here.
fn operation(o: &CUstreamBatchMemOp) -> Result<Work> {
    match o.operation {
        1 => wait_for(o.address, o.value, false, o.flags),
        2 => write_of(o.address, o.value, false, o.flags),
        4 => wait_for(o.address, o.value, true, o.flags),
        5 => write_of(o.address, o.value, true, o.flags),
        3 | 6 => Ok(task("barrier", Channel::Through, || Ok(()))),
        _ => Err(Error::INVALID_VALUE),
    }
}
