//! Calls, direct and through registers.

use super::builtin;
use super::context::{Context, Flow};
use super::frames::CALL_OVERHEAD;
use super::map::lanes;
use crate::fault::FaultKind;
use crate::ir::{CODE_STEP, Inst};

impl Context<'_> {
    /// Makes an activation the current one.
    pub fn enter(&mut self, frame: u32) {
        self.frame_index = frame;
        self.frame = self.warp.frames.registers(frame);
        (self.function, self.everyone) = (self.warp.frames[frame].function, self.warp.frames[frame].entered);
        self.constants = self.grid.program().functions[self.function as usize].constants.first();
    }

    fn call(&mut self, function: u32, call: u32, mask: u32) -> Flow {
        let program = self.grid.program();
        let callee = &program.functions[function as usize];
        if let Some(builtin) = callee.builtin {
            let site = &program.functions[self.function as usize].calls[call as usize];
            return builtin::call(self, builtin, site, mask);
        }
        let top = self.warp.frames[self.frame_index].top(mask) + CALL_OVERHEAD + callee.local_size;
        if top > self.grid.local_size() {
            let lane = mask.trailing_zeros() as usize;
            let note = format!(
                "the call of {} needs {top} bytes of stack, a thread has {}",
                callee.name,
                self.grid.local_size()
            );
            return self.fail(FaultKind::StackOverflow, lane, note);
        }
        let frame = self.warp.frames.push(function, mask, self.frame_index, call, self.pc + 1, self.join);
        self.enter(frame);
        (self.pc, self.mask, self.join) = (0, mask, crate::ir::NONE);
        Flow::Jump
    }
}

/// Calls by call site `imm`. The lanes of the split that don't call have been sent around it.
pub(crate) fn direct(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    debug_assert_eq!(mask, cx.mask);
    let call = i.imm as u32;
    let callee = cx.grid.program().functions[cx.function as usize].calls[call as usize].callee;
    cx.call(callee, call, mask)
}

/// Calls the function whose address is in `a`, by call site `imm`. Lanes that call other functions take their turn afterwards;
/// all meet at the next instruction.
pub(crate) fn indirect(cx: &mut Context<'_>, i: &Inst, mask: u32) -> Flow {
    debug_assert_eq!(mask, cx.mask);
    let first = mask.trailing_zeros() as usize;
    let target = cx.lane::<u64>(i.a, first);
    let offset = target.wrapping_sub(cx.grid.program().code_base);
    let function = (offset / CODE_STEP) as usize;
    if offset % CODE_STEP != 0 || function >= cx.grid.program().functions.len() {
        return cx.fail(
            FaultKind::InvalidProgramCounter,
            first,
            format!("call of {target:#x}, which is no function's address"),
        );
    }
    let same = lanes(mask).filter(|&l| cx.lane::<u64>(i.a, l) == target).fold(0, |m, l| m | 1 << l);
    if same != mask {
        let pc = cx.pc;
        cx.owe(pc + 1);
        cx.part(mask & !same, pc);
    }
    cx.call(function as u32, i.imm as u32, same)
}
