//! Serving a request: running the host's block for it, on this thread.

use super::slot::Claim;
use crate::abi::host;
use std::cell::Cell;

/// What the plugin's other parts must know while this thread serves a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Serving {
    /// The device whose kernel waits for the reply.
    pub device: usize,
}

thread_local! {
    static SERVING: Cell<Option<Serving>> = const { Cell::new(None) };
}

/// Whether this thread serves a request, and of which device. Meanwhile no driver call may be made that waits for running
/// kernels: it would wait for the one that waits for this thread.
pub fn serving() -> Option<Serving> {
    SERVING.get()
}

/// Serves a request and lets the device go on.
pub fn serve(claim: Claim<'_>, serving: Serving) {
    // The block may launch a region whose requests this thread serves in turn.
    let outer = SERVING.replace(Some(serving));
    // SAFETY: the request was posted by the device library that GCC links, and its kernel waits for the reply.
    unsafe { host::target_rev(&claim.request) };
    SERVING.set(outer);
    claim.reply();
}
