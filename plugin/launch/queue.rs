//! What a region is launched with: a stream of its own, and the word that tells when the region has ended.

use super::repeat::Repeats;
use crate::driver::{Code, CudaError, Driver, Event, Order, Stream};
use crate::reverse::sync::Ordering;
use std::collections::VecDeque;
use std::sync::atomic::AtomicU32;
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};

/// Bytes of pinned memory that end words are carved from at a time.
const PAGE: usize = 4096;
/// Bytes between end words: a cache line each, so that waiters don't disturb one another.
const LINE: usize = 64;

/// Queues of a device, at most. With 33 and more threads in regions at once, all with marks, the driver's own calls, allocations among
/// them, were seen to wait for running kernels, which then waited for a thread that waited for the allocation (an H200, whatever
/// the number of connections). More regions take turns.
const MOST_QUEUES: usize = 24;

/// How many streams of each order are made ahead ([`Pool::make_ahead`]): for all queues, and of the order that regions with requests have
/// for some hundred more that served blocks launch and wait for.
const AHEAD: [(Order, usize); 2] = [(Order::Apart, 128), (Order::AfterNull, MOST_QUEUES)];

/// A stream for kernels, with what goes with it. One region uses it at a time.
#[derive(Debug)]
pub struct Queue {
    /// The stream.
    pub stream: Stream,
    /// How it is ordered with the legacy NULL stream.
    order: Order,
    /// A stream of the other order, once one was wanted.
    other: Option<Stream>,
    /// An event whose waiters sleep.
    pub event: Event,
    /// What it has launched before.
    pub repeats: Repeats,
    /// The word that the stream writes the region's number to; none where stream memory operations are missing.
    end: Option<&'static AtomicU32>,
    /// The number of the region that was marked last.
    region: u32,
    /// Whether the region that runs is marked.
    marked: bool,
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

    /// Enqueues the end mark behind the kernel that was just launched, if it is `wanted` and the queue has a word for it.
    ///
    /// # Errors
    /// Those of `cuStreamWriteValue32`.
    pub fn mark_end(&mut self, driver: &Driver, wanted: bool) -> Result<(), CudaError> {
        let end = self.end.filter(|_| wanted);
        self.marked = end.is_some();
        let Some(end) = end else { return Ok(()) };
        self.region = self.region.wrapping_add(1);
        // SAFETY: end words are never freed while the context lives.
        unsafe { driver.stream_write_value_32(self.stream, end.as_ptr() as u64, self.region) }
    }

    /// Whether kernels on it can get an end mark.
    pub fn has_end_word(&self) -> bool {
        self.end.is_some()
    }

    /// Whether the end mark was written: the kernel is done and its writes are visible. False where there is none.
    pub fn has_ended(&self) -> bool {
        // Acquire pairs with the barrier that the stream's write begins with (CUDA Driver API, CU_STREAM_WRITE_VALUE_DEFAULT).
        self.marked && self.end.is_some_and(|end| end.load(Ordering::Acquire) == self.region)
    }

    /// Whether its kernel has an end mark behind it, and [`has_ended`](Self::has_ended) tells; else the driver must be asked.
    pub fn is_marked(&self) -> bool {
        self.marked
    }
}

/// Who gets the next queue that is free. Nobody holds a lock of the pool's when it is called.
pub type Heir = Box<dyn FnOnce(Queue) + Send>;

/// What a queue is wanted for.
#[derive(Clone, Copy, Debug)]
pub struct Want {
    /// How it is to be ordered with the legacy NULL stream.
    pub order: Order,
    /// Whether there is to be an end word; the queue gets one if there are channels left.
    pub end_word: bool,
    /// Whether the region is launched by a served block, on the thread that serves it: it doesn't wait for others then.
    pub nested: bool,
    /// Blocks that are being served. The kernels that wait for them hold queues, and may wait for the region that wants this one, by
    /// way of other threads. So there are as many queues more.
    pub serving: usize,
}

/// The queues that no region uses now, and end words for new ones.
#[derive(Debug)]
pub struct Pool {
    queues: Mutex<Queues>,
    words: Mutex<Words>,
    /// Streams that were made ahead and are in no queue yet; none before any were made.
    ahead: Mutex<Option<Vec<(Order, Stream)>>>,
}

