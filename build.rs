//! Gives the plugin the name that libgomp looks for.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libgomp-plugin-nvptx.so.1");
}
