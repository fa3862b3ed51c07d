//! Copies of parts of arrays: rectangles and boxes.
//!
//! Rows that are short are packed: they are copied between the program's memory and a page-locked buffer, a whole lot of them is one
//! copy for the driver. Otherwise it would have to fetch each row from pageable memory by itself.

use std::ffi::c_void;
use std::ptr;

use cudarc::driver::sys::{CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUarray, CUmemorytype};

use super::copy;
use super::staging::{BUFFER, Staging};
use crate::device::Device;
use crate::driver::{CudaError, DevicePtr, Driver, Stream};
use crate::error::Result;

/// The longest row that is packed, in bytes: to copy it in memory takes half a microsecond, less than what any operation of a device's
/// costs (computed; not measured).
const SHORT_ROW: usize = 4096;
/// The largest pitch of an asynchronous copy: `CU_DEVICE_ATTRIBUTE_MAX_PITCH` of every device.
const MOST_PITCH: usize = i32::MAX as usize;

/// One side of a copy of a part of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Whether the array is on the device.
    pub on_device: bool,
    /// The array's first element; with offsets, an address that need not be mapped.
    pub address: usize,
    /// Where the part begins: plane, row, and byte in the row.
    pub offset: [usize; 3],
    /// Rows of a plane.
    pub rows: usize,
    /// Bytes of a row.
    pub pitch: usize,
}

impl Part {
    /// Address of the part's first byte. The driver would check the array's address, which for Fortran's arrays may lie outside.
    fn start(&self) -> usize {
        self.row(0, 0)
    }

    /// Address of the first byte of one of the part's rows.
    fn row(&self, plane: usize, row: usize) -> usize {
        let [first_plane, first_row, byte] = self.offset;
        let plane = first_plane.wrapping_add(plane);
        let rows = plane.wrapping_mul(self.rows).wrapping_add(first_row).wrapping_add(row);
        self.address.wrapping_add(rows.wrapping_mul(self.pitch)).wrapping_add(byte)
    }

    /// Bytes from the first of a part of this size, none of it 0, to its last. None where that overflows.
    fn extent(&self, [planes, rows, bytes]: Size) -> Option<usize> {
        let rows = (planes - 1).checked_mul(self.rows)?.checked_add(rows - 1)?;
        rows.checked_mul(self.pitch)?.checked_add(bytes)
    }

    /// As the driver names a side: its kind, the host's and the device's address.
    fn side(&self) -> (CUmemorytype, *mut c_void, DevicePtr) {
        if self.on_device {
            (CUmemorytype::CU_MEMORYTYPE_DEVICE, ptr::null_mut(), self.start() as DevicePtr)
        } else {
            (CUmemorytype::CU_MEMORYTYPE_HOST, ptr::with_exposed_provenance_mut(self.start()), 0)
        }
    }
}

/// Planes, rows of each and bytes of a row.
pub type Size = [usize; 3];

/// Copies a part of an array.
///
/// # Errors
/// When the driver refuses, or a side lies outside its allocation.
///
/// # Safety
/// The host's side can be read or written, and nobody else uses it meanwhile.
pub unsafe fn copy(device: &Device, to: Part, from: Part, size: Size) -> Result<()> {
    let [planes, rows, bytes] = size;
    if size.contains(&0) {
        return Ok(());
    }
    let doing = || format!("copy of {planes} x {rows} x {bytes} bytes from {from:x?} to {to:x?}");
    for side in [to, from] {
        // An absurd size is the driver's to refuse.
        if let (true, Some(extent)) = (side.on_device, side.extent(size)) {
            device.memory.check(side.start() as DevicePtr, extent, doing)?;
        }
    }
    let _context = device.enter()?;
    copy::run(device, doing, |driver, staging| {
        // SAFETY: the caller's promise.
        unsafe {
            if !pack(driver, staging, to, from, size)? {
                copy_by_driver(driver, to, from, size)?;
            }
        }
        Ok(())
    })
}

