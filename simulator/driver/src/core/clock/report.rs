//! What the clock tells when the process ends.

use super::graph::{Activity, NodeId};
use super::{Clock, summary, trace};
use crate::platform::Site;
use std::path::Path;

/// One bar of the timeline.
pub(super) struct Bar<'a> {
    pub what: What<'a>,
    /// When it could have begun but for other operations.
    pub ready: u64,
    pub begin: u64,
    pub end: u64,
}

/// What the time went into.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What<'a> {
    /// A host thread enqueued something.
    Queueing { thread: u64 },
    /// A copy or fill crossed a link.
    Copy { from: Site, to: Site, bytes: u64, queue: u64 },
    /// A kernel ran.
    Kernel { device: usize, queue: u64, name: &'a str, blocks: u64 },
}

/// All that took time, in the order in which it began; and how many operations had not ended.
pub(super) fn bars(clock: &Clock) -> (Vec<Bar<'_>>, usize) {
    let (mut bars, mut open) = (Vec::new(), 0);
    for (index, node) in clock.graph.nodes.iter().enumerate() {
        let queue = node.point.map_or(0, |point| point.queue);
        let what = match &node.activity {
            Activity::Instant | Activity::Wait(_) => continue,
            Activity::Queueing { thread, .. } => What::Queueing { thread: *thread },
            Activity::Copy(copy) => What::Copy { from: copy.from, to: copy.to, bytes: copy.bytes, queue },
            Activity::Kernel(kernel) => {
                What::Kernel { device: kernel.device, queue, name: &kernel.name, blocks: kernel.blocks }
            }
        };
        match clock.engine.times(NodeId(index as u32)) {
            Some((ready, begin, end)) => bars.push(Bar { what, ready, begin, end }),
            None => open += 1,
        }
    }
    bars.sort_by_key(|bar| (bar.begin, bar.end, bar.what));
    (bars, open)
}

/// Writes the timeline to a file, and a summary to stderr.
pub fn write(clock: &mut Clock, file: &Path) {
    clock.settle();
    let (bars, open) = bars(clock);
    if let Err(error) = std::fs::write(file, trace::chrome(clock, &bars)) {
        eprintln!("boomerang-sim: BOOMERANG_SIM_REPORT={}: {error}", file.display());
    }
    eprint!("{}", summary::text(clock.platform, &bars, open));
}
