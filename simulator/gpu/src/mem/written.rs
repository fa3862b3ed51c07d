//! Which bytes of a device's memory were ever written: a bit for each.

use super::os::Reservation;
use std::io;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// The bits of a range of addresses. They order nothing: who may see a byte as written is up to the simulated program.
pub(super) struct Written {
    base: u64,
    bits: Reservation,
}

impl Written {
    /// For `len` bytes from `base`, none written.
    pub fn new(base: u64, len: u64) -> io::Result<Written> {
        Ok(Written { base, bits: Reservation::new((len / 8).next_multiple_of(4096))? })
    }

    /// The bytes with the bits of `len` addresses from `addr`, each with the mask of these bits.
    fn bytes(&self, addr: u64, len: u64) -> impl Iterator<Item = (&AtomicU8, u8)> {
        let (from, to) = (addr - self.base, addr - self.base + len);
        (from / 8..to.div_ceil(8)).map(move |n| {
            let low = 0xff << from.saturating_sub(n * 8).min(7);
            let high = 0xff >> (n * 8 + 8).saturating_sub(to).min(7);
            // SAFETY: the alias is as long as the reservation, which has a bit for each address; only atomics access it.
            (unsafe { AtomicU8::from_ptr(self.bits.alias.add(n as usize)) }, low & high)
        })
    }

    /// `len` bytes at `addr` were written.
    pub fn mark(&self, addr: u64, len: u64) {
        for (byte, mask) in self.bytes(addr, len) {
            if byte.load(Relaxed) & mask != mask {
                byte.fetch_or(mask, Relaxed);
            }
        }
    }

    /// Whether any of `len` bytes at `addr` was written.
    pub fn any(&self, addr: u64, len: u64) -> bool {
        self.bytes(addr, len).any(|(byte, mask)| byte.load(Relaxed) & mask != 0)
    }

    /// `len` bytes at `addr`, a multiple of 8, are new. Up to 7 bytes behind them, which belong to nobody, become so too.
    pub fn forget(&self, addr: u64, len: u64) {
        self.bits.discard((addr - self.base) / 8, len.div_ceil(8));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_is_told_apart() {
        let written = Written::new(0x1000, 1 << 20).unwrap();
        written.mark(0x1003, 2);
        for (addr, len, any) in [(0x1003, 1, true), (0x1004, 1, true), (0x1002, 1, false), (0x1005, 3, false)]
        {
            assert_eq!(written.any(addr, len), any, "{addr:#x}");
        }
        written.mark(0x1010, 64);
        assert!(written.any(0x104f, 1) && !written.any(0x1050, 8) && !written.any(0x1008, 8));
        written.forget(0x1010, 32);
        assert!(!written.any(0x1010, 32) && written.any(0x1030, 1) && written.any(0x1000, 8));
    }
}
