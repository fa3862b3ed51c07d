//! Instructions about single bits and bytes: counting, finding, extracting, permuting.

use super::alu::routine;
use super::context::{Context, Flow};
use super::lane::Lane;
use crate::ir::{Handler, Inst};
use boomerang_ptx::ast::Mode;
use boomerang_ptx::types::{Direction, Modifiers, Opcode, Overflow, Permute, Type};

/// The routine of such an instruction.
pub(super) fn select(opcode: Opcode, ty: Type, m: &Modifiers) -> Option<Handler> {
    use Opcode::*;
    match opcode {
        Shf => funnel(m),
        Popc => match ty.size() {
            4 => routine!(u32 => u32, u32::count_ones),
            _ => routine!(u64 => u32, u64::count_ones),
        },
        Clz => match ty.size() {
            4 => routine!(u32 => u32, u32::leading_zeros),
            _ => routine!(u64 => u32, u64::leading_zeros),
        },
        Brev => match ty.size() {
            4 => routine!(u32 => u32, u32::reverse_bits),
            _ => routine!(u64 => u64, u64::reverse_bits),
        },
        Bfind => find_bit(ty, m.flags.shiftamt),
        Bfe => match ty {
            Type::S32 => {
                routine!(i32, u32, u32 => i32, |a, p, l| extract(a as u32 as u64, p, l, 32, true) as i32)
            }
            Type::S64 => routine!(i64, u32, u32 => i64, |a, p, l| extract(a as u64, p, l, 64, true) as i64),
            Type::U32 => routine!(u32, u32, u32 => u32, |a, p, l| extract(a.into(), p, l, 32, false) as u32),
            _ => routine!(u64, u32, u32 => u64, |a, p, l| extract(a, p, l, 64, false)),
        },
        Bmsk => match m.overflow {
            Some(Overflow::Wrap) => routine!(u32, u32 => u32, |a, b| bit_mask(a & 31, b & 31)),
            _ => routine!(u32, u32 => u32, |a, b| bit_mask(a.min(32), b.min(32))),
        },
        Szext => sign_or_zero_extend(ty, m),
        Prmt => permute(m),
        Fns => routine!(u32, u32, i32 => u32, nth_bit),
        _ => None,
    }
}

/// `shf`: the upper (left) or lower (right) word of `b:a` shifted.
fn funnel(m: &Modifiers) -> Option<Handler> {
    fn left(a: u32, b: u32, by: u32) -> u32 {
        (((u64::from(b) << 32 | u64::from(a)) << by) >> 32) as u32
    }
    fn right(a: u32, b: u32, by: u32) -> u32 {
        ((u64::from(b) << 32 | u64::from(a)) >> by) as u32
    }
    let wrap = m.overflow == Some(Overflow::Wrap);
    match (m.mode, wrap) {
        (Some(Mode::Direction(Direction::Left)), true) => {
            routine!(u32, u32, u32 => u32, |a, b, c| left(a, b, c & 31))
        }
        (Some(Mode::Direction(Direction::Left)), false) => {
            routine!(u32, u32, u32 => u32, |a, b, c: u32| left(a, b, c.min(32)))
        }
        (_, true) => routine!(u32, u32, u32 => u32, |a, b, c| right(a, b, c & 31)),
        (_, false) => routine!(u32, u32, u32 => u32, |a, b, c: u32| right(a, b, c.min(32))),
    }
}

/// `bfind`: the highest bit that isn't a sign bit, or (`shift`) by how much to shift it to the top; all ones if there is none.
fn find_bit(ty: Type, shift: bool) -> Option<Handler> {
    fn position(magnitude: u64, width: u32, shift: bool) -> u32 {
        match magnitude.checked_ilog2() {
            None => u32::MAX,
            Some(bit) if shift => width - 1 - bit,
            Some(bit) => bit,
        }
    }
    fn magnitude(a: i64) -> u64 {
        (if a < 0 { !a } else { a }) as u64
    }
    match (ty, shift) {
        (Type::U32, false) => routine!(u32 => u32, |a| position(a.into(), 32, false)),
        (Type::U32, true) => routine!(u32 => u32, |a| position(a.into(), 32, true)),
        (Type::S32, false) => routine!(i32 => u32, |a| position(magnitude(a.into()), 32, false)),
        (Type::S32, true) => routine!(i32 => u32, |a| position(magnitude(a.into()), 32, true)),
        (Type::S64, false) => routine!(i64 => u32, |a| position(magnitude(a), 64, false)),
        (Type::S64, true) => routine!(i64 => u32, |a| position(magnitude(a), 64, true)),
        (_, false) => routine!(u64 => u32, |a| position(a, 64, false)),
        (_, true) => routine!(u64 => u32, |a| position(a, 64, true)),
    }
}

/// `bfe`: `len` bits from bit `pos` of a value of `width` bits. What lies beyond them is the field's sign, taken at the
/// value's top bit where the field ends beyond it; zero for the unsigned.
fn extract(a: u64, pos: u32, len: u32, width: u32, signed: bool) -> u64 {
    let (pos, len) = (pos & 0xff, len & 0xff);
    if len == 0 {
        return 0;
    }
    let ones = |n: u32| if n >= 64 { u64::MAX } else { (1 << n) - 1 };
    let inside = ones(len.min(width.saturating_sub(pos)));
    let field = a.checked_shr(pos).unwrap_or(0) & inside;
    let negative = signed && a >> (pos + len - 1).min(width - 1) & 1 == 1;
    if negative { field | !inside } else { field }
}

