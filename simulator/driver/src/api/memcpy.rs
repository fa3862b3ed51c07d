//! Copies. The synchronous ones run on the legacy default stream, as on hardware: they wait for earlier
//! work of blocking streams.

use crate::c::In;
use crate::core::context;
use crate::core::copy::{Copy, Return, Role, Side};
use crate::core::stream::find;
use crate::error::{Error, Result};
use crate::types::{
    CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUcontext, CUdeviceptr, CUstream, MEMORYTYPE_DEVICE, MEMORYTYPE_HOST,
    MEMORYTYPE_UNIFIED,
};
use std::ffi::c_uint;

/// `CU_STREAM_LEGACY` by its other name.
const DEFAULT: CUstream = CUstream(0);

fn copy(copy: &Copy, stream: CUstream, until: Return) -> Result {
    let stream = find(stream)?;
    let result = copy.submit(stream.queue, until);
    if until == Return::Done {
        stream.context.flush_printf();
    }
    result
}

fn line(to: (u64, Role), from: (u64, Role), bytes: usize, stream: CUstream, until: Return) -> Result {
    copy(&Copy::line(Side::line(to.0, to.1), Side::line(from.0, from.1), bytes as u64), stream, until)
}

/// `cuMemcpy`
pub fn unified(to: CUdeviceptr, from: CUdeviceptr, bytes: usize) -> Result {
    line((to, Role::Unified), (from, Role::Unified), bytes, DEFAULT, Return::Done)
}

/// `cuMemcpyAsync`
pub fn unified_async(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream) -> Result {
    line((to, Role::Unified), (from, Role::Unified), bytes, stream, Return::Enqueued)
}

/// `cuMemcpyHtoD`
pub fn to_device(to: CUdeviceptr, from: u64, bytes: usize) -> Result {
    line((to, Role::Device), (from, Role::Host), bytes, DEFAULT, Return::Done)
}

/// `cuMemcpyHtoDAsync`
pub fn to_device_async(to: CUdeviceptr, from: u64, bytes: usize, stream: CUstream) -> Result {
    line((to, Role::Device), (from, Role::Host), bytes, stream, Return::Enqueued)
}

/// `cuMemcpyDtoH`
pub fn to_host(to: u64, from: CUdeviceptr, bytes: usize) -> Result {
    line((to, Role::Host), (from, Role::Device), bytes, DEFAULT, Return::Done)
}

/// `cuMemcpyDtoHAsync`
pub fn to_host_async(to: u64, from: CUdeviceptr, bytes: usize, stream: CUstream) -> Result {
    line((to, Role::Host), (from, Role::Device), bytes, stream, Return::Enqueued)
}

/// `cuMemcpyDtoD`
pub fn on_device(to: CUdeviceptr, from: CUdeviceptr, bytes: usize) -> Result {
    line((to, Role::Device), (from, Role::Device), bytes, DEFAULT, Return::Done)
}

/// `cuMemcpyDtoDAsync`
pub fn on_device_async(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream) -> Result {
    line((to, Role::Device), (from, Role::Device), bytes, stream, Return::Enqueued)
}

/// `cuMemcpyPeer`
pub fn peer(
    to: CUdeviceptr,
    to_context: CUcontext,
    from: CUdeviceptr,
    from_context: CUcontext,
    bytes: usize,
) -> Result {
    context::get(to_context)?.check()?;
    context::get(from_context)?.check()?;
    on_device(to, from, bytes)
}

/// `cuMemcpyPeerAsync`
pub fn peer_async(
    to: CUdeviceptr,
    to_context: CUcontext,
    from: CUdeviceptr,
    from_context: CUcontext,
    bytes: usize,
    stream: CUstream,
) -> Result {
    context::get(to_context)?.check()?;
    context::get(from_context)?.check()?;
    on_device_async(to, from, bytes, stream)
}

/// The base address of one side of a rectangle, and its role.
fn base(kind: c_uint, host: u64, device: CUdeviceptr) -> Result<(u64, Role)> {
    match kind {
        MEMORYTYPE_HOST => Ok((host, Role::Host)),
        MEMORYTYPE_DEVICE => Ok((device, Role::Device)),
        MEMORYTYPE_UNIFIED => Ok((device, Role::Unified)),
        // Arrays aren't supported.
        _ => Err(Error::INVALID_VALUE),
    }
}

