//! Which copies can't be under way at the same time.

use super::graph::Copy;
use crate::platform::Site;

/// Between two devices.
fn is_peer(copy: &Copy) -> bool {
    matches!((copy.from, copy.to), (Site::Device(from), Site::Device(to)) if from != to)
}

/// Whether one must end before the other begins.
pub(super) fn sequential(a: &Copy, b: &Copy) -> bool {
    let same = a.from == b.from && a.to == b.to;
    let opposite = a.from == b.to && a.to == b.from;
    let feeds = |host: &Copy, peer: &Copy| {
        host.from == Site::Host && is_peer(peer) && (host.to == peer.from || host.to == peer.to)
    };
    same || (opposite && is_peer(a)) || feeds(a, b) || feeds(b, a)
}
