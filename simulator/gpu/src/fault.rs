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
    /// The thread's local stack, or the soft stack of its OpenMP thread, is full.
    StackOverflow,
    /// Threads wait for each other; hardware would hang.
    Deadlock,
    /// All threads have waited for the host, or for threads that do, for a long time: told of, but no fault, since the host may be busy.
    Stalled,
    /// A read of what was never written. Hardware goes on with whatever is there.
    Uninitialized,
    /// Two accesses of threads of a block, one of them a write, that nothing orders. Hardware goes on.
    Race,
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
            FaultKind::Uninitialized | FaultKind::Race => 719,
            FaultKind::Stalled => 0,
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
            FaultKind::StackOverflow => "stack overflow",
            FaultKind::Trap => "trap",
            FaultKind::Deadlock => "deadlock",
            FaultKind::Stalled => "no progress, it waits for the host",
            FaultKind::Uninitialized => "read of uninitialized memory",
            FaultKind::Race => "data race",
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

/// The target region that a kernel made by GCC is, and its launch in the terms of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    /// The function that it stands in.
    pub function: String,
    /// Source file and line of its first statement, where there is one.
    pub source: Option<(String, u32)>,
    /// Whether the program was compiled with source lines.
    pub has_lines: bool,
    /// What the program calls a block, a warp and a thread of it.
    pub terms: [&'static str; 3],
    /// Number of blocks and of warps in each.
    pub launched: [u32; 2],
}

impl Region {
    /// What OpenMP calls them.
    pub const OPENMP: [&'static str; 3] = ["team", "thread", "lane"];
    /// What OpenACC calls them.
    pub const OPENACC: [&'static str; 3] = ["gang", "worker", "vector lane"];
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
    /// What it is in the program, if GCC made it.
    pub region: Option<Region>,
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
        if let Some((file, line)) = &self.source {
            write!(f, "{file}:{line} in ")?;
        }
        write!(f, "{} ({}, PTX line {})", self.function, self.object, self.line)
    }
}

impl Fault {
    /// What an illegal address is, if that is known.
    fn cause(&self) -> &'static str {
        let Some(access) = self.access.as_ref().filter(|_| self.kind == FaultKind::IllegalAddress) else {
            return "";
        };
        match &access.neighbour {
            Some(near) if near.freed && near.allocation.contains(access.address, 1) => " (use after free)",
            Some(_) => " (out of bounds)",
            None => "",
        }
    }

    /// A source line of the region: its first, or the outermost one that led to the fault.
    fn region_source<'a>(&'a self, region: &'a Region) -> Option<&'a (String, u32)> {
        let places = std::iter::once(&self.location).chain(&self.callers);
        let mark = format!("{}{REGION_MARK}", region.function);
        let own = places.filter(|place| place.function.starts_with(&mark));
        region.source.as_ref().or_else(|| own.filter_map(|place| place.source.as_ref()).next_back())
    }
}

/// What GCC puts between the name of a function and the number of a region in it (omp-low.cc, `create_omp_child_function_name`).
pub(crate) const REGION_MARK: &str = "$_omp_fn$";

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([bx, by, bz], [tx, ty, tz]) = (self.block, self.thread);
        write!(f, "kernel {}", self.kernel)?;
        if let Some(region) = &self.region {
            write!(f, " (target region in {}", region.function)?;
            match self.region_source(region) {
                Some((file, line)) => write!(f, ", {file}:{line})")?,
                None if region.has_lines => f.write_str(")")?,
                None => f.write_str("; for source lines, compile with -g)")?,
            }
        }
        writeln!(f, ": {}{}", self.kind.text(), self.cause())?;
        // What concerns the whole grid has no place.
        if self.location.function.is_empty() {
            return write!(f, "  {}", self.note);
        }
        f.write_str("  ")?;
        if let Some(Region { terms: [block, warp, lane], launched: [blocks, warps], .. }) = &self.region {
            write!(f, "{block} {bx} of {blocks}, {warp} {ty} of {warps}, {lane} {tx}: ")?;
        }
        write!(f, "block ({bx},{by},{bz}) thread ({tx},{ty},{tz})")?;
        write!(f, "\n  at {}", self.location)?;
        if !self.location.instruction.is_empty() {
            write!(f, ": {}", self.location.instruction)?;
        }
        for calls in self.callers.chunk_by(|a, b| a == b) {
            write!(f, "\n  called from {}", calls[0])?;
            if calls.len() > 1 {
                write!(f, ", {} times", calls.len())?;
            }
        }
        if let Some(access) = &self.access {
            write!(f, "\n  {} bytes {} at {:#x}", access.size, access.what, access.address)?;
            match &access.neighbour {
                Some(neighbour) => write!(f, ", {}", neighbour.describe(access.address, access.size.into()))?,
                None => f.write_str(", no allocation near it")?,
            }
        }
        if !self.note.is_empty() {
            write!(f, "\n  {}", self.note)?;
        }
        Ok(())
    }
}

impl std::error::Error for Fault {}
