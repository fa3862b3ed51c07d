//! Memory of the current context: see [`super::ContextGuard`].

use std::ffi::{c_uint, c_void};
use std::ptr;

use cudarc::driver::sys::{CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUlimit, CUmem_advise, CUpointer_attribute};

use super::call::{Device, DevicePtr, Stream};
use super::status::{Result, check, missing};
use super::table::Driver;

/// `CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP` (cuda.h).
const HOST_ALLOC_FLAGS: c_uint = 1 | 2;
/// `CU_MEM_ATTACH_GLOBAL` (cuda.h).
const MEM_ATTACH_GLOBAL: c_uint = 1;

impl Driver {
    /// `cuCtxSetLimit`
    pub fn set_limit(&self, limit: CUlimit, value: usize) -> Result<()> {
        // SAFETY: takes two numbers.
        check("cuCtxSetLimit", unsafe { (self.ctx_set_limit)(limit, value) })
    }

    /// `cuMemAlloc`
    pub fn mem_alloc(&self, bytes: usize) -> Result<DevicePtr> {
        let mut address = 0;
        // SAFETY: `address` is valid for the write.
        check("cuMemAlloc", unsafe { (self.mem_alloc)(&mut address, bytes) })?;
        Ok(address)
    }

    /// `cuMemAllocManaged`, visible to every stream.
    pub fn mem_alloc_managed(&self, bytes: usize) -> Result<DevicePtr> {
        let mut address = 0;
        // SAFETY: `address` is valid for the write.
        check("cuMemAllocManaged", unsafe {
            (self.mem_alloc_managed)(&mut address, bytes, MEM_ATTACH_GLOBAL)
        })?;
        Ok(address)
    }

    /// `cuMemAdvise`: pages of managed memory shall be the device's from their first touch on.
    pub fn prefer_device(&self, address: DevicePtr, bytes: usize, device: Device) -> Result<()> {
        let call = "cuMemAdvise";
        let function = missing(call, self.mem_advise)?;
        // SAFETY: the driver checks the range.
        check(call, unsafe {
            function(address, bytes, CUmem_advise::CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device)
        })
    }

    /// `cuMemFree`. Waits for running kernels and pending stream waits.
    ///
    /// # Safety
    /// Nothing on the device or the host uses the memory any more.
    pub unsafe fn mem_free(&self, address: DevicePtr) -> Result<()> {
        // SAFETY: the caller's promise; the driver refuses what is not an allocation.
        check("cuMemFree", unsafe { (self.mem_free)(address) })
    }

    /// `cuMemHostAlloc`: page-locked memory that every device sees at its host address.
    pub fn host_alloc(&self, bytes: usize) -> Result<*mut c_void> {
        let mut address = ptr::null_mut();
        // SAFETY: `address` is valid for the write.
        check("cuMemHostAlloc", unsafe { (self.mem_host_alloc)(&mut address, bytes, HOST_ALLOC_FLAGS) })?;
        Ok(address)
    }

    /// `cuMemFreeHost`. Waits as [`Driver::mem_free`] does.
    ///
    /// # Safety
    /// As for [`Driver::mem_free`].
    pub unsafe fn host_free(&self, address: *mut c_void) -> Result<()> {
        // SAFETY: the caller's promise.
        check("cuMemFreeHost", unsafe { (self.mem_free_host)(address) })
    }

