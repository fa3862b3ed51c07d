//! The memory model's observable rules: outcomes that it forbids never appear, whatever the order in which blocks and warps run. The
//! tests' names are those of the literature (Alglave and others, "GPU concurrency: weak behaviours and programming assumptions",
//! 2015); what is forbidden follows from the chapter on the memory consistency model of the PTX ISA.

mod support;
use boomerang_gpu::*;
use support::*;

/// Threads of a test. Each runs in its lane 0 the code given for it, with the two words' addresses in `%x` and `%y`; what it leaves in
/// `%r1` and `%r2` is its outcome.
struct Litmus<'a> {
    threads: &'a [&'a str],
    /// Threads are blocks of their own, else warps of one block.
    blocks: bool,
    /// The words lie in shared memory.
    shared: bool,
}

const ROUNDS: usize = 64;
const SEEDS: u64 = 24;

impl Litmus<'_> {
    fn kernel(&self) -> String {
        let number = if self.blocks { "%ctaid.x" } else { "%tid.y" };
        let mut arms = String::new();
        for (n, code) in self.threads.iter().enumerate() {
            arms += &format!("setp.eq.u32 %p, %me, {n}; @!%p bra N{n};\n{code}\nbra DONE;\nN{n}:\n");
        }
        let code = arms.replace("$", if self.shared { ".shared" } else { ".global" });
        let meet = match self.blocks {
            // Who comes goes on at once: what is stored and loaded runs over what the others do.
            true => {
                "atom.global.add.u32 %n, [%data+8], 1; MEET: ld.relaxed.gpu.global.u32 %n, [%data+8];
                     setp.lt.u32 %p, %n, %goal; @%p bra MEET;"
            }
            false => "bar.sync 0;",
        };
        let addresses = match self.shared {
            true => "mov.u64 %x, words; mad.wide.u32 %x, %round, 8, %x;",
            false => "mad.wide.u32 %x, %round, 8, %data; add.u64 %x, %x, 16;",
        };
        format!(
            ".shared .align 8 .u32 words[{}];
            .visible .entry k (.param .u64 data_param) {{
                .reg .u64 %data, %x, %y, %out; .reg .u32 %me, %n, %goal, %round, %r<9>; .reg .pred %p;
                ld.param.u64 %data, [data_param];
                mov.u32 %n, %tid.x; setp.ne.u32 %p, %n, 0; @%p exit;
                mov.u32 %me, {number};
                mov.u32 %round, 0; mov.u32 %goal, 0;
            AGAIN:
                {addresses}
                add.u64 %y, %x, 4;
                mov.u32 %r1, 0; mov.u32 %r2, 0;
                add.u32 %goal, %goal, {};
                {meet}
                {code}
            DONE:
                mad.lo.u32 %n, %round, {}, %me;
                mad.wide.u32 %out, %n, 8, %data;
                st.global.v2.u32 [%out+{}], {{%r1, %r2}};
                add.u32 %round, %round, 1;
                setp.lt.u32 %p, %round, {ROUNDS}; @%p bra AGAIN;
                ret;
            }}",
            2 * ROUNDS,
            self.threads.len(),
            self.threads.len(),
            16 + 8 * ROUNDS,
        )
    }

    /// All outcomes: for each round, each thread's two results.
    fn outcomes(&self) -> Vec<Vec<[u32; 2]>> {
        let count = self.threads.len();
        let mut all = Vec::new();
        for seed in 0..SEEDS {
            let config = DeviceConfig {
                multiprocessors: 2,
                workers: 1 + seed as usize % 3,
                seed,
                ..DeviceConfig::default()
            };
            let gpu = Gpu::with(config);
            let module = gpu.load(&self.kernel());
            let size = 4 + 2 * ROUNDS + 2 * ROUNDS * count;
            let buffer = gpu.buffer(&vec![0u32; size]);
            let shape = match self.blocks {
                true => shape(count as u32, 32),
                false => Shape { grid: [1, 1, 1], block: [32, count as u32, 1], dynamic_shared: 0 },
            };
            gpu.launch(&module, "k", shape, &[buffer]).unwrap_or_else(|fault| panic!("{fault}"));
            let words = gpu.read::<u32>(buffer, size);
            let results = words[4 + 2 * ROUNDS..].chunks(2 * count);
            all.extend(results.map(|round| round.chunks(2).map(|r| [r[0], r[1]]).collect::<Vec<_>>()));
        }
        all
    }

    /// Asserts that no outcome is one of those forbidden.
    fn forbids(&self, what: &str, forbidden: impl Fn(&[[u32; 2]]) -> bool) {
        for outcome in self.outcomes() {
            assert!(!forbidden(&outcome), "{what}: {outcome:?}");
        }
    }
}

