//! A program loaded on a device: its kernels, functions and global variables with their addresses.

use crate::ir::{self, Builtin, KernelInfo};
use crate::lower::{self, Placement};
use crate::{Device, OutOfMemory};
use boomerang_ptx::Program;
use std::fmt;
use std::sync::Arc;

/// A PTX module that went into a program.
#[derive(Debug, Clone)]
pub struct Object {
    /// Its name, as given to the linker.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Why a program can't be loaded.
#[derive(Debug)]
pub enum LoadError {
    /// No room for its global variables.
    OutOfMemory(OutOfMemory),
    /// Something in it that this GPU doesn't execute.
    Unsupported {
        /// Name of the PTX object.
        object: String,
        /// Line in it, from 1.
        line: u32,
        /// What, for the reader.
        what: String,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::OutOfMemory(error) => error.fmt(f),
            LoadError::Unsupported { object, line, what } => {
                write!(f, "{object}, line {line}: not supported: {what}")
            }
        }
    }
}

impl std::error::Error for LoadError {}

/// A kernel parameter's place in the parameter buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Param {
    /// Byte offset.
    pub offset: u32,
    /// Size in bytes.
    pub size: u32,
}

/// A global variable placed in device memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Global {
    /// Device address.
    pub address: u64,
    /// Size in bytes.
    pub size: u64,
}

/// What a kernel may need of the driver.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Needs {
    /// Memory that it prints to.
    pub print: bool,
    /// Memory that it allocates from.
    pub allocate: bool,
}

/// What a module and its kernels share.
struct Loaded {
    program: Arc<ir::Program>,
    allocations: Vec<u64>,
    device: Arc<Device>,
}

impl Drop for Loaded {
    fn drop(&mut self) {
        for &address in &self.allocations {
            self.device.memory().free_device(address);
        }
    }
}

/// A kernel of a loaded module; keeps the module's code and variables alive.
#[derive(Clone)]
pub struct Kernel {
    loaded: Arc<Loaded>,
    index: usize,
}

impl Kernel {
    pub(crate) fn info(&self) -> &KernelInfo {
        &self.loaded.program.kernels[self.index]
    }

    pub(crate) fn program(&self) -> &Arc<ir::Program> {
        &self.loaded.program
    }

    /// The device that it is loaded on.
    pub fn device(&self) -> &Arc<Device> {
        &self.loaded.device
    }

    /// Its name in PTX.
    pub fn name(&self) -> &str {
        &self.info().name
    }

    /// Where each parameter lies in the parameter buffer.
    pub fn params(&self) -> &[Param] {
        &self.info().params
    }

    /// Size of the parameter buffer in bytes.
    pub fn params_size(&self) -> u32 {
        self.params().last().map_or(0, |p| p.offset + p.size)
    }

    /// An estimate of the registers that a thread would use on hardware.
    pub fn registers(&self) -> u32 {
        self.info().registers
    }

    /// Bytes of statically allocated shared memory.
    pub fn static_shared(&self) -> u32 {
        self.loaded.program.static_shared
    }

    /// Bytes of local memory a thread.
    pub fn local_size(&self) -> u32 {
        self.info().local_size
    }

    /// What it, and the functions that it calls by name, need of the driver.
    pub fn needs(&self) -> Needs {
        let functions = &self.program().functions;
        let mut reached = vec![false; functions.len()];
        let mut todo = vec![self.info().function];
        let mut needs = Needs::default();
        while let Some(index) = todo.pop() {
            if std::mem::replace(&mut reached[index as usize], true) {
                continue;
            }
            let function = &functions[index as usize];
            needs.print |= function.builtin == Some(Builtin::Vprintf);
            needs.allocate |= function.builtin == Some(Builtin::Malloc);
            todo.extend(&function.callees);
        }
        needs
    }

    /// Most threads that a block may have.
    pub fn max_threads(&self) -> u32 {
        self.info().max_threads
    }
}

/// A program loaded on a device. Dropping the last handle (kernels hold one) frees its global variables.
#[derive(Clone)]
pub struct Module {
    loaded: Arc<Loaded>,
}

impl Module {
    /// Places the program's variables in `device`'s memory and makes its code executable. `objects` are the modules that
    /// were linked, in the linker's order, for reports.
    pub fn load(program: &Program, objects: Vec<Object>, device: &Arc<Device>) -> Result<Module, LoadError> {
        let memory = device.memory();
        let placement =
            Placement::new(program, memory, device.config().ordinal).map_err(LoadError::OutOfMemory)?;
        let lowered = lower::lower(program, objects, &placement, device.config().checks)
            .inspect_err(|_| placement.free(memory))?;
        lower::initialize(program, &placement, memory).expect("the variables were placed there");
        let device = device.clone();
        let loaded = Loaded { program: Arc::new(lowered), allocations: placement.allocations, device };
        Ok(Module { loaded: Arc::new(loaded) })
    }

    /// The kernel of that name.
    pub fn kernel(&self, name: &str) -> Option<Kernel> {
        let index = self.loaded.program.kernels.iter().position(|k| k.name == name)?;
        Some(Kernel { loaded: self.loaded.clone(), index })
    }

    /// The global variable of that name.
    pub fn global(&self, name: &str) -> Option<Global> {
        self.loaded.program.globals.get(name).copied()
    }

    /// Names of all kernels, in the program's order.
    pub fn kernel_names(&self) -> impl Iterator<Item = &str> {
        self.loaded.program.kernels.iter().map(|k| k.name.as_str())
    }
}
