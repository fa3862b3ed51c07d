//! What stops a grid: the kind of fault and everything known about where it happened.

use crate::mem::Neighbour;
use std::fmt;

/// The classes of fault that the CUDA driver tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// An access to memory that isn't there, was freed, or lies outside its allocation.
    IllegalAddress,
    /// An address that isn't a multiple of the access size.
    MisalignedAddress,
    /// An address of a space that the operation doesn't work on.
    InvalidAddressSpace,
    /// A jump to something that isn't a function.
    InvalidProgramCounter,
    /// An operation that can't be executed.
    IllegalInstruction,
    /// `trap`.
    Trap,
    /// `__assertfail`.
    Assert,
    /// The thread's local stack is full.
    StackOverflow,
    /// All warps of a block wait for each other at barriers; hardware would hang.
    Deadlock,
    /// The caller raised the cancel flag.
    Cancelled,
}

impl FaultKind {
    /// The `CUresult` that the driver reports for this kind (cuda.h).
    pub fn cuda_result(self) -> u32 {
        match self {
            FaultKind::IllegalAddress => 700,
            FaultKind::Assert => 710,
            FaultKind::IllegalInstruction => 715,
            FaultKind::MisalignedAddress => 716,
            FaultKind::InvalidAddressSpace => 717,
            FaultKind::InvalidProgramCounter => 718,
            FaultKind::StackOverflow | FaultKind::Trap | FaultKind::Deadlock => 719,
            FaultKind::Cancelled => 999,
        }
    }

    fn text(self) -> &'static str {
        match self {
            FaultKind::IllegalAddress => "illegal address",
            FaultKind::Assert => "device-side assertion",
            FaultKind::IllegalInstruction => "illegal instruction",
            FaultKind::MisalignedAddress => "misaligned address",
            FaultKind::InvalidAddressSpace => "operation not supported on this address space",
            FaultKind::InvalidProgramCounter => "jump to an address that is no function",
            FaultKind::StackOverflow => "local stack overflow",
            FaultKind::Trap => "trap",
            FaultKind::Deadlock => "deadlock at a barrier",
            FaultKind::Cancelled => "cancelled",
        }
    }
}

/// A place in the program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Location {
    /// Name of the function.
    pub function: String,
    /// Name of the PTX object (as given to the linker).
    pub object: String,
    /// Line in that object, from 1.
    pub line: u32,
    /// Source file and line from the nearest `.loc` before, where there is one.
    pub source: Option<(String, u32)>,
    /// The instruction's mnemonic.
    pub instruction: String,
}

/// A memory access that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// The address, in the space named by `what` (generic for global memory).
    pub address: u64,
    /// Bytes accessed.
    pub size: u32,
    /// "read", "write" or "atomic", with the state space: "read of shared".
    pub what: String,
    /// The allocation at or just below the address.
    pub neighbour: Option<Neighbour>,
}

/// A fault: it stopped its grid, and is sticky in CUDA's sense (that part is the driver's business).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Class of fault.
    pub kind: FaultKind,
    /// The kernel launched.
    pub kernel: String,
    /// Block index.
    pub block: [u32; 3],
    /// Thread index in the block, of the first lane that faulted.
    pub thread: [u32; 3],
    /// Where.
    pub location: Location,
    /// The callers, innermost first.
    pub callers: Vec<Location>,
    /// The access refused, for the kinds about memory.
    pub access: Option<Access>,
    /// More for the reader: an assertion's text, who waits for what.
    pub note: String,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} line {}", self.function, self.object, self.line)?;
        if let Some((file, line)) = &self.source {
            write!(f, ", {file}:{line}")?;
        }
        f.write_str(")")
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([bx, by, bz], [tx, ty, tz]) = (self.block, self.thread);
        writeln!(f, "kernel {}: {}", self.kernel, self.kind.text())?;
        write!(f, "  block ({bx},{by},{bz}) thread ({tx},{ty},{tz})")?;
        if !self.location.function.is_empty() {
            write!(f, "\n  at {}", self.location)?;
        }
        if !self.location.instruction.is_empty() {
            write!(f, ": {}", self.location.instruction)?;
        }
        for caller in &self.callers {
            write!(f, "\n  called from {caller}")?;
        }
        if let Some(access) = &self.access {
            write!(f, "\n  {} bytes {} at {:#x}", access.size, access.what, access.address)?;
            match &access.neighbour {
                Some(neighbour) => write!(f, "\n  {}", neighbour.describe(access.address))?,
                None => f.write_str("\n  no allocation near it")?,
            }
        }
        if !self.note.is_empty() {
            write!(f, "\n  {}", self.note)?;
        }
        Ok(())
    }
}

impl std::error::Error for Fault {}
