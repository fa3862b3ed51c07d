//! Doing many things on a few threads.

use std::sync::Mutex;
use std::thread;

/// Does `work` on each item, on `workers` threads, and returns the results in the items' order.
pub fn parallel<Item: Send, Done: Send>(
    items: Vec<Item>,
    workers: usize,
    work: impl Fn(Item) -> Done + Sync,
) -> Vec<Done> {
    let count = items.len();
    let queue = Mutex::new(items.into_iter().enumerate());
    let done = Mutex::new((0..count).map(|_| None).collect::<Vec<Option<Done>>>());
    thread::scope(|scope| {
        for _ in 0..workers.min(count) {
            scope.spawn(|| {
                loop {
                    // On its own line, so that the queue is free while the item is worked on.
                    let next = queue.lock().expect("no holder of this lock panics").next();
                    let Some((index, item)) = next else { break };
                    let result = work(item);
                    done.lock().expect("no holder of this lock panics")[index] = Some(result);
                }
            });
        }
    });
    let done = done.into_inner().expect("no holder of this lock panics");
    done.into_iter().map(|result| result.expect("each item was worked on")).collect()
}

/// The number of processors.
pub fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        assert_eq!(
            parallel((0..100).collect(), 3, |item: usize| item * 2),
            (0..200).step_by(2).collect::<Vec<_>>()
        );
        assert!(parallel(Vec::<u8>::new(), 3, |item| item).is_empty());
    }
}