/// Copies a part with short rows through a staging's buffer; says whether it did.
///
/// # Safety
/// As for [`copy`].
unsafe fn pack(
    driver: &Driver,
    staging: &Staging,
    to: Part,
    from: Part,
    [planes, rows, bytes]: Size,
) -> std::result::Result<bool, CudaError> {
    // What the driver would refuse, it shall refuse.
    let sound =
        |part: &Part| (bytes..=MOST_PITCH).contains(&part.pitch) && (planes == 1 || part.rows >= rows);
    let short = bytes <= SHORT_ROW && rows > 1 && sound(&to) && sound(&from);
    let Some(buffer) = staging.buffer().filter(|_| short && to.on_device != from.on_device) else {
        return Ok(false);
    };
    // What the buffer is to the driver: an array of the lot's rows, without gaps.
    let packed =
        Part { on_device: false, address: buffer.expose_provenance(), offset: [0; 3], rows: 0, pitch: bytes };
    let packed_row = |row: usize| buffer.wrapping_add(row * bytes);
    let host_row = |part: &Part, plane, row| ptr::with_exposed_provenance_mut::<u8>(part.row(plane, row));
    let per_lot = BUFFER / bytes;
    for plane in 0..planes {
        for first in (0..rows).step_by(per_lot) {
            let lot = per_lot.min(rows - first);
            if to.on_device {
                for row in 0..lot {
                    let from = host_row(&from, plane, first + row);
                    // SAFETY: the caller's promise; the row fits into the buffer, which no copy uses.
                    unsafe { packed_row(row).copy_from_nonoverlapping(from, bytes) };
                }
            }
            let at = |part: Part| Part { address: part.row(plane, first), offset: [0; 3], ..part };
            let (to_lot, from_lot) = if to.on_device { (at(to), packed) } else { (packed, at(from)) };
            // SAFETY: the host's side is the buffer, and the copy is done before that is used again.
            unsafe { driver.copy_2d_async(&rectangle(to_lot, from_lot, lot, bytes), staging.stream) }?;
            driver.synchronize_stream(staging.stream)?;
            if from.on_device {
                for row in 0..lot {
                    let to = host_row(&to, plane, first + row);
                    // SAFETY: the caller's promise; the copy has filled this part of the buffer.
                    unsafe { packed_row(row).copy_to_nonoverlapping(to, bytes) };
                }
            }
        }
    }
    Ok(true)
}

/// Has the driver copy a part, whatever its rows, and waits for it.
///
/// # Safety
/// As for [`copy`].
unsafe fn copy_by_driver(
    driver: &Driver,
    to: Part,
    from: Part,
    [planes, rows, bytes]: Size,
) -> std::result::Result<(), CudaError> {
    if planes == 1 {
        // SAFETY: the caller's promise. Any pitch is allowed, unlike in three dimensions.
        unsafe { driver.copy_2d(&rectangle(to, from, rows, bytes)) }?;
    } else {
        let (from_kind, from_host, from_device) = from.side();
        let (to_kind, to_host, to_device) = to.side();
        let no_array: CUarray = ptr::null_mut();
        let copy = CUDA_MEMCPY3D {
            srcXInBytes: 0,
            srcY: 0,
            srcZ: 0,
            srcLOD: 0,
            srcMemoryType: from_kind,
            srcHost: from_host,
            srcDevice: from_device,
            srcArray: no_array,
            reserved0: ptr::null_mut(),
            srcPitch: from.pitch,
            srcHeight: from.rows,
            dstXInBytes: 0,
            dstY: 0,
            dstZ: 0,
            dstLOD: 0,
            dstMemoryType: to_kind,
            dstHost: to_host,
            dstDevice: to_device,
            dstArray: no_array,
            reserved1: ptr::null_mut(),
            dstPitch: to.pitch,
            dstHeight: to.rows,
            WidthInBytes: bytes,
            Height: rows,
            Depth: planes,
        };
        // SAFETY: the caller's promise.
        unsafe { driver.copy_3d(&copy) }?;
    }
    driver.synchronize_stream(Stream::NULL)
}

/// A rectangle as the driver takes it.
fn rectangle(to: Part, from: Part, rows: usize, bytes: usize) -> CUDA_MEMCPY2D {
    let (from_kind, from_host, from_device) = from.side();
    let (to_kind, to_host, to_device) = to.side();
    CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: from_kind,
        srcHost: from_host,
        srcDevice: from_device,
        srcArray: ptr::null_mut(),
        srcPitch: from.pitch,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: to_kind,
        dstHost: to_host,
        dstDevice: to_device,
        dstArray: ptr::null_mut(),
        dstPitch: to.pitch,
        WidthInBytes: bytes,
        Height: rows,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_starts_behind_the_planes_rows_and_bytes_before_it() {
        let part = Part { on_device: true, address: 1000, offset: [2, 3, 4], rows: 10, pitch: 100 };
        assert_eq!(part.start(), 1000 + 2 * 10 * 100 + 3 * 100 + 4);
        assert_eq!(part.row(1, 5), part.start() + 10 * 100 + 5 * 100);
    }

    #[test]
    fn a_part_ends_with_its_last_row() {
        let part = Part { on_device: true, address: 1000, offset: [2, 3, 4], rows: 10, pitch: 100 };
        assert_eq!(part.extent([1, 1, 7]), Some(7));
        assert_eq!(part.extent([3, 2, 7]), Some(2 * 10 * 100 + 100 + 7));
        assert_eq!(part.extent([usize::MAX, 2, 7]), None);
    }

    #[test]
    fn a_virtual_origin_outside_the_array_is_no_overflow() {
        let part = Part {
            on_device: false,
            address: 0_usize.wrapping_sub(50),
            offset: [0, 0, 60],
            rows: 1,
            pitch: 80,
        };
        assert_eq!(part.start(), 10);
    }
}
