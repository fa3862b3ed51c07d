//! OpenACC.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;

use super::memory::address;
use super::{entry, host};
use crate::device::{Device, registry};
use crate::driver::{ContextGuard, Stream};
use crate::error::{Error, Result};
use crate::openacc::property::{self, Value};
use crate::openacc::queue::StreamQueue;
use crate::openacc::{AsyncQueue, exec};

/// # Safety
/// `queue` is null, or one of ours that is alive for `'a`.
unsafe fn queue<'a>(queue: *const AsyncQueue<'a>) -> Result<&'a AsyncQueue<'a>> {
    // SAFETY: the caller's promise.
    unsafe { queue.as_ref() }.ok_or_else(|| Error::Argument("no asynchronous queue".into()))
}

/// # Safety
/// `dims` is null or points at three words.
unsafe fn clauses(dims: *const [c_uint; 3]) -> [u32; 3] {
    // SAFETY: the caller's promise.
    unsafe { dims.as_ref() }.copied().unwrap_or_default()
}

/// Runs a compute region and returns when it has ended. `function` is an address from the table of the image, `variables` the
/// device address of the region's arguments, `dims` what its clauses ask for.
///
/// # Safety
/// As libgomp calls it: what the region's arguments point at lives until the region has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_OFFLOAD_openacc_exec(
    function: *mut c_void,
    _count: usize,
    _host_addresses: *mut *mut c_void,
    variables: *mut *mut c_void,
    dims: *const [c_uint; 3],
    _mapping: *mut c_void,
) {
    entry::guard("GOMP_OFFLOAD_openacc_exec", || {
        // SAFETY: the caller's promise.
        unsafe { exec::run(function.addr(), address(variables.cast()), clauses(dims), None) }
    });
}

/// Enqueues a compute region.
///
/// # Safety
/// As [`GOMP_OFFLOAD_openacc_exec`]. `on` is a queue of ours.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_OFFLOAD_openacc_async_exec(
    function: *mut c_void,
    _count: usize,
    _host_addresses: *mut *mut c_void,
    variables: *mut *mut c_void,
    dims: *const [c_uint; 3],
    _mapping: *mut c_void,
    on: *const AsyncQueue<'_>,
) {
    entry::guard("GOMP_OFFLOAD_openacc_async_exec", || {
        // SAFETY: the caller's promise.
        unsafe {
            let on = queue(on)?.stream()?;
            exec::run(function.addr(), address(variables.cast()), clauses(dims), Some(on))
        }
    });
}

/// Prepares a thread for a device. The program may go on to call CUDA's driver by itself, so the device's context stays current
/// unless the thread has another one.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_OFFLOAD_openacc_create_thread_data(ordinal: c_int) -> *mut c_void {
    entry::guard("GOMP_OFFLOAD_openacc_create_thread_data", || {
        let device = registry::get(ordinal)?;
        device.check_usable()?;
        if device.driver.current_context()?.is_none() {
            std::mem::forget(ContextGuard::enter(device.driver, device.context)?);
        }
        Ok(ptr::from_ref(device).cast_mut().cast())
    })
}

/// Ends what [`GOMP_OFFLOAD_openacc_create_thread_data`] began: there is nothing to free.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_OFFLOAD_openacc_destroy_thread_data(_data: *mut c_void) {}

/// Makes an asynchronous queue, or null.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_OFFLOAD_openacc_async_construct(ordinal: c_int) -> *mut c_void {
    entry::guard("GOMP_OFFLOAD_openacc_async_construct", || {
        let queue = StreamQueue::new(registry::get(ordinal)?)?;
        Ok(Box::into_raw(Box::new(AsyncQueue::Stream(queue))).cast())
    })
}

/// Ends an asynchronous queue. Work already enqueued is still done.
///
/// # Safety
/// `queue` was made by [`GOMP_OFFLOAD_openacc_async_construct`] and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_OFFLOAD_openacc_async_destruct(queue: *mut AsyncQueue<'static>) -> bool {
    entry::guard("GOMP_OFFLOAD_openacc_async_destruct", || {
        if queue.is_null() {
            return Ok(true);
        }
        // SAFETY: the caller's promise.
        match *unsafe { Box::from_raw(queue) } {
            AsyncQueue::Stream(queue) => queue.destroy().map(|()| true),
            AsyncQueue::Request(_) => Ok(true),
        }
    })
}

/// Whether everything enqueued so far is done: 1 or 0, or -1 when some of it failed.
///
/// # Safety
/// `on` is a queue of ours.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_OFFLOAD_openacc_async_test(on: *const AsyncQueue<'_>) -> c_int {
    entry::guard("GOMP_OFFLOAD_openacc_async_test", || {
        // SAFETY: the caller's promise.
        unsafe { queue(on) }?.stream()?.is_done().map(c_int::from)
    })
}

