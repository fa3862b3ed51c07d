//! OpenACC.

use std::ffi::{c_int, c_void};

use super::entry;
use super::memory::address;
use crate::device::registry;
use crate::error::{Error, Result};
use crate::openacc::AsyncQueue;

/// # Safety
/// `queue` is null, or one of ours that is alive for `'a`.
unsafe fn queue<'a>(queue: *const AsyncQueue<'a>) -> Result<&'a AsyncQueue<'a>> {
    // SAFETY: the caller's promise.
    unsafe { queue.as_ref() }.ok_or_else(|| Error::Argument("no asynchronous queue".into()))
}

/// Copies from the device to the host, in the queue's order.
///
/// # Safety
/// `bytes` bytes at `to` can be written and nobody else uses them until the queue has done the copy. `on` is a queue of ours.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_OFFLOAD_openacc_async_dev2host(
    ordinal: c_int,
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    on: *const AsyncQueue<'_>,
) -> bool {
    entry::guard("GOMP_OFFLOAD_openacc_async_dev2host", || {
        // SAFETY: the caller's promise.
        unsafe { queue(on)?.to_host(registry::get(ordinal)?, to, address(from), bytes) }.map(|()| true)
    })
}

/// Copies from the host to the device, in the queue's order.
///
/// # Safety
/// `bytes` bytes at `from` can be read and nobody writes them until the queue has done the copy. `on` is a queue of ours.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_OFFLOAD_openacc_async_host2dev(
    ordinal: c_int,
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    on: *const AsyncQueue<'_>,
) -> bool {
    entry::guard("GOMP_OFFLOAD_openacc_async_host2dev", || {
        // SAFETY: the caller's promise.
        unsafe { queue(on)?.to_device(registry::get(ordinal)?, address(to), from, bytes) }.map(|()| true)
    })
}

/// Waits until everything enqueued so far is done.
///
/// # Safety
/// `on` is a queue of ours.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_OFFLOAD_openacc_async_synchronize(on: *const AsyncQueue<'_>) -> bool {
    // SAFETY: the caller's promise.
    entry::guard("GOMP_OFFLOAD_openacc_async_synchronize", || {
        unsafe { queue(on) }?.synchronize().map(|()| true)
    })
}
