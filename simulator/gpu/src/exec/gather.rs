//! Warp-wide instructions: the lanes that a member mask names wait for each other, then exchange values.

use super::context::{Context, Flow};
use super::lane::Lane;
use super::map::{bits, lanes};
use super::warp::{Gathered, Resume, State};
use crate::ir::{FULL, Inst, LANES};
use boomerang_ptx::types::{AtomicOp, Shuffle, Type};
use std::sync::Arc;

/// Who takes part, and what each brings.
struct Gathering {
    lanes: u32,
    values: [u64; LANES],
}

impl Context<'_> {
    /// Gathers the lanes `members`; `mask` are the ones that are here, with `values`. `None` if they must wait.
    fn gather(&mut self, members: u32, mask: u32, values: [u64; LANES]) -> Option<Gathering> {
        let members = members & self.warp.live | mask;
        if let Resume::Gathered(gathered) = std::mem::take(&mut self.resume) {
            let mut all = gathered.values;
            for lane in lanes(mask) {
                all[lane] = values[lane];
            }
            return Some(Gathering { lanes: members & (gathered.lanes | mask), values: all });
        }
        if members == mask {
            return Some(Gathering { lanes: mask, values });
        }
        for lane in lanes(mask) {
            self.warp.exchange[lane] = values[lane];
        }
        let split = self.saved(State::Gathering(members));
        self.warp.splits.push(split);
        self.mask = 0;
        let here = |s: &&mut super::warp::Split| matches!(s.state, State::Gathering(m) if m == members);
        let arrived = self.warp.splits.iter_mut().filter(here).fold(0, |all, s| all | s.mask);
        if arrived & members == members {
            let gathered = Arc::new(Gathered { lanes: arrived, values: self.warp.exchange });
            for split in self.warp.splits.iter_mut().filter(here) {
                split.state = State::Ready;
                split.resume = Resume::Gathered(gathered.clone());
            }
            self.warp.merge();
        }
        None
    }

    /// Whether the lanes of `mask` have nobody among `members` to wait for, and have not waited.
    fn complete(&self, members: u32, mask: u32) -> bool {
        matches!(self.resume, Resume::Fresh) && members & self.warp.live & !mask == 0
    }

    /// Whether all lanes have one value of a 32-bit register.
    fn alike(&self, slot: crate::ir::Slot) -> bool {
        let differ = |lanes: &[u32; LANES]| lanes.iter().fold(0, |differ, lane| differ | lane ^ lanes[0]);
        self.is_uniform(slot) || differ(self.read::<u32>(slot)) == 0
    }

    /// The values of a 32-bit register.
    fn values32(&self, i: &Inst) -> [u64; LANES] {
        self.read::<u32>(i.a).map(u64::from)
    }

    /// The member mask in `slot`, as the first lane of `mask` has it.
    fn members(&self, slot: crate::ir::Slot, mask: u32) -> u32 {
        self.lane(slot, mask.trailing_zeros() as usize)
    }
}

/// `bar.warp.sync` of member mask `a`.
pub(crate) fn warp_sync(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    let members = cx.members(i.a, mask);
    match cx.gather(members, mask, [0; LANES]) {
        Some(_) => Flow::Next,
        None => Flow::Switch,
    }
}

/// The lane that `lane` reads from and whether that is within its segment (PTX ISA, `shfl`).
#[inline(always)]
fn shuffle_source(kind: Shuffle, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let (segment, clamp) = (c >> 8 & 31, c & 31);
    let (min, max) = (lane & segment, lane & segment | clamp & !segment & 31);
    let b = b & 31;
    let (source, inside) = match kind {
        Shuffle::Up => (lane.wrapping_sub(b), lane as i32 - b as i32 >= max as i32),
        Shuffle::Down => (lane + b, lane + b <= max),
        Shuffle::Bfly => (lane ^ b, lane ^ b <= max),
        Shuffle::Idx => (min | b & !segment & 31, min | b & !segment & 31 <= max),
    };
    if inside { (source, true) } else { (lane, false) }
}