/// In each place where the threads and the words may be: warps of a block or blocks; shared memory for the former.
fn everywhere(threads: &[&str], what: &str, forbidden: impl Fn(&[[u32; 2]]) -> bool) {
    for (blocks, shared) in [(false, true), (false, false), (true, false)] {
        Litmus { threads, blocks, shared }
            .forbids(&format!("{what}, blocks: {blocks}, shared: {shared}"), &forbidden);
    }
}

#[test]
fn message_passing_by_release_and_acquire() {
    let writer = "st$.u32 [%x], 1; st.release.gpu$.u32 [%y], 1;";
    let reader = "ld.acquire.gpu$.u32 %r1, [%y]; ld$.u32 %r2, [%x];";
    everywhere(&[writer, reader], "MP", |o| o[1] == [1, 0]);
    everywhere(&[reader, writer, reader], "MP with two readers", |o| o[0] == [1, 0] || o[2] == [1, 0]);
}

#[test]
fn message_passing_by_fences() {
    for fence in ["fence.acq_rel.gpu;", "fence.sc.sys;", "membar.gl;", "membar.sys;"] {
        let writer = format!("st$.u32 [%x], 1; {fence} st.relaxed.gpu$.u32 [%y], 1;");
        let reader = format!("ld.relaxed.gpu$.u32 %r1, [%y]; {fence} ld$.u32 %r2, [%x];");
        everywhere(&[&writer, &reader], fence, |o| o[1] == [1, 0]);
    }
}

#[test]
fn message_passing_by_an_atomic_exchange() {
    let writer = "st$.u32 [%x], 1; atom.release.gpu$.exch.b32 %r8, [%y], 1;";
    let reader = "atom.acquire.gpu$.or.b32 %r1, [%y], 0; ld$.u32 %r2, [%x];";
    everywhere(&[writer, reader], "MP", |o| o[1] == [1, 0]);
}

#[test]
fn store_buffering_is_forbidden_between_fences_sc() {
    let one = "st.relaxed.gpu$.u32 [%x], 1; fence.sc.gpu; ld.relaxed.gpu$.u32 %r1, [%y];";
    let other = "st.relaxed.gpu$.u32 [%y], 1; fence.sc.gpu; ld.relaxed.gpu$.u32 %r1, [%x];";
    everywhere(&[one, other], "SB", |o| o[0][0] == 0 && o[1][0] == 0);
}

#[test]
fn load_buffering_needs_no_values_out_of_thin_air() {
    let one = "ld.relaxed.gpu$.u32 %r1, [%x]; st.relaxed.gpu$.u32 [%y], %r1;";
    let other = "ld.relaxed.gpu$.u32 %r1, [%y]; st.relaxed.gpu$.u32 [%x], %r1;";
    everywhere(&[one, other], "LB", |o| o[0][0] != 0 || o[1][0] != 0);
    let one = "ld.acquire.gpu$.u32 %r1, [%x]; st.release.gpu$.u32 [%y], 1;";
    let other = "ld.acquire.gpu$.u32 %r1, [%y]; st.release.gpu$.u32 [%x], 1;";
    everywhere(&[one, other], "LB", |o| o[0][0] == 1 && o[1][0] == 1);
}

