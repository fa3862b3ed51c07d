//! Local memory: the addresses of variables, and what `alloca` adds.

use super::context::{Context, Flow};
use super::map::lanes;
use crate::fault::FaultKind;
use crate::ir::Inst;

/// `d` gets the local address of the frame's variable at `imm`, plus the window `a`.
pub(crate) fn local_address(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    let window = cx.lane::<u64>(i.a, 0);
    let base = u64::from(cx.warp.frames[cx.frame_index].local_base);
    cx.write_one(i.d, mask, window + base.wrapping_add(i.imm));
    Flow::Next
}

/// `alloca`: `d` gets the local address of `a` bytes more of the frame, aligned to `imm`.
pub(crate) fn alloca(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    for lane in lanes(mask) {
        let size = cx.lane::<u64>(i.a, lane);
        let limit = u64::from(cx.grid.local_size());
        let top = &mut cx.warp.frames[cx.frame_index].tops()[lane];
        let at = u64::from(*top).next_multiple_of(i.imm);
        let end = at.saturating_add(size).saturating_add(15) & !15;
        if end > limit {
            let note = format!("alloca of {size} bytes, a thread has {limit} of stack");
            return cx.fail(FaultKind::StackOverflow, lane, note);
        }
        *top = end as u32;
        cx.write_one(i.d, 1 << lane, at);
    }
    Flow::Next
}

/// `stacksave`: `d` gets the end of the frame's variables.
pub(crate) fn stack_save(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    let tops = cx.warp.frames[cx.frame_index].tops().map(u64::from);
    cx.write::<u64>(i.d, mask, &tops);
    Flow::Next
}

/// `stackrestore`: frees what was allocated since the save of `a`.
pub(crate) fn stack_restore(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    for lane in lanes(mask) {
        let saved = cx.lane::<u64>(i.a, lane);
        let frame = &mut cx.warp.frames[cx.frame_index];
        let kept = u64::from(frame.local_top)..=u64::from(frame.tops()[lane]);
        if !kept.contains(&saved) {
            let note = "stackrestore of what stacksave did not give in this call";
            return cx.fail(FaultKind::IllegalInstruction, lane, note);
        }
        frame.tops()[lane] = saved as u32;
    }
    Flow::Next
}
