//! Events.

use crate::c::Out;
use crate::core::context;
use crate::core::event::{self, DISABLE_TIMING, find};
use crate::core::sched::{Work, scheduler, ticket};
use crate::core::stream;
use crate::error::{Error, Result};
use crate::types::{CUevent, CUstream};
use std::ffi::c_uint;
use std::sync::Arc;

/// `CU_EVENT_BLOCKING_SYNC`, `_DISABLE_TIMING`; events of other processes aren't supported.
const FLAGS: c_uint = 3;

/// `cuEventCreate`
pub fn create(event: Out<CUevent>, flags: c_uint) -> Result {
    let context = context::current()?;
    event.require()?;
    if flags & !FLAGS != 0 {
        return Err(Error::INVALID_VALUE);
    }
    event.set(event::create(&context, flags))
}

/// `cuEventDestroy`
pub fn destroy(event: CUevent) -> Result {
    context::current()?;
    event::destroy(event)
}

/// `cuEventRecord`
pub fn record(event: CUevent, stream: CUstream) -> Result {
    let (event, stream) = (find(event)?, stream::find(stream)?);
    if !Arc::ptr_eq(&event.context, &stream.context) {
        return Err(Error::INVALID_HANDLE);
    }
    let ticket = ticket();
    event.record(&ticket);
    scheduler().submit(stream.queue, Work::Record(ticket)).map(drop)
}

/// `cuEventRecordWithFlags`
pub fn record_with_flags(event: CUevent, stream: CUstream, flags: c_uint) -> Result {
    if flags != 0 {
        return Err(Error::INVALID_VALUE);
    }
    record(event, stream)
}

/// `cuEventQuery`
pub fn query(event: CUevent) -> Result {
    let event = find(event)?;
    event.context.check()?;
    match event.ticket() {
        None => Ok(()),
        Some(ticket) => {
            let (_, result) = ticket.done().ok_or(Error::NOT_READY)?;
            scheduler().seen(&ticket);
            result
        }
    }
}

/// `cuEventSynchronize`
pub fn synchronize(event: CUevent) -> Result {
    let event = find(event)?;
    event.context.check()?;
    let result = event.ticket().map_or(Ok(()), |ticket| scheduler().wait_ticket(&ticket));
    event.context.flush_printf();
    result
}

/// `cuEventElapsedTime`
pub fn elapsed(milliseconds: Out<f32>, start: CUevent, end: CUevent) -> Result {
    let (start, end) = (find(start)?, find(end)?);
    milliseconds.require()?;
    if (start.flags | end.flags) & DISABLE_TIMING != 0 || !Arc::ptr_eq(&start.context, &end.context) {
        return Err(Error::INVALID_HANDLE);
    }
    start.context.check()?;
    let (start, end) = (start.ticket(), end.ticket());
    let (start, end) = (start.ok_or(Error::INVALID_HANDLE)?, end.ok_or(Error::INVALID_HANDLE)?);
    let (Some((from, _)), Some((to, _))) = (start.done(), end.done()) else { return Err(Error::NOT_READY) };
    scheduler().seen(&start);
    scheduler().seen(&end);
    if let (Some(from), Some(to)) = (scheduler().virtual_time(&start), scheduler().virtual_time(&end)) {
        return milliseconds.set(((to as f64 - from as f64) / 1e6) as f32);
    }
    let forward = to.saturating_duration_since(from).as_secs_f64();
    let backward = from.saturating_duration_since(to).as_secs_f64();
    milliseconds.set(((forward - backward) * 1e3) as f32)
}
