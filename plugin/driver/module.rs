//! Linking, modules and launches in the current context.

use std::ffi::{CStr, c_int, c_uint, c_void};
use std::ptr;

use cudarc::driver::sys::{CUfunction_attribute, CUjit_option, CUjitInputType, CUlinkState};

use super::call::{DevicePtr, Function, Module, Stream};
use super::status::{Result, check};
use super::table::Driver;
use crate::env::Jit;

/// The shape of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block, in bytes.
    pub shared: u32,
}

/// `CU_LAUNCH_PARAM_*`: marks in the `extra` array of cuLaunchKernel (cuda.h).
const LAUNCH_PARAM_END: usize = 0;
const LAUNCH_PARAM_BUFFER_POINTER: usize = 1;
const LAUNCH_PARAM_BUFFER_SIZE: usize = 2;

impl Driver {
    /// `cuModuleLoadData`. Waits as [`Driver::mem_free`] does.
    ///
    /// # Safety
    /// `image` points at a complete cubin, fat binary or PTX text ending in NUL.
    pub unsafe fn load_module(&self, image: *const c_void) -> Result<Module> {
        let mut module = ptr::null_mut();
        // SAFETY: `module` is valid for the write, the image is the caller's promise.
        check("cuModuleLoadData", unsafe { (self.module_load_data)(&mut module, image) })?;
        Ok(Module(module))
    }

    /// `cuModuleUnload`. Waits as [`Driver::mem_free`] does.
    ///
    /// # Safety
    /// No kernel of the module runs, and neither its functions nor its variables are used again.
    pub unsafe fn unload_module(&self, module: Module) -> Result<()> {
        // SAFETY: the caller's promise.
        check("cuModuleUnload", unsafe { (self.module_unload)(module.0) })
    }

    /// `cuModuleGetFunction`
    pub fn function(&self, module: Module, name: &CStr) -> Result<Function> {
        let mut function = ptr::null_mut();
        // SAFETY: `function` is valid for the write, `name` ends in NUL.
        let status = unsafe { (self.module_get_function)(&mut function, module.0, name.as_ptr()) };
        check("cuModuleGetFunction", status)?;
        Ok(Function(function))
    }

    /// `cuModuleGetGlobal`: address and size of a variable.
    pub fn global(&self, module: Module, name: &CStr) -> Result<(DevicePtr, usize)> {
        let (mut address, mut bytes) = (0, 0);
        // SAFETY: both are valid for the writes, `name` ends in NUL.
        let status = unsafe { (self.module_get_global)(&mut address, &mut bytes, module.0, name.as_ptr()) };
        check("cuModuleGetGlobal", status)?;
        Ok((address, bytes))
    }

    /// `cuFuncGetAttribute`
    pub fn function_attribute(&self, function: Function, attribute: CUfunction_attribute) -> Result<i32> {
        let mut value = 0;
        // SAFETY: `value` is valid for the write.
        check("cuFuncGetAttribute", unsafe { (self.func_get_attribute)(&mut value, attribute, function.0) })?;
        Ok(value)
    }

    /// `cuOccupancyMaxPotentialBlockSize` of a kernel without dynamic shared memory: how many blocks fill the device, and the
    /// threads of a block that keep most of it busy, at most `limit`, or without a limit for 0.
    pub fn best_block(&self, function: Function, limit: u32) -> Result<(u32, u32)> {
        let (mut blocks, mut threads) = (0, 0);
        let call = "cuOccupancyMaxPotentialBlockSize";
        let limit = c_int::try_from(limit).unwrap_or(c_int::MAX);
        // SAFETY: both are valid for the writes; without a callback, the size of shared memory counts.
        check(call, unsafe {
            (self.occupancy_max_potential_block_size)(&mut blocks, &mut threads, function.0, None, 0, limit)
        })?;
        Ok((u32::try_from(blocks).unwrap_or(0), u32::try_from(threads).unwrap_or(0)))
    }

    /// `cuOccupancyMaxActiveBlocksPerMultiprocessor`: how many blocks of so many threads, each with so many bytes of dynamic shared
    /// memory, a multiprocessor of the current context's device can hold at once.
    pub fn resident_blocks(&self, function: Function, threads: u32, shared: u32) -> Result<u32> {
        let mut blocks = 0;
        let threads = c_int::try_from(threads).unwrap_or(c_int::MAX);
        // SAFETY: `blocks` is valid for the write.
        check("cuOccupancyMaxActiveBlocksPerMultiprocessor", unsafe {
            (self.occupancy_max_active_blocks)(&mut blocks, function.0, threads, shared as usize)
        })?;
        Ok(u32::try_from(blocks).unwrap_or(0))
    }

