//! The three system calls behind device memory: a file in memory, mappings of it, and giving pages back.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::io;

// Values from the Linux ABI (asm-generic/mman-common.h, linux/memfd.h, linux/falloc.h).
const PROT_NONE: c_int = 0;
const PROT_READ_WRITE: c_int = 3;
const MAP_SHARED: c_int = 1;
const MAP_PRIVATE: c_int = 2;
const MAP_ANONYMOUS: c_int = 0x20;
const MAP_NORESERVE: c_int = 0x4000;
const MFD_CLOEXEC: c_uint = 1;
const FALLOC_FL_KEEP_SIZE: c_int = 1;
const FALLOC_FL_PUNCH_HOLE: c_int = 2;

unsafe extern "C" {
    fn mmap(addr: *mut c_void, len: usize, prot: c_int, flags: c_int, fd: c_int, offset: i64) -> *mut c_void;
    fn munmap(addr: *mut c_void, len: usize) -> c_int;
    fn memfd_create(name: *const c_char, flags: c_uint) -> c_int;
    fn ftruncate(fd: c_int, len: i64) -> c_int;
    fn fallocate(fd: c_int, mode: c_int, offset: i64, len: i64) -> c_int;
    fn close(fd: c_int) -> c_int;
}

/// A range of addresses that nothing may touch, and an accessible alias of the same length, both unmapped on drop.
pub(super) struct Reservation {
    /// First of the untouchable addresses.
    pub base: u64,
    /// First byte of the accessible alias.
    pub alias: *mut u8,
    /// Length of each in bytes.
    pub len: u64,
    fd: c_int,
}

// SAFETY: the pointer is to a shared mapping that lives as long as the value; what is in it is accessed by atomics and
// by copies whose races are the simulated program's own.
unsafe impl Send for Reservation {}
// SAFETY: as above.
unsafe impl Sync for Reservation {}

fn map(len: usize, prot: c_int, flags: c_int, fd: c_int) -> io::Result<*mut u8> {
    // SAFETY: a mapping at an address of the kernel's choice replaces none that exists.
    let p = unsafe { mmap(std::ptr::null_mut(), len, prot, flags, fd, 0) };
    if p as isize == -1 { Err(io::Error::last_os_error()) } else { Ok(p.cast()) }
}

fn check(result: c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

impl Reservation {
    /// Reserves `len` bytes, a multiple of the page size; no memory is used until it is written.
    pub fn new(len: u64) -> io::Result<Reservation> {
        // SAFETY: the name is a terminated string.
        let fd = unsafe { memfd_create(c"device-memory".as_ptr(), MFD_CLOEXEC) };
        check(fd)?;
        let mut this = Reservation { base: 0, alias: std::ptr::null_mut(), len, fd };
        // SAFETY: `fd` is ours.
        check(unsafe { ftruncate(fd, len as i64) })?;
        this.alias = map(len as usize, PROT_READ_WRITE, MAP_SHARED | MAP_NORESERVE, fd)?;
        this.base = map(len as usize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1)? as u64;
        Ok(this)
    }

    /// Gives the pages of a range, in bytes from the start, back to the system; they read as zero afterwards.
    pub fn discard(&self, offset: u64, len: u64) {
        // A failure leaves the pages as they are, which costs memory and nothing else.
        // SAFETY: `fd` is ours.
        let _ = unsafe {
            fallocate(self.fd, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, offset as i64, len as i64)
        };
    }
}

/// Whether the process has something at `addr`. Slow: it reads the list of all mappings.
pub(super) fn is_mapped(addr: u64) -> bool {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    maps.lines().any(|line| {
        let range = line.split(' ').next().and_then(|range| range.split_once('-'));
        let number = |text| u64::from_str_radix(text, 16).unwrap_or(0);
        range.is_some_and(|(from, to)| (number(from)..number(to)).contains(&addr))
    })
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // SAFETY: the ranges were mapped by `new` (an unmap of a null range fails and changes nothing), and nobody keeps
        // a pointer into them longer than the value.
        unsafe {
            if self.base != 0 {
                munmap(self.base as *mut c_void, self.len as usize);
            }
            if !self.alias.is_null() {
                munmap(self.alias.cast(), self.len as usize);
            }
            close(self.fd);
        }
    }
}
