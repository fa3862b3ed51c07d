//! Serving a request: running the host's block for it, on this thread.

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

/// Runs the host's block, with [`serving`] saying so meanwhile.
pub fn serve(serving: Serving, block: impl FnOnce()) {
    // The block may launch a region whose requests this thread serves in turn.
    let outer = SERVING.replace(Some(serving));
    block();
    SERVING.set(outer);
}
