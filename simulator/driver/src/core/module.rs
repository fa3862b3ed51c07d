//! Modules and their kernels.

use super::context::Context;
use super::handle::Table;
use super::link::{Options, link};
use super::sched::scheduler;
use crate::env::settings;
use crate::error::{Error, Result};
use crate::types::{CUfunction, CUmodule};
use boomerang_gpu::{Kernel, LoadError, Needs, Object};
use boomerang_ptx::ast;
use std::collections::{HashMap, HashSet};
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, Mutex};

static MODULES: Table<Module> = Table::new(0x30d1);
static FUNCTIONS: Table<Function> = Table::new(0xf00c);

/// Dynamic shared memory that a block may have without asking for more.
const SHARED: u32 = 48 << 10;

/// A loaded module.
pub struct Module {
    /// Its context.
    pub context: Arc<Context>,
    /// What it is on the GPU.
    pub gpu: boomerang_gpu::Module,
    /// Names of the functions that aren't kernels: they have handles too, but can't be launched.
    device_functions: HashSet<String>,
    /// Handles given out, by name.
    functions: Mutex<HashMap<String, CUfunction>>,
}

/// A kernel or function of a module.
pub struct Function {
    /// Its context.
    pub context: Arc<Context>,
    /// Its module.
    pub module: CUmodule,
    /// Its name as a C string.
    pub name: CString,
    /// What it is on the GPU; `None` for a function that is no kernel.
    kernel: Option<Kernel>,
    /// What it needs of the driver.
    pub needs: Needs,
    /// Most dynamic shared memory (`CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`).
    pub dynamic_shared: AtomicU32,
    /// Whether it has been loaded: lazily by its first launch.
    pub loaded: AtomicBool,
}

impl Function {
    /// The kernel; what can't be launched is no valid handle for a launch.
    pub fn kernel(&self) -> Result<&Kernel> {
        self.kernel.as_ref().ok_or(Error::INVALID_HANDLE)
    }
}

/// Loads PTX objects into a context. Blocks as `cuMemFree` does, measured on hardware.
pub fn load(context: &Arc<Context>, objects: Vec<Object>, options: &mut Options) -> Result<CUmodule> {
    let program = options.timed(|| link(&objects))?;
    scheduler().quiesce(context.domain, "cuModuleLoadData")?;
    let loaded = boomerang_gpu::Module::load(&program, objects, &context.device.gpu);
    let gpu = match loaded {
        Ok(gpu) => gpu,
        Err(LoadError::OutOfMemory(_)) => return Err(Error::OUT_OF_MEMORY),
        Err(LoadError::Unsupported { object, line, what }) => {
            let text = format!("ptxas {object}, line {line}; error   : {what}");
            eprintln!("boomerang-sim: {text}");
            return options.timed(|| Err(text));
        }
    };
    let visible = |f: &&ast::Function| {
        !f.entry && f.body.is_some() && matches!(f.linkage, ast::Linkage::Visible | ast::Linkage::Weak)
    };
    let device_functions = program.functions.iter().filter(visible).map(|f| f.name.clone()).collect();
    let handle = MODULES.reserve();
    let context = Arc::clone(context);
    let module = Module { context, gpu, device_functions, functions: Mutex::default() };
    MODULES.insert(handle, Arc::new(module));
    Ok(CUmodule(handle))
}

/// The module of a handle.
pub fn find(module: CUmodule) -> Result<Arc<Module>> {
    MODULES.get(module.0).ok_or(Error::INVALID_HANDLE)
}

/// Ends a module and its functions, once its context is at rest.
pub fn unload(handle: CUmodule) -> Result {
    let module = find(handle)?;
    scheduler().quiesce(module.context.domain, "cuModuleUnload")?;
    MODULES.remove(handle.0).ok_or(Error::INVALID_HANDLE)?;
    FUNCTIONS.remove_where(|f| f.module == handle);
    Ok(())
}

/// The function of a handle.
pub fn find_function(function: CUfunction) -> Result<Arc<Function>> {
    FUNCTIONS.get(function.0).ok_or(Error::INVALID_HANDLE)
}

/// The handle of a module's kernel or visible function; `NOT_FOUND` if it has none of that name.
pub fn function(handle: CUmodule, name: &str) -> Result<CUfunction> {
    let module = find(handle)?;
    let mut functions = module.functions.lock().expect("no panic under this lock");
    if let Some(function) = functions.get(name) {
        return Ok(*function);
    }
    let kernel = module.gpu.kernel(name);
    if kernel.is_none() && !module.device_functions.contains(name) {
        return Err(Error::NOT_FOUND);
    }
    let static_shared = kernel.as_ref().map_or(0, Kernel::static_shared);
    let key = FUNCTIONS.reserve();
    let function = Function {
        context: Arc::clone(&module.context),
        module: handle,
        name: CString::new(name).map_err(|_| Error::NOT_FOUND)?,
        dynamic_shared: AtomicU32::new(SHARED.saturating_sub(static_shared)),
        needs: kernel.as_ref().map_or(Needs::default(), Kernel::needs),
        kernel,
        loaded: AtomicBool::new(settings().eager),
    };
    FUNCTIONS.insert(key, Arc::new(function));
    functions.insert(name.to_owned(), CUfunction(key));
    Ok(CUfunction(key))
}

/// Ends the handles of a context that is gone.
pub fn forget(context: &Context) {
    MODULES.remove_where(|m| m.context.handle == context.handle);
    FUNCTIONS.remove_where(|f| f.context.handle == context.handle);
}
