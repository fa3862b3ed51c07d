//! Streams and events of the current context.

use std::ffi::{c_uint, c_void};
use std::ptr;

use cudarc::driver::sys::{
    CUstream, CUstreamBatchMemOpParams,
    CUstreamBatchMemOpParams_union_CUstreamMemOpWriteValueParams_st as WriteValue,
    CUstreamBatchMemOpParams_union_CUstreamMemOpWriteValueParams_st__bindgen_ty_1 as Value,
    CUstreamBatchMemOpType,
};

use super::call::{DevicePtr, Event, HostFunction, Stream};
use super::status::{Result, check, check_ready, missing};
use super::table::{Driver, Status};

/// The most bytes that one [`Driver::stream_write`] writes. On an H200 one of 12 bytes is enqueued in 1.5 us, of 24 in 1.6 and of 32 in 1.9,
/// a copy from page-locked memory in 2.1; with 64 bytes the kernel behind it comes 2.8 us later.
const MOST_WRITTEN: usize = 24;

/// When a stream wait is satisfied (`CUstreamWaitValue_flags`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum WaitFor {
    /// `(signed)(*addr - value) >= 0`
    AtLeast = 0,
    /// `*addr == value`
    Equal = 1,
    /// `*addr & value != 0`
    And = 2,
}

/// How a stream is ordered with the legacy NULL stream (`CUstream_flags`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Order {
    /// It waits for what is on the NULL stream, and the NULL stream for it, as users' own streams do.
    AfterNull = 0,
    /// Neither waits for the other.
    Apart = 1,
}

/// `CU_EVENT_BLOCKING_SYNC` (cuda.h).
const EVENT_BLOCKING_SYNC: c_uint = 1;
/// `CU_EVENT_DISABLE_TIMING` (cuda.h).
const EVENT_DISABLE_TIMING: c_uint = 2;
impl Driver {
    /// `cuStreamCreate`
    pub fn create_stream(&self, order: Order) -> Result<Stream> {
        let mut stream = ptr::null_mut();
        // SAFETY: `stream` is valid for the write.
        check("cuStreamCreate", unsafe { (self.stream_create)(&mut stream, order as c_uint) })?;
        Ok(Stream(stream))
    }

    /// `cuStreamDestroy`. Work already enqueued is still done.
    ///
    /// # Safety
    /// The handle is not used again.
    pub unsafe fn destroy_stream(&self, stream: Stream) -> Result<()> {
        // SAFETY: the caller's promise.
        check("cuStreamDestroy", unsafe { (self.stream_destroy)(stream.0) })
    }

    /// `cuStreamQuery`: whether all work of the stream is done.
    pub fn query_stream(&self, stream: Stream) -> Result<bool> {
        // SAFETY: takes a handle.
        check_ready("cuStreamQuery", unsafe { (self.stream_query)(stream.0) })
    }

    /// `cuStreamSynchronize`
    pub fn synchronize_stream(&self, stream: Stream) -> Result<()> {
        // SAFETY: takes a handle.
        check("cuStreamSynchronize", unsafe { (self.stream_synchronize)(stream.0) })
    }

    /// Whether the driver has the stream memory operations. Whether a device does is an attribute of it.
    pub fn has_stream_memory_operations(&self) -> bool {
        self.stream_wait_value_32.is_some()
            && self.stream_wait_value_64.is_some()
            && self.stream_write_value_32.is_some()
            && self.stream_write_value_64.is_some()
    }

    /// Whether [`Driver::stream_write`] can write so many bytes there.
    pub fn can_stream_write(&self, address: DevicePtr, bytes: usize) -> bool {
        let is_aligned = (address | bytes as u64) % size_of::<u32>() as u64 == 0;
        is_aligned && bytes <= MOST_WRITTEN && self.stream_batch_mem_op.is_some()
    }

    /// `cuStreamWaitValue32`
    ///
    /// # Safety
    /// `address` is a 4-byte aligned word that lives until the wait is over.
    pub unsafe fn stream_wait_value_32(
        &self,
        stream: Stream,
        address: DevicePtr,
        value: u32,
        condition: WaitFor,
    ) -> Result<()> {
        let call = "cuStreamWaitValue32";
        let function = missing(call, self.stream_wait_value_32)?;
        // SAFETY: the caller's promise.
        check(call, unsafe { function(stream.0, address, value, condition as c_uint) })
    }

    /// `cuStreamWaitValue64`
    ///
    /// # Safety
    /// `address` is an 8-byte aligned word that lives until the wait is over.
    pub unsafe fn stream_wait_value_64(
        &self,
        stream: Stream,
        address: DevicePtr,
        value: u64,
        condition: WaitFor,
    ) -> Result<()> {
        let call = "cuStreamWaitValue64";
        let function = missing(call, self.stream_wait_value_64)?;
        // SAFETY: the caller's promise.
        check(call, unsafe { function(stream.0, address, value, condition as c_uint) })
    }

    /// `cuStreamWriteValue32`, behind all earlier work of the stream, whose writes are visible before it.
    ///
    /// # Safety
    /// `address` is a 4-byte aligned word that lives until the write is done.
    pub unsafe fn stream_write_value_32(&self, stream: Stream, address: DevicePtr, value: u32) -> Result<()> {
        let call = "cuStreamWriteValue32";
        let function = missing(call, self.stream_write_value_32)?;
        // SAFETY: the caller's promise; flags 0 keep the memory barrier.
        check(call, unsafe { function(stream.0, address, value, 0) })
    }

