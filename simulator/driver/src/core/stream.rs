//! Streams: handles of queues.

use super::context::Context;
use super::handle::Table;
use super::sched::{Class, QueueId, scheduler};
use crate::error::{Error, Result};
use crate::types::CUstream;
use std::sync::Arc;

static STREAMS: Table<Stream> = Table::new(0x57e4);

/// `CU_STREAM_LEGACY`.
const LEGACY: CUstream = CUstream(1);
/// `CU_STREAM_PER_THREAD`.
const PER_THREAD: CUstream = CUstream(2);
/// `CU_STREAM_NON_BLOCKING`.
pub const NON_BLOCKING: u32 = 1;

/// A stream that the program made.
pub struct Stream {
    /// Its context.
    pub context: Arc<Context>,
    /// Its queue.
    pub queue: QueueId,
    /// `CU_STREAM_*` flags.
    pub flags: u32,
    /// Priority; 0 is the lowest here.
    pub priority: i32,
}

/// A new stream of the context.
pub fn create(context: &Arc<Context>, flags: u32, priority: i32) -> Result<CUstream> {
    let class = if flags & NON_BLOCKING != 0 { Class::NonBlocking } else { Class::Blocking };
    let handle = STREAMS.reserve();
    let queue = scheduler().create_queue(context.domain, class, format!("stream {handle:#x}"))?;
    STREAMS.insert(handle, Arc::new(Stream { context: Arc::clone(context), queue, flags, priority }));
    Ok(CUstream(handle))
}

/// The stream that a handle means to a thread with a current context; default streams are that context's.
pub fn find(handle: CUstream) -> Result<Arc<Stream>> {
    super::context::current()?;
    find_anywhere(handle)
}

/// As [`find`]; a thread without a current context may name a stream of the program's making (measured on an
/// H200 for `cuStreamQuery` and `cuStreamSynchronize`; with a default stream they return `INVALID_CONTEXT`).
pub fn find_anywhere(handle: CUstream) -> Result<Arc<Stream>> {
    let default = |queue: fn(&Context) -> Result<QueueId>| {
        let context = super::context::current()?;
        let queue = queue(&context)?;
        Ok(Arc::new(Stream { context, queue, flags: 0, priority: 0 }))
    };
    match handle {
        CUstream(0) | LEGACY => default(|c| Ok(c.legacy)),
        PER_THREAD => default(Context::per_thread_queue),
        _ => {
            let stream = STREAMS.get(handle.0).ok_or(Error::INVALID_HANDLE)?;
            stream.context.check()?;
            Ok(stream)
        }
    }
}

/// Ends a stream; its work is still done.
pub fn destroy(handle: CUstream) -> Result {
    let stream = STREAMS.remove(handle.0).ok_or(Error::INVALID_HANDLE)?;
    scheduler().retire(stream.queue);
    Ok(())
}

/// Ends the handles of a context that is gone.
pub fn forget(context: &Context) {
    STREAMS.remove_where(|s| s.context.handle == context.handle);
}
