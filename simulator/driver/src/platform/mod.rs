//! The platform description: what devices there are, how they are linked, and what their work costs.
//! `docs/cost-model.md` says what the model does with it; here it is read from its file.

mod error;
mod parse;
#[cfg(test)]
mod tests;
mod value;

pub use error::PlatformError;

use crate::env::settings;
use crate::error::{Error, Result};
use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

/// Where the bytes of a copy lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Site {
    /// Host memory.
    Host,
    /// The memory of the device of that number.
    Device(usize),
}

/// A platform description. Times are in ns, bandwidths in bytes per ns (which is GB/s).
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// The file that it was read from, for errors.
    pub file: String,
    /// What a launch, copy or fill costs the thread that enqueues it.
    pub queueing: u64,
    /// Whether a kernel that has no cost may not be launched.
    pub require_costs: bool,
    /// The devices by number.
    pub devices: Vec<Device>,
    /// The switches, which links name by their place here.
    pub switches: Vec<Switch>,
    /// The links; there is one for each copy that the devices can make, except within host memory.
    pub links: BTreeMap<(Site, Site), Link>,
    /// How long kernels run, by name.
    pub kernels: HashMap<String, u64>,
}

/// A device.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// What links call it.
    pub name: String,
    /// Bytes of memory.
    pub memory: u64,
    /// Multiprocessors, which share the device's rate evenly.
    pub multiprocessors: u32,
    /// What each launch takes on the device beside the kernel's own time.
    pub launch: u64,
    /// Instructions of single threads that the whole device executes in a ns.
    pub rate: Option<f64>,
}

/// What several links share.
#[derive(Clone, Debug, PartialEq)]
pub struct Switch {
    /// What links call it.
    pub name: String,
    /// For all copies that cross it at once.
    pub bandwidth: f64,
}

/// What copies from one place to another cross.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Of copies from or to memory that the device can reach by itself.
    pub direct: Speed,
    /// Of copies from or to pageable host memory.
    pub pageable: Speed,
    /// The switch that it is part of.
    pub switch: Option<usize>,
}

/// What a copy takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed {
    /// Before the first byte.
    pub latency: u64,
    /// From then on, at most.
    pub bandwidth: f64,
}

impl Description {
    /// The name of a place.
    pub fn name(&self, site: Site) -> &str {
        match site {
            Site::Host => parse::HOST,
            Site::Device(number) => &self.devices[number].name,
        }
    }
}

/// The platform of this process, if `BOOMERANG_SIM_PLATFORM` names one; a wrong one is reported, once.
pub fn description() -> Result<Option<&'static Description>> {
    static DESCRIPTION: OnceLock<Result<Option<Description>>> = OnceLock::new();
    let read = DESCRIPTION.get_or_init(|| {
        let Some(file) = &settings().platform else { return Ok(None) };
        Description::read(file).map(Some).map_err(|error| {
            eprintln!("boomerang-sim: {error}");
            Error::SYSTEM_NOT_READY
        })
    });
    read.as_ref().map(Option::as_ref).map_err(|error| *error)
}
