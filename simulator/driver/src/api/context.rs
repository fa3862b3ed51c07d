//! Contexts.

use crate::c::Out;
use crate::core::context::{self, Context};
use crate::core::device::{device as find_device, platform};
use crate::core::sched::scheduler;
use crate::error::{Error, Result};
use crate::types::{CUcontext, CUdevice};
use std::ffi::{c_int, c_uint};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// `CU_CTX_FLAGS_MASK` of CUDA 12.
const FLAGS: c_uint = 0xff;
/// No context.
const NONE: CUcontext = CUcontext(0);

/// `cuCtxCreate`
pub fn create(context: Out<CUcontext>, flags: c_uint, device: CUdevice) -> Result {
    context.require()?;
    let device = find_device(device)?;
    if flags & !FLAGS != 0 {
        return Err(Error::INVALID_VALUE);
    }
    let made = Context::create(device, flags, false);
    context::push(made.handle);
    context.set(made.handle)
}

/// `cuCtxDestroy`: a primary context is released instead.
pub fn destroy(handle: CUcontext) -> Result {
    let context = context::get(handle)?;
    if context.primary {
        return Err(Error::INVALID_CONTEXT);
    }
    context::pop_if_current(handle);
    context.destroy();
    Ok(())
}

/// `cuCtxPushCurrent`
pub fn push(handle: CUcontext) -> Result {
    context::get(handle)?;
    context::push(handle);
    Ok(())
}

/// `cuCtxPopCurrent`
pub fn pop(context: Out<CUcontext>) -> Result {
    context.set_if_wanted(context::pop()?);
    Ok(())
}

/// `cuCtxSetCurrent`
pub fn set_current(handle: CUcontext) -> Result {
    if handle != NONE {
        context::get(handle)?;
    }
    context::replace(Some(handle).filter(|h| *h != NONE));
    Ok(())
}

/// `cuCtxGetCurrent`
pub fn get_current(context: Out<CUcontext>) -> Result {
    context.set(context::current_handle().unwrap_or(NONE))
}

/// `cuCtxGetDevice`
pub fn get_device(device: Out<CUdevice>) -> Result {
    device.set(context::current_device()?)
}

/// `cuCtxGetFlags`
pub fn get_flags(flags: Out<c_uint>) -> Result {
    flags.set(context::current_even_lost()?.flags.load(Ordering::Relaxed))
}

/// The current context for 0.
fn named(handle: CUcontext) -> Result<Arc<Context>> {
    if handle == NONE { context::current_even_lost() } else { context::get(handle) }
}

/// `cuCtxGetId`
pub fn get_id(handle: CUcontext, id: Out<u64>) -> Result {
    id.set(named(handle)?.domain)
}

/// `cuCtxGetApiVersion`
pub fn api_version(handle: CUcontext, version: Out<c_uint>) -> Result {
    named(handle)?;
    version.set(3020) // the version of `cuCtxCreate_v2`
}

/// `CU_LIMIT_STACK_SIZE`.
const STACK_SIZE: c_uint = 0;
/// `CU_LIMIT_MALLOC_HEAP_SIZE`.
const HEAP_SIZE: c_uint = 2;
/// The default of a limit that nothing depends on here; `None` for an unknown one.
fn idle_limit(limit: c_uint) -> Option<usize> {
    match limit {
        1 => Some(1 << 20), // printf FIFO: here it grows as needed
        3 => Some(2),       // device runtime: synchronisation depth
        4 => Some(2048),    // device runtime: pending launches
        5 => Some(64),      // L2 fetch granularity
        6 => Some(0),       // persisting L2
        _ => None,
    }
}

/// `cuCtxGetLimit`
pub fn get_limit(value: Out<usize>, limit: c_uint) -> Result {
    let context = context::current()?;
    value.set(match limit {
        STACK_SIZE => context.device.gpu.stack_limit() as usize,
        HEAP_SIZE => context.device.gpu.heap_limit() as usize,
        _ => {
            let default = idle_limit(limit).ok_or(Error::UNSUPPORTED_LIMIT)?;
            *context.limits.lock().expect("no panic under this lock").get(&limit).unwrap_or(&default)
        }
    })
}

