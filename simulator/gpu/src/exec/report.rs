//! From an error in a warp to a fault that says where it is.

use super::context::{Context, Error};
use crate::fault::{Access, Fault, Location};
use crate::ir::{LANES, NONE, Program};
use crate::launch::Grid;

/// The place of an instruction.
pub(crate) fn location(program: &Program, function: u32, pc: u32) -> Location {
    let function = &program.functions[function as usize];
    let origin = function.origins.get(pc as usize).copied().unwrap_or_default();
    let object = &program.objects.get(function.object as usize);
    let text = object.and_then(|o| o.text.get(origin.text.0 as usize..origin.text.1 as usize));
    let source =
        origin.file.checked_sub(1).map(|file| (program.files[file as usize].to_string(), origin.source_line));
    Location {
        function: function.name.clone(),
        object: object.map_or_else(String::new, |o| o.name.clone()),
        line: origin.line,
        source,
        instruction: text.unwrap_or_default().trim().to_string(),
    }
}

/// Index in its block of a lane of a warp.
pub(crate) fn thread(grid: &Grid, warp: u32, lane: u32) -> [u32; 3] {
    let [x, y, _] = grid.block;
    let flat = warp * LANES as u32 + lane;
    [flat % x, flat / x % y, flat / x / y]
}

/// The fault for an error of the current split.
pub(crate) fn fault(cx: &Context<'_>, error: Error) -> Fault {
    let program = cx.grid.program();
    let mut callers = Vec::new();
    let mut frame = &cx.warp.frames[cx.frame_index];
    while frame.caller != NONE {
        let caller = &cx.warp.frames[frame.caller];
        callers.push(location(program, caller.function, frame.return_pc - 1));
        frame = caller;
    }
    let access = error.access.map(|(address, size, what)| {
        let neighbour = (address >> 48 == 0).then(|| cx.grid.memory().neighbour(address)).flatten();
        Access { address, size, what, neighbour }
    });
    Fault {
        kind: error.kind,
        kernel: cx.grid.kernel_name().to_string(),
        block: cx.block.index,
        thread: thread(cx.grid, cx.warp.index, error.lane),
        location: location(program, cx.function, cx.pc),
        callers,
        access,
        note: error.note,
    }
}
