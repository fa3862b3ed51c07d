//! Contexts, and each thread's stack of them.

use super::device::{Device, platform};
use super::handle::Table;
use super::sched::{Class, DomainId, QueueId, scheduler};
use super::{event, memory, module, stream};
use crate::env::settings;
use crate::error::{Error, Result};
use crate::types::CUcontext;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

static CONTEXTS: Table<Context> = Table::new(0xc0de);

/// A context.
pub struct Context {
    /// Its handle.
    pub handle: CUcontext,
    /// The device it was made on.
    pub device: &'static Device,
    /// Its queues in the scheduler.
    pub domain: DomainId,
    /// The queue of the legacy default stream.
    pub legacy: QueueId,
    /// Whether it is the device's primary context.
    pub primary: bool,
    /// `CU_CTX_*` flags it was made with.
    pub flags: AtomicU32,
    /// Limits set that nothing depends on, by `CUlimit`.
    pub limits: Mutex<HashMap<u32, usize>>,
    /// Ordinals whose memory it may access.
    pub peers: Mutex<Vec<usize>>,
    /// The per-thread default streams.
    per_thread: Mutex<HashMap<ThreadId, QueueId>>,
    /// Whether a fault was reported: later ones follow from it.
    faulted: AtomicBool,
}

thread_local! {
    /// Never dropped: exit runs the destructors of thread-local storage first, and libgomp's exit handler
    /// still uses the driver after them. An empty stack has no memory, so that a thread that ends leaves none behind.
    static STACK: RefCell<ManuallyDrop<Vec<CUcontext>>> = const { RefCell::new(ManuallyDrop::new(Vec::new())) };
}

/// Runs `f` on this thread's stack of contexts.
fn with_stack<R>(f: impl FnOnce(&mut Vec<CUcontext>) -> R) -> R {
    STACK.with(|stack| {
        let mut stack = stack.borrow_mut();
        let result = f(&mut stack);
        if stack.is_empty() {
            **stack = Vec::new();
        }
        result
    })
}

impl Context {
    /// A new context on `device`, current nowhere.
    pub fn create(device: &'static Device, flags: u32, primary: bool) -> Arc<Context> {
        let (domain, legacy) = scheduler().create_domain(settings().connections);
        let handle = CONTEXTS.reserve();
        let context = Arc::new(Context {
            handle: CUcontext(handle),
            device,
            domain,
            legacy,
            primary,
            flags: AtomicU32::new(flags),
            limits: Mutex::default(),
            peers: Mutex::default(),
            per_thread: Mutex::default(),
            faulted: AtomicBool::new(false),
        });
        CONTEXTS.insert(handle, Arc::clone(&context));
        context
    }

    /// Ends it: its work, streams, events, modules and memory.
    pub fn destroy(&self) {
        CONTEXTS.remove(self.handle.0);
        scheduler().destroy_domain(self.domain);
        stream::forget(self);
        event::forget(self);
        module::forget(self);
        memory::forget(self);
        for peer in std::mem::take(&mut *self.peers.lock().expect("no panic under this lock")) {
            withdraw_peer(self.device.ordinal, peer);
        }
        self.flush_printf();
    }

    /// Its sticky error, if it has one.
    pub fn check(&self) -> Result {
        scheduler().check(self.domain)
    }

    /// The queue of this thread's default stream (`CU_STREAM_PER_THREAD`).
    pub fn per_thread_queue(&self) -> Result<QueueId> {
        let mut queues = self.per_thread.lock().expect("no panic under this lock");
        let me = std::thread::current().id();
        if let Some(queue) = queues.get(&me) {
            return Ok(*queue);
        }
        let queue =
            scheduler().create_queue(self.domain, Class::Blocking, format!("default stream of {me:?}"))?;
        queues.insert(me, queue);
        Ok(queue)
    }

    /// Writes a kernel's fault to stderr, the first time, behind what kernels have printed.
    pub fn report_fault(&self, fault: &boomerang_gpu::Fault) {
        // Relaxed: the flag only picks who prints.
        if !self.faulted.swap(true, Ordering::Relaxed) {
            // Now, for calls that find the context lost return before they would write it.
            self.flush_printf();
            eprintln!("boomerang-sim: {fault}");
        }
    }

    /// Writes what kernels have printed to the C library's stdout and on to its file, as the driver does at
    /// synchronisation (seen on an H200: the text is in the file when the call returns).
    pub fn flush_printf(&self) {
        let text = self.device.gpu.drain_printf();
        if text.is_empty() {
            return;
        }
        unsafe extern "C" {
            static stdout: *mut c_void;
            fn fwrite(data: *const c_void, size: usize, count: usize, stream: *mut c_void) -> usize;
            fn fflush(stream: *mut c_void) -> c_int;
        }
        // SAFETY: `stdout` is C's stream, open as long as the program leaves it; `text` is that long.
        // What a closed stdout loses, it loses for printf too.
        unsafe {
            fwrite(text.as_ptr().cast(), 1, text.len(), stdout);
            fflush(stdout);
        }
    }
}

/// Takes a device's access to the memory of `peer` back, unless another of its contexts has it too.
pub fn withdraw_peer(device: usize, peer: usize) {
    let has = |c: &Arc<Context>| c.peers.lock().expect("no panic under this lock").contains(&peer);
    if !CONTEXTS.all().iter().any(|c| c.device.ordinal == device && has(c)) {
        platform().memory.set_peer_access(device, peer, false);
    }
}

/// Writes what kernels printed, at process exit.
pub fn flush_all() {
    CONTEXTS.all().iter().for_each(|context| context.flush_printf());
}

/// The live context of a handle.
pub fn get(handle: CUcontext) -> Result<Arc<Context>> {
    CONTEXTS.get(handle.0).ok_or(Error::INVALID_CONTEXT)
}

/// The context current to this thread, lost or not; `INVALID_CONTEXT` if none, `CONTEXT_IS_DESTROYED` if it is gone.
pub fn current_even_lost() -> Result<Arc<Context>> {
    let top = with_stack(|s| s.last().copied()).ok_or(Error::INVALID_CONTEXT)?;
    CONTEXTS.get(top.0).ok_or(Error::CONTEXT_IS_DESTROYED)
}

/// The context current to this thread, in working order: a sticky error is returned.
pub fn current() -> Result<Arc<Context>> {
    let context = current_even_lost()?;
    context.check()?;
    Ok(context)
}

/// The handle on top of this thread's stack.
pub fn current_handle() -> Option<CUcontext> {
    with_stack(|s| s.last().copied())
}

/// Makes a context current on top of the others.
pub fn push(context: CUcontext) {
    with_stack(|s| s.push(context));
}

/// Takes the top off; `INVALID_CONTEXT` for an empty stack.
pub fn pop() -> Result<CUcontext> {
    with_stack(Vec::pop).ok_or(Error::INVALID_CONTEXT)
}

/// Replaces the top; `None` takes it off.
pub fn replace(context: Option<CUcontext>) {
    with_stack(|s| {
        s.pop();
        s.extend(context);
    });
}

/// Whether the handle is on top of this thread's stack, and then takes it off: what destroying a context does.
pub fn pop_if_current(context: CUcontext) {
    with_stack(|s| {
        if s.last() == Some(&context) {
            s.pop();
        }
    });
}

/// The ordinal of the device of the current context.
pub fn current_device() -> Result<c_int> {
    Ok(current_even_lost()?.device.ordinal as c_int)
}
