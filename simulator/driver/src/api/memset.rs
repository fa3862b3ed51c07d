//! Fills.

use crate::core::copy::fill;
use crate::core::stream::find;
use crate::error::Result;
use crate::types::{CUdeviceptr, CUstream};

/// The legacy default stream.
const DEFAULT: CUstream = CUstream(0);

fn line<T: Copy + Send + 'static>(to: CUdeviceptr, value: T, count: usize, stream: CUstream) -> Result {
    fill(find(stream)?.queue, to, 0, value, count as u64, 1)
}

/// `cuMemsetD8`
pub fn d8(to: CUdeviceptr, value: u8, count: usize) -> Result {
    line(to, value, count, DEFAULT)
}

/// `cuMemsetD16`
pub fn d16(to: CUdeviceptr, value: u16, count: usize) -> Result {
    line(to, value, count, DEFAULT)
}

/// `cuMemsetD32`
pub fn d32(to: CUdeviceptr, value: u32, count: usize) -> Result {
    line(to, value, count, DEFAULT)
}

/// `cuMemsetD8Async`
pub fn d8_async(to: CUdeviceptr, value: u8, count: usize, stream: CUstream) -> Result {
    line(to, value, count, stream)
}

/// `cuMemsetD16Async`
pub fn d16_async(to: CUdeviceptr, value: u16, count: usize, stream: CUstream) -> Result {
    line(to, value, count, stream)
}

/// `cuMemsetD32Async`
pub fn d32_async(to: CUdeviceptr, value: u32, count: usize, stream: CUstream) -> Result {
    line(to, value, count, stream)
}

/// `cuMemsetD2D8`
pub fn d2d8(to: CUdeviceptr, pitch: usize, value: u8, width: usize, height: usize) -> Result {
    d2d8_async(to, pitch, value, width, height, DEFAULT)
}

/// `cuMemsetD2D8Async`
pub fn d2d8_async(
    to: CUdeviceptr,
    pitch: usize,
    value: u8,
    width: usize,
    height: usize,
    stream: CUstream,
) -> Result {
    fill(find(stream)?.queue, to, pitch as u64, value, width as u64, height as u64)
}
