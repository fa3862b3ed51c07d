//! Special registers.

use super::context::{Context, Flow};
use crate::device::CLOCK_KHZ;
use crate::ir::{FULL, Handler, Inst, LANES};
use boomerang_ptx::types::{Axis, SpecialRegister};
use std::array;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A routine that gives all lanes the value of an expression.
macro_rules! give {
    ($t:ty, |$cx:ident| $f:expr) => {{
        fn run($cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
            let value: $t = $f;
            $cx.write_one(i.d, mask, value);
            Flow::Next
        }
        Some(run as Handler)
    }};
    ($t:ty, |$cx:ident, $lane:ident| $f:expr) => {{
        fn run($cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
            let out: [$t; LANES] = array::from_fn(|lane| {
                let $lane = lane as u32;
                $f
            });
            $cx.write::<$t>(i.d, mask, &out);
            Flow::Next
        }
        Some(run as Handler)
    }};
}

/// Cycles of real time, so that a program that waits for a number of them waits as long as it means to.
fn cycles(start: Instant) -> u64 {
    start.elapsed().as_nanos() as u64 * (CLOCK_KHZ as u64 / 1000) / 1000
}

fn nanoseconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_nanos() as u64)
}

/// `%tid`.
fn thread_index<const AXIS: usize>(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    let index = cx.warp.thread_indices[AXIS];
    match index.iter().fold(0, |differ, other| differ | other ^ index[0]) {
        0 => cx.write_one(i.d, mask, index[0]),
        _ => cx.write::<u32>(i.d, mask, &index),
    }
    Flow::Next
}

/// The routine that puts a special register into `d`, and whether it has 64 bits.
pub(crate) fn select(register: SpecialRegister) -> Option<(Handler, bool)> {
    use SpecialRegister::*;
    macro_rules! axis {
        ($axis:expr, |$cx:ident| $vector:expr) => {
            match $axis {
                Axis::X => give!(u32, |$cx| $vector[0]),
                Axis::Y => give!(u32, |$cx| $vector[1]),
                Axis::Z => give!(u32, |$cx| $vector[2]),
            }
        };
    }
    let narrow = match register {
        Tid(Axis::X) => Some(thread_index::<0> as Handler),
        Tid(Axis::Y) => Some(thread_index::<1> as Handler),
        Tid(Axis::Z) => Some(thread_index::<2> as Handler),
        Ntid(axis) => axis!(axis, |cx| cx.grid.block),
        Ctaid(axis) | Clusterid(axis) => axis!(axis, |cx| cx.block.index),
        Nctaid(axis) | Nclusterid(axis) => axis!(axis, |cx| cx.grid.grid),
        ClusterCtaid(_) | ClusterCtarank | IsExplicitCluster | Gridid | Pm(_) | Envreg(_) => {
            give!(u32, |_cx| 0)
        }
        ClusterNctaid(_) | ClusterNctarank => give!(u32, |_cx| 1),
        Laneid => give!(u32, |_cx, lane| lane),
        Warpid => give!(u32, |cx| cx.warp.index),
        Nwarpid => give!(u32, |_cx| 64),
        Smid => give!(u32, |cx| cx.block.multiprocessor),
        Nsmid => give!(u32, |cx| cx.grid.multiprocessors()),
        LanemaskEq => give!(u32, |_cx, lane| 1 << lane),
        LanemaskLe => give!(u32, |_cx, lane| FULL >> (31 - lane)),
        LanemaskLt => give!(u32, |_cx, lane| (1 << lane) - 1),
        LanemaskGe => give!(u32, |_cx, lane| FULL << lane),
        LanemaskGt => give!(u32, |_cx, lane| FULL << lane & !(1 << lane)),
        Clock => give!(u32, |cx| cycles(cx.grid.started) as u32),
        ClockHi => give!(u32, |cx| (cycles(cx.grid.started) >> 32) as u32),
        GlobaltimerLo => give!(u32, |_cx| nanoseconds() as u32),
        GlobaltimerHi => give!(u32, |_cx| (nanoseconds() >> 32) as u32),
        TotalSmemSize | AggrSmemSize => give!(u32, |cx| cx.grid.shared_size()),
        DynamicSmemSize => give!(u32, |cx| cx.grid.dynamic_shared),
        _ => None,
    };
    let wide = match register {
        Clock64 => give!(u64, |cx| cycles(cx.grid.started)),
        Globaltimer => give!(u64, |_cx| nanoseconds()),
        Pm64(_) | CurrentGraphExec => give!(u64, |_cx| 0),
        _ => None,
    };
    narrow.map(|run| (run, false)).or(wide.map(|run| (run, true)))
}

/// `nanosleep`: gives up the rest of the time slice.
pub(crate) fn nanosleep(cx: &mut Context<'_>, _: &Inst, _: u32) -> Flow {
    cx.orderings += 1;
    cx.budget = 0;
    Flow::Next
}
