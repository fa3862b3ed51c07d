//! From an error in a warp to a fault that says where it is.

use super::context::{Context, Error};
use super::frames::Frames;
use crate::fault::{Access, Fault, FaultKind, Location, REGION_MARK, Region};
use crate::ir::{LANES, NONE, Program};
use crate::launch::Grid;
use std::fmt;
use std::sync::Arc;

/// The place of an instruction.
pub(crate) fn location(program: &Program, function: u32, pc: u32) -> Location {
    let function = &program.functions[function as usize];
    let origin = function.origins.get(pc as usize).copied().unwrap_or_default();
    let object = &program.objects.get(function.object as usize);
    let text = object.and_then(|o| o.text.get(origin.text.0 as usize..origin.text.1 as usize));
    // A function's first instructions set up its frame, before its first line.
    let line = if origin.file == 0 { function.first_line() } else { Some(&origin) };
    let source = line.map(|o| (program.files[o.file as usize - 1].to_string(), o.source_line));
    Location {
        function: function.name.clone(),
        object: object.map_or_else(String::new, |o| o.name.clone()),
        line: origin.line,
        source,
        instruction: text.unwrap_or_default().trim().to_string(),
    }
}

/// The function and instruction of the program's own code that a frame is in or was called from.
pub(crate) fn own_place(program: &Program, frames: &Frames, frame: u32, pc: u32) -> Option<(u32, u32)> {
    let (mut frame, mut pc) = (&frames[frame], pc);
    while program.functions[frame.function as usize].library {
        pc = frame.return_pc.wrapping_sub(1);
        frame = (frame.caller != NONE).then(|| &frames[frame.caller])?;
    }
    Some((frame.function, pc))
}

/// Index in its block of a lane of a warp.
pub(crate) fn thread(grid: &Grid, warp: u32, lane: u32) -> [u32; 3] {
    let [x, y, _] = grid.block;
    let flat = warp * LANES as u32 + lane;
    [flat % x, flat / x % y, flat / x / y]
}

/// What a kernel is in the program, if GCC made it.
pub(crate) fn region(grid: &Grid) -> Option<Region> {
    let kernel = grid.kernel_name();
    let (function, _) = kernel.split_once(REGION_MARK)?;
    let program = grid.program();
    // OpenMP's kernels only start the function that has the code (nvptx.cc, `write_omp_entry`).
    let own = |name: &str| name.strip_prefix(kernel).is_some_and(|rest| rest.is_empty() || rest == "$impl");
    let line = program.functions.iter().filter(|f| own(&f.name)).find_map(|f| f.first_line());
    Some(Region {
        function: function.to_string(),
        source: line.map(|o| (program.files[o.file as usize - 1].to_string(), o.source_line)),
        has_lines: program.functions.iter().any(|f| !f.library && f.first_line().is_some()),
        terms: if grid.is_openmp() { Region::OPENMP } else { Region::OPENACC },
        launched: [grid.grid[0], grid.block[1]],
    })
}

/// A fault of the whole grid.
pub(crate) fn of_grid(grid: &Grid, kind: FaultKind, note: String) -> Fault {
    Fault {
        kind,
        kernel: grid.kernel_name().to_string(),
        region: region(grid),
        block: [0; 3],
        thread: [0; 3],
        location: Location::default(),
        callers: Vec::new(),
        access: None,
        note,
    }
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
        block: cx.block.index,
        thread: thread(cx.grid, cx.warp.index, error.lane),
        location: location(program, cx.function, cx.pc),
        callers,
        access,
        ..of_grid(cx.grid, error.kind, error.note)
    }
}

/// A call in a kernel, as who allocated or freed a block of the heap.
pub(crate) struct Caller {
    program: Arc<Program>,
    kernel: String,
    place: (u32, u32),
}

impl Caller {
    /// The place of the current split.
    pub fn new(cx: &Context<'_>) -> Caller {
        let (program, kernel) = (cx.grid.program_handle(), cx.grid.kernel_name().to_string());
        let own = own_place(&program, &cx.warp.frames, cx.frame_index, cx.pc);
        Caller { program, kernel, place: own.unwrap_or((cx.function, cx.pc)) }
    }
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (function, pc) = self.place;
        let at = location(&self.program, function, pc);
        write!(f, "kernel {} at {at}", self.kernel)
    }
}
