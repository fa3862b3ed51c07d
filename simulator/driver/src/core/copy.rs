//! Copies and fills: checking them, and what a stream does for them.

use super::clock::{self, Activity};
use super::device::platform;
use super::sched::{Channel, QueueId, Task, Work, scheduler};
use crate::error::{Error, Result};
use crate::platform::Site;
use boomerang_gpu::{AccessError, Kind};

/// The most bytes that are copied to the device through a hardware channel (docs/driver.md; for page-locked memory measured with 64 bytes
/// only).
const THROUGH_CHANNEL: u64 = 64 << 10;

/// What an address is, to the order of copies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Device memory.
    Device,
    /// Host memory that the driver knows: the device copies it by itself.
    Pinned,
    /// Any other host memory: copied while the caller waits, or through a staging buffer.
    Pageable,
}

/// What a caller says that an address is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A device pointer: device memory, or host memory known to the driver.
    Device,
    /// A host pointer.
    Host,
    /// Either.
    Unified,
}

/// One side of a copy of `depth` slices of `height` rows of `width` bytes.
#[derive(Clone, Copy)]
pub struct Side {
    /// Address of the first byte.
    pub address: u64,
    /// Bytes from row to row.
    pub pitch: u64,
    /// Bytes from slice to slice.
    pub slice: u64,
    /// What the caller says it is.
    pub role: Role,
}

impl Side {
    /// The side of a one-dimensional copy.
    pub fn line(address: u64, role: Role) -> Side {
        Side { address, pitch: 0, slice: 0, role }
    }
}

/// A copy.
#[derive(Clone, Copy)]
pub struct Copy {
    /// Where to.
    pub to: Side,
    /// Where from.
    pub from: Side,
    /// Bytes of a row.
    pub width: u64,
    /// Rows of a slice.
    pub height: u64,
    /// Slices.
    pub depth: u64,
}

/// How a copy returns to its caller.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Return {
    /// When it is done, unless both sides are device memory: those copies never wait for the device.
    Done,
    /// When it is enqueued, unless pageable memory makes it wait.
    Enqueued,
}

impl Copy {
    /// A one-dimensional copy.
    pub fn line(to: Side, from: Side, bytes: u64) -> Copy {
        Copy { to, from, width: bytes, height: 1, depth: 1 }
    }

    /// Bytes from a side's first to its last, with what lies between rows; `None` if it overflows.
    fn extent(&self, side: &Side) -> Option<u64> {
        let slices = (self.depth - 1).checked_mul(side.slice)?;
        (self.height - 1).checked_mul(side.pitch)?.checked_add(slices)?.checked_add(self.width)
    }

    /// What a side is; `INVALID_VALUE` if it isn't all accessible memory of the kind that its role asks for.
    fn place(&self, side: &Side) -> Result<Place> {
        let extent = self.extent(side).ok_or(Error::INVALID_VALUE)?;
        place(side.address, extent, side.role)
    }

    /// Checks the copy, has `queue` do it, and returns as `until` says.
    pub fn submit(&self, queue: QueueId, until: Return) -> Result {
        if self.width == 0 || self.height == 0 || self.depth == 0 {
            return Ok(());
        }
        let (to, from) = (self.place(&self.to)?, self.place(&self.from)?);
        let bytes = self.width * self.height * self.depth;
        let pageable = from == Place::Pageable || to == Place::Pageable;
        let (from_site, to_site) = (site(self.from.address), site(self.to.address));
        let activity = Activity::Copy(clock::Copy { from: from_site, to: to_site, bytes, pageable });
        let (up, down) = (to == Place::Device && from != Place::Device, to == Place::Pageable);
        let small = bytes <= THROUGH_CHANNEL && (up || down && until == Return::Done);
        let channel = if small { Channel::Through } else { Channel::Beside };
        let copy = *self;
        let wait = match until {
            Return::Done => to != Place::Device || from != Place::Device,
            Return::Enqueued => to == Place::Pageable,
        };
        if wait {
            return scheduler().run(
                queue,
                timed("copy", activity, channel, move || copy.perform()),
                "cuMemcpy",
            );
        }
        let body: Box<dyn FnOnce() -> Result + Send> = if from == Place::Pageable {
            let (copy, staged) = self.stage();
            Box::new(move || {
                let result = copy.perform();
                drop(staged);
                result
            })
        } else {
            Box::new(move || copy.perform())
        };
        scheduler().submit(queue, timed("copy", activity, channel, body)).map(drop)
    }

