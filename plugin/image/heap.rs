//! Gives device code a heap of ours: the CUDA driver's `malloc` takes 5 to 7 microseconds, in one thread of the device after another,
//! and no copy can reach what it allocates.
//!
//! newlib's `__nvptx_malloc` and `__nvptx_free`, which device code calls as `malloc` and `free` (newlib, libc/machine/nvptx),
//! choose the lanes that call the driver's functions and keep the size for `realloc`. That stays; only the two calls go to
//! `device-runtime/heap.c` instead, and it takes from one piece of memory, the same for all images of the device.

use std::sync::{Mutex, PoisonError};

use super::items::{Kind, items};
use super::tokens::{Scanner, Token};
use crate::abi::host;
use crate::device::Device;
use crate::driver::{DevicePtr, Module};
use crate::env;
use crate::error::Result;
use crate::memory::copy;

/// newlib's functions, what each calls, and what it is to call.
const REDIRECTED: [(&str, &str, &str); 2] =
    [("__nvptx_malloc", "malloc", "__boomerang_malloc"), ("__nvptx_free", "free", "__boomerang_free")];
/// The variable that tells `heap.c` where the heap is.
const VARIABLE: &std::ffi::CStr = c"__boomerang_heap";

/// Bytes of the heap's head (`HEAP_HEAD_BYTES` in `heap.c`).
const HEAD_BYTES: usize = 65536;
/// The most bytes that `heap.c` can address: 2^32 units.
const MOST_BYTES: usize = 16 << 32;
/// The heap's size where the user gives none, and the greatest part of the device's memory that this may be.
const DEFAULT_BYTES: usize = 64 << 20;
const DEFAULT_PART: usize = 64;

/// The heap of a device. Its memory is kept as long as the process lives: a later image may free what an earlier one has allocated.
#[derive(Debug, Default)]
pub struct Heap(Mutex<State>);

#[derive(Debug, Default, Clone, Copy)]
enum State {
    #[default]
    None,
    At(DevicePtr),
    /// There was no memory for it.
    Refused,
}

/// `heap.c` for a device of this compute capability, as `sm_` names it.
pub fn runtime(compute_capability: u32) -> &'static str {
    if compute_capability >= 70 {
        include_str!("../../device-runtime/ptx/heap.sm_70.ptx")
    } else {
        include_str!("../../device-runtime/ptx/heap.sm_30.ptx")
    }
}

/// `text` with its calls redirected, where it is one of newlib's two members. None where it is to stay as it is.
pub fn redirect(text: &str) -> Option<String> {
    let (_, from, to) = REDIRECTED.into_iter().find(|(name, callee, _)| is_member(text, name, callee))?;
    let mut redirected = String::with_capacity(text.len() + 64);
    let mut copied = 0;
    let mut tokens = Scanner::new(text);
    while let Some(token) = tokens.token()? {
        if token == Token::Word(from) {
            redirected.push_str(&text[copied..tokens.at() - from.len()]);
            redirected.push_str(to);
            copied = tokens.at();
        }
    }
    redirected.push_str(&text[copied..]);
    Some(redirected)
}

/// Whether an object defines this function of newlib's, nothing else, and calls the driver's for it.
fn is_member(text: &str, name: &str, callee: &str) -> bool {
    // Most objects don't have the name, and finding the items takes time.
    let Some(items) = Some(text).filter(|text| text.contains(name)).and_then(items) else { return false };
    let mut definitions = items.iter().filter(|item| matches!(item.kind, Kind::Definition | Kind::Kernel));
    let Some(definition) = definitions.next() else { return false };
    definitions.next().is_none()
        && definition.name == name
        && definition.visible
        && definition.uses.contains(&callee)
}

impl Heap {
    /// Tells a module, with which [`runtime`] was linked, where the heap is. It is made for the first one. Where there is no memory for
    /// it, device code has the driver's malloc.
    ///
    /// # Errors
    /// When the driver refuses anything but the memory.
    pub fn attach(&self, device: &Device, module: Module) -> Result<()> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let State::None = *state {
            *state = make(device)?;
        }
        let State::At(heap) = *state else { return Ok(()) };
        let (variable, bytes) = device.driver.global(module, VARIABLE)?;
        debug_assert_eq!(bytes, size_of::<DevicePtr>());
        // SAFETY: the value can be read.
        unsafe { copy::to_device(device, variable, (&raw const heap).cast(), size_of::<DevicePtr>()) }
    }
}

fn make(device: &Device) -> Result<State> {
    let (_, memory) = device.driver.mem_info()?;
    let bytes = size(env::settings().heap_bytes, memory);
    let heap = match device.driver.mem_alloc(bytes) {
        Ok(heap) => heap,
        Err(error) => {
            host::debug(|| format!("device {}: no heap of {bytes} bytes: {error}", device.ordinal));
            return Ok(State::Refused);
        }
    };
    // As in `struct heap`: bytes, used, traps. All lists are empty.
    let words = [bytes as u64, HEAD_BYTES as u64, u64::from(env::settings().heap_check)];
    copy::fill(device, heap, 0, HEAD_BYTES)?;
    // SAFETY: the words can be read.
    unsafe { copy::to_device(device, heap, words.as_ptr().cast(), size_of_val(&words)) }?;
    host::debug(|| format!("device {}: heap of {bytes} bytes for device code", device.ordinal));
    Ok(State::At(heap))
}

