//! What all lanes have in common is computed once. Nothing but the time may show it: random programs leave in each thread what a
//! thread by itself would.

mod support;

use proptest::prelude::*;
use std::fmt::Write;
use support::{Gpu, Shape};

/// An instruction on registers: `r` of 32 bits, `x` of 64, `p` predicates, each by number.
#[derive(Clone, Copy, Debug)]
enum Op {
    /// `r[0] = the operation of that number of r[1] and r[2]`.
    Compute(u8, [usize; 3]),
    Number(usize, u32),
    Thread(usize, char),
    /// `p[0] = r[1] < r[2]`.
    Compare(usize, [usize; 2]),
    /// `r[0] = p ? r[1] : r[2]`.
    Choose([usize; 3], usize),
    /// `x[0] = r[0] * r[1] + x[1]`.
    Widen([usize; 2], [usize; 2]),
    /// `r = the low or high half of x`.
    Half(usize, usize, bool),
    /// `x = r[0] and r[1] as its halves`.
    Join(usize, [usize; 2]),
    /// `r[0] = table[r[1] % 16]`.
    Look([usize; 2]),
    /// `r[0] = own[r[1] % 8]`.
    Load([usize; 2]),
    /// `own[r[0] % 8] = r[1]`.
    Store([usize; 2]),
    /// `r[0] = f(r[1], r[2])`.
    Call([usize; 3]),
}

#[derive(Clone, Debug)]
enum Step {
    /// If predicate `p` is as told, where there is one.
    Op(Option<(usize, bool)>, Op),
    If(usize, Vec<Step>, Vec<Step>),
    /// `r % 4` times.
    Repeat(usize, Vec<Step>),
}

/// What an operation is called, and what it gives.
type Operation = (&'static str, fn(u32, u32) -> u32);

const OPERATIONS: [Operation; 6] = [
    ("add.u32", u32::wrapping_add),
    ("sub.u32", u32::wrapping_sub),
    ("mul.lo.u32", u32::wrapping_mul),
    ("xor.b32", |a, b| a ^ b),
    ("max.u32", u32::max),
    ("div.u32", |a, b| a.checked_div(b).unwrap_or(u32::MAX)),
];
const TABLE: [u32; 16] = [7, 1, 0, 3, 9, 2, 2, 2, 40, 11, 5, 0, 1, 8, 6, 77];

/// A thread, as it should be.
#[derive(Clone, Default, Debug, PartialEq)]
struct Thread {
    place: [u32; 2],
    r: [u32; 4],
    x: [u64; 2],
    p: [bool; 2],
    own: [u32; 8],
}

impl Thread {
    fn run(&mut self, steps: &[Step], f: &[Step]) {
        for step in steps {
            match step {
                Step::Op(guard, op) if guard.is_none_or(|(p, told)| self.p[p] == told) => {
                    self.execute(*op, f)
                }
                Step::Op(..) => {}
                Step::If(p, then, other) => self.run(if self.p[*p] { then } else { other }, f),
                Step::Repeat(r, body) => (0..self.r[*r] % 4).for_each(|_| self.run(body, f)),
            }
        }
    }

    fn execute(&mut self, op: Op, f: &[Step]) {
        let r = self.r;
        match op {
            Op::Compute(n, [d, a, b]) => self.r[d] = OPERATIONS[n as usize].1(r[a], r[b]),
            Op::Number(d, value) => self.r[d] = value,
            Op::Thread(d, axis) => self.r[d] = self.place[usize::from(axis == 'y')],
            Op::Compare(p, [a, b]) => self.p[p] = r[a] < r[b],
            Op::Choose([d, a, b], p) => self.r[d] = if self.p[p] { r[a] } else { r[b] },
            Op::Widen([d, c], [a, b]) => {
                self.x[d] = (u64::from(r[a]) * u64::from(r[b])).wrapping_add(self.x[c]);
            }
            Op::Half(d, x, high) => self.r[d] = (self.x[x] >> if high { 32 } else { 0 }) as u32,
            Op::Join(d, [a, b]) => self.x[d] = u64::from(r[a]) | u64::from(r[b]) << 32,
            Op::Look([d, a]) => self.r[d] = TABLE[r[a] as usize % 16],
            Op::Load([d, a]) => self.r[d] = self.own[r[a] as usize % 8],
            Op::Store([a, b]) => self.own[r[a] as usize % 8] = r[b],
            Op::Call([d, a, b]) => {
                let mut callee = Thread { place: self.place, r: [r[a], r[b], 3, 0], ..Thread::default() };
                callee.run(f, &[]);
                self.r[d] = callee.r[0];
            }
        }
    }
}

/// The PTX of a list of steps; `labels` counts those that exist.
fn text(steps: &[Step], labels: &mut u32) -> String {
    let mut all = String::new();
    for step in steps {
        *labels += 1;
        let n = *labels;
        let written = match step {
            Step::Op(None, op) => write!(all, "{}", op_text(*op, "")),
            Step::Op(Some((p, told)), op) => {
                write!(all, "{}", op_text(*op, &format!("@{}%p{p} ", if *told { "" } else { "!" })))
            }
            Step::If(p, then, other) => {
                let (then, other) = (text(then, labels), text(other, labels));
                write!(all, "@!%p{p} bra E{n};\n{then} bra J{n};\nE{n}: {other}\nJ{n}:\n")
            }
            Step::Repeat(r, body) => {
                let body = text(body, labels);
                write!(
                    all,
                    "{{ .reg .u32 %n; .reg .pred %q; and.b32 %n, %r{r}, 3;\nL{n}: setp.eq.u32 %q, %n, 0; @%q bra J{n};
                    {body} sub.u32 %n, %n, 1; bra L{n};\nJ{n}: }}\n"
                )
            }
        };
        written.expect("a string takes all");
    }
    all
}

