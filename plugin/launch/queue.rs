//! What a host thread launches a region with: a stream of its own, and the word that tells when the region has ended.

use crate::driver::{Code, CudaError, Driver, Event, Order, Stream};
use crate::reverse::sync::Ordering;
use std::sync::atomic::AtomicU32;
use std::sync::{Condvar, Mutex, PoisonError};

/// Bytes of pinned memory that end words are carved from at a time.
const PAGE: usize = 4096;
/// Bytes between end words: a cache line each, so that waiters don't disturb one another.
const LINE: usize = 64;

/// Queues of a device, at most. With 33 and more threads in regions at once the driver's own calls, allocations among them, were seen to
/// wait for running kernels, which then waited for a thread that waited for the allocation (an H200, whatever the number of
/// connections). More threads take turns.
const MOST_QUEUES: usize = 24;

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
    queues: Mutex<Queues>,
    given_back: Condvar,
    words: Mutex<Words>,
}

#[derive(Debug, Default)]
struct Queues {
    free: Vec<Queue>,
    made: usize,
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
        Pool {
            queues: Mutex::default(),
            given_back: Condvar::new(),
            words: Mutex::new(Words { free: Vec::new(), left: marks }),
        }
    }

    /// Takes a queue of this order: a free one, a new one while there are few enough, else the next one that is given back. `nested`
    /// says that a region of this thread's waits for the one to be launched; it doesn't wait for others then. `end_word` says that the
    /// device can write one; the queue gets it if there are channels left.
    ///
    /// # Errors
    /// Those of the driver calls that make streams, events and pinned memory.
    pub fn take(
        &self,
        driver: &Driver,
        order: Order,
        end_word: bool,
        nested: bool,
    ) -> Result<Queue, CudaError> {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            // One with an end word, where there is one.
            let free = &queues.free;
            let fitting =
                (0..free.len()).filter(|&i| free[i].order == order).max_by_key(|&i| free[i].end.is_some());
            if let Some(best) = fitting {
                return Ok(queues.free.swap_remove(best));
            }
            if queues.made < MOST_QUEUES || nested {
                queues.made += 1;
                drop(queues);
                let end = if end_word { self.take_word(driver)? } else { None };
                let region = end.map_or(0, |end| end.load(Ordering::Relaxed));
                let (stream, event) = (driver.create_stream(order)?, driver.create_event(true)?);
                return Ok(Queue { stream, order, event, end, region });
            }
            if let Some(mut other) = queues.free.pop() {
                // SAFETY: the queue is free, so nobody uses its stream.
                unsafe { driver.destroy_stream(other.stream) }?;
                (other.stream, other.order) = (driver.create_stream(order)?, order);
                return Ok(other);
            }
            queues = self.given_back.wait(queues).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Gives a queue back. Its kernel is done.
    pub fn give_back(&self, queue: Queue) {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner).free.push(queue);
        self.given_back.notify_one();
    }

    fn take_word(&self, driver: &Driver) -> Result<Option<&'static AtomicU32>, CudaError> {
        let mut words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        if words.left == 0 {
            return Ok(None);
        }
        if words.free.is_empty() {
            let page = match driver.host_alloc(PAGE) {
                // The driver is asked then.
                Err(error) if error.code == Code::OUT_OF_MEMORY => return Ok(None),
                page => page?.cast::<u8>(),
            };
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
