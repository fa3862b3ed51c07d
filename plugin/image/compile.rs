//! Has the driver's PTX compiler, the JIT, make a cubin of an image's texts.

use std::borrow::Cow;
use std::ffi::{CStr, CString};

use super::cache::Key;
use super::{Descriptor, pressure};
use crate::abi::host;
use crate::device::Device;
use crate::driver::CudaError;
use crate::driver::module::Linker;
use crate::env::{self, Jit};
use crate::error::{Error, Result};

/// The size of an object for which the JIT gets all processors, in bytes. Starting threads takes it 30 ms; that is what 5 to 10 KB
/// take one thread. With several such objects it gets one: a driver of CUDA 13.0 was seen to crash (docs/gpu-runs.md).
const LARGE: usize = 128 << 10;

/// What the JIT is told: what the user says, and where he says nothing, a cap on registers where that helps, and as many threads as suit the
/// texts.
pub fn options(image: &Descriptor<'_>, texts: &[Cow<'_, CStr>]) -> Jit {
    let settings = env::settings();
    let mut jit = settings.jit.clone();
    if jit.registers.is_none() && settings.ptx_passes.registers && pressure::wants_cap(texts) {
        jit.registers = Some(pressure::CAP);
        host::debug(|| format!("offload image {}: at most {} registers", image.name, pressure::CAP));
    }
    jit.threads.get_or_insert_with(|| threads(texts.iter().map(|text| text.to_bytes().len())));
    jit
}

/// How many threads the JIT gets for objects of these sizes; 0 for one for each processor.
fn threads(sizes: impl Iterator<Item = usize>) -> u32 {
    u32::from(sizes.filter(|size| *size > LARGE).count() != 1)
}

/// All that the linker's result depends on.
pub fn key(device: &Device, texts: &[Cow<'_, CStr>], jit: &Jit) -> Key {
    // The driver's build: the version of CUDA that it says it has does not tell one release from the next. None under WSL.
    let build = std::fs::read_to_string("/proc/driver/nvidia/version").unwrap_or_default();
    let circumstances = format!(
        "{}\nsm_{}\n{:?}\n{build}\n{:?}",
        device.attrs.name,
        device.attrs.compute_capability,
        device.driver.version().ok(),
        jit
    );
    Key::of([circumstances.as_bytes()].into_iter().chain(texts.iter().map(|text| text.to_bytes())))
}

/// Has the JIT compile and link the texts of an image.
///
/// # Errors
/// What it says, with its log.
pub fn compile(
    device: &Device,
    image: &Descriptor<'_>,
    texts: &[Cow<'_, CStr>],
    jit: &Jit,
) -> Result<Vec<u8>> {
    let mut linker = Linker::new(device.driver, jit)
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
    let completed = linker.complete().map(<[u8]>::to_vec);
    completed.map_err(|error| refused(device, image, &linker, error, "linking"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_large_object_gets_all_processors_and_several_get_one_thread() {
        for (sizes, expected) in [
            (&[][..], 1),
            (&[LARGE], 1),
            (&[LARGE + 1], 0),
            (&[500, LARGE + 1, 700], 0),
            (&[LARGE + 1, LARGE + 1], 1),
        ] {
            assert_eq!(threads(sizes.iter().copied()), expected, "{sizes:?}");
        }
    }

    #[test]
    fn the_header_tells_version_and_target() {
        assert_eq!(header(c"// text\n\t.version 7.3\n\t.target sm_52\n"), ".version 7.3, .target sm_52");
        assert_eq!(header(c"nonsense"), "no .version, no .target");
    }
}
