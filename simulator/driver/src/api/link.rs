//! The linker.

use crate::c::{In, Out};
use crate::core::link::{self, Options};
use crate::core::{context, image};
use crate::error::{Error, Result};
use crate::types::CUlinkState;
use boomerang_gpu::Object;
use std::ffi::{c_char, c_uint};

/// `CU_JIT_INPUT_CUBIN`.
const CUBIN: c_uint = 0;
/// `CU_JIT_INPUT_PTX`.
const PTX: c_uint = 1;

/// `cuLinkCreate`
pub fn create(count: c_uint, options: In<c_uint>, values: In<u64>, link: Out<CUlinkState>) -> Result {
    context::current()?;
    link.require()?.set(link::create(Options::read(count, options, values)?))
}

/// `cuLinkAddData`: options of single inputs change nothing here.
#[expect(clippy::too_many_arguments)] // the driver's parameters
pub fn add_data(
    link: CUlinkState,
    kind: c_uint,
    data: In<u8>,
    bytes: usize,
    name: In<c_char>,
    _count: c_uint,
    _options: In<c_uint>,
    _values: In<u64>,
) -> Result {
    let link = link::find(link)?;
    let data = data.bytes(bytes)?;
    match kind {
        CUBIN => image::decode(&data)?.into_iter().try_for_each(|object| link.add(object)),
        PTX => {
            let text = data.split(|byte| *byte == 0).next().unwrap_or_default().to_vec();
            let text = String::from_utf8(text).map_err(|_| Error::INVALID_PTX)?;
            let name = if name.is_null() { "input".to_owned() } else { name.text()? };
            link.add(Object { name, text })
        }
        _ => Err(Error::INVALID_VALUE),
    }
}

/// `cuLinkComplete`
pub fn complete(link: CUlinkState, image: Out<u64>, bytes: Out<usize>) -> Result {
    let link = link::find(link)?;
    image.require()?;
    let (address, length) = link.complete()?;
    bytes.set_if_wanted(length);
    image.set(address)
}

/// `cuLinkDestroy`
pub fn destroy(link: CUlinkState) -> Result {
    link::destroy(link)
}
