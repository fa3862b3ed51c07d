//! The offload plugin.
