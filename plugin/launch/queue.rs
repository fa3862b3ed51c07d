//! What a host thread launches a region with: a stream of its own, and the word that tells when the region has ended.

use crate::driver::{CudaError, Driver, Event, Order, Stream};
use crate::reverse::sync::Ordering;
use std::sync::atomic::AtomicU32;
use std::sync::{Mutex, PoisonError};

/// Bytes of pinned memory that end words are carved from at a time.
const PAGE: usize = 4096;
/// Bytes between end words: a cache line each, so that waiters don't disturb one another.
const LINE: usize = 64;

/// A stream for kernels, with what goes with it. One thread uses it at a time.
#[derive(Debug)]
pub struct Queue {
    /// The stream.
    pub stream: Stream,
    /// How it is ordered with the legacy NULL stream.
    order: Order,
    /// An event whose waiters sleep.
    pub event: Event,
    /// The word that the stream writes the region's number to; none where stream memory operations are missing.
    end: Option<&'static AtomicU32>,
    /// The number of the region that was launched last.
    region: u32,
}

impl Queue {
    /// Has the kernel that is launched next come after what the program's other CUDA code has put on the legacy NULL stream, as it
    /// would with the stock plugin.
    ///
    /// # Errors
    /// Those of the driver calls.
    pub fn follow_null_stream(&self, driver: &Driver) -> Result<(), CudaError> {
        match self.order {
            Order::AfterNull => Ok(()),
            Order::Apart => {
                driver.record_event(self.event, Stream::NULL)?;
                driver.stream_wait_event(self.stream, self.event)
            }
        }
    }

    /// Enqueues the end mark behind the kernel that was just launched.
    ///
    /// # Errors
    /// Those of `cuStreamWriteValue32`.
    pub fn mark_end(&mut self, driver: &Driver) -> Result<(), CudaError> {
        let Some(end) = self.end else { return Ok(()) };
        self.region = self.region.wrapping_add(1);
        // SAFETY: end words are never freed while the context lives.
        unsafe { driver.stream_write_value_32(self.stream, end.as_ptr() as u64, self.region) }
    }

    /// Whether the end mark was written: the kernel is done and its writes are visible. False without an end word.
    pub fn has_ended(&self) -> bool {
        // Acquire pairs with the barrier that the stream's write begins with (CUDA Driver API, CU_STREAM_WRITE_VALUE_DEFAULT).
        self.end.is_some_and(|end| end.load(Ordering::Acquire) == self.region)
    }

    /// Whether [`has_ended`](Self::has_ended) tells; else the driver must be asked.
    pub fn has_end_word(&self) -> bool {
        self.end.is_some()
    }
}

/// The queues that no thread uses now, and end words for new ones.
#[derive(Debug)]
pub struct Pool {
    free: Mutex<Vec<Queue>>,
    words: Mutex<Words>,
}

#[derive(Debug)]
struct Words {
    free: Vec<&'static AtomicU32>,
    /// How many more may be given out: a mark holds back the streams that share its stream's hardware channel.
    left: usize,
}

impl Pool {
    /// An empty pool, `marks` of whose queues may have end words.
    pub fn new(marks: usize) -> Pool {
        Pool { free: Mutex::default(), words: Mutex::new(Words { free: Vec::new(), left: marks }) }
    }

    /// Takes a queue of this order, or makes one: with an end word if `end_word` says that the device can write it, and there are
    /// channels left.
    ///
    /// # Errors
    /// Those of the driver calls that make streams, events and pinned memory.
    pub fn take(&self, driver: &Driver, order: Order, end_word: bool) -> Result<Queue, CudaError> {
        let pooled = {
            let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
            // One with an end word, where there is one.
            let best = (0..free.len()).filter(|&i| free[i].order == order).max_by_key(|&i| free[i].end.is_some());
            best.map(|best| free.swap_remove(best))
        };
        if let Some(queue) = pooled {
            return Ok(queue);
        }
        let end = if end_word { self.take_word(driver)? } else { None };
        let region = end.map_or(0, |end| end.load(Ordering::Relaxed));
        Ok(Queue { stream: driver.create_stream(order)?, order, event: driver.create_event(true)?, end, region })
    }

    /// Gives a queue back. Its kernel is done.
    pub fn give_back(&self, queue: Queue) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(queue);
    }

    fn take_word(&self, driver: &Driver) -> Result<Option<&'static AtomicU32>, CudaError> {
        let mut words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        if words.left == 0 {
            return Ok(None);
        }
        if words.free.is_empty() {
            let page = driver.host_alloc(PAGE)?.cast::<u8>();
            // SAFETY: the page was just allocated and is this many bytes long.
            unsafe { page.write_bytes(0, PAGE) };
            for offset in (0..PAGE).step_by(LINE) {
                // SAFETY: within the page, aligned; the page is never freed while the context lives, and only atomics touch it.
                words.free.push(unsafe { AtomicU32::from_ptr(page.add(offset).cast()) });
            }
        }
        words.left -= 1;
        Ok(words.free.pop())
    }
}
