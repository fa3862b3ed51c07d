//! Which devices there are, and which of them are in use.
//!
//! Devices are counted without a context, but for one: libgomp ends the program when a device that was counted cannot
//! be initialized, while a program without devices runs on the host. So the context of the device that the program will
//! use by default is made when devices are counted. It is needed anyway; where the program then uses another device
//! instead, it is given back.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::{Device, attrs, fork};
use crate::abi::host;
use crate::driver::{self, Driver, driver};
use crate::env;
use crate::error::{Error, Result};
use crate::image::KernelRef;

/// `GOMP_REQUIRES_*` (gomp-constants.h): what the program's `requires` directives ask for.
const REQUIRES_UNIFIED_ADDRESS: u32 = 0x10;
const REQUIRES_UNIFIED_SHARED_MEMORY: u32 = 0x20;
const REQUIRES_REVERSE_OFFLOAD: u32 = 0x80;
const REQUIRES_SELF_MAPS: u32 = 0x400;

struct Registry {
    driver: &'static Driver,
    slots: Vec<Slot>,
    /// The device that was started when devices were counted, until it is used or another one is.
    probed: Mutex<Option<Device>>,
    /// Whether the program requires that kernels may use all of the host's memory.
    shared_memory: AtomicBool,
}

struct Slot {
    handle: driver::Device,
    device: OnceLock<&'static Device>,
    /// Held while the device is initialized.
    opening: Mutex<()>,
}

static REGISTRY: OnceLock<Result<Registry>> = OnceLock::new();

/// How the devices suit the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// So many can be used.
    Usable(usize),
    /// There are some, but not all do what the program requires.
    Unfit,
}

/// Counts the devices, for a program with the given `GOMP_REQUIRES_*` mask.
///
/// # Errors
/// Why there is none.
pub fn count(requires: u32) -> Result<Count> {
    let registry = REGISTRY.get_or_init(find_devices).as_ref().map_err(Clone::clone)?;
    let known = REQUIRES_UNIFIED_ADDRESS
        | REQUIRES_UNIFIED_SHARED_MEMORY
        | REQUIRES_REVERSE_OFFLOAD
        | REQUIRES_SELF_MAPS;
    if requires & !known != 0 {
        host::debug(|| {
            format!("nvptx devices do not do what 'omp requires' asks for (mask {:#x})", requires & !known)
        });
        return Ok(Count::Unfit);
    }
    if requires & (REQUIRES_UNIFIED_SHARED_MEMORY | REQUIRES_SELF_MAPS) != 0 {
        for (ordinal, slot) in registry.slots.iter().enumerate() {
            if !attrs::pageable_memory_access(registry.driver, slot.handle)? {
                let name = registry.driver.device_name(slot.handle)?;
                tell(&format!(
                    "device {ordinal} ({name}) cannot use pageable host memory, as 'omp requires unified_shared_memory' \
                     and 'self_maps' need; no nvptx device is used"
                ));
                return Ok(Count::Unfit);
            }
        }
        // Relaxed: libgomp calls everything else after this returned.
        registry.shared_memory.store(true, Ordering::Relaxed);
    }
    Ok(Count::Usable(registry.slots.len()))
}

/// Says why a device, or all of them, cannot be used: under OMP_TARGET_OFFLOAD=mandatory, when libgomp ends the program
/// without a reason, else for GOMP_DEBUG only.
pub fn tell(why: &str) {
    if env::settings().mandatory { host::error(why) } else { host::debug(|| why.into()) }
}

fn find_devices() -> Result<Registry> {
    let settings = env::settings();
    env::prepare();
    let driver = driver()?;
    fork::watch();
    driver.init()?;
    let handles = (0..driver.device_count()?).map(|ordinal| driver.device(ordinal));
    let slots: Vec<Slot> = handles
        .map(|handle| Ok(Slot { handle: handle?, device: OnceLock::new(), opening: Mutex::new(()) }))
        .collect::<Result<_>>()?;
    if slots.is_empty() {
        return Err(Error::Argument("the CUDA driver knows of no device".into()));
    }
    let ordinal = settings.default_device.filter(|ordinal| *ordinal < slots.len()).unwrap_or(0);
    let probed = start(driver, &slots[ordinal], ordinal).map_err(|error| match error {
        Error::Cuda(error) => Error::Context(format!("device {ordinal} cannot be used"), error),
        other => other,
    })?;
    Ok(Registry { driver, slots, probed: Mutex::new(Some(probed)), shared_memory: AtomicBool::new(false) })
}

fn start(driver: &'static Driver, slot: &Slot, ordinal: usize) -> Result<Device> {
    let context = driver.primary_context_retain(slot.handle)?;
    Device::new(driver, ordinal, slot.handle, context, env::settings()).inspect_err(|_| {
        // SAFETY: retained just above and not used any more. The error that led here matters more than one of this call.
        let _ = unsafe { driver.primary_context_release(slot.handle) };
    })
}

