//! A CUDA driver in software: a `libcuda.so` whose devices are [software GPUs](boomerang_gpu).
//!
//! Calls go `exports -> guard -> api -> core`; only `exports` has C symbols.

mod api;
pub mod c;
mod core;
mod env;
pub mod error;
pub mod exports;
mod guard;
pub mod platform;
pub mod types;
