//! A device in use.

use std::sync::{Mutex, OnceLock, PoisonError};

use cudarc::driver::sys::CUlimit;

use super::{Attributes, fork};
use crate::driver::gate::Gate;
use crate::driver::{self, Code, Context, ContextGuard, CudaError, DevicePtr, Driver};
use crate::env::{self, Settings, WaitPolicy};
use crate::error::{Error, Result};
use crate::image::{self, Image, KernelRef};
use crate::memory::heap::Heap;
use crate::memory::{alloc, pipeline, small, staging};
use crate::{launch, openacc, reverse};

/// One device that the program uses. Lives until the process ends, since kernels, host functions and other threads may
/// refer to it at any time.
pub struct Device {
    /// The device's number, as libgomp counts.
    pub ordinal: usize,
    /// The driver.
    pub driver: &'static Driver,
    /// The primary context, which the program's other CUDA code uses as well.
    pub context: Context,
    /// What the device is and can do.
    pub attrs: Attributes,
    /// Keeps driver calls that block apart from sleeping waits.
    pub gate: Gate,
    /// What copies go through.
    pub staging: staging::Pool,
    /// What large copies go through.
    pub lanes: pipeline::Lanes,
    /// What launches keep.
    pub launch: launch::State,
    /// What reverse offload keeps.
    pub reverse: reverse::State,
    /// The images that are loaded.
    pub images: Mutex<Vec<Image>>,
    /// Address and size of the ICVs that libgomp knows: those of the first image that had any.
    pub known_icvs: OnceLock<(DevicePtr, usize)>,
    /// Its memory.
    pub memory: alloc::Memory,
    /// Copies that the host does not wait for.
    pub small: small::Copies,
    /// What device code allocates from.
    pub heap: Heap,
    /// What OpenACC keeps.
    pub openacc: openacc::State,
    handle: driver::Device,
    settings: &'static Settings,
    /// Set when a kernel has failed: the context is of no use any more.
    lost: OnceLock<()>,
}

impl Device {
    /// Starts to use a device, whose primary context has been retained.
    ///
    /// # Errors
    /// When the device cannot run GCC's code, or the driver refuses.
    pub fn new(
        driver: &'static Driver,
        ordinal: usize,
        handle: driver::Device,
        context: Context,
        settings: &'static Settings,
    ) -> Result<Device> {
        let attrs = Attributes::query(driver, handle)?;
        if attrs.warp_size != 32 {
            // The compiler's code counts on it.
            return Err(Error::Argument(format!(
                "{}: warps of {} threads, not 32",
                attrs.name, attrs.warp_size
            )));
        }
        if !attrs.unified_addressing {
            return Err(Error::Argument(format!("{}: no unified addressing", attrs.name)));
        }
        let _current = ContextGuard::enter(driver, context)?;
        if let Some(bytes) = settings.native_stack {
            driver.set_limit(CUlimit::CU_LIMIT_STACK_SIZE, bytes)?;
        }
        let channels = env::channels();
        let marks = attrs.stream_memory_operations
            && matches!(settings.wait, WaitPolicy::Adaptive | WaitPolicy::Spin)
            && !channels.are_narrow();
        Ok(Device {
            ordinal,
            driver,
            context,
            attrs,
            gate: Gate::default(),
            staging: staging::Pool::new(driver, channels.for_copies(), marks)?,
            lanes: pipeline::Lanes::default(),
            launch: launch::State::new(channels.for_marks()),
            reverse: reverse::State::default(),
            images: Mutex::default(),
            known_icvs: OnceLock::new(),
            memory: alloc::Memory::new(alloc::most_kept(settings, driver.device_memory(handle)?)),
            small: small::Copies::default(),
            heap: Heap::default(),
            openacc: openacc::State::default(),
            handle,
            settings,
            lost: OnceLock::new(),
        })
    }

    /// Whether the device can be used.
    ///
    /// # Errors
    /// Where it is lost, or was in use before a fork.
    pub fn check_usable(&self) -> Result<()> {
        if self.is_lost() {
            return Err(Error::Lost);
        }
        if self.is_forked() {
            return Err(Error::Forked { ordinal: self.ordinal });
        }
        Ok(())
    }

