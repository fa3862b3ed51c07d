//! The platform that is shipped for the H200 against what was measured there (docs/driver.md, docs/gpu-runs.md,
//! docs/cost-model.md). `cargo test --test h200 -- --nocapture` prints the table of docs/cost-model.md.

mod common;
use common::*;
use std::ffi::c_void;
use std::path::Path;
use std::ptr::null_mut;

const PTX: &std::ffi::CStr =
    c".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry k ()\n{\n\tret;\n}\n";

const MIB: usize = 1 << 20;

/// What was measured, and how far the model may be from its middle.
struct Row {
    what: &'static str,
    /// The least and the most that was measured, in us.
    measured: (f64, f64),
    /// In parts of the middle.
    allowed: f64,
}

fn row(what: &'static str, measured: (f64, f64), allowed: f64) -> Row {
    Row { what, measured, allowed }
}

/// A copy of so many MiB at so many GB/s.
fn copy(what: &'static str, mib: usize, gbs: (f64, f64), allowed: f64) -> Row {
    let time = |gbs: f64| (mib * MIB) as f64 / gbs / 1e3;
    row(what, (time(gbs.1), time(gbs.0)), allowed)
}

/// us that the calling thread spends on the virtual clock, after what it did before.
fn host_time(part: &dyn Fn()) -> f64 {
    let (stream, mut milliseconds) = (stream(NON_BLOCKING), 0.0);
    let mark = || {
        let event = event(0) as Handle;
        ok!(cuEventRecord(event, stream as Handle));
        event
    };
    let begin = mark();
    part();
    let end = mark();
    ok!(cuEventSynchronize(end));
    ok!(cuEventElapsedTime(&mut milliseconds, begin, end));
    f64::from(milliseconds) * 1e3
}

#[test]
fn copies_and_launches_take_what_they_took_on_the_h200_as_far_as_documented() {
    let test = "copies_and_launches_take_what_they_took_on_the_h200_as_far_as_documented";
    let platform = Path::new(env!("CARGO_MANIFEST_DIR")).join("platforms/h200.toml");
    let variables = [("BOOMERANG_SIM_PLATFORM", platform.to_str().unwrap())];
    if let Some(output) = in_child(test, &variables) {
        print!("{}", String::from_utf8_lossy(&output.stdout));
        assert!(output.status.success(), "{output:?}");
        return;
    }
    let _context = Context::new();
    let (mut module, mut kernel) = (null_mut(), null_mut());
    ok!(cuModuleLoadData(&mut module, PTX.as_ptr().cast()));
    ok!(cuModuleGetFunction(&mut kernel, module, c"k".as_ptr()));
    let work = stream(NON_BLOCKING) as Handle;
    let (device, other) = (device_memory(256 * MIB), device_memory(256 * MIB));
    let pinned = address(&pinned(256 * MIB / 8)[0]);
    let mut own = vec![0_u8; 256 * MIB];
    let pageable = own.as_mut_ptr() as u64;
    let launch = || {
        let none = std::ptr::null();
        ok!(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, work, none, none));
    };
    let synchronize = || ok!(cuStreamSynchronize(work));
    let up = |from: u64, bytes: usize| {
        ok!(cuMemcpyHtoDAsync_v2(device, from as *const c_void, bytes, work));
        synchronize();
    };
    let down = |to: u64, bytes: usize| {
        ok!(cuMemcpyDtoHAsync_v2(to as *mut c_void, device, bytes, work));
        synchronize();
    };
    let within = || {
        ok!(cuMemcpyDtoD_v2(other, device, 256 * MIB));
        ok!(cuCtxSynchronize());
    };
    let rows: [(Row, &dyn Fn()); 13] = [
        (row("launch, the call alone", (3.1, 4.7), 0.01), &launch),
        (row("launch of an empty kernel + synchronize", (7.8, 9.9), 0.01), &|| {
            launch();
            synchronize();
        }),
        (row("64 bytes to the device, pinned", (6.6, 6.6), 0.01), &|| up(pinned, 64)),
        (row("64 bytes to the host, pinned", (6.5, 6.5), 0.01), &|| down(pinned, 64)),
        (row("64 bytes to the host, pageable", (8.9, 8.9), 0.01), &|| down(pageable, 64)),
        (copy("4 MiB to the device, pageable", 4, (10.8, 11.8), 0.27), &|| up(pageable, 4 * MIB)),
        (copy("256 MiB to the device, pageable", 256, (6.2, 7.7), 0.26), &|| up(pageable, 256 * MIB)),
        (copy("4 MiB to the host, pageable", 4, (8.7, 11.2), 0.10), &|| down(pageable, 4 * MIB)),
        (copy("256 MiB to the host, pageable", 256, (9.8, 14.0), 0.08), &|| down(pageable, 256 * MIB)),
        (copy("4 MiB to the device, pinned", 4, (55.0, 55.0), 0.10), &|| up(pinned, 4 * MIB)),
        (copy("256 MiB to the device, pinned", 256, (55.0, 55.0), 0.01), &|| up(pinned, 256 * MIB)),
        (copy("256 MiB to the host, pinned", 256, (55.0, 55.0), 0.01), &|| down(pinned, 256 * MIB)),
        (copy("256 MiB within the device", 256, (4300.0, 4300.0), 0.08), &within),
    ];
    println!("| what | measured, us | model, us | error |\n|---|---|---|---|");
    for (Row { what, measured, allowed }, part) in rows {
        synchronize();
        let model = host_time(part);
        let error = model / ((measured.0 + measured.1) / 2.0) - 1.0;
        let range = match measured.0 == measured.1 {
            true => format!("{:.1}", measured.0),
            false => format!("{:.1} - {:.1}", measured.0, measured.1),
        };
        println!("| {what} | {range} | {model:.1} | {:+.0} % |", error * 100.0);
        assert!(error.abs() <= allowed, "{what}: {model} us");
    }
}
