//! What the built library exports: the entry points that libgomp looks up, our own C functions, and nothing else.

use std::collections::BTreeSet;
use std::path::PathBuf;

use object::{Object, ObjectSymbol};

/// Every symbol that the library may export. libgomp treats an entry that is there as implemented, so none is listed
/// (or exported) before it works.
const EXPORTED: &[&str] = &[
    "GOMP_OFFLOAD_alloc",
    "GOMP_OFFLOAD_async_run",
    "GOMP_OFFLOAD_can_run",
    "GOMP_OFFLOAD_dev2dev",
    "GOMP_OFFLOAD_dev2host",
    "GOMP_OFFLOAD_fini_device",
    "GOMP_OFFLOAD_free",
    "GOMP_OFFLOAD_get_caps",
    "GOMP_OFFLOAD_get_interop_int",
    "GOMP_OFFLOAD_get_interop_ptr",
    "GOMP_OFFLOAD_get_interop_str",
    "GOMP_OFFLOAD_get_interop_type_desc",
    "GOMP_OFFLOAD_get_name",
    "GOMP_OFFLOAD_get_num_devices",
    "GOMP_OFFLOAD_get_type",
    "GOMP_OFFLOAD_get_uid",
    "GOMP_OFFLOAD_host2dev",
    "GOMP_OFFLOAD_init_device",
    "GOMP_OFFLOAD_interop",
    "GOMP_OFFLOAD_is_accessible_ptr",
    "GOMP_OFFLOAD_load_image",
    "GOMP_OFFLOAD_managed_alloc",
    "GOMP_OFFLOAD_managed_free",
    "GOMP_OFFLOAD_memcpy2d",
    "GOMP_OFFLOAD_memcpy3d",
    "GOMP_OFFLOAD_memset",
    "GOMP_OFFLOAD_openacc_async_construct",
    "GOMP_OFFLOAD_openacc_async_destruct",
    "GOMP_OFFLOAD_openacc_async_dev2dev",
    "GOMP_OFFLOAD_openacc_async_dev2host",
    "GOMP_OFFLOAD_openacc_async_exec",
    "GOMP_OFFLOAD_openacc_async_host2dev",
    "GOMP_OFFLOAD_openacc_async_queue_callback",
    "GOMP_OFFLOAD_openacc_async_serialize",
    "GOMP_OFFLOAD_openacc_async_synchronize",
    "GOMP_OFFLOAD_openacc_async_test",
    "GOMP_OFFLOAD_openacc_create_thread_data",
    "GOMP_OFFLOAD_openacc_cuda_get_current_context",
    "GOMP_OFFLOAD_openacc_cuda_get_current_device",
    "GOMP_OFFLOAD_openacc_cuda_get_stream",
    "GOMP_OFFLOAD_openacc_cuda_set_stream",
    "GOMP_OFFLOAD_openacc_destroy_thread_data",
    "GOMP_OFFLOAD_openacc_exec",
    "GOMP_OFFLOAD_openacc_get_property",
    "GOMP_OFFLOAD_page_locked_host_alloc",
    "GOMP_OFFLOAD_page_locked_host_free",
    "GOMP_OFFLOAD_run",
    "GOMP_OFFLOAD_unload_image",
    "GOMP_OFFLOAD_version",
    "boomerang_set_call_handler",
    "boomerang_set_host_table",
];

fn library() -> Vec<u8> {
    let test = std::env::current_exe().expect("a test knows its own path");
    let folder = test.parent().expect("a test lies in cargo's folder deps").to_owned();
    let path: PathBuf = folder.join("libboomerang.so");
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_library_exports_exactly_the_listed_symbols() {
    let data = library();
    let file = object::File::parse(&*data).expect("the library is an ELF file");
    let exported: BTreeSet<&str> = file
        .dynamic_symbols()
        .filter(|symbol| symbol.is_definition() && symbol.is_global())
        .map(|symbol| symbol.name().expect("names are ASCII"))
        .collect();
    let listed: BTreeSet<&str> = EXPORTED.iter().copied().collect();
    assert_eq!(exported, listed);
}

#[test]
fn the_library_needs_no_cuda_and_no_libgomp_to_be_loaded() {
    let data = library();
    let file = object::File::parse(&*data).expect("the library is an ELF file");
    for import in file.imports().expect("the library has imports") {
        let name = String::from_utf8_lossy(import.name());
        assert!(
            !name.starts_with("cu") && !name.starts_with("GOMP_"),
            "{name} must be looked up at run time"
        );
    }
}

#[test]
fn the_library_has_the_name_that_libgomp_loads() {
    let data = library();
    let name = b"libgomp-plugin-nvptx.so.1\0";
    assert!(
        data.windows(name.len()).any(|window| window == name),
        "no soname {}",
        String::from_utf8_lossy(name)
    );
}
