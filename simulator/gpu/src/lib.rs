//! A software GPU: checked memory, warps in lockstep with reconvergence, faults that name their cause.
//!
//! The order of use: one [`Memory`] for the process, one [`Device`] for each GPU, [`Module::load`] for linked PTX,
//! [`run_grid`] for a launch (it blocks until the grid ends; call it from one thread a stream).

mod device;
mod exec;
mod fault;
mod format;
mod ir;
mod launch;
mod lower;
pub mod mem;
mod module;
mod random;

pub use device::{CLOCK_KHZ, Checks, Device, DeviceConfig};
pub use fault::{Fault, FaultKind, Location, Region};
pub use launch::{Launch, Stats, run_grid, run_grid_observed};
pub use mem::{AccessError, Actor, Allocation, Kind, Memory, OutOfMemory};
pub use module::{Global, Kernel, LoadError, Module, Needs, Object, Param};
