//! How many gangs, workers and vector lanes a compute region gets.

/// Gangs, workers and vector length: CUDA's blocks, and the y and x dimensions of each (GCC's nvptx back end).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dims(pub [u32; 3]);

/// Lanes of a warp: the vector length of code that leaves it open.
const WARP: u32 = 32;
/// A longer vector synchronizes its warps by a barrier for each worker. A block has 16 barriers, and one is for the whole of
/// it (PTX ISA, bar; GCC's nvptx back end).
const BARRIERS: u32 = 15;

impl Dims {
    /// The region's dimensions: those that the kernel was compiled for, else what the region's clauses ask for. 0 is open.
    pub fn asked(compiled: [u16; 3], clauses: [u32; 3]) -> Dims {
        Dims(std::array::from_fn(|i| if compiled[i] != 0 { u32::from(compiled[i]) } else { clauses[i] }))
    }

    /// Whether there is something left to choose.
    pub fn is_open(self) -> bool {
        self.0.contains(&0)
    }

    /// Threads of a gang, or 0 where that is open.
    pub fn gang_threads(self) -> u32 {
        let [_, workers, vector] = self.0;
        workers.saturating_mul(vector)
    }

    /// Chooses what is open, as the stock plugin does: programs are tuned to it. `defaults` is what GOMP_OPENACC_DIM asks for.
    /// `blocks` of `threads` threads keep the device busy.
    pub fn complete(self, defaults: [u32; 3], (blocks, threads): (u32, u32)) -> Dims {
        let [gangs, workers, vector] = self.0;
        let or = |dim: u32, choose: &dyn Fn() -> u32| if dim == 0 { choose() } else { dim };
        let vector = or(vector, &|| WARP);
        let workers = or(workers, &|| {
            let most = if vector > WARP { BARRIERS } else { u32::MAX };
            or(defaults[1], &|| (threads / vector).clamp(1, most))
        });
        // Twice as many as fit, so that no multiprocessor idles while the last ones finish.
        let gangs = or(gangs, &|| or(defaults[0], &|| (2 * blocks).saturating_mul(threads / WARP).max(1)));
        Dims([gangs, workers, vector])
    }

    /// Whether a block of `kernel` can have so many threads and barriers.
    ///
    /// # Errors
    /// What the user can do about it. The beginnings of both messages are those that GCC's tests look for.
    pub fn check(self, kernel: &str, block_threads: u32) -> Result<(), String> {
        let [_, workers, vector] = self.0;
        let region = format!("'{kernel}' with {workers} workers and a vector length of {vector}");
        if self.gang_threads() > block_threads {
            return Err(format!(
                "The Nvidia accelerator has insufficient resources to launch {region}: at most {block_threads} threads; use \
                 num_workers(W) and vector_length(V), or -fopenacc-dim=:W:V, with W * V <= {block_threads}"
            ));
        }
        if workers > BARRIERS && vector > WARP {
            return Err(format!(
                "The Nvidia accelerator has insufficient barrier resources to launch {region}: at most {BARRIERS} workers; use \
                 num_workers(W) or -fopenacc-dim=:W: with W <= {BARRIERS}, or a vector length of {WARP}"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_compiler_fixed_counts_more_than_the_clauses() {
        assert_eq!(Dims::asked([0, 4, 32], [7, 8, 64]), Dims([7, 4, 32]));
        assert!(Dims::asked([0; 3], [1, 0, 32]).is_open());
        assert!(!Dims::asked([0; 3], [1, 2, 32]).is_open());
    }

    #[test]
    fn what_is_open_keeps_the_device_busy() {
        let busy = (132, 1024);
        assert_eq!(Dims([0, 0, 0]).complete([0; 3], busy), Dims([2 * 132 * 32, 32, 32]));
        assert_eq!(Dims([0, 1, 32]).complete([0; 3], (132, 32)), Dims([264, 1, 32]));
        assert_eq!(Dims([5, 0, 32]).complete([0; 3], busy), Dims([5, 32, 32]));
        assert_eq!(Dims([0, 0, 32]).complete([0; 3], (132, 16)), Dims([1, 1, 32]));
    }

    #[test]
    fn the_users_defaults_count_where_the_program_says_nothing() {
        assert_eq!(Dims([0, 0, 0]).complete([3, 4, 64], (132, 1024)), Dims([3, 4, 32]));
        assert_eq!(Dims([8, 0, 128]).complete([3, 4, 64], (132, 1024)), Dims([8, 4, 128]));
    }

    #[test]
    fn long_vectors_have_no_more_workers_than_barriers() {
        assert_eq!(Dims([1, 0, 64]).complete([0; 3], (132, 1024)), Dims([1, 15, 64]));
        assert!(Dims([1, 15, 64]).check("k", 1024).is_ok());
        let refused = Dims([1, 16, 64]).check("k", 1024).expect_err("too many");
        assert!(
            refused.starts_with("The Nvidia accelerator has insufficient barrier resources to launch 'k'")
        );
    }

    #[test]
    fn a_gang_must_fit_into_a_block() {
        assert!(Dims([1, 32, 32]).check("k", 1024).is_ok());
        let refused = Dims([1, 32, 32]).check("k", 896).expect_err("too many");
        assert!(refused.starts_with("The Nvidia accelerator has insufficient resources to launch 'k'"));
        assert!(refused.contains("W * V <= 896"));
        assert!(Dims([1, u32::MAX, 32]).check("k", 1024).is_err());
    }
}
