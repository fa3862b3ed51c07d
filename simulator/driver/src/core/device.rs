//! The devices that the environment asks for, made by `cuInit`.

use super::context::Context;
use crate::env::{Settings, settings};
use crate::error::{Error, Result};
use crate::platform::{self, Description};
use boomerang_gpu::{DeviceConfig, Memory};
use std::ffi::c_int;
use std::sync::{Arc, Mutex, OnceLock};

/// What every device is called.
pub const NAME: &str = "Boomerang Simulated GPU";

/// The primary context of a device.
#[derive(Default)]
pub struct Primary {
    /// It, while retained.
    pub context: Option<Arc<Context>>,
    /// How often it is retained.
    pub retained: usize,
    /// Flags for when it is made.
    pub flags: u32,
}

/// One device.
pub struct Device {
    /// Its number.
    pub ordinal: usize,
    /// The GPU.
    pub gpu: Arc<boomerang_gpu::Device>,
    /// Its primary context.
    pub primary: Mutex<Primary>,
}

/// All devices and the memory they share addresses in.
pub struct Platform {
    /// The address space.
    pub memory: Arc<Memory>,
    /// The devices by ordinal.
    pub devices: Vec<Device>,
}

static PLATFORM: OnceLock<Platform> = OnceLock::new();

impl Platform {
    fn new(settings: &Settings, description: Option<&Description>) -> Result<Platform> {
        // Multiprocessors and bytes of memory of each device.
        let sizes: Vec<(u32, u64)> = match description {
            Some(description) => description.devices.iter().map(|d| (d.multiprocessors, d.memory)).collect(),
            None => vec![(settings.sms, settings.memory); settings.devices],
        };
        if sizes.is_empty() {
            return Err(Error::NO_DEVICE);
        }
        let capacities: Vec<u64> = sizes.iter().map(|(_, memory)| *memory).collect();
        let tracked = |mut memory: Memory| match settings.checks.uninitialized {
            true => memory.track_writes().map(|()| memory),
            false => Ok(memory),
        };
        let memory = Memory::new(&capacities).and_then(tracked).map_err(|error| {
            eprintln!("boomerang-sim: no address space for the devices' memory: {error}");
            Error::OPERATING_SYSTEM
        })?;
        let memory = Arc::new(memory);
        let device = |(ordinal, (multiprocessors, _))| {
            let default = DeviceConfig::default();
            let config = DeviceConfig {
                ordinal,
                multiprocessors,
                seed: settings.seed.unwrap_or(0),
                deadlock: settings.deadlock,
                stalled: |report| eprintln!("boomerang-sim: {report}"),
                checks: settings.checks,
                // What kernels count must not depend on how the system schedules threads.
                workers: if description.is_some() { 1 } else { default.workers },
                ..default
            };
            let gpu = boomerang_gpu::Device::new(config, Arc::clone(&memory));
            Device { ordinal, gpu, primary: Mutex::default() }
        };
        let devices = sizes.into_iter().enumerate().map(device).collect();
        Ok(Platform { memory, devices })
    }
}

/// Makes the devices, once.
pub fn initialize() -> Result {
    static ONCE: Mutex<()> = Mutex::new(());
    let _once = ONCE.lock().expect("no panic under this lock");
    if PLATFORM.get().is_none() {
        let made = PLATFORM.set(Platform::new(settings(), platform::description()?)?);
        debug_assert!(made.is_ok(), "only this function sets it, under its lock");
        super::process::ready();
    }
    Ok(())
}

/// The devices. Only for calls behind [`super::process::check_ready`].
pub fn platform() -> &'static Platform {
    PLATFORM.get().expect("cuInit has succeeded")
}

/// The device of that number; `INVALID_DEVICE` if there is none.
pub fn device(ordinal: c_int) -> Result<&'static Device> {
    let index = usize::try_from(ordinal).map_err(|_| Error::INVALID_DEVICE)?;
    platform().devices.get(index).ok_or(Error::INVALID_DEVICE)
}
