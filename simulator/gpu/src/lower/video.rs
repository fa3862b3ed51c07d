//! Video instructions.

use super::function::{Lowered, Lowering};
use crate::exec::video::{self, Part, Video};
use boomerang_ptx::ast::*;

impl Lowering<'_> {
    pub(super) fn lower_video(&mut self, i: &Instruction) -> Lowered {
        let m = &i.modifiers;
        let mut types = m.types.into_iter().flatten();
        // `vset` has no type of its own for the destination.
        let to = if i.opcode == Opcode::Vset { Type::U32 } else { types.next().ok_or("it has no type")? };
        let (a, b) = (types.next().ok_or("it has one type")?, types.next().ok_or("it has too few types")?);
        let selected = |operand: &Operand| match operand {
            Operand::Selected(id, selector) => (Operand::Register(*id), Some(*selector)),
            other => (other.clone(), None),
        };
        let ((d_operand, d_selector), (a_operand, a_selector), (b_operand, b_selector)) =
            (selected(&i.operands[0]), selected(&i.operands[1]), selected(&i.operands[2]));
        let number = self.videos.len() as u64;
        self.videos.push(Video {
            opcode: i.opcode,
            a: Part { selector: a_selector, signed: a.is_signed() },
            b: Part { selector: b_selector, signed: b.is_signed() },
            d: Part { selector: d_selector.or(m.selector), signed: to.is_signed() },
            saturate: m.flags.sat,
            second: m.video,
            compare: m.compare,
            wrap: m.overflow == Some(Overflow::Wrap),
        });
        let x = self.value(&a_operand, Type::B32)?;
        let y = self.value(&b_operand, Type::B32)?;
        let z = match i.operands.get(3) {
            Some(operand) => self.value(operand, Type::B32)?,
            None => y,
        };
        let d = self.destination(&d_operand, Type::B32)?;
        self.emit_op(video::run, number, d.slot, [x, y, z]);
        self.finish(d);
        Ok(())
    }
}
