//! Compute regions.

use super::dims::Dims;
use super::profiling;
use super::queue::StreamQueue;
use crate::abi::host;
use crate::device::{Device, registry};
use crate::driver::{CudaError, Shape, Stream};
use crate::error::{Error, Result};
use crate::image::Kernel;

/// Runs the region that libgomp knows by `function`, whose arguments are at `variables` on the device, with what its clauses
/// ask for. On a queue it is enqueued only.
///
/// # Errors
/// When the kernel cannot be launched, or fails.
///
/// # Safety
/// As libgomp calls it: what the arguments point at lives until the region has ended.
pub unsafe fn run(
    function: usize,
    variables: u64,
    clauses: [u32; 3],
    queue: Option<&StreamQueue>,
) -> Result<()> {
    let (device, kernel) = registry::kernel(function)
        .filter(|(_, kernel)| kernel.is_loaded())
        .ok_or_else(|| Error::Argument(format!("{function:#x} is no function of any device")))?;
    let failed = |error: CudaError| device.kernel_failed(&kernel.name, Error::Cuda(error));
    let _context = device.enter()?;
    let dims = dims(device, &kernel, clauses).map_err(failed)?;
    dims.check(&kernel.name, kernel.block_threads).map_err(Error::Argument)?;
    let Dims([gangs, workers, vector]) = dims;
    host::debug(|| {
        // GCC's tests look for this line.
        let name = &kernel.name;
        format!("  nvptx_exec: kernel {name}: launch gangs={gangs}, workers={workers}, vectors={vector}")
    });
    let told = profiling::Launch::begin(&kernel.name, dims);
    // What is not asynchronous is ordered with the program's queues and its own CUDA code by the NULL stream.
    let stream = queue.map_or(Stream::NULL, StreamQueue::handle);
    let shape = Shape { grid: [gangs, 1, 1], block: [vector, workers, 1], shared: 0 };
    // SAFETY: a kernel that GCC made for OpenACC takes the address of its arguments; the rest is the caller's promise.
    unsafe { device.driver.launch(kernel.function, &shape, stream, &[variables]) }.map_err(failed)?;
    device.launch.count();
    if let Some(told) = told {
        told.end();
    }
    match queue {
        Some(queue) => queue.note(kernel),
        None => device.openacc.finish(device).map_err(failed)?,
    }
    Ok(())
}

fn dims(device: &Device, kernel: &Kernel, clauses: [u32; 3]) -> std::result::Result<Dims, CudaError> {
    let asked = Dims::asked(kernel.dims, clauses);
    if !asked.is_open() {
        return Ok(asked);
    }
    let busy = device.driver.best_block(kernel.function, asked.gang_threads())?;
    Ok(asked.complete(host::openacc::default_dims(), busy))
}