/// One side of a rectangle: `x` bytes, `y` rows and `z` slices behind its base. A pitch of 0 means tightly
/// packed rows.
fn side(
    base: (u64, Role),
    (x, y, z): (usize, usize, usize),
    (pitch, rows): (usize, usize),
    (width, height, depth): (usize, usize, usize),
) -> Result<Side> {
    let pitch = if pitch == 0 { width } else { pitch };
    let rows = if rows == 0 { height } else { rows };
    let fits = width <= pitch || (height <= 1 && depth <= 1);
    if !fits || (depth > 1 && rows < height) {
        return Err(Error::INVALID_VALUE);
    }
    let slice = pitch.checked_mul(rows).ok_or(Error::INVALID_VALUE)?;
    let offset = z.checked_mul(slice).and_then(|n| n.checked_add(y.checked_mul(pitch)?)?.checked_add(x));
    let address = offset.and_then(|n| base.0.checked_add(n as u64)).ok_or(Error::INVALID_VALUE)?;
    Ok(Side { address, pitch: pitch as u64, slice: slice as u64, role: base.1 })
}

fn of_plane(c: &CUDA_MEMCPY2D) -> Result<Copy> {
    let size = (c.WidthInBytes, c.Height, 1);
    let to = base(c.dstMemoryType, c.dstHost, c.dstDevice)?;
    let from = base(c.srcMemoryType, c.srcHost, c.srcDevice)?;
    Ok(Copy {
        to: side(to, (c.dstXInBytes, c.dstY, 0), (c.dstPitch, 0), size)?,
        from: side(from, (c.srcXInBytes, c.srcY, 0), (c.srcPitch, 0), size)?,
        width: c.WidthInBytes as u64,
        height: c.Height as u64,
        depth: 1,
    })
}

fn of_volume(c: &CUDA_MEMCPY3D) -> Result<Copy> {
    let size = (c.WidthInBytes, c.Height, c.Depth);
    let to = base(c.dstMemoryType, c.dstHost, c.dstDevice)?;
    let from = base(c.srcMemoryType, c.srcHost, c.srcDevice)?;
    if c.srcLOD != 0 || c.dstLOD != 0 {
        return Err(Error::INVALID_VALUE);
    }
    Ok(Copy {
        to: side(to, (c.dstXInBytes, c.dstY, c.dstZ), (c.dstPitch, c.dstHeight), size)?,
        from: side(from, (c.srcXInBytes, c.srcY, c.srcZ), (c.srcPitch, c.srcHeight), size)?,
        width: c.WidthInBytes as u64,
        height: c.Height as u64,
        depth: c.Depth as u64,
    })
}

/// `cuMemcpy2D`
pub fn plane(description: In<CUDA_MEMCPY2D>) -> Result {
    copy(&of_plane(&description.get()?)?, DEFAULT, Return::Done)
}

/// `cuMemcpy2DUnaligned`
pub fn plane_unaligned(description: In<CUDA_MEMCPY2D>) -> Result {
    plane(description)
}

/// `cuMemcpy2DAsync`
pub fn plane_async(description: In<CUDA_MEMCPY2D>, stream: CUstream) -> Result {
    copy(&of_plane(&description.get()?)?, stream, Return::Enqueued)
}

/// `cuMemcpy3D`
pub fn volume(description: In<CUDA_MEMCPY3D>) -> Result {
    copy(&of_volume(&description.get()?)?, DEFAULT, Return::Done)
}

/// `cuMemcpy3DAsync`
pub fn volume_async(description: In<CUDA_MEMCPY3D>, stream: CUstream) -> Result {
    copy(&of_volume(&description.get()?)?, stream, Return::Enqueued)
}

fn check_contexts(c: &CUDA_MEMCPY3D) -> Result {
    for (kind, context) in [(c.srcMemoryType, c.srcContext), (c.dstMemoryType, c.dstContext)] {
        if kind == MEMORYTYPE_DEVICE {
            context::get(context)?.check()?;
        }
    }
    Ok(())
}

/// `cuMemcpy3DPeer`
pub fn volume_peer(description: In<CUDA_MEMCPY3D>) -> Result {
    check_contexts(&description.get()?)?;
    volume(description)
}

/// `cuMemcpy3DPeerAsync`
pub fn volume_peer_async(description: In<CUDA_MEMCPY3D>, stream: CUstream) -> Result {
    check_contexts(&description.get()?)?;
    volume_async(description, stream)
}
