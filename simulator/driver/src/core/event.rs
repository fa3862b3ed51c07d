//! Events.

use super::context::Context;
use super::handle::Table;
use super::sched::Ticket;
use crate::error::{Error, Result};
use crate::types::CUevent;
use std::sync::{Arc, Mutex};

static EVENTS: Table<Event> = Table::new(0xe4e7);

/// `CU_EVENT_DISABLE_TIMING`.
pub const DISABLE_TIMING: u32 = 2;

/// An event.
pub struct Event {
    /// Its context.
    pub context: Arc<Context>,
    /// `CU_EVENT_*` flags. Waits always sleep, so `BLOCKING_SYNC` changes nothing here.
    pub flags: u32,
    /// The last recording.
    ticket: Mutex<Option<Arc<Ticket>>>,
}

impl Event {
    /// Starts a new recording.
    pub fn record(&self, ticket: &Arc<Ticket>) {
        *self.ticket.lock().expect("no panic under this lock") = Some(Arc::clone(ticket));
    }

    /// The last recording; an event never recorded counts as complete.
    pub fn ticket(&self) -> Option<Arc<Ticket>> {
        self.ticket.lock().expect("no panic under this lock").clone()
    }
}

/// A new event of the context.
pub fn create(context: &Arc<Context>, flags: u32) -> CUevent {
    let handle = EVENTS.reserve();
    EVENTS.insert(handle, Arc::new(Event { context: Arc::clone(context), flags, ticket: Mutex::default() }));
    CUevent(handle)
}

/// The event of a handle.
pub fn find(handle: CUevent) -> Result<Arc<Event>> {
    EVENTS.get(handle.0).ok_or(Error::INVALID_HANDLE)
}

/// Ends an event; who waits for its recording still gets it.
pub fn destroy(handle: CUevent) -> Result {
    EVENTS.remove(handle.0).map(drop).ok_or(Error::INVALID_HANDLE)
}

/// Ends the handles of a context that is gone.
pub fn forget(context: &Context) {
    EVENTS.remove_where(|e| e.context.handle == context.handle);
}