/// Waits until everything enqueued so far is done.
///
/// # Safety
/// `on` is a queue of ours.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_OFFLOAD_openacc_async_synchronize(on: *const AsyncQueue<'_>) -> bool {
    entry::guard("GOMP_OFFLOAD_openacc_async_synchronize", || {
        // SAFETY: the caller's promise.
        unsafe { queue(on) }?.synchronize().map(|()| true)
    })
}

/// Has what `later` gets from now on wait for what `earlier` has got.
///
/// # Safety
/// Both are queues of ours.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_OFFLOAD_openacc_async_serialize(
    earlier: *const AsyncQueue<'_>,
    later: *const AsyncQueue<'_>,
) -> bool {
    entry::guard("GOMP_OFFLOAD_openacc_async_serialize", || {
        // SAFETY: the caller's promise.
        let (earlier, later) = unsafe { (queue(earlier)?.stream()?, queue(later)?.stream()?) };
        earlier.precede(later).map(|()| true)
    })
}

/// Calls `function(argument)` when everything enqueued so far is done.
///
/// # Safety
/// `on` is a queue of ours; `function` may be called with `argument` on any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_OFFLOAD_openacc_async_queue_callback(
    on: *const AsyncQueue<'_>,
    function: unsafe extern "C" fn(*mut c_void),
    argument: *mut c_void,
) {
    entry::guard("GOMP_OFFLOAD_openacc_async_queue_callback", || {
        // SAFETY: the caller's promise.
        unsafe { queue(on)?.stream()?.call_back(function, argument) }
    });
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

/// Copies on the device, in the queue's order.
///
/// # Safety
/// `on` is a queue of ours.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_OFFLOAD_openacc_async_dev2dev(
    _ordinal: c_int,
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    on: *const AsyncQueue<'_>,
) -> bool {
    entry::guard("GOMP_OFFLOAD_openacc_async_dev2dev", || {
        // SAFETY: the caller's promise.
        unsafe { queue(on) }?.stream()?.on_device(address(to), address(from), bytes).map(|()| true)
    })
}

/// A property of a device: a number, or a text that is never freed. 0 or null where there is none.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_OFFLOAD_openacc_get_property(ordinal: c_int, property: c_int) -> Value {
    entry::guard("GOMP_OFFLOAD_openacc_get_property", || match registry::get(ordinal) {
        Ok(device) => property::value(device, property),
        // A device that exists but is not in use: no error.
        Err(_) => Ok(Value::NONE),
    })
}

/// The device that this thread uses.
fn current_device() -> Option<&'static Device> {
    // SAFETY: null, or what `create_thread_data` made of a device, which lives until the process ends.
    unsafe { host::openacc::thread_data().cast::<Device>().as_ref() }
}

/// Where the `CUdevice` of this thread's device is, or null.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_OFFLOAD_openacc_cuda_get_current_device() -> *mut c_void {
    entry::guard("GOMP_OFFLOAD_openacc_cuda_get_current_device", || {
        let handle = current_device().map(|device| ptr::from_ref(device.handle()));
        Ok(handle.map_or(ptr::null_mut(), |handle| handle.cast_mut().cast()))
    })
}

/// The `CUcontext` of this thread's device, or null.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_OFFLOAD_openacc_cuda_get_current_context() -> *mut c_void {
    entry::guard("GOMP_OFFLOAD_openacc_cuda_get_current_context", || {
        Ok(current_device().map_or(ptr::null_mut(), |device| device.context.0.cast()))
    })
}

/// The `CUstream` of a queue.
///
/// # Safety
/// `on` is a queue of ours.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_OFFLOAD_openacc_cuda_get_stream(on: *const AsyncQueue<'_>) -> *mut c_void {
    entry::guard("GOMP_OFFLOAD_openacc_cuda_get_stream", || {
        // SAFETY: the caller's promise.
        Ok(unsafe { queue(on) }?.stream()?.handle().0.cast())
    })
}

/// Has a queue use a `CUstream` of the program's, which keeps it alive as long. 1, or -1 when what was enqueued so far failed.
///
/// # Safety
/// `on` is a queue of ours, `stream` a stream of the same device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_OFFLOAD_openacc_cuda_set_stream(
    on: *const AsyncQueue<'_>,
    stream: *mut c_void,
) -> c_int {
    entry::guard("GOMP_OFFLOAD_openacc_cuda_set_stream", || {
        // SAFETY: the caller's promise.
        unsafe { queue(on) }?.stream()?.use_stream(Stream(stream.cast())).map(|()| 1)
    })
}
