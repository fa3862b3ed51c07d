//! OpenACC: compute regions, asynchronous queues, and what the program may ask about a device.

pub mod callback;
pub mod dims;
pub mod exec;
pub mod profiling;
pub mod property;
pub mod queue;
pub mod state;

pub use queue::{AsyncQueue, RequestCopies};
pub use state::State;
