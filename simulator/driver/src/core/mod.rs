//! What the entry points stand on: state and rules, without C.

pub mod caller;
pub mod clock;
pub mod context;
pub mod copy;
pub mod counts;
pub mod device;
pub mod event;
pub mod graph;
pub mod handle;
pub mod image;
pub mod link;
pub mod memory;
pub mod module;
pub mod pool;
pub mod process;
pub mod sched;
pub mod stream;
