//! Streams.

use crate::c::Out;
use crate::core::clock::Activity;
use crate::core::sched::{Channel, Task, Work, scheduler};
use crate::core::stream::{self, NON_BLOCKING, find, find_anywhere};
use crate::core::{context, event, process};
use crate::error::{Error, Result};
use crate::types::{CUcontext, CUevent, CUstream, CUstreamCallback};
use std::ffi::{c_int, c_uint, c_void};

/// `cuStreamCreate`
pub fn create(stream: Out<CUstream>, flags: c_uint) -> Result {
    create_with_priority(stream, flags, 0)
}

/// `cuStreamCreateWithPriority`: the priority is kept, clamped to the range, and orders nothing here.
pub fn create_with_priority(stream: Out<CUstream>, flags: c_uint, priority: c_int) -> Result {
    let context = context::current()?;
    stream.require()?;
    if flags & !NON_BLOCKING != 0 {
        return Err(Error::INVALID_VALUE);
    }
    stream.set(stream::create(&context, flags, priority.clamp(-5, 0))?)
}

/// `cuStreamDestroy`
pub fn destroy(stream: CUstream) -> Result {
    context::current()?;
    stream::destroy(stream)
}

/// `cuStreamQuery`
pub fn query(stream: CUstream) -> Result {
    let stream = find_anywhere(stream)?;
    let idle = scheduler().idle(stream.queue)?;
    if idle {
        stream.context.flush_printf();
        Ok(())
    } else {
        Err(Error::NOT_READY)
    }
}

/// `cuStreamSynchronize`
pub fn synchronize(stream: CUstream) -> Result {
    let stream = find_anywhere(stream)?;
    let result = scheduler().wait_queue(stream.context.domain, stream.queue);
    stream.context.flush_printf();
    result
}

/// `cuStreamWaitEvent`
pub fn wait_event(stream: CUstream, event: CUevent, flags: c_uint) -> Result {
    let (stream, event) = (find(stream)?, event::find(event)?);
    if flags > 1 {
        return Err(Error::INVALID_VALUE);
    }
    match event.ticket() {
        Some(ticket) => scheduler().submit(stream.queue, Work::After(ticket)).map(drop),
        None => Ok(()),
    }
}

/// `cuStreamAddCallback`
pub fn add_callback(
    handle: CUstream,
    callback: Option<CUstreamCallback>,
    data: *mut c_void,
    flags: c_uint,
) -> Result {
    let stream = find(handle)?;
    let callback = callback.filter(|_| flags == 0).ok_or(Error::INVALID_VALUE)?;
    let data = data as usize;
    let body = move |start: Result| {
        let status = crate::error::code(start);
        // SAFETY: the program promises the function and its data to be callable until it has run.
        process::host_function(|| unsafe { callback(handle, status, data as *mut c_void) });
        Ok(())
    };
    let task = Task {
        what: "callback".to_owned(),
        kernel: None,
        activity: Activity::Instant,
        channel: Channel::Through,
        tell: true,
        body: Box::new(body),
    };
    scheduler().submit(stream.queue, Work::Task(task)).map(drop)
}

/// `cuStreamGetCtx`
pub fn context(stream: CUstream, context: Out<CUcontext>) -> Result {
    context.set(find(stream)?.context.handle)
}

/// `cuStreamGetFlags`
pub fn flags(stream: CUstream, flags: Out<c_uint>) -> Result {
    flags.set(find(stream)?.flags)
}

/// `cuStreamGetPriority`
pub fn priority(stream: CUstream, priority: Out<c_int>) -> Result {
    priority.set(find(stream)?.priority)
}
