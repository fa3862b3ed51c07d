//! What a context gets ready as the first kernel is launched that needs it: memory that kernels print to, and that they allocate from.
//!
//! On hardware all that is enqueued from then on, on any stream, waits for the kernels that run (measured on an H200, docs/driver.md).

use super::state::State;
use super::{DomainId, Point, Scheduler};
use boomerang_gpu::Needs;

/// What a context has ready, and what is held back because of that.
#[derive(Default)]
pub(super) struct FirstUse {
    ready: Needs,
    /// Ends of kernels that all that follows waits for.
    behind: Vec<Point>,
}

impl Scheduler {
    /// A kernel that `needs` this is about to be enqueued.
    pub fn get_ready(&self, domain: DomainId, needs: Needs) {
        let mut state = self.lock();
        let Some(before) = state.domains.get(&domain).map(|domain| domain.first_use.ready) else { return };
        let ready = Needs { print: before.print || needs.print, allocate: before.allocate || needs.allocate };
        if ready == before {
            return;
        }
        let running = state.running_kernels(domain);
        let first_use = &mut state.domains.get_mut(&domain).expect("looked up above").first_use;
        first_use.ready = ready;
        first_use.behind.extend(running);
    }
}

impl State {
    /// What all that is enqueued now waits for.
    pub(super) fn held_back_by(&self, domain: DomainId) -> impl Iterator<Item = Point> {
        let behind = self.domains.get(&domain).map_or(&[][..], |domain| &domain.first_use.behind);
        behind.iter().copied().filter(|point| !self.reached(*point))
    }

    /// The ends of the kernels that run.
    fn running_kernels(&self, domain: DomainId) -> Vec<Point> {
        let Some(domain) = self.domains.get(&domain) else { return Vec::new() };
        let queues = domain.queues.iter().filter_map(|id| Some((*id, self.queues.get(id)?)));
        queues
            .filter(|(_, queue)| queue.running.as_ref().is_some_and(|running| running.kernel.is_some()))
            .map(|(id, queue)| Point { queue: id, seq: queue.completed + 1 })
            .collect()
    }
}
