//! How many teams and threads a region gets.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

/// What the program's clauses ask for; 0 where they ask for nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requested {
    /// `num_teams`
    pub teams: u32,
    /// `thread_limit`
    pub threads: u32,
}

/// The shape of a launch: OpenMP teams are blocks, OpenMP threads are warps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dims {
    /// Teams.
    pub teams: u32,
    /// Threads of each team.
    pub threads: u32,
}

/// Lanes of a warp.
pub const WARP: u32 = 32;
/// GCC's device library has room for this many warps a team (`__nvptx_stacks`).
const MOST_THREADS: u32 = 32;
/// Threads of a team whose size the program leaves open, as the stock plugin has it.
const DEFAULT_THREADS: u32 = 8;

// GOMP_TARGET_ARG_* (include/gomp-constants.h): an identifier word, whose value is in its upper bits or in the next word.
const DEVICE_MASK: usize = 0x7f;
const DEVICE_ALL: usize = 0;
const VALUE_FOLLOWS: usize = 1 << 7;
const ID_MASK: usize = 0xff << 8;
const NUM_TEAMS: usize = 1 << 8;
const THREAD_LIMIT: usize = 2 << 8;
const VALUE_SHIFT: u32 = 16;

/// Reads the launch arguments of `GOMP_OFFLOAD_run`.
///
/// # Safety
/// `args` points at an array as libgomp passes it: words, the last of them null.
pub unsafe fn requested(args: *const *const c_void) -> Requested {
    let mut wanted = Requested::default();
    let mut at = args;
    let mut next = || {
        // SAFETY: the array ends with a null word, where the loop below stops.
        let word = unsafe { *at } as usize;
        // SAFETY: at most one past the null word.
        at = unsafe { at.add(1) };
        word
    };
    loop {
        let word = next();
        if word == 0 {
            return wanted;
        }
        let value = if word & VALUE_FOLLOWS != 0 { next() as isize } else { word as isize >> VALUE_SHIFT };
        if word & DEVICE_MASK & !VALUE_FOLLOWS != DEVICE_ALL {
            continue;
        }
        // A negative value is none, as in the stock plugin.
        let value = value.clamp(0, i32::MAX as isize) as u32;
        match word & ID_MASK {
            NUM_TEAMS => wanted.teams = value,
            THREAD_LIMIT => wanted.threads = value,
            _ => {}
        }
    }
}

impl Requested {
    /// How many teams and threads run. `block_threads`: CUDA threads that a block of the kernel may have. `room`: how many teams of
    /// so many threads the device can hold at once. More teams than that would be correct too, but each costs a stack; the
    /// device library loops over the teams that don't fit.
    ///
    /// # Errors
    /// Those of `room`.
    pub fn fit<E>(self, block_threads: u32, room: impl FnOnce(u32) -> Result<u32, E>) -> Result<Dims, E> {
        let most_threads = (block_threads / WARP).clamp(1, MOST_THREADS);
        let threads = if self.threads == 0 { DEFAULT_THREADS } else { self.threads }.min(most_threads);
        let most_teams = room(threads)?.max(1);
        let teams = if self.teams == 0 { most_teams } else { self.teams.min(most_teams) };
        Ok(Dims { teams, threads })
    }
}

/// How many teams of a kernel a multiprocessor can hold at once, for each number of threads; 0 where the driver has not been asked.
#[derive(Debug, Default)]
pub struct Residents([AtomicU32; MOST_THREADS as usize]);

impl Residents {
    /// The number for teams of `threads` threads, asked for with `ask` the first time.
    ///
    /// # Errors
    /// Those of `ask`.
    pub fn of<E>(&self, threads: u32, ask: impl FnOnce() -> Result<u32, E>) -> Result<u32, E> {
        let known = &self.0[threads as usize - 1];
        // Relaxed: only the number itself counts, and whoever asks gets the same one.
        match known.load(Ordering::Relaxed) {
            0 => {
                let number = ask()?.max(1);
                known.store(number, Ordering::Relaxed);
                Ok(number)
            }
            number => Ok(number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn read(words: &[usize]) -> Requested {
        let words: Vec<*const c_void> = words.iter().map(|&word| word as *const c_void).collect();
        // SAFETY: every caller ends its words with 0.
        unsafe { requested(words.as_ptr()) }
    }

    #[test]
    fn clauses_are_read_inline_and_from_the_next_word() {
        assert_eq!(read(&[0]), Requested::default());
        assert_eq!(
            read(&[NUM_TEAMS | 7 << 16, THREAD_LIMIT | 4 << 16, 0]),
            Requested { teams: 7, threads: 4 }
        );
        assert_eq!(read(&[NUM_TEAMS | VALUE_FOLLOWS, 70_000, 0]).teams, 70_000);
        assert_eq!(read(&[NUM_TEAMS | VALUE_FOLLOWS, 0, THREAD_LIMIT | 2 << 16, 0]).threads, 2);
    }

    #[test]
    fn arguments_for_other_devices_and_negative_values_are_ignored() {
        assert_eq!(read(&[NUM_TEAMS | 7 << 16 | 5, 0]).teams, 0);
        assert_eq!(read(&[NUM_TEAMS | VALUE_FOLLOWS, -3_isize as usize, 0]).teams, 0);
    }

    #[test]
    fn a_launch_never_exceeds_its_clauses_or_its_kernel_or_what_the_device_holds() {
        // A kernel of 72 registers on an H200: 24 warps a multiprocessor.
        let fit = |teams, threads| {
            let room = |threads| Ok::<_, Infallible>(24 / threads * 132);
            let Ok(dims) = Requested { teams, threads }.fit(768, room);
            (dims.teams, dims.threads)
        };
        assert_eq!(fit(0, 0), (3 * 132, 8));
        assert_eq!(fit(5, 4), (5, 4));
        assert_eq!(fit(1, 1024), (1, 24));
        assert_eq!(fit(1_000_000, 8), (396, 8));
        assert_eq!(Requested::default().fit(32, Ok::<_, Infallible>), Ok(Dims { teams: 1, threads: 1 }));
        assert_eq!(Requested::default().fit(768, |_| Err("no driver")), Err("no driver"));
    }

    #[test]
    fn the_driver_is_asked_once_for_each_number_of_threads() {
        let residents = Residents::default();
        assert_eq!(residents.of(8, || Err("no driver")), Err("no driver"));
        assert_eq!(residents.of(8, || Ok::<_, &str>(3)), Ok(3));
        assert_eq!(residents.of(8, || Err("asked again")), Ok(3));
        assert_eq!(
            residents.of(32, || Ok::<_, &str>(0)),
            Ok(1),
            "a kernel that does not fit fails at its launch"
        );
    }
}
