//! Pointers as C callers pass them, so that the functions behind the entry points are safe Rust: the
//! caller's promise, which `cuda.h` documents, is taken once, in the types' constructors by layout.

use crate::error::{Error, Result};
use std::ffi::{CStr, c_char};

/// A place where the caller wants a result. Only a C caller makes one; by `cuda.h`'s contract it is null
/// or writable.
#[repr(transparent)]
pub struct Out<T>(*mut T);

// Not derived: a pointer is copyable whatever it points to.
impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<T> {}

impl<T> Out<T> {
    /// Stores the result; `INVALID_VALUE` where the caller gave no place for it.
    pub fn set(self, value: T) -> Result {
        self.require()?.set_if_wanted(value);
        Ok(())
    }

    /// Stores the result, unless the caller doesn't want it.
    pub fn set_if_wanted(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: not null, so writable by the type's contract; C pointers may be unaligned.
            unsafe { self.0.write_unaligned(value) };
        }
    }

    /// `INVALID_VALUE` for a null pointer: to check before doing what can't be undone.
    pub fn require(self) -> Result<Out<T>> {
        if self.0.is_null() { Err(Error::INVALID_VALUE) } else { Ok(self) }
    }

    /// Whether there is a place.
    pub fn wanted(self) -> bool {
        !self.0.is_null()
    }

    /// The place as one of another type, for results whose type a parameter tells.
    pub fn cast<U>(self) -> Out<U> {
        Out(self.0.cast())
    }

    /// The `index`th place of an array.
    pub fn at(self, index: usize) -> Out<T> {
        Out(self.0.wrapping_add(index))
    }
}

/// Something to read: null, or as many elements as the call's contract says.
#[repr(transparent)]
pub struct In<T>(*const T);

// Not derived: a pointer is copyable whatever it points to.
impl<T> Clone for In<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for In<T> {}

impl<T> In<T> {
    /// A pointer that the caller put into a list or structure.
    pub fn from_address(address: u64) -> In<T> {
        In(address as *const T)
    }

    /// The same place, read as another type.
    pub fn cast<U>(self) -> In<U> {
        In(self.0.cast())
    }
}

impl<T: Copy> In<T> {
    /// The `index`th element; the caller of the driver promised that many.
    pub fn at(self, index: usize) -> Result<T> {
        if self.0.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: not null, so readable by the type's contract.
        Ok(unsafe { self.0.add(index).read_unaligned() })
    }

    /// The element; `INVALID_VALUE` for a null pointer.
    pub fn get(self) -> Result<T> {
        self.at(0)
    }

    /// `len` elements.
    pub fn list(self, len: usize) -> Result<Vec<T>> {
        (0..len).map(|i| self.at(i)).collect()
    }

    /// Whether there is nothing.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The address, for data that the driver copies later.
    pub fn address(self) -> u64 {
        self.0 as u64
    }
}

impl In<c_char> {
    /// The string; `INVALID_VALUE` for null or what is no UTF-8.
    pub fn text(self) -> Result<String> {
        if self.0.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: not null, so a C string by the type's contract.
        let text = unsafe { CStr::from_ptr(self.0) };
        text.to_str().map(str::to_owned).map_err(|_| Error::INVALID_VALUE)
    }
}

impl In<u8> {
    /// `len` bytes.
    pub fn bytes(self, len: usize) -> Result<Vec<u8>> {
        if self.0.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: not null, so `len` bytes are readable by the type's contract.
        Ok(unsafe { std::slice::from_raw_parts(self.0, len) }.to_vec())
    }
}

/// An address in the caller's own memory, where a result is stored later than the call (a link's log).
///
/// # Safety
/// `to` must be writable for `bytes.len()` bytes.
pub unsafe fn store(to: u64, bytes: &[u8]) {
    // SAFETY: promised by the caller.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to as *mut u8, bytes.len()) };
}
