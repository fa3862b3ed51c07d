//! The address space of the process: device memory of every device and the host memory registered with the driver.
//!
//! A device's memory is a reserved range of addresses that the host can't touch (a dereference of a device pointer on
//! the host crashes, as on real hardware); the simulator reaches the same bytes through an alias at a constant distance.

mod allocation;
mod arena;
mod copy;
mod os;
mod table;
mod written;

pub use allocation::{AccessError, Actor, Allocation, Kind, Neighbour, OutOfMemory};
pub use table::Memory;
pub(crate) use table::View;