fn op_text(op: Op, guard: &str) -> String {
    let at = |base: &str, r: usize, last: u32| {
        format!("and.b32 %i, %r{r}, {last}; mad.wide.u32 %a, %i, 4, {base};\n{guard}")
    };
    match op {
        Op::Compute(n, [d, a, b]) => format!("{guard}{} %r{d}, %r{a}, %r{b};\n", OPERATIONS[n as usize].0),
        Op::Number(d, value) => format!("{guard}mov.u32 %r{d}, {value};\n"),
        Op::Thread(d, axis) => format!("{guard}mov.u32 %r{d}, %tid.{axis};\n"),
        Op::Compare(p, [a, b]) => format!("{guard}setp.lt.u32 %p{p}, %r{a}, %r{b};\n"),
        Op::Choose([d, a, b], p) => format!("{guard}selp.u32 %r{d}, %r{a}, %r{b}, %p{p};\n"),
        Op::Widen([d, c], [a, b]) => format!("{guard}mad.wide.u32 %x{d}, %r{a}, %r{b}, %x{c};\n"),
        Op::Half(d, x, high) => {
            let pair = if high { format!("_, %r{d}") } else { format!("%r{d}, _") };
            format!("{guard}mov.b64 {{{pair}}}, %x{x};\n")
        }
        Op::Join(d, [a, b]) => format!("{guard}mov.b64 %x{d}, {{%r{a}, %r{b}}};\n"),
        Op::Look([d, a]) => format!("{}ld.global.u32 %r{d}, [%a];\n", at("%table", a, 15)),
        Op::Load([d, a]) => format!("{}ld.global.u32 %r{d}, [%a];\n", at("%own", a, 7)),
        Op::Store([a, b]) => format!("{}st.global.u32 [%a], %r{b};\n", at("%own", a, 7)),
        Op::Call([d, a, b]) => format!(
            "{{ .param .b32 s; .param .b32 t; .param .b32 u; st.param.b32 [s], %r{a}; st.param.b32 [t], %r{b};
            {guard}call (u), f, (s, t);\n{guard}ld.param.b32 %r{d}, [u]; }}\n"
        ),
    }
}

/// Words that each thread leaves: its own memory, then its registers.
const LEFT: usize = 16;

