//! What the address space knows about an address.

use std::fmt;
use std::sync::Arc;

/// What a range of memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Memory of a device.
    Device,
    /// A block of a device's heap, from `malloc` in a kernel; the host can't copy it.
    DeviceHeap,
    /// Page-locked host memory that the driver allocated.
    Pinned,
    /// The program's own host memory, registered.
    Registered,
    /// Managed memory.
    Managed,
}

impl Kind {
    /// Whether the bytes are the host's, at the same address for both.
    pub fn is_host(self) -> bool {
        matches!(self, Kind::Pinned | Kind::Registered | Kind::Managed)
    }

    fn text(self) -> &'static str {
        match self {
            Kind::Device => "device memory",
            Kind::DeviceHeap => "device heap block",
            Kind::Pinned => "pinned host memory",
            Kind::Registered => "registered host memory",
            Kind::Managed => "managed memory",
        }
    }
}

/// A range of memory that a kernel may access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allocation {
    /// First address.
    pub base: u64,
    /// Size in bytes.
    pub size: u64,
    /// What it is.
    pub kind: Kind,
    /// The device that owns it, or that was current when host memory was registered.
    pub device: usize,
    /// Unique in the process; never used again.
    pub id: u64,
}

impl Allocation {
    /// Whether `len` bytes at `addr` lie inside.
    pub fn contains(&self, addr: u64, len: u64) -> bool {
        addr >= self.base && len <= self.size && addr - self.base <= self.size - len
    }
}

/// Who allocated or freed something, in words that are found when they are shown.
#[derive(Clone)]
pub struct Actor(Arc<dyn fmt::Display + Send + Sync>);

impl Actor {
    /// `name` says it.
    pub fn new(name: impl fmt::Display + Send + Sync + 'static) -> Actor {
        Actor(Arc::new(name))
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PartialEq for Actor {
    fn eq(&self, other: &Actor) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Actor {}

/// The allocation, live or freed, that an address refused lies in or near.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbour {
    /// The allocation.
    pub allocation: Allocation,
    /// Whether it was freed.
    pub freed: bool,
    /// Who allocated it.
    pub allocated_by: Option<Actor>,
    /// Who freed it.
    pub freed_by: Option<Actor>,
}

impl Neighbour {
    /// How far `addr` is from it; 0 inside.
    pub(super) fn distance(&self, addr: u64) -> u64 {
        let Allocation { base, size, .. } = self.allocation;
        base.saturating_sub(addr).max(addr.saturating_sub(base + size))
    }

    /// Where `len` bytes at `addr` lie relative to it, in words.
    pub fn describe(&self, addr: u64, len: u64) -> String {
        let Allocation { base, size, kind, device, .. } = self.allocation;
        let place = match addr.checked_sub(base) {
            Some(offset) if offset < size && len > size - offset => {
                format!("{offset} bytes inside and beyond the end of")
            }
            Some(offset) if offset < size => format!("{offset} bytes inside"),
            Some(offset) => format!("{} bytes behind", offset - size),
            None => format!("{} bytes before", base - addr),
        };
        let mut text = format!("{place} {} of device {device}: {size} bytes at {base:#x}", kind.text());
        if let Some(actor) = &self.allocated_by {
            text += &format!("\n  allocated by {actor}");
        }
        if self.freed {
            text += "\n  freed";
        }
        if let Some(actor) = &self.freed_by {
            text += &format!(" by {actor}");
        }
        text
    }
}

/// A device has no room for an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutOfMemory {
    /// Bytes asked for.
    pub requested: u64,
    /// Bytes free.
    pub free: u64,
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "out of device memory: {} bytes requested, {} free", self.requested, self.free)
    }
}

impl std::error::Error for OutOfMemory {}

/// An access from the host's side that the address space refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessError {
    /// First address of the access.
    pub address: u64,
    /// Its length in bytes.
    pub len: u64,
    /// The allocation at or near it.
    pub neighbour: Option<Neighbour>,
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes at {:#x} are not accessible", self.len, self.address)?;
        match &self.neighbour {
            Some(neighbour) => write!(f, ": {}", neighbour.describe(self.address, self.len)),
            None => Ok(()),
        }
    }
}

impl std::error::Error for AccessError {}
