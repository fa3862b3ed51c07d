//! Hardware channels that marks hold up: the table of the measurements on an H200 (docs/driver.md).

mod common;
use common::*;
use std::ffi::c_void;
use std::ptr::{null, null_mut};

/// `spin(word)` until the word is not 0.
const PTX: &std::ffi::CStr = c"
.version 7.0
.target sm_52
.address_size 64
.visible .entry spin (.param .u64 word)
{
	.reg .u64 %a, %v;
	.reg .pred %p;
	ld.param.u64 %a, [word];
again:
	ld.volatile.u64 %v, [%a];
	setp.eq.u64 %p, %v, 0;
	@%p bra again;
	ret;
}
.extern .func (.param .u32 value) vprintf (.param .u64 format, .param .u64 arguments);
.extern .func (.param .u64 value) malloc (.param .u64 bytes);
.visible .entry nothing ()
{
	ret;
}
.func prints ()
{
	.param .u64 format, arguments;
	.param .u32 value;
	st.param.u64 [format], 0;
	st.param.u64 [arguments], 0;
	call (value), vprintf, (format, arguments);
	ret;
}
.visible .entry may_print ()
{
	.reg .u32 %x;
	.reg .pred %p;
	mov.u32 %x, %ctaid.x;
	setp.eq.u32 %p, %x, 0;
	@%p bra end;
	call prints, ();
end:
	ret;
}
.visible .entry may_allocate ()
{
	.reg .u32 %x;
	.reg .pred %p;
	.param .u64 bytes, value;
	mov.u32 %x, %ctaid.x;
	setp.eq.u32 %p, %x, 0;
	@%p bra end;
	st.param.u64 [bytes], 8;
	call (value), malloc, (bytes);
end:
	ret;
}
";

const MIB: usize = 1 << 20;

/// What is put behind a kernel.
#[derive(Clone, Copy)]
enum Mark {
    Nothing,
    Event,
    Write,
    HostFunction,
    Kernel,
}

unsafe extern "C" fn host_function(_data: *mut c_void) {}

/// A kernel, a write and copies, each on a further stream while `kernels` streams have a kernel that spins, with `mark` behind it: which
/// block.
fn blocked(kernels: usize, mark: Mark) -> [bool; 7] {
    let context = Context::new();
    let (mut module, mut spin) = (null_mut(), null_mut());
    ok!(cuModuleLoadData(&mut module, PTX.as_ptr().cast()));
    ok!(cuModuleGetFunction(&mut spin, module, c"spin".as_ptr()));
    let spin = spin as usize;
    let launch = |stream: usize, word: u64| {
        let parameters = [(&raw const word).cast_mut().cast::<c_void>()];
        let (spin, stream) = (spin as Handle, stream as Handle);
        code!(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, stream, parameters.as_ptr().cast(), null()))
    };
    let words = pinned(3);
    let streams: Vec<usize> = (0..kernels).map(|_| stream(NON_BLOCKING)).collect();
    let (other, device) = (stream(NON_BLOCKING), device_memory(4 * MIB));
    let (pageable, page_locked) = (vec![0_u8; 4 * MIB], address(&pinned(8)[0]));
    let page = pageable.as_ptr() as u64;
    let (open, synchronize) = (address(&words[2]), || code!(cuStreamSynchronize(other as Handle)));
    release(&words[2], 1);
    let up =
        |from: u64, bytes| code!(cuMemcpyHtoDAsync_v2(device, from as *const c_void, bytes, other as Handle));
    let down =
        |to: u64, bytes| code!(cuMemcpyDtoHAsync_v2(to as *mut c_void, device, bytes, other as Handle));
    let write = |stream: usize| code!(cuStreamWriteValue64_v2(stream as Handle, address(&words[1]), 1, 0));
    let calls: [&(dyn Fn() -> u32 + Sync); 7] = [
        &|| launch(other, open) | synchronize(),
        &|| write(other) | synchronize(),
        &|| up(page, 64) | synchronize(),
        &|| up(page_locked, 64) | synchronize(),
        &|| down(page, 64) | synchronize(),
        &|| down(page_locked, 64) | synchronize(),
        &|| up(page, 4 * MIB) | down(page, 4 * MIB),
    ];
    calls.map(|call| {
        for stream in &streams {
            assert_eq!(launch(*stream, address(&words[0])), OK);
            let handle = *stream as Handle;
            let marked = match mark {
                Mark::Nothing => OK,
                Mark::Event => code!(cuEventRecord(event(0) as Handle, handle)),
                Mark::Write => write(*stream),
                Mark::HostFunction => code!(cuLaunchHostFunc(handle, host_function, null_mut())),
                Mark::Kernel => launch(*stream, open),
            };
            assert_eq!(marked, OK);
        }
        let (blocks, code) = blocks(&context, call, || release(&words[0], 1));
        assert_eq!(code, OK);
        release(&words[0], 1);
        ok!(cuCtxSynchronize());
        release(&words[0], 0);
        blocks
    })
}

