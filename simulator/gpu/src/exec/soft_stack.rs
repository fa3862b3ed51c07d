//! OpenMP's soft stacks: those of all threads lie side by side in one allocation, so each new end is checked.

use super::context::{Context, Flow};
use crate::fault::FaultKind;
use crate::ir::Inst;

/// Checks that the new end `a` of the soft stack is still in that of its own warp. Outside of SIMD loops it is the same for all lanes.
pub(crate) fn check(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    let lane = mask.trailing_zeros() as usize;
    let Some(stack) = cx.grid.soft_stack(cx.block.index[0], cx.warp.index) else { return Flow::Next };
    let end = cx.lane::<u64>(i.a, lane);
    if end >= stack.start {
        return Flow::Next;
    }
    let size = stack.end - stack.start;
    let note = format!(
        "the OpenMP thread has {size} bytes of soft stack, this function needs {} bytes more",
        stack.start - end
    );
    cx.fail(FaultKind::StackOverflow, lane, note)
}