#[test]
fn one_word_is_seen_in_one_order() {
    let writer = "st.relaxed.gpu$.u32 [%x], 1; st.relaxed.gpu$.u32 [%x], 2;";
    let reader = "ld.relaxed.gpu$.u32 %r1, [%x]; ld.relaxed.gpu$.u32 %r2, [%x];";
    everywhere(&[writer, reader], "CoRR", |o| o[1][0] > o[1][1]);
    let (one, two) = ("st.relaxed.gpu$.u32 [%x], 1;", "st.relaxed.gpu$.u32 [%x], 2;");
    everywhere(&[one, two, reader, reader], "CoRR of two writers", |o| {
        let both = |r: [u32; 2]| r[0] != 0 && r[1] != 0 && r[0] != r[1];
        both(o[2]) && both(o[3]) && o[2] != o[3]
    });
}

#[test]
fn independent_reads_of_independent_writes_agree_between_fences_sc() {
    let reader = |a: &str, b: &str| {
        format!("ld.relaxed.gpu$.u32 %r1, [{a}]; fence.sc.gpu; ld.relaxed.gpu$.u32 %r2, [{b}];")
    };
    let (one, other) = (reader("%x", "%y"), reader("%y", "%x"));
    let threads = ["st.relaxed.gpu$.u32 [%x], 1;", "st.relaxed.gpu$.u32 [%y], 1;", &one, &other];
    everywhere(&threads, "IRIW", |o| o[2] == [1, 0] && o[3] == [1, 0]);
}

#[test]
fn causality_passes_through_a_third_thread() {
    let first = "st.relaxed.gpu$.u32 [%x], 1;";
    let second = "ld.acquire.gpu$.u32 %r1, [%x]; st.release.gpu$.u32 [%y], %r1;";
    let third = "ld.acquire.gpu$.u32 %r1, [%y]; ld.relaxed.gpu$.u32 %r2, [%x];";
    everywhere(&[first, second, third], "WRC", |o| o[2] == [1, 0]);
}

#[test]
fn atomics_of_every_scope_lose_no_update() {
    for scope in ["cta", "gpu", "sys"] {
        let add = format!("atom.relaxed.{scope}$.add.u32 %r1, [%x], 1;");
        let threads = [add.as_str(); 4];
        let blocks = scope != "cta";
        let test = Litmus { threads: &threads, blocks, shared: !blocks };
        test.forbids(scope, |o| {
            let mut seen: Vec<u32> = o.iter().map(|r| r[0]).collect();
            seen.sort_unstable();
            seen != [0, 1, 2, 3]
        });
    }
}

#[test]
fn a_compare_and_swap_succeeds_once() {
    let take = "atom.acq_rel.gpu$.cas.b32 %r1, [%x], 0, 1;";
    everywhere(&[take; 4], "CAS", |o| o.iter().filter(|r| r[0] == 0).count() != 1);
}

#[test]
fn what_was_stored_before_a_barrier_is_seen_behind_it() {
    let one = "st$.u32 [%x], 1; bar.sync 1; ld$.u32 %r1, [%y];";
    let other = "st$.u32 [%y], 1; bar.sync 1; ld$.u32 %r1, [%x];";
    for shared in [true, false] {
        let test = Litmus { threads: &[one, other], blocks: false, shared };
        test.forbids("barrier", |o| o[0][0] == 0 || o[1][0] == 0);
    }
}

#[test]
fn different_orders_do_appear() {
    // Were each test run in one order only, it would forbid nothing.
    let writer = "st.relaxed.gpu$.u32 [%x], 1; st.relaxed.gpu$.u32 [%y], 1;";
    let reader = "ld.relaxed.gpu$.u32 %r1, [%y]; ld.relaxed.gpu$.u32 %r2, [%x];";
    for (blocks, shared) in [(false, true), (false, false), (true, false)] {
        let outcomes = Litmus { threads: &[writer, reader], blocks, shared }.outcomes();
        for wanted in [[0, 0], [1, 1]] {
            assert!(
                outcomes.iter().any(|o| o[1] == wanted),
                "blocks: {blocks}, shared: {shared}: never {wanted:?}"
            );
        }
    }
}
