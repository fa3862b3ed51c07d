//! Linking PTX, and the options that callers pass to the compiler.

use super::handle::Table;
use super::image;
use crate::c::{In, store};
use crate::error::{Error, Result};
use crate::types::CUlinkState;
use boomerang_gpu::Object;
use boomerang_ptx::Program;
use std::ffi::c_uint;
use std::sync::{Arc, Mutex};
use std::time::Instant;

static LINKS: Table<Link> = Table::new(0x711c);

/// A text buffer of the caller's, with the option value that holds its size and receives its filling.
#[derive(Clone, Copy, Default)]
struct Log {
    buffer: u64,
    size: usize,
    size_slot: u64,
    filled: usize,
}

impl Log {
    /// Appends a line, cut at the buffer's end; the text always ends with a NUL.
    fn line(&mut self, text: &str) {
        if self.buffer == 0 || self.size == 0 {
            return;
        }
        let mut bytes = text.as_bytes().to_vec();
        bytes.push(b'\n');
        bytes.truncate(self.size - 1 - self.filled);
        bytes.push(0);
        // SAFETY: the caller promised `size` writable bytes for the life of the link; `filled` and the NUL stay inside.
        unsafe { store(self.buffer + self.filled as u64, &bytes) };
        self.filled += bytes.len() - 1;
        // SAFETY: the option values live as long as the link, by the same promise.
        unsafe { store(self.size_slot, &(self.filled as u64).to_le_bytes()) };
    }
}

/// The `CUjit_option`s that ask for something back; all others change nothing here.
#[derive(Default)]
pub struct Options {
    info: Log,
    error: Log,
    wall_time_slot: Option<u64>,
    verbose: bool,
}

impl Options {
    /// Reads the options as `cuLinkCreate` and `cuModuleLoadDataEx` pass them.
    pub fn read(count: c_uint, options: In<c_uint>, values: In<u64>) -> Result<Options> {
        let mut read = Options::default();
        for i in 0..count as usize {
            let (option, value, slot) = (options.at(i)?, values.at(i)?, values.address() + 8 * i as u64);
            match option {
                2 => read.wall_time_slot = Some(slot),
                3 => read.info.buffer = value,
                // Sizes are 32-bit numbers in a pointer's place.
                4 => (read.info.size, read.info.size_slot) = (value as u32 as usize, slot),
                5 => read.error.buffer = value,
                6 => (read.error.size, read.error.size_slot) = (value as u32 as usize, slot),
                12 => read.verbose = value as u32 != 0,
                0 | 1 | 7..=11 | 13..=34 => {}
                _ => return Err(Error::INVALID_VALUE),
            }
        }
        Ok(read)
    }

    /// Does a piece of the compiler's work: its errors go to the log, its time to the caller.
    pub fn timed<T>(&mut self, work: impl FnOnce() -> std::result::Result<T, String>) -> Result<T> {
        let begin = Instant::now();
        let outcome = work();
        if let Some(slot) = self.wall_time_slot {
            let milliseconds = begin.elapsed().as_secs_f32() * 1e3;
            // SAFETY: the option values live as long as the caller may expect results in them.
            unsafe { store(slot, &milliseconds.to_le_bytes()) };
        }
        outcome.map_err(|text| {
            self.error.line(&text);
            Error::INVALID_PTX
        })
    }

    fn inform(&mut self, text: &str) {
        if self.verbose {
            self.info.line(text);
        }
    }
}

/// A link in progress.
pub struct Link {
    state: Mutex<State>,
}

struct State {
    options: Options,
    objects: Vec<Object>,
    image: Option<Vec<u8>>,
}

impl Link {
    /// Adds PTX; what is wrong with it comes out now, as with a real compiler.
    pub fn add(&self, object: Object) -> Result {
        let mut state = self.state.lock().expect("no panic under this lock");
        let State { options, objects, .. } = &mut *state;
        options.timed(|| parse(&object).map(drop))?;
        options.inform(&format!("info    : {}: {} bytes of PTX", object.name, object.text.len()));
        objects.push(object);
        Ok(())
    }

    /// Links what was added; address and length of the image, valid until the link is destroyed.
    pub fn complete(&self) -> Result<(u64, usize)> {
        let mut state = self.state.lock().expect("no panic under this lock");
        let State { options, objects, image } = &mut *state;
        options.timed(|| link(objects))?;
        let image = image.insert(image::encode(objects));
        Ok((image.as_ptr() as u64, image.len()))
    }
}

/// Starts a link.
pub fn create(options: Options) -> CUlinkState {
    let handle = LINKS.reserve();
    let state = State { options, objects: Vec::new(), image: None };
    LINKS.insert(handle, Arc::new(Link { state: Mutex::new(state) }));
    CUlinkState(handle)
}

/// The link of a handle.
pub fn find(link: CUlinkState) -> Result<Arc<Link>> {
    LINKS.get(link.0).ok_or(Error::INVALID_HANDLE)
}

/// Ends a link.
pub fn destroy(link: CUlinkState) -> Result {
    LINKS.remove(link.0).map(drop).ok_or(Error::INVALID_HANDLE)
}

fn parse(object: &Object) -> std::result::Result<boomerang_ptx::ast::Module, String> {
    boomerang_ptx::parse(&object.text).map_err(|e| {
        let found =
            if e.token.is_empty() { "the end of the text".to_owned() } else { format!("'{}'", e.token) };
        format!("ptxas {}, line {}; error   : expected {}, found {found}", object.name, e.line, e.expected)
    })
}

/// Parses and links objects; the error is the text for the caller's log.
pub fn link(objects: &[Object]) -> std::result::Result<Program, String> {
    let modules = objects.iter().map(parse).collect::<std::result::Result<_, _>>()?;
    boomerang_ptx::link(modules).map_err(|e| format!("error   : {e}"))
}
