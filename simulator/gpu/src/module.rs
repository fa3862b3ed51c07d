//! A program loaded on a device: its kernels, functions and global variables with their addresses.

use crate::Device;
use boomerang_ptx::Program;
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
    OutOfMemory(crate::OutOfMemory),
    /// Something in it that this GPU doesn't execute: object, line and what.
    Unsupported {
        /// Name of the PTX object.
        object: String,
        /// Line in it, from 1.
        line: u32,
        /// What, for the reader.
        what: String,
    },
}

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

/// A function that isn't a kernel: indirect calls take its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Function {
    /// The address that `mov` of its name gives.
    pub address: u64,
}

/// A kernel of a loaded module; keeps the module's code alive.
#[derive(Clone)]
pub struct Kernel {
    name: String,
    params: Vec<Param>,
}

impl Kernel {
    /// Its name in PTX.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where each parameter lies in the parameter buffer.
    pub fn params(&self) -> &[Param] {
        &self.params
    }

    /// Size of the parameter buffer in bytes.
    pub fn params_size(&self) -> u32 {
        self.params.last().map_or(0, |p| p.offset + p.size)
    }

    /// An estimate of the registers that a thread would use on hardware.
    pub fn registers(&self) -> u32 {
        todo!()
    }

    /// Bytes of statically allocated shared memory.
    pub fn static_shared(&self) -> u32 {
        todo!()
    }

    /// Bytes of local memory a thread.
    pub fn local_size(&self) -> u32 {
        todo!()
    }

    /// Most threads that a block may have.
    pub fn max_threads(&self) -> u32 {
        todo!()
    }
}

/// A program loaded on a device. Dropping the last handle (kernels hold one) frees its global variables.
#[derive(Clone)]
pub struct Module {
    _inner: Arc<()>,
}

impl Module {
    /// Places the program's variables in `device`'s memory and makes its code executable. `objects` are the modules that
    /// were linked, in the linker's order, for reports.
    pub fn load(program: &Program, objects: Vec<Object>, device: &Arc<Device>) -> Result<Module, LoadError> {
        let _ = (program, objects, device);
        todo!()
    }

    /// The kernel of that name.
    pub fn kernel(&self, name: &str) -> Option<Kernel> {
        let _ = name;
        todo!()
    }

    /// The global variable of that name.
    pub fn global(&self, name: &str) -> Option<Global> {
        let _ = name;
        todo!()
    }

    /// Names of all kernels, in the program's order.
    pub fn kernel_names(&self) -> impl Iterator<Item = &str> {
        std::iter::empty()
    }
}
