//! Gives the plugin the name that libgomp looks for. With the feature `regenerate`, which `cargo xtask regen` sets, also makes what
//! is generated and checked in; so a plain build needs neither clang nor libclang.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libgomp-plugin-nvptx.so.1");
    #[cfg(feature = "regenerate")]
    regenerate::all();
}

#[cfg(feature = "regenerate")]
mod regenerate {
    use std::path::{Path, PathBuf};
    use std::{env, fs};

    /// The variable that names the folder which the output goes to, with the paths that it has in the repository.
    const OUTPUT: &str = "BOOMERANG_REGENERATED";
    /// The file that says that all others were made.
    const COMPLETE: &str = "complete";
    /// Output below device-runtime/ptx/: source and flags.
    const OBJECTS: [(&str, &str, &[&str]); 5] = [
        ("target_ext", "target_ext.c", &[]),
        ("heap", "heap.c", &[]),
        ("team", "team.c", &[]),
        ("user_call", "user_call.c", &[]),
        ("user_call_plain", "user_call.c", &["-DBOOMERANG_PLAIN"]),
    ];
    /// Architectures, and what of LLVM's features each needs: `nanosleep` came with PTX 6.3.
    const ARCHITECTURES: [(u32, &[&str]); 2] =
        [(30, &[]), (70, &["-Xclang", "-target-feature", "-Xclang", "+ptx63"])];

    pub fn all() {
        println!("cargo:rerun-if-env-changed={OUTPUT}");
        println!("cargo:rerun-if-changed=device-runtime");
        println!("cargo:rerun-if-changed=include");
        let output = env::var_os(OUTPUT)
            .map(PathBuf::from)
            .unwrap_or_else(|| panic!("{OUTPUT} is not set: use `cargo xtask regen`"));
        for (name, source, flags) in OBJECTS {
            for (architecture, features) in ARCHITECTURES {
                let text = ptx(source, architecture, &[flags, features].concat());
                write(&output, &format!("device-runtime/ptx/{name}.sm_{architecture}.ptx"), &text);
            }
        }
        write(&output, "tests/bindings/mod.rs", &bindings());
        write(&output, COMPLETE, "");
    }

    /// The device runtime's PTX. `cc` finds the compiler: clang, or what CC_nvptx64_nvidia_cuda names.
    fn ptx(source: &str, architecture: u32, flags: &[&str]) -> String {
        let mut build = cc::Build::new();
        build.no_default_flags(true).target("nvptx64-nvidia-cuda").opt_level(2);
        if env::var_os("CC_nvptx64_nvidia_cuda").is_none() {
            build.compiler("clang");
        }
        let output = build
            .get_compiler()
            .to_command()
            .args(["--target=nvptx64-nvidia-cuda", "-O2", "-S", "-ffreestanding", "-nocudalib"])
            .args(["-Wall", "-Wextra", "-Werror"])
            .args([format!("-march=sm_{architecture}"), format!("-DBOOMERANG_SM={architecture}")])
            .args(flags)
            .args(["-o", "-"])
            .arg(Path::new("device-runtime").join(source))
            .output()
            .expect("clang can be started");
        assert!(output.status.success(), "{source}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("PTX is ASCII");
        format!(
            "// Made from device-runtime/{source} by `cargo xtask regen`, with clang 14 as Debian 12 has it: another\n\
             // version makes other text.\n{text}"
        )
    }

    /// The headers as bindgen reads them, which tests/wire_layout.rs and tests/abi_layout.rs compare our own types with.
    fn bindings() -> String {
        let bindings = bindgen::Builder::default()
            .header("include/rev_wire.h")
            .header("include/gomp_plugin.h")
            .allowlist_file(".*/(rev_wire|gomp_plugin)\\.h|include/(rev_wire|gomp_plugin)\\.h")
            .formatter(bindgen::Formatter::Prettyplease)
            .layout_tests(false)
            .disable_header_comment()
            .generate_comments(false)
            .generate()
            .expect("the headers are C");
        format!(
            "//! `include/rev_wire.h` and `include/gomp_plugin.h`, made by bindgen: `cargo xtask regen`.\n\
             #![allow(missing_docs, non_camel_case_types, non_snake_case, dead_code)]\n\n{bindings}"
        )
    }

    fn write(output: &Path, path: &str, text: &str) {
        let path = output.join(path);
        println!("cargo:rerun-if-changed={}", path.display());
        fs::create_dir_all(path.parent().expect("it lies in a folder")).expect("the folder can be made");
        fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}
