//! Reads what mkoffload (GCC's gcc/config/nvptx/mkoffload.cc) puts into the program.

use std::ffi::{CStr, c_char, c_void};
use std::mem::offset_of;

use crate::abi::host;
use crate::error::{Error, Result};

/// `GOMP_VERSION_LIB` and `GOMP_VERSION_DEV` (gomp-constants.h): the halves of the version that an image carries.
fn library_version(version: u32) -> u32 {
    version >> 16 & 0xffff
}

fn device_version(version: u32) -> u32 {
    version & 0xffff
}

/// `GOMP_VERSION_NVIDIA_PTX`
const NEWEST_DEVICE_VERSION: u32 = 1;
/// The first library version whose images count their indirect functions.
const FIRST_WITH_INDIRECT: u32 = 3;

/// More than any real image has of anything; beyond it lies garbage.
const MOST_ENTRIES: u32 = 1 << 20;
/// The longest text that is taken for PTX, in bytes.
const MOST_TEXT: usize = 1 << 30;

/// `struct ptx_obj`
#[repr(C)]
#[derive(Clone, Copy)]
struct RawObject {
    code: *const c_char,
    size: usize,
}

/// `struct nvptx_fn`
#[repr(C)]
#[derive(Clone, Copy)]
struct RawFunction {
    name: *const c_char,
    /// OpenACC's gangs, workers and vector length.
    dims: [u16; 3],
}

/// `struct nvptx_data` behind its first member, which libgomp keeps to itself.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawImage {
    objects: *const RawObject,
    object_count: u32,
    variables: *const *const c_char,
    variable_count: u32,
    functions: *const RawFunction,
    function_count: u32,
    /// Only in images of library version 3 and later; padding before.
    indirect_count: u32,
}

// The compiler that made the image laid these out; `include/gomp_plugin.h` has the same.
const _: () = {
    assert!(size_of::<RawObject>() == 16);
    assert!(size_of::<RawFunction>() == 16);
    assert!(size_of::<RawImage>() == 48);
    assert!(offset_of!(RawImage, variables) == 16);
    assert!(offset_of!(RawImage, functions) == 32);
    assert!(offset_of!(RawImage, indirect_count) == 44);
};

/// A kernel that the image has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Function<'a> {
    /// Its name.
    pub name: &'a CStr,
    /// Gangs, workers and vector length that an OpenACC kernel was compiled for; 0 where the compiler left them open.
    pub dims: [u16; 3],
}

/// An image, found to be well formed.
#[derive(Debug)]
pub struct Descriptor<'a> {
    /// In words: which file it is part of, and how much it holds.
    pub name: String,
    /// PTX texts.
    pub objects: Vec<&'a CStr>,
    /// Names of variables, in the order of the host's table.
    pub variables: Vec<&'a CStr>,
    /// Kernels, in the order of the host's table.
    pub functions: Vec<Function<'a>>,
    /// How many functions can be called through a pointer of the host's.
    pub indirect: usize,
}

impl<'a> Descriptor<'a> {
    /// Reads an image.
    ///
    /// # Errors
    /// What is wrong with it.
    ///
    /// # Safety
    /// `data` is null, or points at an image that stays as it is for `'a`. What can be checked is checked, but a pointer that
    /// is neither null nor valid cannot be told from a valid one.
    pub unsafe fn read(version: u32, data: *const c_void) -> Result<Descriptor<'a>> {
        let file =
            host::file_of(data.addr()).map_or("unknown file".into(), |file| file.display().to_string());
        let at = format!("of {file} at {data:p}");
        let wrong = |why: String| Error::Image { image: at.clone(), why };
        if device_version(version) > NEWEST_DEVICE_VERSION {
            return Err(wrong(format!(
                "made for a newer plugin: version {}, and {NEWEST_DEVICE_VERSION} is the newest that is known",
                device_version(version)
            )));
        }
        if data.is_null() {
            return Err(wrong("null pointer".into()));
        }
        // SAFETY: not null, so the caller's promise.
        let raw = unsafe { *data.cast::<RawImage>() };
        // SAFETY: the counts belong to the arrays, by the caller's promise.
        let (objects, variables, functions) = unsafe {
            (
                array("PTX objects", raw.objects, raw.object_count).map_err(wrong)?,
                array("variables", raw.variables, raw.variable_count).map_err(wrong)?,
                array("functions", raw.functions, raw.function_count).map_err(wrong)?,
            )
        };
        if objects.is_empty() {
            return Err(wrong("no PTX object".into()));
        }
        let indirect = if library_version(version) >= FIRST_WITH_INDIRECT { raw.indirect_count } else { 0 };
        if indirect > MOST_ENTRIES {
            return Err(wrong(format!("{indirect} indirect functions")));
        }
        // SAFETY: as above, for the texts that the entries point at.
        unsafe {
            Ok(Descriptor {
                name: format!("{at} ({} PTX objects, {} functions)", objects.len(), functions.len()),
                objects: numbered(objects, "PTX object", |object| text(object)).map_err(wrong)?,
                variables: numbered(variables, "variable", |variable| name(*variable)).map_err(wrong)?,
                functions: numbered(functions, "function", |function| {
                    Ok(Function { name: name(function.name)?, dims: function.dims })
                })
                .map_err(wrong)?,
                indirect: indirect as usize,
            })
        }
    }

    /// An error of this image.
    pub fn wrong(&self, why: impl Into<String>) -> Error {
        Error::Image { image: self.name.clone(), why: why.into() }
    }
}

