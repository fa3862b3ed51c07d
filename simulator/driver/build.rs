//! Gives the library the name that programs ask the loader for, so that a preloaded copy
//! satisfies `dlopen("libcuda.so")` (installers add the link `libcuda.so.1`); and keeps it in memory when a
//! program closes it, because threads of its own still run.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
