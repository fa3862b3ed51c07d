//! The device runtime's PTX, executed by the simulator's GPU, against the host's side of the window: which form a request takes, and
//! that in each form what it maps arrives on both sides.

use boomerang::reverse::compact;
use boomerang::reverse::items::Items;
use boomerang::reverse::mock::MockDevice;
use boomerang::reverse::wire::{Region, travels_from, travels_to};
use boomerang_gpu::{Device, DeviceConfig, Kind, Launch, Memory, Module, Object, run_grid};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// An image whose kernel makes a request again and again: `%data` points to the region, what the request maps (number, addresses, sizes,
/// kinds), the word that says whether lanes act alone, the function, and how many requests there are to make.
const IMAGE: &str = ".version 6.0\n.target sm_30\n.address_size 64
    .visible .shared .align 8 .u64 __boomerang_region;
    .visible .shared .align 8 .b8 __boomerang_cache[80];
    .visible .shared .align 4 .u32 __nvptx_uni[32];
    .visible .global .align 4 .u32 __gomp_additional_icvs[4];
    .extern .func GOMP_target_ext (.param .u32 device, .param .u64 fn, .param .u64 mapnum, .param .u64 addrs, .param .u64 sizes,
        .param .u64 kinds, .param .u32 flags, .param .u64 depend, .param .u64 args);
    .visible .entry k (.param .u64 data_param) {
        .reg .u64 %data, %x<6>; .reg .u32 %r<3>; .reg .pred %p;
        ld.param.u64 %data, [data_param];
        ld.global.u64 %x0, [%data]; st.shared.u64 [__boomerang_region], %x0;
        mov.u32 %r0, 0; st.shared.u32 [__boomerang_cache], %r0;
        ld.global.u32 %r0, [%data+40]; st.shared.u32 [__nvptx_uni], %r0;
        ld.global.u64 %x1, [%data+8]; ld.global.u64 %x2, [%data+16]; ld.global.u64 %x3, [%data+24]; ld.global.u64 %x4, [%data+32];
        ld.global.u64 %x5, [%data+48]; ld.global.u32 %r2, [%data+56];
    AGAIN: {
        .param .u32 device; .param .u64 fn; .param .u64 mapnum; .param .u64 addrs; .param .u64 sizes; .param .u64 kinds;
        .param .u32 flags; .param .u64 depend; .param .u64 args;
        mov.u32 %r0, -2; st.param.u32 [device], %r0; st.param.u64 [fn], %x5; st.param.u64 [mapnum], %x1;
        st.param.u64 [addrs], %x2; st.param.u64 [sizes], %x3; st.param.u64 [kinds], %x4;
        call GOMP_target_ext, (device, fn, mapnum, addrs, sizes, kinds, flags, depend, args);
        }
        sub.u32 %r2, %r2, 1; setp.ne.u32 %p, %r2, 0; @%p bra AGAIN;
        ret;
    }";

/// Bytes of device memory: variables lie in its first half.
const BYTES: usize = 4096;
const AREA: usize = 512;
const REQUESTS: u32 = 3;

const TO: u16 = 1;
const FROM: u16 = 2;
const TOFROM: u16 = 3;
const ALLOC: u16 = 0;
const FIRSTPRIVATE: u16 = 12;
const ALWAYS_TOFROM: u16 = 0x13;

/// An item: where its variable lies among the bytes, its size and its kind.
#[derive(Clone, Copy)]
struct Item(Option<usize>, usize, u16);

/// Who makes the request.
#[derive(Clone, Copy, PartialEq)]
enum Who {
    Warp,
    Lane,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Short,
    Compact,
    Long,
}

/// Ends the launch when a test panics that would have served its requests.
struct Cancel<'a>(&'a AtomicBool);

impl Drop for Cancel<'_> {
    fn drop(&mut self) {
        self.0.store(thread::panicking(), Ordering::Relaxed);
    }
}

struct Gpu {
    memory: Arc<Memory>,
    module: Module,
    data: u64,
}

impl Gpu {
    /// With the runtime for this architecture.
    fn new(architecture: u32, seed: u64) -> Gpu {
        let memory = Arc::new(Memory::new(&[1 << 30]).expect("address space"));
        let device = Device::new(DeviceConfig { seed, ..DeviceConfig::default() }, Arc::clone(&memory));
        let path =
            format!("{}/device-runtime/ptx/target_ext.sm_{architecture}.ptx", env!("CARGO_MANIFEST_DIR"));
        let texts = [IMAGE.to_owned(), std::fs::read_to_string(path).expect("it is checked in")];
        let modules = texts.iter().map(|text| boomerang_ptx::parse(text).expect("well formed")).collect();
        let program = boomerang_ptx::link(modules).unwrap_or_else(|error| panic!("{error}"));
        let objects = texts.map(|text| Object { name: "object".into(), text });
        let module =
            Module::load(&program, objects.into(), &device).unwrap_or_else(|error| panic!("{error}"));
        let data = memory.alloc_device(0, BYTES as u64, 256).expect("device memory");
        Gpu { memory, module, data }
    }