fn numbered<T, U>(
    items: &[T],
    what: &str,
    read: impl Fn(&T) -> std::result::Result<U, &'static str>,
) -> std::result::Result<Vec<U>, String> {
    let item = |(i, item)| read(item).map_err(|why| format!("{what} {i}: {why}"));
    items.iter().enumerate().map(item).collect()
}

/// # Safety
/// `first` is null or points at `count` items that live for `'a`.
unsafe fn array<'a, T>(what: &str, first: *const T, count: u32) -> std::result::Result<&'a [T], String> {
    match (first.is_null(), count) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(format!("{count} {what} at a null pointer")),
        (false, count) if count > MOST_ENTRIES => Err(format!("{count} {what}")),
        // SAFETY: the caller's promise.
        (false, count) => Ok(unsafe { std::slice::from_raw_parts(first, count as usize) }),
    }
}

/// # Safety
/// `name` is null or a C string that lives for `'a`.
unsafe fn name<'a>(name: *const c_char) -> std::result::Result<&'a CStr, &'static str> {
    if name.is_null() {
        return Err("null name");
    }
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(name) };
    if name.is_empty() { Err("empty name") } else { Ok(name) }
}

/// # Safety
/// The object's code is null or points at as many bytes as it says, which live for `'a`.
unsafe fn text<'a>(object: &RawObject) -> std::result::Result<&'a CStr, &'static str> {
    if object.code.is_null() {
        return Err("null pointer");
    }
    if object.size == 0 || object.size > MOST_TEXT {
        return Err("absurd size");
    }
    // SAFETY: the caller's promise.
    let bytes = unsafe { std::slice::from_raw_parts(object.code.cast::<u8>(), object.size) };
    let text = CStr::from_bytes_until_nul(bytes).map_err(|_| "does not end in NUL")?;
    if text.is_empty() { Err("empty") } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;

    const CODE: &CStr = c".version 7.3\n.target sm_52\n";
    /// Library 3, device 1: what GCC 14 to 16 write.
    const CURRENT: u32 = 3 << 16 | 1;

    fn object() -> RawObject {
        RawObject { code: CODE.as_ptr(), size: CODE.to_bytes_with_nul().len() }
    }

    fn image(object: &RawObject) -> RawImage {
        RawImage {
            objects: object,
            object_count: 1,
            variables: ptr::null(),
            variable_count: 0,
            functions: ptr::null(),
            function_count: 0,
            indirect_count: 5,
        }
    }

    fn read(version: u32, image: &RawImage) -> Result<Descriptor<'_>> {
        // SAFETY: every pointer in the tests' images is null or valid for its count, or the count is absurd and refused.
        unsafe { Descriptor::read(version, ptr::from_ref(image).cast()) }
    }

    fn refusal(image: &RawImage) -> String {
        read(CURRENT, image).expect_err("malformed").to_string()
    }

    #[test]
    fn a_well_formed_image_is_read() {
        let function = RawFunction { name: c"main._omp_fn.0".as_ptr(), dims: [4, 0, 32] };
        let variable = c"counter".as_ptr();
        let object = object();
        let raw = RawImage {
            functions: &function,
            function_count: 1,
            variables: &variable,
            variable_count: 1,
            ..image(&object)
        };
        let image = read(CURRENT, &raw).expect("well formed");
        assert_eq!(image.objects, [CODE]);
        assert_eq!(image.functions, [Function { name: c"main._omp_fn.0", dims: [4, 0, 32] }]);
        assert_eq!(image.variables, [c"counter"]);
        assert_eq!(image.indirect, 5);
    }

    #[test]
    fn an_older_image_has_no_indirect_functions() {
        assert_eq!(read(2 << 16 | 1, &image(&object())).expect("well formed").indirect, 0);
    }

    #[test]
    fn an_image_without_regions_or_variables_is_fine() {
        assert!(read(CURRENT, &image(&object())).expect("well formed").functions.is_empty());
    }

    #[test]
    fn a_malformed_image_is_refused_with_the_reason() {
        let object = object();
        let good = image(&object);
        let null = ptr::null::<c_char>();
        let unnamed = RawFunction { name: ptr::null(), dims: [0; 3] };
        let cases = [
            (RawImage { object_count: 0, ..good }, "no PTX object"),
            (RawImage { objects: ptr::null(), ..good }, "null pointer"),
            (RawImage { object_count: u32::MAX, ..good }, "4294967295 PTX objects"),
            (RawImage { variable_count: 3, ..good }, "3 variables at a null pointer"),
            (RawImage { function_count: 1 << 30, functions: &unnamed, ..good }, "1073741824 functions"),
            (RawImage { function_count: 1, functions: &unnamed, ..good }, "function 0: null name"),
            (RawImage { variable_count: 1, variables: &null, ..good }, "variable 0: null name"),
            (RawImage { indirect_count: u32::MAX, ..good }, "indirect functions"),
            (
                RawImage { objects: &RawObject { code: ptr::null(), size: 9 }, ..good },
                "PTX object 0: null pointer",
            ),
            (RawImage { objects: &RawObject { size: 0, ..object }, ..good }, "PTX object 0: absurd size"),
            (
                RawImage { objects: &RawObject { size: usize::MAX, ..object }, ..good },
                "PTX object 0: absurd size",
            ),
            (RawImage { objects: &RawObject { size: 4, ..object }, ..good }, "does not end in NUL"),
        ];
        for (image, reason) in cases {
            let told = refusal(&image);
            assert!(told.contains(reason) && told.contains("offload image of "), "{told}");
        }
        assert!(read(3 << 16 | 2, &good).expect_err("newer").to_string().contains("newer plugin"));
        // SAFETY: null is allowed.
        assert!(unsafe { Descriptor::read(CURRENT, ptr::null()) }.is_err());
    }
}