    /// `cuMemGetInfo`: free and total bytes.
    pub fn mem_info(&self) -> Result<(usize, usize)> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: both are valid for the writes.
        check("cuMemGetInfo", unsafe { (self.mem_get_info)(&mut free, &mut total) })?;
        Ok((free, total))
    }

    /// `cuMemGetAddressRange`: start and size of the allocation that `address` lies in.
    pub fn address_range(&self, address: DevicePtr) -> Result<(DevicePtr, usize)> {
        let (mut start, mut bytes) = (0, 0);
        // SAFETY: both are valid for the writes.
        check("cuMemGetAddressRange", unsafe {
            (self.mem_get_address_range)(&mut start, &mut bytes, address)
        })?;
        Ok((start, bytes))
    }

    /// `cuPointerGetAttributes` of `CU_POINTER_ATTRIBUTE_MEMORY_TYPE`: a `CUmemorytype`, or 0 for memory that the driver does
    /// not know. (`cuPointerGetAttribute` would fail there.)
    pub fn memory_type(&self, address: DevicePtr) -> Result<u32> {
        let mut kind = 0_u32;
        let mut attribute = CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
        let mut value = (&raw mut kind).cast::<c_void>();
        // SAFETY: both arrays have one item; the attribute's value is an enumeration, so `kind` is valid for the write.
        let status = unsafe { (self.pointer_get_attributes)(1, &mut attribute, &mut value, address) };
        check("cuPointerGetAttributes", status)?;
        Ok(kind)
    }

    /// Whether the driver knows the first and the last of `bytes` bytes of host memory, at least 1: page-locked, registered or managed
    /// memory, which the device copies by itself.
    pub fn is_page_locked(&self, host: *const c_void, bytes: usize) -> Result<bool> {
        let first = host.addr() as DevicePtr;
        Ok(self.memory_type(first)? != 0 && self.memory_type(first + bytes as u64 - 1)? != 0)
    }

    /// `cuMemcpyHtoD`
    ///
    /// # Safety
    /// `bytes` bytes at `from` can be read and nobody writes them meanwhile.
    pub unsafe fn copy_to_device(&self, to: DevicePtr, from: *const c_void, bytes: usize) -> Result<()> {
        // SAFETY: the caller's promise; the driver checks the device's side.
        check("cuMemcpyHtoD", unsafe { (self.memcpy_htod)(to, from, bytes) })
    }

    /// `cuMemcpyDtoH`
    ///
    /// # Safety
    /// `bytes` bytes at `to` can be written and nobody else uses them meanwhile.
    pub unsafe fn copy_to_host(&self, to: *mut c_void, from: DevicePtr, bytes: usize) -> Result<()> {
        // SAFETY: the caller's promise; the driver checks the device's side.
        check("cuMemcpyDtoH", unsafe { (self.memcpy_dtoh)(to, from, bytes) })
    }

    /// `cuMemcpyHtoDAsync`
    ///
    /// # Safety
    /// As for [`Driver::copy_to_device`], until the stream has done the copy.
    pub unsafe fn copy_to_device_async(
        &self,
        to: DevicePtr,
        from: *const c_void,
        bytes: usize,
        stream: Stream,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        check("cuMemcpyHtoDAsync", unsafe { (self.memcpy_htod_async)(to, from, bytes, stream.0) })
    }

    /// `cuMemcpyDtoHAsync`
    ///
    /// # Safety
    /// As for [`Driver::copy_to_host`], until the stream has done the copy.
    pub unsafe fn copy_to_host_async(
        &self,
        to: *mut c_void,
        from: DevicePtr,
        bytes: usize,
        stream: Stream,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        check("cuMemcpyDtoHAsync", unsafe { (self.memcpy_dtoh_async)(to, from, bytes, stream.0) })
    }

    /// `cuMemcpyDtoDAsync`
    pub fn copy_on_device_async(
        &self,
        to: DevicePtr,
        from: DevicePtr,
        bytes: usize,
        stream: Stream,
    ) -> Result<()> {
        // SAFETY: the driver checks both addresses; no memory of Rust's is touched.
        check("cuMemcpyDtoDAsync", unsafe { (self.memcpy_dtod_async)(to, from, bytes, stream.0) })
    }

    /// `cuMemcpy2DUnaligned`: any pitch, unlike `cuMemcpy2D`.
    ///
    /// # Safety
    /// Host memory that the description names can be read or written, as it says.
    pub unsafe fn copy_2d(&self, copy: &CUDA_MEMCPY2D) -> Result<()> {
        // SAFETY: the caller's promise.
        check("cuMemcpy2DUnaligned", unsafe { (self.memcpy_2d)(copy) })
    }

    /// `cuMemcpy2DAsync`
    ///
    /// # Safety
    /// As for [`Driver::copy_2d`], until the stream has done the copy.
    pub unsafe fn copy_2d_async(&self, copy: &CUDA_MEMCPY2D, stream: Stream) -> Result<()> {
        // SAFETY: the caller's promise.
        check("cuMemcpy2DAsync", unsafe { (self.memcpy_2d_async)(copy, stream.0) })
    }

    /// `cuMemcpy3D`
    ///
    /// # Safety
    /// As for [`Driver::copy_2d`].
    pub unsafe fn copy_3d(&self, copy: &CUDA_MEMCPY3D) -> Result<()> {
        // SAFETY: the caller's promise.
        check("cuMemcpy3D", unsafe { (self.memcpy_3d)(copy) })
    }

    /// `cuMemsetD8Async`
    pub fn memset_async(&self, address: DevicePtr, value: u8, bytes: usize, stream: Stream) -> Result<()> {
        // SAFETY: the driver checks the range.
        check("cuMemsetD8Async", unsafe { (self.memset_d8_async)(address, value, bytes, stream.0) })
    }
}