    /// `cuLaunchKernel` with the arguments as a buffer of 8-byte words.
    ///
    /// # Safety
    /// The kernel takes `arguments`, each 8 bytes wide, and what they point at lives until the kernel ends.
    pub unsafe fn launch(
        &self,
        function: Function,
        shape: &Shape,
        stream: Stream,
        arguments: &[u64],
    ) -> Result<()> {
        let mut bytes = size_of_val(arguments);
        let mut extra = [
            ptr::without_provenance_mut(LAUNCH_PARAM_BUFFER_POINTER),
            arguments.as_ptr().cast_mut().cast::<c_void>(),
            ptr::without_provenance_mut(LAUNCH_PARAM_BUFFER_SIZE),
            (&raw mut bytes).cast(),
            ptr::without_provenance_mut(LAUNCH_PARAM_END),
        ];
        let Shape { grid, block, shared } = *shape;
        let extra = if arguments.is_empty() { ptr::null_mut() } else { extra.as_mut_ptr() };
        // SAFETY: the driver copies the arguments before it returns; the rest is the caller's promise.
        check("cuLaunchKernel", unsafe {
            (self.launch_kernel)(
                function.0,
                grid[0],
                grid[1],
                grid[2],
                block[0],
                block[1],
                block[2],
                shared,
                stream.0,
                ptr::null_mut(),
                extra,
            )
        })
    }
}

/// Size of the JIT's log, in bytes. It cuts off what does not fit.
const LOG_BYTES: usize = 16 * 1024;

/// `CU_JIT_SPLIT_COMPILE`: how many threads optimize the functions of one PTX text; and the version of the driver that has it
/// first (cuda.h of CUDA 13.0; that of 12.9 does not have it).
const SPLIT_COMPILE: (c_uint, u32) = (34, 13000);

/// A link of PTX objects under way.
pub struct Linker {
    driver: &'static Driver,
    state: CUlinkState,
    /// Where the JIT writes what is wrong as long as the link is alive.
    log: Vec<u8>,
    /// The options' values: the driver stores the log's length there as long as the link is alive (CUDA Driver API,
    /// cuLinkCreate).
    _values: Vec<*mut c_void>,
}

impl Linker {
    /// `cuLinkCreate`.
    pub fn new(driver: &'static Driver, jit: &Jit) -> Result<Linker> {
        use CUjit_option::*;
        let mut log = vec![0; LOG_BYTES];
        let number = |value: usize| ptr::without_provenance_mut::<c_void>(value);
        let mut options = vec![
            (CU_JIT_ERROR_LOG_BUFFER as c_uint, log.as_mut_ptr().cast()),
            (CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES as c_uint, number(LOG_BYTES)),
        ];
        let choices = [(CU_JIT_OPTIMIZATION_LEVEL, jit.optimization), (CU_JIT_MAX_REGISTERS, jit.registers)];
        for (option, value) in choices {
            options.extend(value.map(|value| (option as c_uint, number(value as usize))));
        }
        let threads = jit.threads.filter(|threads| *threads != 1);
        if let Some(threads) = threads
            && driver.version()? >= SPLIT_COMPILE.1
        {
            options.push((SPLIT_COMPILE.0, number(threads as usize)));
        }
        let (mut names, mut values): (Vec<_>, Vec<_>) = options.into_iter().unzip();
        let mut state = ptr::null_mut();
        // SAFETY: both arrays have the length given; the log and the values live as long as the link. A C enumeration is an int: the
        // binding's type for it doesn't have all values.
        check("cuLinkCreate", unsafe {
            (driver.link_create)(
                names.len() as c_uint,
                names.as_mut_ptr().cast(),
                values.as_mut_ptr(),
                &mut state,
            )
        })?;
        Ok(Linker { driver, state, log, _values: values })
    }

    /// `cuLinkAddData` of one PTX text, which ends in NUL. `name` is for the log.
    pub fn add_ptx(&mut self, ptx: &CStr, name: &CStr) -> Result<()> {
        let bytes = ptx.to_bytes_with_nul();
        // SAFETY: the driver reads the text and the name while it is called, in spite of the missing const.
        check("cuLinkAddData", unsafe {
            (self.driver.link_add_data)(
                self.state,
                CUjitInputType::CU_JIT_INPUT_PTX,
                bytes.as_ptr().cast_mut().cast(),
                bytes.len(),
                name.as_ptr(),
                0,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        })
    }

    /// `cuLinkComplete`: the linked cubin.
    pub fn complete(&mut self) -> Result<&[u8]> {
        let (mut cubin, mut bytes) = (ptr::null_mut::<c_void>(), 0);
        // SAFETY: both are valid for the writes.
        check("cuLinkComplete", unsafe { (self.driver.link_complete)(self.state, &mut cubin, &mut bytes) })?;
        // SAFETY: the driver's buffer of that size, which lives as long as the link.
        Ok(unsafe { std::slice::from_raw_parts(cubin.cast(), bytes) })
    }

    /// What the JIT found wrong.
    pub fn error_log(&self) -> String {
        let end = self.log.iter().position(|byte| *byte == 0).unwrap_or(self.log.len());
        String::from_utf8_lossy(&self.log[..end]).trim_end().to_string()
    }
}

impl Drop for Linker {
    fn drop(&mut self) {
        // SAFETY: made by `new`, destroyed once. A failure leaves a leak that nothing can be done about.
        let _ = unsafe { (self.driver.link_destroy)(self.state) };
    }
}
