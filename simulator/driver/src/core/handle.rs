//! Handles: numbers that are never reused, looked up in a table, so a stale or foreign handle is an
//! error and never a wild access.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};

/// The address of a symbol, as `cuGetProcAddress` gives it.
pub type Key = usize;

/// All live objects of one kind, by handle.
pub struct Table<T> {
    cookie: usize,
    next: AtomicUsize,
    live: RwLock<Option<HashMap<usize, Arc<T>>>>,
}

impl<T> Table<T> {
    /// An empty table. The cookie stands in the handles' upper half, so that the kinds never mix.
    pub const fn new(cookie: u16) -> Table<T> {
        Table { cookie: (cookie as usize) << 32, next: AtomicUsize::new(1), live: RwLock::new(None) }
    }

    /// Reserves a handle for an object that wants to know its own; [`Table::insert`] makes it valid.
    pub fn reserve(&self) -> usize {
        // Relaxed: only the number's uniqueness matters. Shifted to look like an aligned address.
        self.cookie | self.next.fetch_add(1, Ordering::Relaxed) << 4
    }

    /// Makes `handle` stand for `object`.
    pub fn insert(&self, handle: usize, object: Arc<T>) {
        let mut live = self.live.write().expect("no panic under this lock");
        live.get_or_insert_default().insert(handle, object);
    }

    /// The object, if the handle is of this kind and still live.
    pub fn get(&self, handle: usize) -> Option<Arc<T>> {
        self.live.read().expect("no panic under this lock").as_ref()?.get(&handle).cloned()
    }

    /// Ends the handle's life.
    pub fn remove(&self, handle: usize) -> Option<Arc<T>> {
        self.live.write().expect("no panic under this lock").as_mut()?.remove(&handle)
    }

    /// All live objects.
    pub fn all(&self) -> Vec<Arc<T>> {
        let live = self.live.read().expect("no panic under this lock");
        live.iter().flat_map(HashMap::values).cloned().collect()
    }

    /// Ends the life of all handles whose object `doomed` accepts.
    pub fn remove_where(&self, doomed: impl Fn(&T) -> bool) -> Vec<Arc<T>> {
        let mut live = self.live.write().expect("no panic under this lock");
        let Some(live) = live.as_mut() else { return Vec::new() };
        let keys: Vec<usize> = live.iter().filter(|(_, o)| doomed(o)).map(|(k, _)| *k).collect();
        keys.iter().filter_map(|k| live.remove(k)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_of_one_kind_and_dies_for_good() {
        let (a, b) = (Table::<u8>::new(1), Table::<u8>::new(2));
        let h = a.reserve();
        a.insert(h, Arc::new(7));
        assert_eq!(a.get(h).as_deref(), Some(&7));
        assert!(b.get(h).is_none());
        assert!(a.remove(h).is_some() && a.get(h).is_none());
        assert_ne!(a.reserve(), h);
    }
}
