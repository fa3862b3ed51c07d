//! The checks that only run when they are asked for, each an instruction in front of the access that it checks. They and the
//! access run in one go: between them the warp does not lose its turn.

use super::context::{Context, Flow};
use super::load_store::{ATOMIC, READ, WRITE};
use super::map::lanes;
use super::report;
use crate::fault::FaultKind;
use crate::ir::{Inst, SHARED_WINDOW, Slot};

/// What kind of access follows, for the routine of an instruction.
pub(crate) mod kind {
    pub const READ: u8 = 0;
    pub const WRITE: u8 = 1;
    pub const ATOMIC: u8 = 2;
}

/// What lowering knows of the access that follows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traits {
    /// It stands in the program's own code, not in libgomp or newlib, whose ordinary accesses may be atomic ones.
    pub own: bool,
    /// It works on shared memory.
    pub shared: bool,
    /// A fence stands next to it: GCC has no other form for an atomic load or store.
    pub ordered: bool,
    /// It has an order of its own.
    pub fences: bool,
}

impl Traits {
    /// As an operand.
    pub fn slot(self) -> Slot {
        let bits = [self.own, self.shared, self.ordered, self.fences];
        Slot::from_bits(bits.iter().rev().fold(0, |all, &bit| all << 1 | u32::from(bit)))
    }

    fn of(slot: Slot) -> Traits {
        let bit = |n: u32| slot.bits() >> n & 1 != 0;
        Traits { own: bit(0), shared: bit(1), ordered: bit(2), fences: bit(3) }
    }
}

/// Checks an access of `c`'s bits bytes at `a` + `imm`, of which `b`'s bits tell more ([`Traits`]).
pub(crate) fn access<const KIND: u8>(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    let (size, traits) = (u64::from(i.c.bits()), Traits::of(i.b));
    // The access itself must still fit the time slice.
    cx.budget = cx.budget.max(1);
    let mut last = None;
    for lane in lanes(mask) {
        let mut addr = cx.lane::<u64>(i.a, lane).wrapping_add(i.imm);
        if traits.shared {
            addr = addr.wrapping_add(SHARED_WINDOW);
        }
        if last == Some(addr) {
            continue;
        }
        last = Some(addr);
        let shared = addr >> 48 << 48 == SHARED_WINDOW;
        if !shared && cx.grid.memory().device_of(addr).is_none() {
            // Local memory is one thread's own; the host's has other rules.
            continue;
        }
        if !shared && !initialized::<KIND>(cx, addr, size, traits) {
            let note = "nothing was ever written there since it was allocated";
            return refuse::<KIND>(cx, FaultKind::Uninitialized, lane, addr, size, note.into());
        }
        if let Some(note) = race::<KIND>(cx, addr, size, traits, shared) {
            return refuse::<KIND>(cx, FaultKind::Race, lane, addr, size, note);
        }
    }
    Flow::Next
}

/// Notes a write; whether a read finds something.
fn initialized<const KIND: u8>(cx: &Context<'_>, addr: u64, size: u64, traits: Traits) -> bool {
    let memory = cx.grid.memory();
    if KIND != kind::READ {
        memory.mark_written(addr, size);
        return true;
    }
    // What was never allocated is the access's own to refuse.
    !traits.own || memory.was_written(addr, size) || memory.lookup(addr).is_none()
}

fn race<const KIND: u8>(
    cx: &mut Context<'_>,
    addr: u64,
    size: u64,
    traits: Traits,
    shared: bool,
) -> Option<String> {
    let warp = cx.warp.index;
    let races = cx.block.races.as_mut()?;
    if KIND != kind::ATOMIC && traits.own && !traits.ordered {
        let earlier = races.access(warp, KIND == kind::WRITE, addr, size, (cx.function, cx.pc))?;
        let place = report::location(cx.grid.program(), earlier.function, earlier.pc);
        let term = report::region(cx.grid).map_or("warp", |r| r.terms[1]);
        let did = if earlier.write { "wrote" } else { "read" };
        let other = earlier.warp;
        return Some(format!(
            "{term} {other} {did} it before, at {place}: {}\n  and nothing orders the two",
            place.instruction
        ));
    }
    if traits.fences {
        races.fence(warp);
    }
    if KIND != kind::WRITE {
        races.observe(warp, addr, !shared);
    }
    if KIND != kind::READ {
        races.pass_on(warp, addr, !shared);
    }
    if traits.fences {
        races.fence(warp);
    }
    None
}

#[cold]
fn refuse<const KIND: u8>(
    cx: &mut Context<'_>,
    fault: FaultKind,
    lane: usize,
    addr: u64,
    size: u64,
    note: String,
) -> Flow {
    let what = [READ, WRITE, ATOMIC][KIND as usize];
    cx.refuse_access(fault, lane, addr, size, what, note)
}