#[derive(Default)]
struct Queues {
    free: Vec<Queue>,
    made: usize,
    in_use: usize,
    /// Who waits for a queue, in the order in which they came; threads and regions with `nowait` alike.
    line: VecDeque<(Want, Heir)>,
}

impl std::fmt::Debug for Queues {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} made, {} free, {} wanted", self.made, self.free.len(), self.line.len())
    }
}

#[derive(Debug)]
struct Words {
    free: Vec<&'static AtomicU32>,
    /// How many more may be given out: a mark holds back the streams that share its stream's hardware channel.
    left: usize,
}

/// A queue, or the right to make one.
enum Got {
    Old(Queue),
    New,
}

impl Queues {
    fn get(&mut self, want: Want) -> Option<Got> {
        if !want.nested && self.in_use >= MOST_QUEUES + want.serving {
            return None;
        }
        self.in_use += 1;
        // One with an end word, where that is wanted and there is one.
        let free = &self.free;
        let fitting = (0..free.len())
            .filter(|&i| free[i].order == want.order)
            .max_by_key(|&i| free[i].end.is_some() == want.end_word);
        let old = match fitting {
            Some(best) => Some(self.free.swap_remove(best)),
            None if self.made < MOST_QUEUES => None,
            None => self.free.pop(),
        };
        Some(old.map_or_else(
            || {
                self.made += 1;
                Got::New
            },
            Got::Old,
        ))
    }
}

