//! Has the driver get ready what kernels need to print and to allocate, before any kernel waits for the host.
//!
//! Otherwise it does so when a kernel that may print, or may use the driver's heap, is launched for the first time. That takes 3.5 ms,
//! and all that is enqueued from then on, on any stream, copies too, waits until the kernels that run have ended (docs/driver.md). One
//! of them may wait for a block that waits for such a copy. So a kernel of our own, which does nothing, is launched as the image is
//! loaded.

use super::inject::uses;
use std::ffi::CStr;

/// The kernel's name.
pub const NAME: &CStr = c"__boomerang_first_use";

/// What the driver offers, how PTX declares it, and how the kernel calls it, or would.
const OFFERED: [(&str, &str, &str); 2] = [
    (
        "vprintf",
        ".extern .func (.param .u32 %value) vprintf (.param .u64 %format, .param .u64 %arguments);\n",
        "{\n.param .u32 %value;\n.param .u64 %format;\n.param .u64 %arguments;\n\
         st.param.u64 [%format],0;\nst.param.u64 [%arguments],0;\ncall (%value),vprintf,(%format,%arguments);\n}\n",
    ),
    (
        "malloc",
        ".extern .func (.param .u64 %value) malloc (.param .u64 %bytes);\n",
        "{\n.param .u64 %value;\n.param .u64 %bytes;\nst.param.u64 [%bytes],1;\ncall (%value),malloc,(%bytes);\n}\n",
    ),
];

/// An object with the kernel, for an image of these texts; none where they neither print nor allocate. To be launched with one team: the
/// compiler can't know that the others don't exist.
pub fn object<'a>(texts: impl Iterator<Item = &'a str> + Clone) -> Option<String> {
    let used = OFFERED.iter().filter(|(name, ..)| texts.clone().any(|text| uses(text, name)));
    let (declared, called): (Vec<_>, Vec<_>) = used.map(|&(_, declared, called)| (declared, called)).unzip();
    if declared.is_empty() {
        return None;
    }
    let name = NAME.to_str().expect("ASCII");
    Some(format!(
        ".version 3.1\n.target sm_30\n.address_size 64\n{}.visible .entry {name}()\n{{\n.reg .u32 %team;\n.reg .pred %first;\n\
         mov.u32 %team,%ctaid.x;\nsetp.eq.u32 %first,%team,0;\n@%first bra $end;\n{}$end:\nret;\n}}\n",
        declared.concat(),
        called.concat()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_reaches_what_the_image_uses_and_nothing_else() {
        let print =
            ".extern .func (.param .u32 %value_out) vprintf (.param .u64 %in_ar0, .param .u64 %in_ar1);";
        let both = object([print, "call (%value),malloc,(%in);"].into_iter()).expect("used");
        assert!(both.contains("),vprintf,(") && both.contains("),malloc,("));
        let one = object([print, "gomp_malloc my_vprintf"].into_iter()).expect("used");
        assert!(one.contains("),vprintf,(") && !one.contains("malloc"));
        assert_eq!(object(["gomp_malloc"].into_iter()), None);
    }
}