    /// Reads the source now; the copy returned reads from the buffer returned.
    fn stage(&self) -> (Copy, Vec<u8>) {
        let mut buffer = Vec::with_capacity((self.width * self.height * self.depth) as usize);
        for (_, from) in self.rows() {
            // SAFETY: the caller of the driver promises its host memory to be readable.
            buffer.extend_from_slice(unsafe {
                std::slice::from_raw_parts(from as *const u8, self.width as usize)
            });
        }
        let side = Side {
            address: buffer.as_ptr() as u64,
            pitch: self.width,
            slice: self.width * self.height,
            role: Role::Host,
        };
        (Copy { from: side, ..*self }, buffer)
    }

    /// Destination and source of every row.
    fn rows(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let at = |side: &Side, z: u64, y: u64| side.address + z * side.slice + y * side.pitch;
        (0..self.depth)
            .flat_map(move |z| (0..self.height).map(move |y| (at(&self.to, z, y), at(&self.from, z, y))))
    }

    fn perform(&self) -> Result {
        for (to, from) in self.rows() {
            // SAFETY: host sides are the caller's promise, device sides the address space checks.
            unsafe { platform().memory.copy(to, from, self.width) }.map_err(|e| lost("copy", &e))?;
        }
        Ok(())
    }
}

/// What an address range is; see [`Copy::place`].
pub fn place(address: u64, extent: u64, role: Role) -> Result<Place> {
    let memory = &platform().memory;
    let place = match memory.lookup(address) {
        Some(a) if !a.contains(address, extent) => return Err(Error::INVALID_VALUE),
        Some(a) if a.kind == Kind::DeviceHeap => return Err(Error::INVALID_VALUE),
        Some(a) if a.kind == Kind::Device => Place::Device,
        Some(_) => Place::Pinned,
        None if memory.device_of(address).is_some() || address == 0 => return Err(Error::INVALID_VALUE),
        None => Place::Pageable,
    };
    match (role, place) {
        (Role::Device, Place::Pageable) | (Role::Host, Place::Device) => Err(Error::INVALID_VALUE),
        _ => Ok(place),
    }
}

/// Where an address lies.
fn site(address: u64) -> Site {
    match platform().memory.lookup(address) {
        Some(a) if a.kind == Kind::Device => Site::Device(a.device),
        _ => Site::Host,
    }
}

/// Has `queue` fill `height` rows of `width` elements.
pub fn fill<T: std::marker::Copy + Send + 'static>(
    queue: QueueId,
    to: u64,
    pitch: u64,
    pattern: T,
    width: u64,
    height: u64,
) -> Result {
    if width == 0 || height == 0 {
        return Ok(());
    }
    if to % size_of::<T>() as u64 != 0 {
        return Err(Error::INVALID_VALUE);
    }
    let row = width.checked_mul(size_of::<T>() as u64).ok_or(Error::INVALID_VALUE)?;
    let extent =
        (height - 1).checked_mul(pitch).and_then(|n| n.checked_add(row)).ok_or(Error::INVALID_VALUE)?;
    let place = place(to, extent, Role::Device)?;
    let body = move || {
        for y in 0..height {
            // SAFETY: the range was checked to be memory of the driver's.
            unsafe { platform().memory.fill(to + y * pitch, pattern, width) }
                .map_err(|e| lost("memset", &e))?;
        }
        Ok(())
    };
    let (here, pageable) = (site(to), place == Place::Pageable);
    let activity = Activity::Copy(clock::Copy { from: here, to: here, bytes: row * height, pageable });
    let work = timed("memset", activity, Channel::Through, body);
    match place {
        Place::Device => scheduler().submit(queue, work).map(drop),
        // Asynchronous "except when the target is pinned host memory" (cuda.h).
        Place::Pinned | Place::Pageable => scheduler().run(queue, work, "cuMemset"),
    }
}

/// A task that is no kernel and takes no virtual time.
pub fn task(what: &str, channel: Channel, body: impl FnOnce() -> Result + Send + 'static) -> Work {
    timed(what, Activity::Instant, channel, body)
}

/// A task that is no kernel.
fn timed(
    what: &str,
    activity: Activity,
    channel: Channel,
    body: impl FnOnce() -> Result + Send + 'static,
) -> Work {
    Work::Task(Task {
        what: what.to_owned(),
        kernel: None,
        activity,
        channel,
        tell: false,
        body: Box::new(move |start| start.and_then(|()| body())),
    })
}

/// The memory went away between the call and its execution.
fn lost(what: &str, error: &AccessError) -> Error {
    eprintln!("boomerang-sim: {what}: {error}");
    Error::ILLEGAL_ADDRESS
}
