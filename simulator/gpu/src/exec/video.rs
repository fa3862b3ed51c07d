//! The scalar video instructions: an operation on bytes, halves or words in 33 bits, clamped, then joined with a third operand.

use super::context::{Context, Flow};
use crate::ir::Inst;
use boomerang_ptx::types::{Compare, Opcode, Selector, VideoOp};

/// An operand or destination: the part selected and its sign. `None` selects the word.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub selector: Option<Selector>,
    pub signed: bool,
}

impl Part {
    fn position(self) -> (u32, u32) {
        match self.selector {
            None => (0, 32),
            Some(Selector::B0) => (0, 8),
            Some(Selector::B1) => (8, 8),
            Some(Selector::B2) => (16, 8),
            Some(Selector::B3) => (24, 8),
            Some(Selector::H0) => (0, 16),
            Some(Selector::H1) => (16, 16),
        }
    }

    fn pick(self, word: u32) -> i64 {
        let (at, width) = self.position();
        let field = u64::from(word >> at) & ((1 << width) - 1);
        if self.signed { (field << (64 - width)) as i64 >> (64 - width) } else { field as i64 }
    }
}

/// All of an instruction but its operands.
#[derive(Clone, Copy)]
pub(crate) struct Video {
    pub opcode: Opcode,
    pub a: Part,
    pub b: Part,
    pub d: Part,
    pub saturate: bool,
    /// How the result is joined with `c`; without one, it replaces the selected part of `c`.
    pub second: Option<VideoOp>,
    pub compare: Option<Compare>,
    /// Shift counts wrap.
    pub wrap: bool,
}

impl Video {
    /// The result for the operands.
    pub fn apply(&self, a: u32, b: u32, c: u32) -> u32 {
        let (x, y) = (self.a.pick(a), self.b.pick(b));
        let count = if self.wrap { y as u32 & 31 } else { (y as u64).min(32) as u32 };
        let value = match self.opcode {
            Opcode::Vadd => x + y,
            Opcode::Vsub => x - y,
            Opcode::Vabsdiff => (x - y).abs(),
            Opcode::Vmin => x.min(y),
            Opcode::Vmax => x.max(y),
            Opcode::Vshl => x << count,
            Opcode::Vshr => x >> count,
            _ => i64::from(match self.compare {
                Some(Compare::Eq) => x == y,
                Some(Compare::Ne) => x != y,
                Some(Compare::Lt) => x < y,
                Some(Compare::Le) => x <= y,
                Some(Compare::Gt) => x > y,
                _ => x >= y,
            }),
        };
        let (at, width) = self.d.position();
        let value = match (self.saturate, self.d.signed) {
            (false, _) => value,
            (true, true) => value.clamp(-(1 << (width - 1)), (1 << (width - 1)) - 1),
            (true, false) => value.clamp(0, (1 << width) - 1),
        };
        let word = value as u32;
        match self.second {
            Some(VideoOp::Add) => word.wrapping_add(c),
            Some(VideoOp::Min) if self.d.signed => (word as i32).min(c as i32) as u32,
            Some(VideoOp::Min) => word.min(c),
            Some(VideoOp::Max) if self.d.signed => (word as i32).max(c as i32) as u32,
            Some(VideoOp::Max) => word.max(c),
            None if width == 32 => word,
            None => {
                let field = ((1u32 << width) - 1) << at;
                c & !field | word << at & field
            }
        }
    }
}

/// Executes video instruction number `imm` of the function.
pub(crate) fn run(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    let video = cx.grid.program().functions[cx.function as usize].videos[i.imm as usize];
    cx.map3(i, mask, |a, b, c| video.apply(a, b, c))
}
