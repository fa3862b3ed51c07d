//! Addresses that cannot be right, told of in the words that GCC's tests look for.

use std::ffi::c_void;

use crate::device::Device;
use crate::driver::DevicePtr;
use crate::error::{Error, Result};

/// Refuses a copy between host and device at addresses that the driver would not check, or not in all cases.
///
/// # Errors
/// Which of them is wrong.
pub fn check(host: *const c_void, device: DevicePtr) -> Result<()> {
    let wrong = if device == 0 {
        "invalid device address"
    } else if host.is_null() {
        "invalid host address"
    } else if host.addr() as DevicePtr == device {
        "invalid host or device address"
    } else {
        return Ok(());
    };
    Err(Error::Argument(format!("{wrong}: copy between host {host:p} and device {device:#x}")))
}

/// What is wrong with a range of the device's that the driver refused: the end of a message. Empty where there is nothing. The
/// context is current.
pub fn doubt(device: &Device, address: DevicePtr, bytes: usize) -> &'static str {
    match device.driver.address_range(address) {
        Err(error) if error.code.is_fault() => "",
        Err(_) => " (invalid device address)",
        Ok((start, size)) if !fits(address, bytes, start, size) => " (invalid size)",
        Ok(_) => "",
    }
}

fn fits(address: DevicePtr, bytes: usize, start: DevicePtr, size: usize) -> bool {
    bytes as u64 <= (start + size as u64).saturating_sub(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(host: usize, device: DevicePtr) -> Option<String> {
        check(std::ptr::without_provenance(host), device).err().map(|error| error.to_string())
    }

    #[test]
    fn a_copy_needs_two_addresses() {
        assert_eq!(refusal(0x1000, 0x2000), None);
        assert!(refusal(0x1000, 0).is_some_and(|told| told.starts_with("invalid device address")));
        assert!(refusal(0, 0x2000).is_some_and(|told| told.starts_with("invalid host address")));
        assert!(
            refusal(0x2000, 0x2000).is_some_and(|told| told.starts_with("invalid host or device address"))
        );
    }

    #[test]
    fn a_range_must_end_where_its_allocation_does() {
        assert!(fits(0x1000, 0x100, 0x1000, 0x100));
        assert!(!fits(0x1000, 0x101, 0x1000, 0x100));
        assert!(!fits(0x1080, 0x100, 0x1000, 0x100));
    }
}
