//! Copies and fills, from the host's side.

use super::{AccessError, Kind, Memory};

impl Memory {
    /// The simulator's address of one side of a copy.
    fn side(&self, addr: u64, len: u64) -> Result<*mut u8, AccessError> {
        match self.device_of(addr) {
            Some(_) => self.resolve(addr, len),
            // A host pointer: where it lies in registered memory, all of it must.
            None => match self.lookup(addr) {
                Some(a) if a.kind != Kind::Managed && !a.contains(addr, len) => Err(self.refusal(addr, len)),
                _ => Ok(addr as *mut u8),
            },
        }
    }

    /// Copies `len` bytes between any two of device memory, registered memory and the host's own; the ranges may overlap.
    ///
    /// # Safety
    /// Addresses outside every device's range are pointers of the host and must be valid for `len` bytes.
    pub unsafe fn copy(&self, dst: u64, src: u64, len: u64) -> Result<(), AccessError> {
        if len == 0 {
            return Ok(());
        }
        let (to, from) = (self.side(dst, len)?, self.side(src, len)?);
        // SAFETY: both ranges were checked, or promised by the caller.
        unsafe { std::ptr::copy(from, to, len as usize) };
        self.mark_written(dst, len);
        Ok(())
    }

    /// Fills `count` elements with copies of `pattern`.
    ///
    /// # Safety
    /// As for [`Memory::copy`].
    pub unsafe fn fill<T: Copy>(&self, dst: u64, pattern: T, count: u64) -> Result<(), AccessError> {
        if count == 0 {
            return Ok(());
        }
        let len = count.checked_mul(size_of::<T>() as u64).ok_or_else(|| self.refusal(dst, u64::MAX))?;
        let to = self.side(dst, len)?.cast::<T>();
        for i in 0..count as usize {
            // SAFETY: the range was checked, or promised by the caller; it need not be aligned.
            unsafe { to.add(i).write_unaligned(pattern) };
        }
        self.mark_written(dst, len);
        Ok(())
    }
}