/// `fns`: the position of the set bit of `mask` that is number `|nth|` from bit `base` on, upwards or (negative) downwards; of `base`
/// itself for 0. All ones if there is none.
fn nth_bit(mask: u32, base: u32, nth: i32) -> u32 {
    let set = |at: &u32| mask >> at & 1 == 1;
    let left = nth.unsigned_abs().saturating_sub(1) as usize;
    let found = match nth {
        _ if base > 31 => None,
        0 => Some(base).filter(set),
        1.. => (base..32).filter(set).nth(left),
        _ => (0..=base).rev().filter(set).nth(left),
    };
    found.unwrap_or(u32::MAX)
}

fn bit_mask(from: u32, len: u32) -> u32 {
    let ones = if len >= 32 { u32::MAX } else { (1 << len) - 1 };
    ones.checked_shl(from).unwrap_or(0)
}

/// `bfi`: `b` with `d` bits from bit `c` on replaced by the low ones of `a`. The length is register `imm`.
pub(crate) fn insert<T: Lane + Into<u128> + TryFrom<u128>>(
    cx: &mut Context<'_>,
    i: &Inst,
    mask: u32,
) -> Flow {
    let length = crate::ir::Slot::from_bits(i.imm as u32);
    for lane in super::map::lanes(mask) {
        let (a, b): (u128, u128) = (cx.lane::<T>(i.a, lane).into(), cx.lane::<T>(i.b, lane).into());
        let (pos, len) = (cx.lane::<u32>(i.c, lane) & 0xff, cx.lane::<u32>(length, lane) & 0xff);
        let width = 8 * size_of::<T>() as u32;
        let field = ((1u128 << len.min(width)) - 1).checked_shl(pos).unwrap_or(0);
        let all = (1u128 << width) - 1;
        let value = (b & !field | a.checked_shl(pos).unwrap_or(0) & field) & all;
        cx.write_one(i.d, 1 << lane, T::try_from(value).ok().expect("it was masked"));
    }
    Flow::Next
}

fn sign_or_zero_extend(ty: Type, m: &Modifiers) -> Option<Handler> {
    fn extend(a: u32, bits: u32, signed: bool) -> u32 {
        match bits {
            0 => 0,
            32.. => a,
            _ if signed => ((a << (32 - bits)) as i32 >> (32 - bits)) as u32,
            _ => a & ((1 << bits) - 1),
        }
    }
    match (ty.is_signed(), m.overflow == Some(Overflow::Wrap)) {
        (false, false) => routine!(u32, u32 => u32, |a, b| extend(a, b, false)),
        (true, false) => routine!(u32, u32 => u32, |a, b| extend(a, b, true)),
        (false, true) => routine!(u32, u32 => u32, |a, b| extend(a, b & 31, false)),
        (true, true) => routine!(u32, u32 => u32, |a, b| extend(a, b & 31, true)),
    }
}

/// `prmt`: the bytes of `b:a` that the selector `c` names; bit 3 of a selector replicates the byte's sign.
fn permute(m: &Modifiers) -> Option<Handler> {
    fn pick(a: u32, b: u32, selectors: [u32; 4]) -> u32 {
        let bytes = (u64::from(b) << 32 | u64::from(a)).to_le_bytes();
        u32::from_le_bytes(selectors.map(|s| {
            let byte = bytes[(s & 7) as usize];
            if s & 8 != 0 { ((byte as i8) >> 7) as u8 } else { byte }
        }))
    }
    let mode = match m.mode {
        Some(Mode::Permute(mode)) => Some(mode),
        _ => None,
    };
    macro_rules! table {
        ($f:expr) => {
            routine!(u32, u32, u32 => u32, |a, b, c| {
                let n = c & 3;
                let f: fn(u32) -> [u32; 4] = $f;
                pick(a, b, f(n))
            })
        };
    }
    match mode {
        None => routine!(u32, u32, u32 => u32, |a, b, c| pick(a, b, [0, 4, 8, 12].map(|s| c >> s & 15))),
        Some(Permute::F4e) => table!(|n| [n, n + 1, n + 2, n + 3]),
        Some(Permute::B4e) => {
            table!(|n| [n, n.wrapping_sub(1) & 7, n.wrapping_sub(2) & 7, n.wrapping_sub(3) & 7])
        }
        Some(Permute::Rc8) => table!(|n| [n; 4]),
        Some(Permute::Ecl) => table!(|n| [n, 1.max(n), 2.max(n), 3]),
        Some(Permute::Ecr) => table!(|n| [0, 1.min(n), 2.min(n), n]),
        Some(Permute::Rc16) => table!(|n| {
            let half = (n & 1) * 2;
            [half, half + 1, half, half + 1]
        }),
    }
}

/// `lop3`: the function of three bits whose truth table is `imm`.
pub(crate) fn lop3(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    let table = i.imm;
    cx.map3(i, mask, |a: u32, b: u32, c: u32| {
        (0..8).filter(|row| table >> row & 1 == 1).fold(0, |out, row| {
            let pick = |x: u32, bit: u32| if row >> bit & 1 == 1 { x } else { !x };
            out | pick(a, 2) & pick(b, 1) & pick(c, 0)
        })
    })
}
