//! OpenACC's profiling interface (acc_prof.h): the events that only the plugin knows of. libgomp dispatches all others.

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;

use super::dims::Dims;
use crate::abi::host::openacc::{Profiled, profiled};
use crate::driver::DevicePtr;

/// `acc_prof_info`: its first member. The rest is libgomp's.
#[repr(C)]
pub struct ProfInfo {
    /// `acc_event_t`
    pub event_type: c_int,
}

/// `acc_api_info`: its first member. The rest is libgomp's.
#[repr(C)]
pub struct ApiInfo {
    /// `acc_device_api`
    pub device_api: c_int,
}

impl ApiInfo {
    /// `acc_device_api_cuda`
    pub const CUDA: c_int = 1;
}

/// `acc_event_t`
mod event {
    use std::ffi::c_int;
    pub const ALLOC: c_int = 8;
    pub const FREE: c_int = 9;
    pub const ENQUEUE_LAUNCH_START: c_int = 18;
    pub const ENQUEUE_LAUNCH_END: c_int = 19;
}

/// What every `acc_event_info` begins with.
#[repr(C)]
struct Head {
    event_type: c_int,
    valid_bytes: c_int,
    /// `acc_construct_t`; libgomp does not tell, so it is `acc_construct_parallel`, as with the stock plugin.
    parent_construct: c_int,
    /// 1: the program did not ask for the action by itself.
    implicit: c_int,
    tool_info: *mut c_void,
}

/// `acc_data_event_info`
#[repr(C)]
struct DataEvent {
    head: Head,
    name: *const c_char,
    bytes: usize,
    host: *const c_void,
    device: *const c_void,
}

/// `acc_launch_event_info`
#[repr(C)]
struct LaunchEvent {
    head: Head,
    kernel: *const c_char,
    dims: [usize; 3],
}

// As a C program lays them out.
const _: () = assert!(size_of::<DataEvent>() == 56 && size_of::<LaunchEvent>() == 56);

fn head<T>(event_type: c_int) -> Head {
    Head {
        event_type,
        valid_bytes: size_of::<T>() as c_int,
        parent_construct: 0,
        implicit: 1,
        tool_info: ptr::null_mut(),
    }
}

/// Tells of device memory that was allocated.
pub fn allocated(address: DevicePtr, bytes: usize) {
    tell_data(event::ALLOC, address, bytes);
}

/// Tells of device memory that was freed. Its size is not known any more.
pub fn freed(address: DevicePtr) {
    tell_data(event::FREE, address, usize::MAX);
}

fn tell_data(event_type: c_int, address: DevicePtr, bytes: usize) {
    let Some(profiled) = profiled() else { return };
    let mut event = DataEvent {
        head: head::<DataEvent>(event_type),
        name: ptr::null(),
        bytes,
        host: ptr::null(),
        device: ptr::with_exposed_provenance(address as usize),
    };
    // SAFETY: a data event.
    unsafe { profiled.dispatch(event_type, &mut event) };
}

/// A launch that is told of.
pub struct Launch {
    profiled: Profiled,
    event: LaunchEvent,
    /// Where `event.kernel` points.
    _name: CString,
}

impl Launch {
    /// Tells that a kernel is about to be enqueued, if anyone wants to know.
    pub fn begin(kernel: &str, dims: Dims) -> Option<Launch> {
        let profiled = profiled()?;
        let name = CString::new(kernel).ok()?;
        let head = head::<LaunchEvent>(event::ENQUEUE_LAUNCH_START);
        let event = LaunchEvent { head, kernel: name.as_ptr(), dims: dims.0.map(|dim| dim as usize) };
        let mut launch = Launch { profiled, event, _name: name };
        launch.tell();
        Some(launch)
    }

    /// Tells that the kernel has been enqueued.
    pub fn end(mut self) {
        self.event.head.event_type = event::ENQUEUE_LAUNCH_END;
        self.tell();
    }

    fn tell(&mut self) {
        // SAFETY: a launch event.
        unsafe { self.profiled.dispatch(self.event.head.event_type, &mut self.event) };
    }
}
