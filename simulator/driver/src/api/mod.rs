//! The functions behind the entry points, one file per kind of object.

pub mod context;
pub mod device;
pub mod event;
pub mod graph;
pub mod init;
pub mod launch;
pub mod link;
pub mod memcpy;
pub mod memop;
pub mod memory;
pub mod memset;
pub mod module;
pub mod pool;
pub mod stream;