    fn copy(&self, to: u64, from: u64, bytes: usize) {
        // SAFETY: the callers name memory of theirs and the device's.
        unsafe { self.memory.copy(to, from, bytes as u64) }.expect("it is there");
    }

    /// Makes requests for `items`; each time the host inverts all that comes back. Returns their form.
    fn request(&self, who: Who, func: u64, items: &[Item]) -> Form {
        let host = Box::new(MockDevice::new(1, AREA));
        for (address, bytes) in host.memory() {
            // SAFETY: the mock device's memory outlives the launch.
            unsafe { self.memory.register_host(address, bytes as u64, Kind::Pinned, 0) }.expect("ours alone");
        }
        let before: Vec<u8> = (0..BYTES).map(|i| (i * 7 + i / 256) as u8).collect();
        let mut bytes = before.clone();
        let addresses = items.iter().map(|item| item.0.map_or(0, |at| self.data + at as u64));
        let words: Vec<u64> = addresses.chain(items.iter().map(|item| item.1 as u64)).collect();
        let arrays = words.iter().flat_map(|word| word.to_ne_bytes());
        let arrays: Vec<u8> = arrays.chain(items.iter().flat_map(|item| item.2.to_ne_bytes())).collect();
        let (arrays_at, region_at, head_at) = (BYTES / 2, BYTES - 256, BYTES - 128);
        bytes[arrays_at..][..arrays.len()].copy_from_slice(&arrays);
        let region = host.region();
        // SAFETY: plain numbers without padding.
        let region: [u8; size_of::<Region>()] = unsafe { std::mem::transmute(region) };
        bytes[region_at..][..region.len()].copy_from_slice(&region);
        let count = items.len() as u64;
        let at = self.data + arrays_at as u64;
        let alone = if who == Who::Lane { u64::MAX } else { 0 };
        let head = [self.data + region_at as u64, count, at, at + 8 * count, at + 16 * count, alone, func];
        for (word, bytes) in head.iter().chain([&REQUESTS.into()]).zip(bytes[head_at..].chunks_exact_mut(8)) {
            bytes.copy_from_slice(&word.to_ne_bytes());
        }
        self.copy(self.data, bytes.as_ptr() as u64, BYTES);

        let kernel = self.module.kernel("k").expect("it is there");
        let params = (self.data + head_at as u64).to_ne_bytes();
        let threads = if who == Who::Lane { 1 } else { 32 };
        let launch = Launch {
            kernel: &kernel,
            grid: [1; 3],
            block: [threads, 1, 1],
            dynamic_shared: 0,
            params: &params,
        };
        let (ended, cancel) = (AtomicBool::new(false), AtomicBool::new(false));
        let mut expected = before;
        let forms = thread::scope(|scope| {
            scope.spawn(|| {
                run_grid(&launch, &cancel).unwrap_or_else(|fault| panic!("{fault}"));
                ended.store(true, Ordering::Release);
            });
            let _cancel = Cancel(&cancel);
            let mut forms = Vec::new();
            while forms.len() < REQUESTS as usize {
                assert!(!ended.load(Ordering::Acquire), "the kernel ended before its requests were served");
                match host.window.claim().expect("well formed") {
                    Some(claim) => forms.push(self.serve(claim, func, items, &mut expected)),
                    None => thread::yield_now(),
                }
            }
            forms
        });
        for (address, _) in host.memory() {
            self.memory.unregister_host(address);
        }
        self.copy(bytes.as_mut_ptr() as u64, self.data, BYTES);
        assert_eq!(bytes[..arrays_at], expected[..arrays_at], "what came back to the device");
        assert!(forms.iter().all(|form| *form == forms[0]), "{forms:?}");
        forms[0]
    }

    /// Serves a request. `device`: what is in the device's memory.
    fn serve(
        &self,
        mut claim: boomerang::reverse::window::Claim<'_>,
        func: u64,
        expected: &[Item],
        device: &mut [u8],
    ) -> Form {
        let mut items = Items::default();
        let mut data = claim.data(&mut items).expect("well formed");
        assert_eq!((data.request.func, data.request.mapnum), (func, expected.len() as u64));
        // The arrays, as libgomp asks for them.
        let count = expected.len();
        let mut words = vec![0; count * 8];
        if count != 0 && data.give(&mut words, data.request.sizes) {
            let sizes =
                words.chunks_exact(8).map(|bytes| u64::from_ne_bytes(bytes.try_into().expect("8 bytes")));
            for (size, Item(_, bytes, kind)) in sizes.zip(expected) {
                assert!(size == *bytes as u64 || kind & 0xff == FIRSTPRIVATE, "size {size} of {bytes} bytes");
            }
        }
        for Item(at, bytes, kind) in expected {
            let Some(at) = *at else { continue };
            let address = self.data + at as u64;
            if *bytes == 0 || !travels_to(*kind) && !travels_from(*kind) {
                continue;
            }
            let mut contents = vec![0; *bytes];
            if travels_to(*kind) {
                assert!(data.give(&mut contents, address), "{bytes} bytes at {at} travel");
                assert_eq!(contents, device[at..][..*bytes], "{bytes} bytes at {at}");
            }
            if travels_from(*kind) {
                contents.iter_mut().for_each(|byte| *byte = !*byte);
                assert!(data.take(address, &contents), "{bytes} bytes at {at} come back");
                device[at..][..*bytes].copy_from_slice(&contents);
            }
        }
        let form = match data.request.addrs {
            addrs if addrs == compact::ARRAYS[0] => Form::Compact,
            0 => Form::Short,
            _ => Form::Long,
        };
        let dirty = data.dirty;
        claim.reply(dirty);
        form
    }
}

