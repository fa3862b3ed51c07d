//! Boomerang: a drop-in replacement for GCC's `libgomp-plugin-nvptx.so.1`.
//!
//! Calls go from `abi` to `device`, `image`, `memory`, `launch`, `reverse` and `interop`, and from those to `driver`;
//! never back.

pub mod abi;
mod condition;
pub mod device;
pub mod driver;
pub mod env;
pub mod error;
pub mod image;
pub mod interop;
pub mod launch;
pub mod memory;
pub mod openacc;
pub mod reverse;
