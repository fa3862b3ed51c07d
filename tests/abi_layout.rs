//! The types of the C interface: the plugin's own against `include/gomp_plugin.h`.

use std::mem::{offset_of, size_of};

use boomerang::abi::host::HostTable;
use boomerang::image::load::AddressPair;
use boomerang::interop::Object;
use boomerang::openacc::property::Value;

#[rustfmt::skip]
mod bindings;

use bindings::{addr_pair, boomerang_host_table, goacc_property_value, interop_obj_t};

/// Compares the offsets of members: `c.member` with `Rust.member`.
macro_rules! same_offsets {
    ($c:ty, $rust:ty: $($member:ident = $field:ident),* $(,)?) => {
        assert_eq!(size_of::<$c>(), size_of::<$rust>(), stringify!($c));
        $(assert_eq!(
            offset_of!($c, $member),
            offset_of!($rust, $field),
            concat!(stringify!($c), ".", stringify!($member))
        );)*
    };
}

#[test]
fn structures_are_laid_out_as_the_header_says() {
    same_offsets!(addr_pair, AddressPair: start = start, end = end);
    same_offsets!(boomerang_host_table, HostTable: size = size, malloc = malloc, debug = debug, error = error,
        fatal = fatal, target_rev = target_rev, task_completion = task_completion);
    same_offsets!(interop_obj_t, Object: stream = stream, device_data = device_data, fr = runtime,
        device_num = device_num);
    same_offsets!(goacc_property_value, Value: ptr = text, val = number);
}

#[test]
fn the_header_declares_what_the_library_exports() {
    // The list of tests/abi_symbols.rs, and what bindgen made of the header.
    let exported = include_str!("abi_symbols.rs").lines().filter_map(|line| {
        let name = line.trim().strip_prefix('"')?.strip_suffix("\",")?;
        ["GOMP_OFFLOAD_", "boomerang_"].iter().any(|start| name.starts_with(start)).then_some(name)
    });
    let declared = include_str!("bindings/mod.rs")
        .lines()
        .filter_map(|line| line.trim().strip_prefix("pub fn ")?.split('(').next());
    let (mut exported, mut declared): (Vec<_>, Vec<_>) = (exported.collect(), declared.collect());
    exported.sort_unstable();
    declared.sort_unstable();
    assert_eq!(exported, declared);
}
