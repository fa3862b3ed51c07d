//! The devices: which there are, and what is known of each one in use.

pub mod attrs;
mod fork;
pub mod registry;
pub mod state;

pub use attrs::Attributes;
pub use state::Device;
