//! The memory pool of each device. It keeps nothing back: what is freed is free at once.

use super::device::platform;
use crate::error::{Error, Result};
use crate::types::CUmemoryPool;
use std::sync::atomic::AtomicU64;

/// What marks a handle as a pool's.
const COOKIE: usize = 0x9001 << 32;

/// `CU_MEMPOOL_ATTR_RELEASE_THRESHOLD`; remembered only.
pub static RELEASE_THRESHOLD: AtomicU64 = AtomicU64::new(0);

/// The handle of a device's pool.
pub fn handle(ordinal: usize) -> CUmemoryPool {
    CUmemoryPool(COOKIE | (ordinal + 1) << 4)
}

/// The device of a pool's handle.
pub fn ordinal(pool: CUmemoryPool) -> Result<usize> {
    (0..platform().devices.len()).find(|d| handle(*d) == pool).ok_or(Error::INVALID_HANDLE)
}