/// The heap's size in bytes, of what the user wants and what the device has.
fn size(wanted: Option<usize>, memory: usize) -> usize {
    let bytes = wanted.unwrap_or(DEFAULT_BYTES.min(memory / DEFAULT_PART));
    bytes.clamp(2 * HEAD_BYTES, MOST_BYTES).next_multiple_of(16)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREAMBLE: &str = ".version 6.0\n.target sm_70\n.address_size 64\n";

    fn malloc_member() -> String {
        format!(
            "{PREAMBLE}.file 2 \"newlib/libc/machine/nvptx/malloc.c\"\n// BEGIN GLOBAL FUNCTION DECL: malloc\n\
             .extern .func (.param .u64 %value_out) malloc (.param .u64 %in_ar0);\n.extern .shared .u32 __nvptx_uni[32];\n\
             .visible .func (.param .u64 %value_out) __nvptx_malloc (.param .u64 %in_ar0)\n\
             {{\n.reg .u64 %r1;\n.reg .pred %r34;\nld.param.u64 %r1,[%in_ar0];\n{{\n.param .u64 %value_in;\n.param .u64 %out_arg1;\n\
             st.param.u64 [%out_arg1],%r1;\n@%r34 call (%value_in),malloc,(%out_arg1);\nld.param.u64 %r1,[%value_in];\n}}\n\
             st.param.u64 [%value_out],%r1;\nret;\n}}\n"
        )
    }

    fn free_member() -> String {
        format!(
            "{PREAMBLE}.extern .func free (.param .u64 %in_ar0);\n.visible .func __nvptx_free (.param .u64 %in_ar0)\n\
             {{\n.reg .u64 %r1;\nld.param.u64 %r1,[%in_ar0];\n{{\n.param .u64 %out_arg1;\nst.param.u64 [%out_arg1],%r1;\n\
             call free,(%out_arg1);\n}}\nret;\n}}\n"
        )
    }

    #[test]
    fn the_calls_of_newlibs_members_are_redirected_and_link_with_our_heap() {
        let [malloc, free] = [malloc_member(), free_member()].map(|text| redirect(&text).expect("newlib's"));
        assert!(malloc.contains("call (%value_in),__boomerang_malloc,(%out_arg1);"), "{malloc}");
        assert!(malloc.contains("nvptx/malloc.c") && malloc.contains(") __nvptx_malloc ("), "{malloc}");
        assert!(free.contains("call __boomerang_free,(%out_arg1);"), "{free}");
        let uniform = format!("{PREAMBLE}.visible .shared .align 4 .u32 __nvptx_uni[32];\n");
        for capability in [30, 70] {
            let texts = [&malloc, &free, &uniform, runtime(capability)];
            let modules = texts.map(|text| boomerang_ptx::parse(text).expect("well formed")).into();
            let program = boomerang_ptx::link(modules).expect("nothing is missing");
            assert!(program.variables.iter().any(|variable| Some(&*variable.name) == VARIABLE.to_str().ok()));
        }
    }

    #[test]
    fn other_objects_stay_as_they_are() {
        let malloc = malloc_member();
        for text in [
            // A caller.
            malloc
                .replace("__nvptx_malloc", "gomp_malloc")
                .replace(" malloc", " __nvptx_malloc")
                .replace(",malloc", ",__nvptx_malloc"),
            // The program's own.
            malloc.replace("malloc,(", "mine,("),
            malloc.replace(".visible", ""),
            malloc.clone() + ".visible .func more\n{\nret;\n}\n",
            malloc.clone() + ".visible .entry k\n{\nret;\n}\n",
            malloc.replace("ret;\n}", "ret;"),
        ] {
            assert_eq!(redirect(&text), None, "{text}");
        }
    }

    #[test]
    fn the_size_is_what_the_user_wants_or_a_small_part_of_the_devices_memory() {
        assert_eq!(size(None, 80 << 30), DEFAULT_BYTES);
        assert_eq!(size(None, 2 << 30), 32 << 20);
        assert_eq!(size(Some(1 << 30), 2 << 30), 1 << 30);
        assert_eq!(size(Some(1), 2 << 30), 2 * HEAD_BYTES);
        assert_eq!(size(Some(1_000_001), 2 << 30), 1_000_016);
        assert_eq!(size(Some(usize::MAX), 2 << 30), MOST_BYTES);
    }

    #[test]
    fn the_head_has_the_size_that_the_device_code_counts_on() {
        let source = include_str!("../../device-runtime/heap.c");
        assert!(source.contains(&format!("#define HEAP_HEAD_BYTES {HEAD_BYTES}\n")));
    }
}
