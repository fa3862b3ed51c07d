//! Execution: what instructions do, and who runs when.

pub(crate) mod alu;
pub(crate) mod atomics;
pub(crate) mod barrier;
pub(crate) mod bits;
pub(crate) mod block;
pub(crate) mod branch;
pub(crate) mod builtin;
pub(crate) mod call;
pub(crate) mod check;
pub(crate) mod compare;
mod context;
pub(crate) mod convert;
pub(crate) mod float;
pub(crate) mod frames;
pub(crate) mod gather;
pub(crate) mod half;
mod lane;
pub(crate) mod load_store;
pub(crate) mod local;
mod map;
pub(crate) mod moves;
pub(crate) mod pool;
mod races;
pub(crate) mod registers;
mod report;
mod rounding;
pub(crate) mod soft_stack;
pub(crate) mod special;
mod turn;
pub(crate) mod video;
mod waits;
mod warp;

pub(crate) use context::{Context, Flow};
