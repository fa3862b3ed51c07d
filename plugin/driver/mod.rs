//! The CUDA driver: the only part of the plugin that calls `cu*`.

pub mod call;
pub mod context;
pub mod gate;
pub mod graph;
pub mod memory;
pub mod module;
pub mod status;
pub mod stream;
pub mod table;

pub use call::{Context, Device, DevicePtr, Event, Function, HostFunction, Module, Stream};
pub use context::ContextGuard;
pub use graph::Graph;
pub use module::Shape;
pub use status::{Code, CudaError};
pub use stream::{Order, WaitFor};
pub use table::{Driver, LoadError, driver};