    /// Makes the device's context current on this thread.
    ///
    /// # Errors
    /// At once where the device cannot be used.
    pub fn enter(&self) -> Result<ContextGuard> {
        self.check_usable()?;
        Ok(ContextGuard::enter(self.driver, self.context)?)
    }

    /// What to tell about a driver call that failed while `doing` something. The first fault of a kernel is told of, with all
    /// kernels that ran: every call reports it, and none says whose it is. Those that follow from it are not told of.
    pub fn failed(&self, error: CudaError, doing: impl FnOnce() -> String) -> Error {
        self.failed_beside("", error, doing)
    }

    /// As [`failed`](Self::failed), where `doing` tells of the kernel `named` already.
    fn failed_beside(&self, named: &str, error: CudaError, doing: impl FnOnce() -> String) -> Error {
        if error.code == Code::DEINITIALIZED {
            return Error::ShuttingDown;
        }
        if error.code.is_fault() && self.lost.set(()).is_err() {
            return Error::Lost;
        }
        let mut text = doing();
        if error.code.is_fault() {
            let mut others = self.launch.running.names();
            others.retain(|name| **name != *named);
            if !others.is_empty() {
                text = format!("{text}; kernels running then: {}", others.join(", "));
            }
        }
        Error::Context(text, error)
    }

    /// Whether a kernel has failed, and with it every other use of the device.
    pub fn is_lost(&self) -> bool {
        self.lost.get().is_some()
    }

    /// Whether this process is a child of the one that uses the device.
    pub fn is_forked(&self) -> bool {
        fork::is_child()
    }

    /// Whether the driver may be asked to tear something down: not where that would wait for a kernel that in turn
    /// waits for this thread, or touch a context that is of no use.
    pub fn is_idle(&self) -> bool {
        !self.is_lost() && !self.is_forked() && reverse::serving().is_none() && !self.launch.running.is_any()
    }

    /// The driver's name for the device.
    pub fn handle(&self) -> &driver::Device {
        &self.handle
    }

    /// Dynamic shared memory of each team, in bytes.
    pub fn lowlat_pool(&self) -> u32 {
        self.settings.lowlat_pool
    }

    /// How host threads wait for their regions.
    pub fn wait_policy(&self) -> WaitPolicy {
        self.settings.wait
    }

    /// Whether streams write end words and wait for requests. Where streams share few hardware channels, a mark behind a kernel
    /// would hold back others.
    pub fn uses_memory_operations(&self) -> bool {
        self.attrs.stream_memory_operations
            && self.settings.wait != WaitPolicy::Poll
            && !self.has_narrow_channels()
    }

    /// With which launch of a kernel on a queue it becomes a graph, if ever.
    pub fn graphs_after(&self) -> Option<u32> {
        self.settings.graphs.filter(|_| self.driver.has_graphs())
    }

    /// Whether anything that waits on a stream may hold back other streams.
    pub fn has_narrow_channels(&self) -> bool {
        env::channels().are_narrow()
    }

    /// What to tell about a kernel that could not be launched, or failed.
    pub fn kernel_failed(&self, kernel: &str, error: Error) -> Error {
        let Error::Cuda(error) = error else { return error };
        let hint = match error.code {
            Code::ILLEGAL_ADDRESS => {
                " (perhaps a pointer that is not mapped, or a stack overflow: see GOMP_NVPTX_NATIVE_GPU_THREAD_STACK_SIZE)"
            }
            Code::LAUNCH_FAILED => " (perhaps abort was called)",
            _ => "",
        };
        self.failed_beside(kernel, error, || {
            format!("kernel {kernel} on device {} ({}) failed{hint}", self.ordinal, self.attrs.name)
        })
    }

    /// The kernel that libgomp knows by `address`.
    pub fn kernel(&self, address: usize) -> Option<KernelRef> {
        image::find_kernel(&self.lock_images(), address)
    }

    /// The images, for this thread alone.
    pub fn lock_images(&self) -> std::sync::MutexGuard<'_, Vec<Image>> {
        self.images.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
