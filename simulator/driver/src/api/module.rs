//! Modules and functions.

use crate::c::{In, Out};
use crate::core::link::Options;
use crate::core::{context, image, module};
use crate::env::settings;
use crate::error::{Error, Result};
use crate::types::{CString, CUdeviceptr, CUfunction, CUmodule};
use boomerang_gpu::{Kernel, Object};
use std::ffi::{c_char, c_int, c_uint};
use std::sync::atomic::Ordering;

/// Most dynamic shared memory that a kernel can ask for, with its static part (sm_90).
const MOST_SHARED: u32 = 227 << 10;

fn load_objects(place: Out<CUmodule>, objects: Vec<Object>, options: &mut Options) -> Result {
    place.set(module::load(&context::current()?, objects, options)?)
}

/// `cuModuleLoadData`
pub fn load(module: Out<CUmodule>, image: In<u8>) -> Result {
    context::current()?;
    module.require()?;
    load_objects(module, image::read(image)?, &mut Options::default())
}

/// `cuModuleLoadDataEx`
pub fn load_with_options(
    module: Out<CUmodule>,
    image: In<u8>,
    count: c_uint,
    options: In<c_uint>,
    values: In<u64>,
) -> Result {
    context::current()?;
    module.require()?;
    load_objects(module, image::read(image)?, &mut Options::read(count, options, values)?)
}

/// `cuModuleLoad`
pub fn load_file(module: Out<CUmodule>, path: In<c_char>) -> Result {
    context::current()?;
    module.require()?;
    let data = std::fs::read(path.text()?).map_err(|_| Error::FILE_NOT_FOUND)?;
    let objects = match image::decode(&data) {
        Ok(objects) => objects,
        Err(_) => {
            let text = String::from_utf8(data).map_err(|_| Error::INVALID_IMAGE)?;
            vec![Object { name: path.text()?, text }]
        }
    };
    load_objects(module, objects, &mut Options::default())
}

/// `cuModuleUnload`
pub fn unload(module: CUmodule) -> Result {
    let context = context::current()?;
    module::unload(module)?;
    context.flush_printf();
    Ok(())
}

/// `cuModuleGetFunction`
pub fn function(function: Out<CUfunction>, module: CUmodule, name: In<c_char>) -> Result {
    context::current()?;
    function.require()?.set(module::function(module, &name.text()?)?)
}

/// `cuModuleGetGlobal`
pub fn global(address: Out<CUdeviceptr>, bytes: Out<usize>, module: CUmodule, name: In<c_char>) -> Result {
    context::current()?;
    let global = module::find(module)?.gpu.global(&name.text()?).ok_or(Error::NOT_FOUND)?;
    address.set_if_wanted(global.address);
    bytes.set_if_wanted(global.size as usize);
    Ok(())
}

/// `cuModuleGetLoadingMode`
pub fn loading_mode(mode: Out<c_uint>) -> Result {
    const EAGER: c_uint = 1;
    const LAZY: c_uint = 2;
    mode.set(if settings().eager { EAGER } else { LAZY })
}

/// `cuFuncLoad`: blocks nowhere.
pub fn load_function(function: CUfunction) -> Result {
    context::current()?;
    // Relaxed: the flag orders nothing; the function's code is there since its module was loaded.
    module::find_function(function)?.loaded.store(true, Ordering::Relaxed);
    Ok(())
}

/// `cuFuncIsLoaded`
pub fn is_loaded(state: Out<c_uint>, function: CUfunction) -> Result {
    state.set(module::find_function(function)?.loaded.load(Ordering::Relaxed).into())
}

/// `cuFuncGetModule`
pub fn of_function(module: Out<CUmodule>, function: CUfunction) -> Result {
    module.set(module::find_function(function)?.module)
}

/// `cuFuncGetName`
pub fn name(name: Out<CString>, function: CUfunction) -> Result {
    name.set(module::find_function(function)?.name.as_ptr())
}

/// `cuFuncGetAttribute`, by number: `CUfunction_attribute` of cuda.h.
pub fn attribute(value: Out<c_int>, attribute: c_uint, function: CUfunction) -> Result {
    context::current()?;
    let function = module::find_function(function)?;
    // Functions that aren't kernels have the limits of the device.
    let of_kernel =
        |ask: fn(&Kernel) -> u32, otherwise: u32| function.kernel().map_or(otherwise, ask) as c_int;
    value.set(match attribute {
        0 => of_kernel(Kernel::max_threads, 1024),
        1 => of_kernel(Kernel::static_shared, 0),
        2 => 0, // constant memory
        3 => of_kernel(Kernel::local_size, 0),
        4 => of_kernel(Kernel::registers, 255),
        5 | 6 => 90, // PTX and binary version
        7 => 0,      // cache mode
        8 => function.dynamic_shared.load(Ordering::Relaxed) as c_int,
        9 => -1, // shared memory carve-out: the driver's choice
        _ => return Err(Error::INVALID_VALUE),
    })
}

/// `cuFuncSetAttribute`
pub fn set_attribute(function: CUfunction, attribute: c_uint, value: c_int) -> Result {
    context::current()?;
    let function = module::find_function(function)?;
    let room = MOST_SHARED.saturating_sub(function.kernel()?.static_shared());
    match (attribute, u32::try_from(value)) {
        (8, Ok(bytes)) if bytes <= room => {
            function.dynamic_shared.store(bytes, Ordering::Relaxed);
            Ok(())
        }
        (9, _) if (-1..=100).contains(&value) => Ok(()),
        _ => Err(Error::INVALID_VALUE),
    }
}

/// `cuFuncSetCacheConfig`: a preference, without effect here.
pub fn set_cache_config(function: CUfunction, preference: c_uint) -> Result {
    module::find_function(function)?;
    if preference > 3 { Err(Error::INVALID_VALUE) } else { Ok(()) }
}
