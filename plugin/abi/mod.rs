//! The C interface: what libgomp calls (`GOMP_OFFLOAD_*`, libgomp-plugin.h), and what we call in libgomp.
//!
//! Every entry point is a closure that returns a `Result`, run by [`entry::guard`].

pub mod call;
pub mod device;
pub mod entry;
pub mod host;
pub mod image;
pub mod interop;
pub mod memory;
pub mod openacc;
pub mod run;
