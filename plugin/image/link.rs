//! Links an image's PTX objects into a module.

use std::borrow::Cow;
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use super::{Descriptor, Protocol, inject};
use crate::abi::host;
use crate::device::Device;
use crate::driver::module::Linker;
use crate::driver::{CudaError, Module};
use crate::env::{self, PtxFiles};
use crate::error::{Error, Result};

/// Links `image` and loads it in the current context.
///
/// # Errors
/// What the JIT says, with its log.
pub fn link(device: &Device, image: &Descriptor<'_>) -> Result<(Module, Protocol)> {
    let started = Instant::now();
    let texts = image.objects.iter().map(|text| exchange(image, text)).collect::<Result<Vec<_>>>()?;
    let (texts, protocol) = add_runtime(device, texts);
    let mut linker = Linker::new(device.driver, env::settings().jit_optimization)
        .map_err(|error| device.failed(error, || format!("offload image {}", image.name)))?;
    for (number, text) in texts.iter().enumerate() {
        let name = CString::new(format!("object {number}")).expect("no NUL inside");
        if let Err(error) = linker.add_ptx(text, &name) {
            return Err(refused(
                device,
                image,
                &linker,
                error,
                &format!("PTX object {number} ({})", header(text)),
            ));
        }
    }
    let completed = linker.complete().map(|cubin| cubin.as_ptr());
    let cubin = completed.map_err(|error| refused(device, image, &linker, error, "linking"))?;
    host::debug(|| format!("offload image {}: linked in {:?}", image.name, started.elapsed()));
    // SAFETY: the linker made the cubin and still lives.
    let load = || unsafe { device.driver.load_module(cubin.cast()) };
    let loaded =
        device.launch.running.when_none(|| device.reverse.is_serving(), || device.gate.run_blocking(load));
    let loaded = loaded
        .ok_or_else(|| image.wrong("cannot be loaded while a kernel waits for a reverse-offload block"))?;
    let module = loaded.map_err(|error| device.failed(error, || format!("offload image {}", image.name)))?;
    Ok((module, protocol))
}

/// Puts our device runtime in place of libgomp's, where the texts have the form for it.
fn add_runtime<'a>(device: &Device, texts: Vec<Cow<'a, CStr>>) -> (Vec<Cow<'a, CStr>>, Protocol) {
    if !env::settings().ring {
        return (texts, Protocol::Slot);
    }
    let objects: Option<Vec<&str>> = texts.iter().map(|text| text.to_str().ok()).collect();
    let Some(injected) = objects.and_then(|objects| inject::inject(&objects)) else {
        return (texts, Protocol::Slot);
    };
    let runtime = Cow::Borrowed(inject::runtime(device.attrs.compute_capability));
    let c_text = |text: Cow<'_, str>| Cow::Owned(CString::new(text.into_owned()).expect("it was one before"));
    (injected.into_iter().map(c_text).chain([runtime]).collect(), Protocol::Ring)
}

/// What the JIT refused, and what may have been its reason: it takes neither PTX newer than the driver, nor PTX for GPUs newer
/// than the device.
fn refused(device: &Device, image: &Descriptor<'_>, linker: &Linker, error: CudaError, what: &str) -> Error {
    if error.code.is_fault() {
        return device.failed(error, || format!("offload image {}", image.name));
    }
    let driver = device.driver.version().unwrap_or(0);
    image.wrong(format!(
        "{what}: {error}; the device is sm_{}, the driver's CUDA {}.{}; the JIT says: {}",
        device.attrs.compute_capability,
        driver / 1000,
        driver % 1000 / 10,
        linker.error_log()
    ))
}

/// The `.version` and `.target` lines of a PTX text.
fn header(text: &CStr) -> String {
    let line = |start: &str| {
        let lines = text.to_bytes().split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        let found = lines.take(64).find(|line| line.starts_with(start.as_bytes()));
        found.map_or(format!("no {start}"), |line| String::from_utf8_lossy(line).into_owned())
    };
    format!("{}, {}", line(".version"), line(".target"))
}

/// Writes a text to the next file of GOMP_NVPTX_PTXRW, or takes it from there.
fn exchange<'a>(image: &Descriptor<'_>, text: &'a CStr) -> Result<Cow<'a, CStr>> {
    let mode = env::settings().ptx_files;
    if mode == PtxFiles::Off {
        return Ok(Cow::Borrowed(text));
    }
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Relaxed: only the number itself counts.
    let path = format!("gomp-nvptx.{}.ptx", NEXT.fetch_add(1, Ordering::Relaxed));
    let wrong = |error: &dyn std::fmt::Display| image.wrong(format!("GOMP_NVPTX_PTXRW: {path}: {error}"));
    if mode == PtxFiles::Write {
        std::fs::write(&path, text.to_bytes()).map_err(|error| wrong(&error))?;
        return Ok(Cow::Borrowed(text));
    }
    let read = std::fs::read(&path).map_err(|error| wrong(&error))?;
    Ok(Cow::Owned(CString::new(read).map_err(|error| wrong(&error))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_tells_version_and_target() {
        assert_eq!(header(c"// text\n\t.version 7.3\n\t.target sm_52\n"), ".version 7.3, .target sm_52");
        assert_eq!(header(c"nonsense"), "no .version, no .target");
    }
}