const NONE: [bool; 7] = [false; 7];
/// Kernels, writes, and small copies to the device.
const CHANNEL: [bool; 7] = [true, true, true, true, false, false, false];

#[test]
fn kernels_with_nothing_or_an_event_behind_them_hold_up_nothing() {
    let name = "kernels_with_nothing_or_an_event_behind_them_hold_up_nothing";
    if !passed_in_child(name, &[("CUDA_DEVICE_MAX_CONNECTIONS", "1")]) {
        assert_eq!(blocked(3, Mark::Nothing), NONE);
        assert_eq!(blocked(3, Mark::Event), NONE);
    }
}

#[test]
fn a_write_a_host_function_or_a_kernel_behind_a_kernel_holds_up_a_channel() {
    let name = "a_write_a_host_function_or_a_kernel_behind_a_kernel_holds_up_a_channel";
    if !passed_in_child(name, &[("CUDA_DEVICE_MAX_CONNECTIONS", "1")]) {
        for mark in [Mark::Write, Mark::HostFunction, Mark::Kernel] {
            assert_eq!(blocked(1, mark), CHANNEL);
        }
    }
}

#[test]
fn marks_hold_up_others_once_there_are_as_many_as_channels() {
    let name = "marks_hold_up_others_once_there_are_as_many_as_channels";
    if !passed_in_child(name, &[("CUDA_DEVICE_MAX_CONNECTIONS", "8")]) {
        assert_eq!(blocked(7, Mark::Write), NONE);
        assert_eq!(blocked(8, Mark::Write), CHANNEL);
    }
}

/// Launches kernels, one after the other, beside one that spins: whether a copy that comes then waits for that one.
fn held_back_after(kernels: &[&std::ffi::CStr], before: &[&std::ffi::CStr]) -> bool {
    let context = Context::new();
    let mut module = null_mut();
    ok!(cuModuleLoadData(&mut module, PTX.as_ptr().cast()));
    let launch = |name: &std::ffi::CStr, parameters: *const *mut c_void| {
        let (mut function, other) = (null_mut(), stream(NON_BLOCKING) as Handle);
        ok!(cuModuleGetFunction(&mut function, module, name.as_ptr()));
        ok!(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, other, parameters.cast(), null()));
    };
    before.iter().for_each(|name| launch(name, null()));
    ok!(cuCtxSynchronize());
    let (words, device, other) = (pinned(2), device_memory(64), stream(NON_BLOCKING));
    let word = address(&words[0]);
    launch(c"spin", [(&raw const word).cast_mut().cast::<c_void>()].as_ptr());
    kernels.iter().for_each(|name| launch(name, null()));
    let from = address(&words[1]);
    let copy = || {
        code!(cuMemcpyHtoDAsync_v2(device, from as *const c_void, 8, other as Handle))
            | code!(cuStreamSynchronize(other as Handle))
    };
    let (blocks, code) = blocks(&context, copy, || release(&words[0], 1));
    assert_eq!(code, OK);
    release(&words[0], 1);
    ok!(cuCtxSynchronize());
    blocks
}

#[test]
fn the_first_kernel_that_may_print_or_allocate_holds_back_all_that_follows_until_the_others_end() {
    assert!(!held_back_after(&[c"nothing"], &[]));
    assert!(held_back_after(&[c"may_print"], &[]));
    assert!(held_back_after(&[c"may_allocate"], &[c"may_print"]));
    assert!(!held_back_after(&[c"may_print", c"may_allocate"], &[c"may_print", c"may_allocate"]));
}
