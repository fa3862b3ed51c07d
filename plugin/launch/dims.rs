//! How many teams and threads a region gets.

use std::ffi::c_void;

/// What the program's clauses ask for; 0 where they ask for nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requested {
    /// `num_teams`
    pub teams: u32,
    /// `thread_limit`
    pub threads: u32,
}

/// What a kernel and its device allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Registers of one thread of the kernel.
    pub registers: u32,
    /// CUDA threads that one block of the kernel may have.
    pub block_threads: u32,
    /// Registers of a multiprocessor.
    pub device_registers: u32,
    /// Multiprocessors of the device.
    pub multiprocessors: u32,
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
    /// Fits the request to what can run at once. More teams than that would be correct too, but each costs a stack; the
    /// device library loops over the teams that don't fit.
    pub fn fit(self, limits: Limits) -> Dims {
        let most_threads = (limits.block_threads / WARP).clamp(1, MOST_THREADS);
        let threads = if self.threads == 0 { DEFAULT_THREADS } else { self.threads }.min(most_threads);
        let block_registers = limits.registers.max(1) * WARP * threads;
        let most_teams = (limits.device_registers / block_registers).max(1) * limits.multiprocessors.max(1);
        let teams = if self.teams == 0 { most_teams } else { self.teams.min(most_teams) };
        Dims { teams, threads }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const H200: Limits =
        Limits { registers: 72, block_threads: 768, device_registers: 65536, multiprocessors: 132 };

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
    fn a_launch_never_exceeds_its_clauses_or_its_kernel() {
        assert_eq!(Requested::default().fit(H200), Dims { teams: 3 * 132, threads: 8 });
        assert_eq!(Requested { teams: 5, threads: 4 }.fit(H200), Dims { teams: 5, threads: 4 });
        assert_eq!(Requested { teams: 1, threads: 1024 }.fit(H200).threads, 24);
        assert_eq!(Requested { teams: 1_000_000, threads: 8 }.fit(H200).teams, 396);
        let hungry = Limits { registers: 255, block_threads: 32, ..H200 };
        assert_eq!(Requested { teams: 0, threads: 32 }.fit(hungry), Dims { teams: 8 * 132, threads: 1 });
    }
}