    /// `cuStreamWriteValue64`, behind all earlier work of the stream, whose writes are visible before it.
    ///
    /// # Safety
    /// `address` is an 8-byte aligned word that lives until the write is done.
    pub unsafe fn stream_write_value_64(&self, stream: Stream, address: DevicePtr, value: u64) -> Result<()> {
        let call = "cuStreamWriteValue64";
        let function = missing(call, self.stream_write_value_64)?;
        // SAFETY: the caller's promise; flags 0 keep the memory barrier.
        check(call, unsafe { function(stream.0, address, value, 0) })
    }

    /// `cuStreamBatchMemOp`: writes `bytes`, which [`can_stream_write`](Self::can_stream_write), behind all earlier work of the stream.
    ///
    /// # Safety
    /// At `address` is so much device memory, which lives until it is written.
    pub unsafe fn stream_write(&self, stream: Stream, address: DevicePtr, bytes: &[u8]) -> Result<()> {
        let call = "cuStreamBatchMemOp";
        let function = missing(call, self.stream_batch_mem_op)?;
        let mut operations = [CUstreamBatchMemOpParams { pad: [0; 6] }; MOST_WRITTEN / size_of::<u32>()];
        let (mut count, mut rest, mut address) = (0, bytes, address);
        while let Some(word) = rest.first_chunk() {
            let (operation, value, written) = match rest.first_chunk() {
                Some(double) if address % size_of::<u64>() as u64 == 0 => (
                    CUstreamBatchMemOpType::CU_STREAM_MEM_OP_WRITE_VALUE_64,
                    Value { value64: u64::from_ne_bytes(*double) },
                    size_of::<u64>(),
                ),
                _ => (
                    CUstreamBatchMemOpType::CU_STREAM_MEM_OP_WRITE_VALUE_32,
                    Value { value: u32::from_ne_bytes(*word) },
                    size_of::<u32>(),
                ),
            };
            // Flags 0, with the memory barrier: without it is "not supported in the v2 API" (cuda.h).
            operations[count].writeValue =
                WriteValue { operation, address, __bindgen_anon_1: value, flags: 0, alias: 0 };
            count += 1;
            rest = &rest[written..];
            address += written as u64;
        }
        // SAFETY: the caller's promise; the operations are read before the call returns.
        check(call, unsafe { function(stream.0, count as c_uint, operations.as_mut_ptr(), 0) })
    }

    /// `cuLaunchHostFunc`, else `cuStreamAddCallback`: calls `function(data)` behind all earlier work of the stream.
    /// Is not called when that work failed.
    ///
    /// # Safety
    /// `function` may be called with `data` on any thread and does not call the driver.
    pub unsafe fn launch_host_function(
        &self,
        stream: Stream,
        function: HostFunction,
        data: *mut c_void,
    ) -> Result<()> {
        if let Some(launch) = self.launch_host_func {
            // SAFETY: the caller's promise.
            return check("cuLaunchHostFunc", unsafe { launch(stream.0, Some(function), data) });
        }
        let callback = Box::into_raw(Box::new(Callback { function, data }));
        // SAFETY: `call_back` takes the box back; the rest is the caller's promise.
        let status = unsafe { (self.stream_add_callback)(stream.0, call_back, callback.cast(), 0) };
        check("cuStreamAddCallback", status).inspect_err(|_| {
            // SAFETY: the driver refused the callback, so the box is still ours.
            drop(unsafe { Box::from_raw(callback) });
        })
    }

    /// `cuEventCreate` without timing. `blocking`: a thread that waits for it sleeps instead of spinning.
    pub fn create_event(&self, blocking: bool) -> Result<Event> {
        let flags = EVENT_DISABLE_TIMING | if blocking { EVENT_BLOCKING_SYNC } else { 0 };
        let mut event = ptr::null_mut();
        // SAFETY: `event` is valid for the write.
        check("cuEventCreate", unsafe { (self.event_create)(&mut event, flags) })?;
        Ok(Event(event))
    }

    /// `cuEventDestroy`. What waits for the event still does.
    ///
    /// # Safety
    /// The handle is not used again.
    pub unsafe fn destroy_event(&self, event: Event) -> Result<()> {
        // SAFETY: the caller's promise.
        check("cuEventDestroy", unsafe { (self.event_destroy)(event.0) })
    }

    /// `cuStreamWaitEvent`: what is enqueued from now on waits for the event.
    pub fn stream_wait_event(&self, stream: Stream, event: Event) -> Result<()> {
        // SAFETY: takes handles; the flags must be 0.
        check("cuStreamWaitEvent", unsafe { (self.stream_wait_event)(stream.0, event.0, 0) })
    }

    /// `cuEventRecord`
    pub fn record_event(&self, event: Event, stream: Stream) -> Result<()> {
        // SAFETY: takes handles.
        check("cuEventRecord", unsafe { (self.event_record)(event.0, stream.0) })
    }

    /// `cuEventSynchronize`
    pub fn synchronize_event(&self, event: Event) -> Result<()> {
        // SAFETY: takes a handle.
        check("cuEventSynchronize", unsafe { (self.event_synchronize)(event.0) })
    }
}

/// What [`Driver::launch_host_function`] passes through the older callback interface.
struct Callback {
    function: HostFunction,
    data: *mut c_void,
}

unsafe extern "C" fn call_back(_stream: CUstream, status: Status, callback: *mut c_void) {
    // SAFETY: `launch_host_function` made the box, and the driver calls back once.
    let callback = unsafe { Box::from_raw(callback.cast::<Callback>()) };
    // As cuLaunchHostFunc, which does not call when an earlier piece of work failed.
    if status == 0 {
        // SAFETY: the promise of `launch_host_function`'s caller.
        unsafe { (callback.function)(callback.data) };
    }
}
