//! Gives the library the name that programs ask the loader for, so that a preloaded copy
//! satisfies `dlopen("libcuda.so")` (installers add the link `libcuda.so.1`).

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so");
}
