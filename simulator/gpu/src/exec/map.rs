//! Computing results: lane by lane, or once where all lanes have the same operands.

use super::context::{Context, Flow};
use super::lane::Lane;
use super::registers::mark;
use crate::ir::{FULL, Inst, LANES, Slot};
use std::array;

/// Lanes computed at a time: so many results stay in the host's vector registers. A register of the program that is both source and
/// destination has one slot, of which only the same lanes are overwritten that have been read.
const CHUNK: usize = 8;

impl Context<'_> {
    /// Executes an instruction again with its first `N` operands stored for all lanes, and its result if it is for some.
    #[inline(never)]
    fn again<const N: usize>(&mut self, i: &Inst, mask: u32) -> Flow {
        for slot in [i.a, i.b, i.c].into_iter().take(N) {
            self.spread(slot);
        }
        if mask != self.everyone {
            self.spread(i.d);
        }
        (i.run)(self, i, mask)
    }

    /// `d` = `f` of each lane of `mask`, which are not all.
    #[inline(always)]
    fn map_some<D: Lane>(&mut self, i: &Inst, mask: u32, f: impl Fn(&Self, usize) -> D) -> Flow {
        if self.mark(i.d) & mark::FIRST != 0 {
            return self.again::<0>(i, mask);
        }
        // First, as the result may go where an operand is: from now on the lanes of that count, not only lane 0.
        self.set_mark(i.d, mark::OWN);
        for l in lanes(mask) {
            let value = f(self, l);
            self.stored_mut::<D>(i.d)[l] = value.put();
        }
        Flow::Next
    }

    /// Where the chunks of a register or constant lie that is stored for all lanes.
    #[inline(always)]
    fn pointer<T: Lane>(&self, slot: Slot) -> *const [T::Slot; CHUNK] {
        std::ptr::from_ref(self.stored::<T>(slot)).cast()
    }

    /// Stores for all lanes, a chunk at a time, what `f` gives for each.
    #[inline(always)]
    fn write_chunks<D: Lane>(&mut self, slot: Slot, f: impl Fn(usize) -> [D; CHUNK]) {
        self.set_mark(slot, mark::OWN);
        let to = std::ptr::from_mut(self.stored_mut::<D>(slot)).cast::<[D::Slot; CHUNK]>();
        for at in 0..LANES / CHUNK {
            // SAFETY: a register has so many chunks.
            unsafe { *to.add(at) = f(at).map(D::put) };
        }
    }

    /// `d = f(a)`, lane by lane or once for all.
    #[inline(always)]
    pub fn map1<A: Lane, D: Lane>(&mut self, i: &Inst, mask: u32, f: impl Fn(A) -> D) -> Flow {
        if mask != self.everyone {
            return self.map_some(i, mask, |cx, l| f(cx.lane(i.a, l)));
        }
        if self.is_uniform(i.a) {
            let value = f(self.first(i.a));
            self.write_first(i.d, value);
            return Flow::Next;
        }
        let a = self.pointer::<A>(i.a);
        self.write_chunks(i.d, |at| {
            // SAFETY: the pointers are good, and nothing is written while `f` computes.
            let a = unsafe { &*a.add(at) };
            array::from_fn(|l| f(A::get(a[l])))
        });
        Flow::Next
    }

    /// `d = f(a, b)`, lane by lane or once for all.
    #[inline(always)]
    pub fn map2<A: Lane, B: Lane, D: Lane>(&mut self, i: &Inst, mask: u32, f: impl Fn(A, B) -> D) -> Flow {
        if mask != self.everyone {
            return self.map_some(i, mask, |cx, l| f(cx.lane(i.a, l), cx.lane(i.b, l)));
        }
        let marks = [self.mark(i.a), self.mark(i.b)];
        if marks.iter().all(|mark| mark & mark::SAME != 0) {
            let value = f(self.first(i.a), self.first(i.b));
            self.write_first(i.d, value);
            return Flow::Next;
        }
        if marks.iter().any(|mark| mark & mark::FIRST != 0) {
            return self.again::<2>(i, mask);
        }
        let (a, b) = (self.pointer::<A>(i.a), self.pointer::<B>(i.b));
        self.write_chunks(i.d, |at| {
            // SAFETY: the pointers are good, and nothing is written while `f` computes.
            let (a, b) = unsafe { (&*a.add(at), &*b.add(at)) };
            array::from_fn(|l| f(A::get(a[l]), B::get(b[l])))
        });
        Flow::Next
    }

    /// `d = f(a, b, c)`, lane by lane or once for all.
    #[inline(always)]
    pub fn map3<A: Lane, B: Lane, C: Lane, D: Lane>(
        &mut self,
        i: &Inst,
        mask: u32,
        f: impl Fn(A, B, C) -> D,
    ) -> Flow {
        if mask != self.everyone {
            return self.map_some(i, mask, |cx, l| f(cx.lane(i.a, l), cx.lane(i.b, l), cx.lane(i.c, l)));
        }
        let marks = [self.mark(i.a), self.mark(i.b), self.mark(i.c)];
        if marks.iter().all(|mark| mark & mark::SAME != 0) {
            let value = f(self.first(i.a), self.first(i.b), self.first(i.c));
            self.write_first(i.d, value);
            return Flow::Next;
        }
        if marks.iter().any(|mark| mark & mark::FIRST != 0) {
            return self.again::<3>(i, mask);
        }
        let (a, b, c) = (self.pointer::<A>(i.a), self.pointer::<B>(i.b), self.pointer::<C>(i.c));
        self.write_chunks(i.d, |at| {
            // SAFETY: the pointers are good, and nothing is written while `f` computes.
            let (a, b, c) = unsafe { (&*a.add(at), &*b.add(at), &*c.add(at)) };
            array::from_fn(|l| f(A::get(a[l]), B::get(b[l]), C::get(c[l])))
        });
        Flow::Next
    }

    /// The bits of `f(a, b)`, for the lanes of `mask` at least.
    #[inline(always)]
    pub fn test2<A: Lane>(&self, i: &Inst, mask: u32, f: impl Fn(A, A) -> bool) -> u32 {
        if self.is_uniform(i.a) & self.is_uniform(i.b) {
            return if f(self.first(i.a), self.first(i.b)) { FULL } else { 0 };
        }
        if mask != self.everyone {
            return lanes(mask)
                .fold(0, |all, l| all | u32::from(f(self.lane(i.a, l), self.lane(i.b, l))) << l);
        }
        let (a, b) = (self.read::<A>(i.a), self.read::<A>(i.b));
        bits(array::from_fn(|l| f(A::get(a[l]), A::get(b[l]))))
    }
}

/// The mask of the lanes that are `true`.
#[inline(always)]
pub(crate) fn bits(flags: [bool; LANES]) -> u32 {
    let mut mask = 0;
    for first in (0..LANES).step_by(8) {
        // The product's top byte gets bit 0 of byte `k` as its bit `k`.
        let bytes = u64::from_le_bytes(array::from_fn(|k| flags[first + k].into()));
        mask |= (bytes.wrapping_mul(0x0102_0408_1020_4080) >> 56) << first;
    }
    mask as u32
}

/// The lanes of a mask, ascending.
#[inline(always)]
pub(crate) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        (rest != 0).then(|| {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            lane
        })
    })
}
