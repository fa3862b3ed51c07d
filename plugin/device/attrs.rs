//! What a device is and can do.

use cudarc::driver::sys::CUdevice_attribute::{self, *};

use crate::driver::{self, CudaError, Driver};

/// A device's properties. They need no context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attributes {
    /// The device's name, for people.
    pub name: String,
    /// Compute capability: 10 * major + minor, as in `sm_90`.
    pub compute_capability: u32,
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Threads that a multiprocessor can hold.
    pub max_threads_per_multiprocessor: u32,
    /// Threads that a block can have.
    pub max_threads_per_block: u32,
    /// Threads of a warp.
    pub warp_size: u32,
    /// Clock rate in kHz.
    pub clock_khz: u32,
    /// Whether device and host use the same addresses for the same memory.
    pub unified_addressing: bool,
    /// Whether kernels may use any memory of the host's by its address.
    pub pageable_memory_access: bool,
    /// Whether host and kernels may use managed memory at the same time, and kernels' first touch of a page backs it.
    pub concurrent_managed_access: bool,
    /// Whether streams can wait for and write 64-bit words.
    pub stream_memory_operations: bool,
}

impl Attributes {
    /// Asks the driver.
    ///
    /// # Errors
    /// The first query that failed.
    pub fn query(driver: &Driver, device: driver::Device) -> Result<Attributes, CudaError> {
        let number = |attribute| query_number(driver, device, attribute);
        let yes = |attribute| number(attribute).map(|value| value != 0);
        Ok(Attributes {
            name: driver.device_name(device)?,
            compute_capability: 10 * number(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?
                + number(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
            multiprocessors: number(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            max_threads_per_multiprocessor: number(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?,
            max_threads_per_block: number(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            warp_size: number(CU_DEVICE_ATTRIBUTE_WARP_SIZE)?,
            clock_khz: number(CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?,
            unified_addressing: yes(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING)?,
            pageable_memory_access: pageable_memory_access(driver, device)?,
            concurrent_managed_access: yes(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS)?,
            stream_memory_operations: driver.has_stream_memory_operations()
                && yes(CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS)?,
        })
    }
}

/// Whether kernels on `device` may use any memory of the host's by its address.
///
/// # Errors
/// When the driver cannot tell.
pub fn pageable_memory_access(driver: &Driver, device: driver::Device) -> Result<bool, CudaError> {
    query_number(driver, device, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS).map(|value| value != 0)
}

fn query_number(
    driver: &Driver,
    device: driver::Device,
    attribute: CUdevice_attribute,
) -> Result<u32, CudaError> {
    driver.device_attribute(device, attribute).map(|value| u32::try_from(value).unwrap_or(0))
}
