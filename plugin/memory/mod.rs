//! Memory of the devices, and of the host where devices reach it.

pub mod addresses;
pub mod alloc;
mod arrival;
pub mod copy;
pub mod heap;
pub mod host;
pub mod nontemporal;
pub mod part;
pub mod pipeline;
pub mod pool;
pub mod small;
pub mod staging;
pub mod workers;
