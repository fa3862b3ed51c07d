//! Makes a context current for a while.

use super::{Context, CudaError, Driver};

/// While it lives, its context is this thread's current one; afterwards the caller's is again. A thread of the
/// program's may be using another CUDA context of its own and must find it as it left it.
#[must_use]
pub struct ContextGuard {
    /// Whom to ask to pop the context; `None` where it was current already, which costs one query only.
    pushed: Option<&'static Driver>,
    /// The current context belongs to a thread.
    _not_send: std::marker::PhantomData<*const ()>,
}

impl ContextGuard {
    /// Makes `context` current.
    ///
    /// # Errors
    /// When the driver refuses: in a host function, or when it is shutting down.
    pub fn enter(driver: &'static Driver, context: Context) -> Result<ContextGuard, CudaError> {
        let is_current = driver.current_context()? == Some(context);
        if !is_current {
            driver.push_context(context)?;
        }
        Ok(ContextGuard { pushed: (!is_current).then_some(driver), _not_send: std::marker::PhantomData })
    }
}

impl Drop for ContextGuard {
    fn drop(&mut self) {
        if let Some(driver) = self.pushed {
            // Fails only when the driver is shutting down, and then there is nothing to restore.
            let _ = driver.pop_context();
        }
    }
}