/// A module with function `f` and kernel `k` of these steps.
fn module(f: &[Step], k: &[Step]) -> String {
    let mut labels = 0;
    let registers = ".reg .u32 %r<4>, %i, %q; .reg .u64 %x<2>, %a, %own, %table; .reg .pred %p<2>;";
    let unset = "mov.u64 %x0, 0; mov.u64 %x1, 0; mov.u64 %table, table; setp.ne.u32 %p0, 0, 0; setp.ne.u32 %p1, 0, 0;";
    let table = TABLE.map(|n| n.to_string()).join(", ");
    let (f, k) = (text(f, &mut labels), text(k, &mut labels));
    let left: String = (0..4).map(|n| format!("st.global.u32 [%own+{}], %r{n};\n", 32 + 4 * n)).collect();
    format!(
        ".global .align 4 .u32 table[16] = {{{table}}};
        .func (.param .b32 out) f (.param .b32 one, .param .b32 two) {{
            {registers} ld.param.b32 %r0, [one]; ld.param.b32 %r1, [two]; mov.u32 %r2, 3; mov.u32 %r3, 0; {unset}
            {f} st.param.b32 [out], %r0; ret;
        }}
        .visible .entry k(.param .u64 data) {{
            {registers} ld.param.u64 %own, [data];
            mov.u32 %r0, %tid.x; mov.u32 %r1, %tid.y; mov.u32 %r2, %ntid.x; mad.lo.u32 %i, %r1, %r2, %r0;
            mad.wide.u32 %own, %i, {size}, %own; mov.u32 %r2, 2; mov.u32 %r3, 5; {unset}
            {k} {left} st.global.u64 [%own+48], %x0; st.global.u64 [%own+56], %x1; ret;
        }}",
        size = 4 * LEFT
    )
}

fn steps(calls_and_stores: bool, most: usize) -> impl Strategy<Value = Vec<Step>> {
    let r = 0..4usize;
    let two = [r.clone(), r.clone()];
    let three = [r.clone(), r.clone(), r.clone()];
    let simple = prop_oneof![
        4 => (0..6u8, three.clone()).prop_map(|(n, all)| Op::Compute(n, all)),
        1 => (r.clone(), prop_oneof![0..5u32, any::<u32>()]).prop_map(|(d, value)| Op::Number(d, value)),
        1 => (r.clone(), prop_oneof![Just('x'), Just('y')]).prop_map(|(d, axis)| Op::Thread(d, axis)),
        2 => (0..2usize, two.clone()).prop_map(|(p, all)| Op::Compare(p, all)),
        1 => (three.clone(), 0..2usize).prop_map(|(all, p)| Op::Choose(all, p)),
        1 => ([0..2usize, 0..2usize], two.clone()).prop_map(|(x, all)| Op::Widen(x, all)),
        1 => (r.clone(), 0..2usize, any::<bool>()).prop_map(|(d, x, high)| Op::Half(d, x, high)),
        1 => (0..2usize, two.clone()).prop_map(|(d, all)| Op::Join(d, all)),
        1 => two.clone().prop_map(Op::Look),
    ];
    let more =
        prop_oneof![two.clone().prop_map(Op::Load), two.prop_map(Op::Store), three.prop_map(Op::Call),];
    let op = if calls_and_stores { prop_oneof![3 => simple, 1 => more].boxed() } else { simple.boxed() };
    let guard = prop_oneof![2 => Just(None), 1 => (0..2usize, any::<bool>()).prop_map(Some)];
    let step = (guard, op).prop_map(|(guard, op)| Step::Op(guard, op));
    let step = step.prop_recursive(3, 40, 8, move |inner| {
        let list = prop::collection::vec(inner.clone(), 1..6);
        prop_oneof![
            3 => inner,
            1 => (0..2usize, list.clone(), list.clone()).prop_map(|(p, then, other)| Step::If(p, then, other)),
            1 => (r.clone(), list).prop_map(|(r, body)| Step::Repeat(r, body)),
        ]
    });
    prop::collection::vec(step, 1..most)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn threads_of_a_warp_compute_what_each_would_by_itself(f in steps(false, 8), k in steps(true, 30)) {
        let gpu = Gpu::new();
        let module = gpu.load(&module(&f, &k));
        // Warps with one row of threads each, with several, and with lanes that do not exist.
        for block in [[32, 2, 1], [8, 8, 1], [19, 1, 1]] {
            let threads = (block[0] * block[1]) as usize;
            let buffer = gpu.buffer(&vec![0u32; LEFT * threads]);
            let shape = Shape { grid: [1; 3], block, dynamic_shared: 0 };
            gpu.launch(&module, "k", shape, &[buffer]).unwrap_or_else(|fault| panic!("{fault}"));
            let left = gpu.read::<u32>(buffer, LEFT * threads);
            for (n, left) in left.chunks(LEFT).enumerate() {
                let place = [n as u32 % block[0], n as u32 / block[0]];
                let mut thread = Thread { place, r: [place[0], place[1], 2, 5], ..Thread::default() };
                thread.run(&k, &f);
                let x = thread.x.map(|x| [x as u32, (x >> 32) as u32]).concat();
                prop_assert_eq!(left, [&thread.own[..], &thread.r, &x].concat(), "thread {} of {:?}", n, block);
            }
        }
    }
}