/// Inlined so that the kind is a constant.
#[inline(always)]
fn shuffle(cx: &mut Context<'_>, i: &Inst, mask: u32, members: u32, kind: Shuffle) -> Flow {
    let (predicate, _) = i.pair();
    let gathered = if cx.complete(members, mask) {
        None
    } else {
        let values = cx.values32(i);
        let Some(Gathering { values, .. }) = cx.gather(members, mask, values) else { return Flow::Switch };
        Some(values.map(|value| value as u32))
    };
    if kind == Shuffle::Idx && cx.alike(i.b) && cx.alike(i.c) && cx.first::<u32>(i.c) & 0x1f1f == 31 {
        // All lanes get one lane's value: what GCC's code does behind everything that it has one lane do.
        let source = cx.first::<u32>(i.b) as usize % LANES;
        let value = gathered.map_or_else(|| cx.lane(i.a, source), |values| values[source]);
        cx.write_one::<u32>(i.d, mask, value);
        if predicate != 0 {
            cx.write_predicate(crate::ir::Slot::frame(predicate as usize), mask, FULL);
        }
        return Flow::Next;
    }
    let values = gathered.unwrap_or_else(|| *cx.read::<u32>(i.a));
    let (b, c) = (cx.read::<u32>(i.b), cx.read::<u32>(i.c));
    let (mut out, mut inside) = ([0; LANES], [false; LANES]);
    for lane in 0..LANES {
        let (source, valid) = shuffle_source(kind, lane as u32, b[lane], c[lane]);
        out[lane] = values[source as usize % LANES];
        inside[lane] = valid;
    }
    cx.write::<u32>(i.d, mask, &out);
    if predicate != 0 {
        cx.write_predicate(crate::ir::Slot::frame(predicate as usize), mask, bits(inside));
    }
    Flow::Next
}

/// `shfl`: `d` gets `a` of the lane that `b` and `c` say; `imm.0` is the frame offset of the predicate, if not 0, `imm.1` the
/// constant or register of the member mask.
macro_rules! shuffles {
    ($($plain:ident $sync:ident $kind:ident)*) => {$(
        pub(crate) fn $plain(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
            shuffle(cx, i, mask, mask, Shuffle::$kind)
        }
        pub(crate) fn $sync(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
            let members = cx.members(crate::ir::Slot::from_bits(i.pair().1), mask);
            shuffle(cx, i, mask, members, Shuffle::$kind)
        }
    )*};
}

shuffles! {
    shuffle_up shuffle_up_sync Up
    shuffle_down shuffle_down_sync Down
    shuffle_bfly shuffle_bfly_sync Bfly
    shuffle_idx shuffle_idx_sync Idx
}

