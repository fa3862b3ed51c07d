//! OpenACC: compute regions, asynchronous queues, and what the program may ask about a device.

pub mod queue;

pub use queue::{AsyncQueue, RequestCopies};