fn registry() -> Option<&'static Registry> {
    REGISTRY.get()?.as_ref().ok()
}

/// How many devices there are, in use or not.
pub fn devices() -> usize {
    registry().map_or(0, |registry| registry.slots.len())
}

/// Initializes a device.
///
/// # Errors
/// When there is no such device, or the driver refuses.
pub fn open(ordinal: i32) -> Result<()> {
    let no_device = || Error::NoDevice { ordinal };
    let registry = registry().ok_or_else(no_device)?;
    let index = usize::try_from(ordinal).map_err(|_| no_device())?;
    let slot = registry.slots.get(index).ok_or_else(no_device)?;
    if fork::is_child() {
        return Err(Error::Forked { ordinal: index });
    }
    let _one = slot.opening.lock().unwrap_or_else(PoisonError::into_inner);
    if slot.device.get().is_some() {
        return Ok(());
    }
    let probed = registry.probed.lock().unwrap_or_else(PoisonError::into_inner).take();
    let device = match probed {
        Some(device) if device.ordinal == index => device,
        Some(other) => {
            let device = start(registry.driver, slot, index)?;
            // SAFETY: retained by `start`; nobody has used it.
            unsafe { registry.driver.primary_context_release(*other.handle()) }?;
            device
        }
        None => start(registry.driver, slot, index)?,
    };
    host::debug(|| {
        let attrs = &device.attrs;
        format!(
            "device {index}: {}, sm_{}, stream memory operations: {}",
            attrs.name, attrs.compute_capability, attrs.stream_memory_operations
        )
    });
    slot.device.set(Box::leak(Box::new(device))).map_err(|_| no_device())
}

/// A device that has been initialized.
///
/// # Errors
/// When there is none of this number.
pub fn get(ordinal: i32) -> Result<&'static Device> {
    registry()
        .zip(usize::try_from(ordinal).ok())
        .and_then(|(registry, index)| registry.slots.get(index)?.device.get().copied())
        .ok_or(Error::NoDevice { ordinal })
}

/// Some device that has been initialized, for calls that concern all of them.
///
/// # Errors
/// When there is none.
pub fn any() -> Result<&'static Device> {
    registry()
        .and_then(|registry| registry.slots.iter().find_map(|slot| slot.device.get().copied()))
        .ok_or(Error::Argument("no device is initialized".into()))
}

/// All devices that have been initialized.
pub fn in_use() -> impl Iterator<Item = &'static Device> {
    registry().into_iter().flat_map(|registry| &registry.slots).filter_map(|slot| slot.device.get().copied())
}

/// The kernel that libgomp knows by `address`, and the device that it is loaded on.
pub fn kernel(address: usize) -> Option<(&'static Device, KernelRef)> {
    registry()?.slots.iter().find_map(|slot| {
        let device = slot.device.get().copied()?;
        Some((device, device.kernel(address)?))
    })
}

/// The driver's unique name for a device, as `nvidia-smi -L` prints it.
///
/// # Errors
/// When there is no such device, or the driver refuses.
pub fn uid(ordinal: i32) -> Result<Option<String>> {
    let slot =
        registry().zip(usize::try_from(ordinal).ok()).and_then(|(registry, index)| registry.slots.get(index));
    let slot = slot.ok_or(Error::NoDevice { ordinal })?;
    Ok(driver()?.device_uuid(slot.handle)?.map(|uuid| format_uid(&uuid)))
}

fn format_uid(uuid: &[u8; 16]) -> String {
    let hex = |range: std::ops::Range<usize>| {
        uuid[range].iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    format!("GPU-{}-{}-{}-{}-{}", hex(0..4), hex(4..6), hex(6..8), hex(8..10), hex(10..16))
}

/// Whether the program requires, and has, devices that may use all of the host's memory.
pub fn shares_memory() -> bool {
    registry().is_some_and(|registry| registry.shared_memory.load(Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uid_looks_like_nvidia_smis() {
        let uuid: [u8; 16] = std::array::from_fn(|i| i as u8 * 16 + 1);
        assert_eq!(format_uid(&uuid), "GPU-01112131-4151-6171-8191-a1b1c1d1e1f1");
    }

    #[test]
    fn a_device_that_was_never_counted_does_not_exist() {
        assert_eq!(get(0).err(), Some(Error::NoDevice { ordinal: 0 }));
        assert_eq!(get(-1).err(), Some(Error::NoDevice { ordinal: -1 }));
        assert_eq!(open(7).err(), Some(Error::NoDevice { ordinal: 7 }));
    }
}
