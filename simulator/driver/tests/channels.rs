//! Hardware channels that marks hold up: the table of the measurements on an H200 (docs/driver.md).

mod common;
use common::*;
use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::AtomicU64;

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
";

const MIB: usize = 1 << 20;

/// What is put behind a kernel.
type Mark = fn(usize, &AtomicU64);

fn nothing(_stream: usize, _word: &AtomicU64) {}

fn write(stream: usize, word: &AtomicU64) {
    ok!(cuStreamWriteValue64_v2(stream as Handle, address(word), 1, 0));
}

fn record(stream: usize, _word: &AtomicU64) {
    ok!(cuEventRecord(event(0) as Handle, stream as Handle));
}

unsafe extern "C" fn host_function(_data: *mut c_void) {}

fn host(stream: usize, _word: &AtomicU64) {
    ok!(cuLaunchHostFunc(stream as Handle, host_function, null_mut()));
}

/// Copies and a kernel, each on a further stream while `kernels` streams have a kernel that spins, with `mark` behind it: which block.
fn blocked(kernels: usize, mark: Mark) -> [bool; 5] {
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
    let calls: [&(dyn Fn() -> u32 + Sync); 5] = [
        &|| up(page, 4096) | synchronize(),
        &|| down(page, 4096),
        &|| launch(other, open) | synchronize(),
        &|| down(page_locked, 64) | synchronize(),
        &|| up(page, 4 * MIB) | down(page, 4 * MIB),
    ];
    calls.map(|call| {
        for stream in &streams {
            assert_eq!(launch(*stream, address(&words[0])), OK);
            mark(*stream, &words[1]);
        }
        let (blocks, code) = blocks(&context, call, || release(&words[0], 1));
        assert_eq!(code, OK);
        release(&words[0], 1);
        ok!(cuCtxSynchronize());
        release(&words[0], 0);
        blocks
    })
}

const NONE: [bool; 5] = [false; 5];
/// Small copies of pageable memory, and kernels.
const CHANNEL: [bool; 5] = [true, true, true, false, false];

#[test]
fn kernels_without_a_mark_behind_them_hold_up_nothing() {
    let name = "kernels_without_a_mark_behind_them_hold_up_nothing";
    if !passed_in_child(name, &[("CUDA_DEVICE_MAX_CONNECTIONS", "1")]) {
        assert_eq!(blocked(3, nothing), NONE);
    }
}

#[test]
fn any_mark_behind_a_kernel_holds_up_its_channel() {
    let name = "any_mark_behind_a_kernel_holds_up_its_channel";
    if !passed_in_child(name, &[("CUDA_DEVICE_MAX_CONNECTIONS", "1")]) {
        for mark in [write, record, host] {
            assert_eq!(blocked(1, mark), CHANNEL);
        }
    }
}

#[test]
fn streams_with_a_channel_of_their_own_are_not_held_up() {
    let name = "streams_with_a_channel_of_their_own_are_not_held_up";
    if !passed_in_child(name, &[("CUDA_DEVICE_MAX_CONNECTIONS", "8")]) {
        assert_eq!(blocked(6, write), NONE);
        assert_eq!(blocked(8, write), CHANNEL);
    }
}