impl Pool {
    /// An empty pool, `marks` of whose queues may have end words.
    pub fn new(marks: usize) -> Pool {
        Pool {
            queues: Mutex::default(),
            words: Mutex::new(Words { free: Vec::new(), left: marks }),
            ahead: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a queue: a free one, or a new one while there are few enough. None where all are in use; the heir then gets one when its
    /// turn comes, and has to [`fit`](Self::fit) it.
    ///
    /// # Errors
    /// Those of the driver calls that make streams, events and pinned memory.
    pub fn take_or(
        &self,
        driver: &Driver,
        want: Want,
        heir: impl FnOnce() -> Heir,
    ) -> Result<Option<Queue>, CudaError> {
        let mut queues = self.lock();
        if want.nested || queues.line.is_empty() {
            if let Some(got) = queues.get(want) {
                drop(queues);
                return self.make(driver, want, got).map(Some);
            }
        }
        queues.line.push_back((want, heir()));
        // With blocks being served there may be more queues than when the first in line came.
        while let Some((first, _)) = queues.line.front() {
            let first = Want { serving: want.serving, ..*first };
            let Some(got) = queues.get(first) else { break };
            let (_, heir) = queues.line.pop_front().expect("looked at");
            drop(queues);
            heir(self.make(driver, first, got)?);
            queues = self.lock();
        }
        Ok(None)
    }

    /// Takes a queue, and waits for one where all are in use.
    ///
    /// # Errors
    /// As [`take_or`](Self::take_or).
    pub fn take(&self, driver: &Driver, want: Want) -> Result<Queue, CudaError> {
        let mut later = None;
        let now = self.take_or(driver, want, || {
            let (sender, receiver) = mpsc::channel();
            later = Some(receiver);
            // The thread waits for as long as it takes.
            Box::new(move |queue| sender.send(queue).expect("it waits"))
        })?;
        match now {
            Some(queue) => Ok(queue),
            None => {
                let queue = later.expect("made with the heir").recv().expect("the line keeps the sender");
                self.fit(driver, want, queue)
            }
        }
    }

    /// Makes a queue that was used for something else fit for what it is wanted for.
    ///
    /// # Errors
    /// Those of the driver calls.
    pub fn fit(&self, driver: &Driver, want: Want, mut queue: Queue) -> Result<Queue, CudaError> {
        if queue.order != want.order {
            let other = queue.other.map_or_else(|| self.new_stream(driver, want.order), Ok)?;
            queue.other = Some(std::mem::replace(&mut queue.stream, other));
            queue.order = want.order;
        }
        Ok(queue)
    }

    fn make(&self, driver: &Driver, want: Want, got: Got) -> Result<Queue, CudaError> {
        if let Got::Old(queue) = got {
            return self.fit(driver, want, queue);
        }
        let end = if want.end_word { self.take_word(driver)? } else { None };
        let region = end.map_or(0, |end| end.load(Ordering::Relaxed));
        let (stream, event) = (self.new_stream(driver, want.order)?, driver.create_event(true)?);
        let repeats = Repeats::default();
        Ok(Queue { stream, order: want.order, other: None, event, repeats, end, region, marked: false })
    }

    /// Gives a queue back, to the first in line if there is one. Its kernel is done. There are never more than were in use at once.
    pub fn give_back(&self, queue: Queue) {
        let mut queues = self.lock();
        if let Some((_, heir)) = queues.line.pop_front() {
            drop(queues);
            heir(queue);
            return;
        }
        queues.in_use -= 1;
        queues.free.push(queue);
    }

    /// Makes streams ahead, where that hasn't been done. For images whose kernels may wait for the host: the driver, now and then when it
    /// makes a stream, waits for all kernels that run (docs/driver.md).
    ///
    /// # Errors
    /// Those of the driver calls.
    pub fn make_ahead(&self, driver: &Driver) -> Result<(), CudaError> {
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        if ahead.is_some() {
            return Ok(());
        }
        let ahead = ahead.insert(Vec::new());
        for (order, count) in AHEAD {
            for _ in 0..count {
                ahead.push((order, driver.create_stream(order)?));
            }
        }
        Ok(())
    }

    /// A new stream, one that was made ahead if there is any.
    fn new_stream(&self, driver: &Driver, order: Order) -> Result<Stream, CudaError> {
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        let found = ahead.as_mut().and_then(|ahead| {
            let at = ahead.iter().position(|(of, _)| *of == order)?;
            Some(ahead.swap_remove(at).1)
        });
        found.map_or_else(|| driver.create_stream(order), Ok)
    }

    fn words(&self) -> MutexGuard<'_, Words> {
        self.words.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_word(&self, driver: &Driver) -> Result<Option<&'static AtomicU32>, CudaError> {
        let mut words = self.words();
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

#[cfg(test)]
mod tests {
    use super::*;

    const WANT: Want = Want { order: Order::Apart, end_word: true, nested: false, serving: 0 };

    /// Takes as many new queues as may be made, and counts them.
    fn make_all(queues: &mut Queues, want: Want) -> usize {
        std::iter::from_fn(|| queues.get(want)).count()
    }

    #[test]
    fn there_are_as_many_queues_more_as_blocks_are_being_served() {
        let mut queues = Queues::default();
        assert_eq!(make_all(&mut queues, WANT), MOST_QUEUES);
        assert_eq!(make_all(&mut queues, Want { serving: 3, ..WANT }), 3);
        assert!(queues.get(WANT).is_none());
    }

    #[test]
    fn a_free_queue_of_the_same_order_comes_first_and_one_with_an_end_word_before_others() {
        let end = Box::leak(Box::new(AtomicU32::new(0)));
        let queue = |order, end, region| Queue {
            stream: Stream::NULL,
            order,
            other: None,
            event: Event(std::ptr::null_mut()),
            repeats: Repeats::default(),
            end,
            region,
            marked: false,
        };
        let mut queues = Queues::default();
        make_all(&mut queues, WANT);
        queues.in_use -= 3;
        queues.free.push(queue(Order::Apart, Some(end), 1));
        queues.free.push(queue(Order::Apart, None, 2));
        queues.free.push(queue(Order::AfterNull, Some(end), 3));
        let regions = std::iter::from_fn(|| match queues.get(WANT) {
            Some(Got::Old(queue)) => Some(queue.region),
            _ => None,
        });
        assert_eq!(regions.collect::<Vec<_>>(), [1, 2, 3]);
    }

    #[test]
    fn a_region_that_a_served_block_launches_does_not_wait() {
        let mut queues = Queues::default();
        make_all(&mut queues, WANT);
        assert!(matches!(queues.get(Want { nested: true, ..WANT }), Some(Got::New)));
    }
}
