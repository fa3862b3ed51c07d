//! Copies in memory that leave the destination out of the caches.

/// Copies `bytes` bytes. What the device reads next is best in no processor's cache.
///
/// # Safety
/// As for [`std::ptr::copy_nonoverlapping`].
#[cfg(target_arch = "x86_64")]
pub unsafe fn copy(to: *mut u8, from: *const u8, bytes: usize) {
    use std::arch::x86_64::{
        __m128i, _MM_HINT_NTA, _mm_loadu_si128, _mm_prefetch, _mm_sfence, _mm_stream_si128,
    };
    /// Bytes that are stored together: a cache line.
    const LINE: usize = 64;
    /// How far ahead is read, in bytes. Measured on an H200's host with twice as wide loads only.
    const AHEAD: usize = 1024;
    let head = to.align_offset(LINE).min(bytes);
    let lines = (bytes - head) / LINE;
    let tail = head + lines * LINE;
    // SAFETY: within the `bytes` bytes of the caller's promise: up to the first line's start, whole lines, what is left. A prefetch may
    // be of any address. SSE2 is part of the architecture.
    unsafe {
        to.copy_from_nonoverlapping(from, head);
        for at in (head..tail).step_by(LINE) {
            let (to, from) = (to.add(at).cast::<__m128i>(), from.add(at));
            _mm_prefetch::<_MM_HINT_NTA>(from.wrapping_add(AHEAD).cast());
            let line: [__m128i; 4] = std::array::from_fn(|i| _mm_loadu_si128(from.cast::<__m128i>().add(i)));
            (0..4).for_each(|i| _mm_stream_si128(to.add(i), line[i]));
        }
        to.add(tail).copy_from_nonoverlapping(from.add(tail), bytes - tail);
        // Such stores are ordered with no others: this one orders them before whatever tells the device.
        _mm_sfence();
    }
}

/// Copies `bytes` bytes.
///
/// # Safety
/// As for [`std::ptr::copy_nonoverlapping`].
#[cfg(not(target_arch = "x86_64"))]
pub unsafe fn copy(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { to.copy_from_nonoverlapping(from, bytes) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_bytes_is_copied_between_any_addresses_and_nothing_else_is_written() {
        let from: Vec<u8> = (0..1000_u32).map(|i| (i * 7 % 251) as u8 + 1).collect();
        for place in [0, 1, 3, 16, 63, 64, 128, 717] {
            for (skip, bytes) in [0, 1, 63, 64, 65, 127, 200, 257].into_iter().enumerate() {
                let mut to = vec![0_u8; 1024];
                // SAFETY: both lie within their vectors.
                unsafe { copy(to.as_mut_ptr().add(place), from.as_ptr().add(skip), bytes) };
                assert_eq!(to[place..place + bytes], from[skip..skip + bytes]);
                assert!(to[..place].iter().chain(&to[place + bytes..]).all(|byte| *byte == 0));
            }
        }
    }
}