/// `count` items of one size and kind, 16 bytes apart.
fn alike(count: usize, bytes: usize, kind: u16) -> Vec<Item> {
    (0..count).map(|i| Item(Some(i * 16), bytes, kind)).collect()
}

/// Items, and the form of a warp's request that maps them.
fn cases() -> Vec<(&'static str, Form, Vec<Item>)> {
    vec![
        ("nothing", Form::Short, vec![]),
        (
            "tofrom and firstprivate",
            Form::Compact,
            vec![Item(Some(8), 4, TOFROM), Item(Some(16), 4, FIRSTPRIVATE)],
        ),
        (
            "all directions",
            Form::Compact,
            [TO, FROM, TOFROM, FIRSTPRIVATE]
                .iter()
                .enumerate()
                .map(|(i, kind)| Item(Some(i * 8), 8, *kind))
                .collect(),
        ),
        (
            "alignments in kinds",
            Form::Compact,
            vec![Item(Some(8), 4, 0x200 | TOFROM), Item(Some(16), 8, 0x300 | FIRSTPRIVATE)],
        ),
        ("always", Form::Compact, vec![Item(Some(8), 4, ALWAYS_TOFROM)]),
        ("eight bytes at a multiple of four", Form::Compact, vec![Item(Some(4), 8, TOFROM)]),
        ("as many items as there may be", Form::Compact, alike(8, 8, TO)),
        ("one more", Form::Long, alike(9, 4, TO)),
        ("as many words back as there may be", Form::Compact, alike(7, 4, FROM)),
        ("one more back", Form::Long, alike(8, 4, FROM)),
        ("four times two words back", Form::Long, alike(4, 8, TOFROM)),
        ("two bytes", Form::Long, vec![Item(Some(8), 4, TO), Item(Some(16), 2, TOFROM)]),
        ("twelve bytes", Form::Long, vec![Item(Some(8), 12, TOFROM)]),
        ("four bytes at a multiple of two", Form::Long, vec![Item(Some(10), 4, TOFROM)]),
        ("a null address", Form::Compact, vec![Item(None, 4, TOFROM), Item(Some(8), 4, TOFROM)]),
        ("no bytes", Form::Compact, vec![Item(Some(8), 0, TOFROM), Item(Some(16), 4, TOFROM)]),
        (
            "two bytes that don't travel",
            Form::Compact,
            vec![Item(Some(9), 2, ALLOC), Item(Some(16), 4, TOFROM)],
        ),
        (
            "many bytes that don't travel",
            Form::Compact,
            vec![Item(Some(8), 1 << 40, ALLOC), Item(Some(16), 4, TOFROM)],
        ),
        ("a variable in two maps", Form::Compact, vec![Item(Some(8), 4, TO), Item(Some(8), 4, FIRSTPRIVATE)]),
        ("a large item", Form::Long, vec![Item(Some(0), 64, TOFROM), Item(Some(64), 4, TO)]),
    ]
}

#[test]
fn a_warp_that_maps_a_few_words_makes_a_compact_request_and_each_form_brings_all_there_and_back() {
    for architecture in [30, 70] {
        let gpu = Gpu::new(architecture, 0);
        for (what, form, items) in cases() {
            assert_eq!(gpu.request(Who::Warp, 0x1000, &items), form, "{what}, sm_{architecture}");
        }
    }
}

#[test]
fn a_lane_alone_makes_no_compact_request() {
    for architecture in [30, 70] {
        let gpu = Gpu::new(architecture, 0);
        for (what, form, items) in cases() {
            let expected = if form == Form::Short { Form::Short } else { Form::Long };
            assert_eq!(gpu.request(Who::Lane, 0x1000, &items), expected, "{what}, sm_{architecture}");
        }
    }
}

#[test]
fn a_function_whose_address_does_not_fit_is_in_a_long_request() {
    let gpu = Gpu::new(70, 0);
    let int = [Item(Some(8), 4, TOFROM)];
    assert_eq!(gpu.request(Who::Warp, 1 << 48, &int), Form::Long);
    assert_eq!(gpu.request(Who::Warp, (1 << 48) - 1, &int), Form::Compact);
}

#[test]
fn compact_requests_arrive_in_any_order_of_execution() {
    // Lanes part from sm_70 on only.
    for seed in 1..=60 {
        let gpu = Gpu::new(70, seed);
        for (_, form, items) in cases().iter().filter(|case| case.1 == Form::Compact) {
            assert_eq!(gpu.request(Who::Warp, 0x1000, items), *form);
        }
    }
}