/// `cuCtxSetLimit`
pub fn set_limit(limit: c_uint, value: usize) -> Result {
    /// Local memory of a thread on sm_90.
    const MOST_STACK: usize = 512 << 10;
    let context = context::current()?;
    match limit {
        STACK_SIZE if value > MOST_STACK => return Err(Error::INVALID_VALUE),
        STACK_SIZE => context.device.gpu.set_stack_limit(value as u64),
        HEAP_SIZE => context.device.gpu.set_heap_limit(value as u64),
        _ => {
            idle_limit(limit).ok_or(Error::UNSUPPORTED_LIMIT)?;
            context.limits.lock().expect("no panic under this lock").insert(limit, value);
        }
    }
    Ok(())
}

/// `cuCtxGetStreamPriorityRange`: the H200's.
pub fn priority_range(least: Out<c_int>, greatest: Out<c_int>) -> Result {
    context::current()?;
    least.set_if_wanted(0);
    greatest.set_if_wanted(-5);
    Ok(())
}

/// `cuCtxSynchronize`
pub fn synchronize() -> Result {
    let context = context::current()?;
    let result = scheduler().wait_domain(context.domain);
    context.flush_printf();
    result
}

/// `cuCtxEnablePeerAccess`
pub fn enable_peer_access(peer: CUcontext, flags: c_uint) -> Result {
    let (context, peer) = (context::current()?, context::get(peer)?);
    if flags != 0 {
        return Err(Error::INVALID_VALUE);
    }
    let (from, to) = (context.device.ordinal, peer.device.ordinal);
    if from == to {
        return Err(Error::INVALID_CONTEXT);
    }
    let mut peers = context.peers.lock().expect("no panic under this lock");
    if peers.contains(&to) {
        return Err(Error::PEER_ACCESS_ALREADY_ENABLED);
    }
    peers.push(to);
    platform().memory.set_peer_access(from, to, true);
    Ok(())
}

/// `cuCtxDisablePeerAccess`
pub fn disable_peer_access(peer: CUcontext) -> Result {
    let (context, peer) = (context::current()?, context::get(peer)?);
    let (from, to) = (context.device.ordinal, peer.device.ordinal);
    let mut peers = context.peers.lock().expect("no panic under this lock");
    let place = peers.iter().position(|p| *p == to).ok_or(Error::PEER_ACCESS_NOT_ENABLED)?;
    peers.swap_remove(place);
    drop(peers);
    context::withdraw_peer(from, to);
    Ok(())
}

/// `cuDevicePrimaryCtxRetain`
pub fn primary_retain(context: Out<CUcontext>, device: CUdevice) -> Result {
    context.require()?;
    let device = find_device(device)?;
    let mut primary = device.primary.lock().expect("no panic under this lock");
    let flags = primary.flags;
    let made = primary.context.get_or_insert_with(|| Context::create(device, flags, true));
    let handle = made.handle;
    primary.retained += 1;
    context.set(handle)
}

/// `cuDevicePrimaryCtxRelease`
pub fn primary_release(device: CUdevice) -> Result {
    let device = find_device(device)?;
    let mut primary = device.primary.lock().expect("no panic under this lock");
    primary.retained = primary.retained.checked_sub(1).ok_or(Error::INVALID_CONTEXT)?;
    let ended = if primary.retained == 0 { primary.context.take() } else { None };
    drop(primary);
    if let Some(context) = ended {
        context.destroy();
    }
    Ok(())
}

/// `cuDevicePrimaryCtxReset`: whoever retained it has a destroyed context.
pub fn primary_reset(device: CUdevice) -> Result {
    let device = find_device(device)?;
    let mut primary = device.primary.lock().expect("no panic under this lock");
    primary.retained = 0;
    let ended = primary.context.take();
    drop(primary);
    if let Some(context) = ended {
        context.destroy();
    }
    Ok(())
}

/// `cuDevicePrimaryCtxGetState`
pub fn primary_state(device: CUdevice, flags: Out<c_uint>, active: Out<c_int>) -> Result {
    let primary = find_device(device)?.primary.lock().expect("no panic under this lock");
    flags.set(primary.flags)?;
    active.set(primary.context.is_some().into())
}

/// `cuDevicePrimaryCtxSetFlags`
pub fn primary_set_flags(device: CUdevice, flags: c_uint) -> Result {
    let mut primary = find_device(device)?.primary.lock().expect("no panic under this lock");
    if flags & !FLAGS != 0 {
        return Err(Error::INVALID_VALUE);
    }
    primary.flags = flags;
    if let Some(context) = &primary.context {
        context.flags.store(flags, Ordering::Relaxed);
    }
    Ok(())
}