/// Gathers the predicate `a`, complemented by `imm.0`; gives who took part and who said yes. `imm.1` is 1 for the forms with a
/// member mask, in `b`.
fn poll(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Option<(u32, u32)> {
    let (flip, sync) = i.pair();
    let bits = cx.predicate(i.a) ^ flip;
    let members = if sync != 0 { cx.members(i.b, mask) } else { mask };
    let votes = std::array::from_fn(|l| u64::from(bits >> l & 1));
    let Gathering { lanes: all, values } = cx.gather(members, mask, votes)?;
    Some((all, lanes(all).fold(0, |yes, l| yes | (values[l] as u32) << l)))
}

/// `vote.all`: predicate `d` says whether `a` holds in all.
pub(crate) fn vote_all(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    let Some((all, yes)) = poll(cx, i, mask) else { return Flow::Switch };
    cx.write_predicate(i.d, mask, if all == yes { FULL } else { 0 });
    Flow::Next
}

/// `vote.any`.
pub(crate) fn vote_any(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    let Some((_, yes)) = poll(cx, i, mask) else { return Flow::Switch };
    cx.write_predicate(i.d, mask, if yes != 0 { FULL } else { 0 });
    Flow::Next
}

/// `vote.uni`.
pub(crate) fn vote_uni(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    let Some((all, yes)) = poll(cx, i, mask) else { return Flow::Switch };
    cx.write_predicate(i.d, mask, if yes == 0 || yes == all { FULL } else { 0 });
    Flow::Next
}

/// `vote.ballot`: register `d` gets the lanes in which `a` holds.
pub(crate) fn ballot(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    let Some((_, yes)) = poll(cx, i, mask) else { return Flow::Switch };
    cx.write_one(i.d, mask, yes);
    Flow::Next
}

/// `activemask`.
pub(crate) fn active_mask(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    cx.write_one(i.d, mask, mask);
    Flow::Next
}

/// `elect.sync`: register `d` gets the leader, predicate `imm.0` says who it is; member mask `a`.
pub(crate) fn elect(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    let members = cx.members(i.a, mask);
    let Some(Gathering { lanes, .. }) = cx.gather(members, mask, [0; LANES]) else { return Flow::Switch };
    let leader = lanes.trailing_zeros();
    cx.write_one(i.d, mask, leader);
    cx.write_predicate(crate::ir::Slot::frame(i.pair().0 as usize), mask, 1 << leader);
    Flow::Next
}

fn matches<T: Lane>(cx: &mut Context<'_>, i: &Inst, mask: u32, all: bool) -> Flow
where
    u64: From<T::Slot>,
{
    let members = cx.members(i.b, mask);
    let values = cx.read::<T>(i.a).map(u64::from);
    let Some(Gathering { lanes: here, values }) = cx.gather(members, mask, values) else {
        return Flow::Switch;
    };
    let same = |lane: usize| lanes(here).filter(|&l| values[l] == values[lane]).fold(0, |m, l| m | 1 << l);
    let (mut out, mut agreed) = ([0; LANES], 0);
    for lane in lanes(mask) {
        let peers: u32 = same(lane);
        let agree = peers == here;
        agreed |= u32::from(agree) << lane;
        out[lane] = if all && !agree { 0 } else { peers };
    }
    cx.write::<u32>(i.d, mask, &out);
    if i.imm != 0 {
        cx.write_predicate(crate::ir::Slot::frame(i.imm as usize), mask, agreed);
    }
    Flow::Next
}

/// `match.any.sync`: `d` gets the lanes whose `a` is the same; member mask `b`.
pub(crate) fn match_any<T: Lane>(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow
where
    u64: From<T::Slot>,
{
    matches::<T>(cx, i, mask, false)
}

/// `match.all.sync`: `d` gets the lanes if all have the same `a`, else 0; predicate `imm`, if not 0, says which.
pub(crate) fn match_all<T: Lane>(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow
where
    u64: From<T::Slot>,
{
    matches::<T>(cx, i, mask, true)
}

fn redux(cx: &mut Context<'_>, i: &Inst, mask: u32, f: impl Fn(u32, u32) -> u32) -> Flow {
    let members = cx.members(i.b, mask);
    let values = cx.values32(i);
    let Some(Gathering { lanes: here, values }) = cx.gather(members, mask, values) else {
        return Flow::Switch;
    };
    let total = lanes(here).map(|l| values[l] as u32).reduce(f).expect("a lane executes it");
    cx.write_one(i.d, mask, total);
    Flow::Next
}

/// `redux.sync`: `d` gets the reduction of `a` over the member mask `b`.
pub(crate) fn select_redux(op: AtomicOp, ty: Type) -> Option<crate::ir::Handler> {
    macro_rules! by {
        ($f:expr) => {{
            fn run(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
                redux(cx, i, mask, $f)
            }
            Some(run)
        }};
    }
    match (op, ty) {
        _ if ty.size() != 4 || ty.is_float() => None,
        (AtomicOp::Add, _) => by!(|a: u32, b: u32| a.wrapping_add(b)),
        (AtomicOp::And, _) => by!(|a, b| a & b),
        (AtomicOp::Or, _) => by!(|a, b| a | b),
        (AtomicOp::Xor, _) => by!(|a, b| a ^ b),
        (AtomicOp::Min, Type::S32) => by!(|a, b| (a as i32).min(b as i32) as u32),
        (AtomicOp::Max, Type::S32) => by!(|a, b| (a as i32).max(b as i32) as u32),
        (AtomicOp::Min, _) => by!(|a: u32, b: u32| a.min(b)),
        (AtomicOp::Max, _) => by!(|a: u32, b: u32| a.max(b)),
        _ => None,
    }
}
