//! The executable form of a program: for each function a list of instructions, each with the routine that executes it.
//!
//! # Registers
//! The registers of a function live in a *frame*, one frame for each activation and warp. A register of up to 32 bits is an array
//! of 32 `u32`, one for each lane, a 64-bit register an array of 32 `u64`; a predicate is one `u32`, a bit for each lane. A
//! [`Slot`] says where: a byte offset in the frame, or in the function's table of constants, which has the same form.
//!
//! Where all lanes have one value, and it is known, it is computed once and stored for lane 0 alone: each register has a mark that says so
//! ([`crate::exec::registers`]), set by the instruction that wrote it, if all lanes executed it and all it read was so marked.

use crate::exec::registers::Registers;
use crate::exec::video::Video;
use crate::exec::{Context, Flow};
use crate::module::Global;
use std::collections::HashMap;
use std::sync::Arc;

/// Lanes of a warp.
pub(crate) const LANES: usize = 32;
/// The mask of all lanes.
pub(crate) const FULL: u32 = u32::MAX;
/// No program counter, no join, no frame.
pub(crate) const NONE: u32 = u32::MAX;
/// Alignment of registers in frames and constants, in bytes.
pub(crate) const REGISTER_ALIGN: usize = 64;

/// Generic addresses of shared memory start here: beyond the 47 bits that the host's addresses have.
pub(crate) const SHARED_WINDOW: u64 = 1 << 48;
/// Generic addresses of local memory start here.
pub(crate) const LOCAL_WINDOW: u64 = 2 << 48;
/// Generic addresses of the kernel's parameters start here.
pub(crate) const PARAM_WINDOW: u64 = 3 << 48;
/// Addresses of functions start here; they can be called, not read.
pub(crate) const CODE_WINDOW: u64 = 4 << 48;
/// Distance between the addresses of functions.
pub(crate) const CODE_STEP: u64 = 16;

/// Executes one instruction for the lanes of the mask (never empty).
pub(crate) type Handler = fn(&mut Context<'_>, &Inst, u32) -> Flow;

/// Where an operand lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot(u32);

impl Slot {
    const CONSTANT: u32 = 1 << 31;
    /// The slot of an operand that an instruction doesn't have; routines that would use it must not look.
    pub const UNUSED: Slot = Slot(u32::MAX);

    /// In the frame.
    pub fn frame(offset: usize) -> Slot {
        debug_assert!(offset < Self::CONSTANT as usize);
        Slot(offset as u32)
    }

    /// In the constants.
    pub fn constant(offset: usize) -> Slot {
        Slot(offset as u32 | Self::CONSTANT)
    }

    /// From [`Slot::bits`].
    pub fn from_bits(bits: u32) -> Slot {
        Slot(bits)
    }

    /// As a part of an `imm`.
    pub fn bits(self) -> u32 {
        self.0
    }

    pub fn is_constant(self) -> bool {
        self.0 & Self::CONSTANT != 0
    }

    pub fn offset(self) -> usize {
        (self.0 & !Self::CONSTANT) as usize
    }

    /// The slot `bytes` after it.
    pub fn plus(self, bytes: usize) -> Slot {
        Slot(self.0 + bytes as u32)
    }
}

/// The predicate under which an instruction executes: `register ^ flip`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guard {
    pub slot: Slot,
    pub flip: u32,
}

/// An instruction. What `a`, `b`, `c` and `imm` mean is up to `run`.
#[derive(Clone, Copy)]
pub(crate) struct Inst {
    pub run: Handler,
    pub guard: Option<Guard>,
    pub d: Slot,
    pub a: Slot,
    pub b: Slot,
    pub c: Slot,
    pub imm: u64,
}

impl Inst {
    /// An instruction without operands.
    pub fn new(run: Handler) -> Inst {
        let unused = Slot::UNUSED;
        Inst { run, guard: None, d: unused, a: unused, b: unused, c: unused, imm: 0 }
    }

    /// The two halves of `imm`.
    pub fn pair(&self) -> (u32, u32) {
        (self.imm as u32, (self.imm >> 32) as u32)
    }
}

/// Two halves as an `imm`.
pub(crate) fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// Memory for registers, aligned as vector loads like it.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Line(pub [u64; 8]);

/// A call: whom, and which words go where. Parameters and results are words of 64 bits (arrays of 32 `u64`) at the start of
/// the callee's frame: first parameters, then results.
pub(crate) struct CallSite {
    /// Index of the callee; [`NONE`] if a register holds its address.
    pub callee: u32,
    /// Where the arguments lie in the caller's frame.
    pub arguments: Vec<Words>,
    /// Where the results go in the caller's frame.
    pub results: Vec<Words>,
}

/// Words in a frame, one behind the other.
#[derive(Clone, Copy)]
pub(crate) struct Words {
    /// Frame offset of the first.
    pub at: u32,
    pub count: u32,
}

/// Routines of the driver that PTX can call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Builtin {
    Vprintf,
    Malloc,
    Free,
    AssertFail,
}

/// Where an instruction comes from.
#[derive(Clone, Copy, Default)]
pub(crate) struct Origin {
    /// Line of the PTX object.
    pub line: u32,
    /// Range of the object's text.
    pub text: (u32, u32),
    /// Index into [`Program::files`], plus one; 0 for none.
    pub file: u32,
    /// Line of the source file.
    pub source_line: u32,
}

/// A function.
pub(crate) struct Function {
    pub name: String,
    /// Index of its object.
    pub object: u32,
    pub code: Vec<Inst>,
    /// For each instruction of `code`.
    pub origins: Vec<Origin>,
    pub constants: Registers,
    pub calls: Vec<CallSite>,
    pub branch_tables: Vec<Vec<u32>>,
    pub videos: Vec<Video>,
    /// Size of a frame in bytes, a multiple of [`REGISTER_ALIGN`].
    pub frame_size: u32,
    /// Words of parameters and of results at the frame's start.
    pub parameter_words: u32,
    pub result_words: u32,
    /// Bytes of local memory for its variables.
    pub local_size: u32,
    /// Registers declared, in units of 32 bits.
    pub registers: u32,
    /// Not the program's own: GCC links it to every program.
    pub library: bool,
    /// Set for the driver's own routines, which have no code.
    pub builtin: Option<Builtin>,
    /// Functions it calls by name.
    pub callees: Vec<u32>,
}

impl Function {
    /// The first instruction that has a source line.
    pub fn first_line(&self) -> Option<&Origin> {
        self.origins.iter().find(|origin| origin.file != 0)
    }
}

/// A kernel's properties beyond its code.
pub(crate) struct KernelInfo {
    pub name: String,
    pub function: u32,
    pub params: Vec<crate::Param>,
    pub local_size: u32,
    pub registers: u32,
    pub max_threads: u32,
}

/// A program.
pub(crate) struct Program {
    pub functions: Vec<Function>,
    pub kernels: Vec<KernelInfo>,
    pub globals: HashMap<String, Global>,
    /// Bytes of statically allocated shared memory; dynamic shared memory follows.
    pub static_shared: u32,
    /// Bytes of each thread's local memory that are the module's variables; the kernel's follow.
    pub static_local: u32,
    /// Address of function 0.
    pub code_base: u64,
    pub objects: Vec<crate::Object>,
    pub files: Vec<Arc<str>>,
}
