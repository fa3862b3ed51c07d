//! Devices.

use crate::c::{In, Out};
use crate::core::device::{NAME, device as find, platform};
use crate::env::settings;
use crate::error::{Error, Result};
use crate::types::{CUdevice, CUuuid};
use boomerang_gpu::CLOCK_KHZ;
use std::ffi::{c_char, c_int, c_uint};

/// `cuDeviceGet`
pub fn get(device: Out<CUdevice>, ordinal: c_int) -> Result {
    find(ordinal)?;
    device.set(ordinal)
}

/// `cuDeviceGetCount`
pub fn count(count: Out<c_int>) -> Result {
    count.set(platform().devices.len() as c_int)
}

/// Stores a string of at most `length` bytes with its NUL, cut if need be.
fn store_text(place: Out<u8>, length: c_int, text: &str) -> Result {
    place.require()?;
    let room = usize::try_from(length).ok().filter(|n| *n > 0).ok_or(Error::INVALID_VALUE)?;
    let kept = &text.as_bytes()[..text.len().min(room - 1)];
    for (i, byte) in kept.iter().chain(&[0]).enumerate() {
        place.at(i).set(*byte)?;
    }
    Ok(())
}

/// `cuDeviceGetName`
pub fn name(name: Out<u8>, length: c_int, device: CUdevice) -> Result {
    find(device)?;
    store_text(name, length, NAME)
}

/// `cuDeviceGetUuid`: the same in every process, different for each device.
pub fn uuid(uuid: Out<CUuuid>, device: CUdevice) -> Result {
    let ordinal = find(device)?.ordinal as u8;
    let mut bytes = *b"boomerang-sim\0\0\0";
    bytes[15] = ordinal;
    uuid.set(CUuuid { bytes })
}

/// `cuDeviceTotalMem`
pub fn total_memory(bytes: Out<usize>, device: CUdevice) -> Result {
    bytes.set(platform().memory.capacity(find(device)?.ordinal) as usize)
}

/// `cuDeviceGetPCIBusId`
pub fn pci_bus_id(id: Out<u8>, length: c_int, device: CUdevice) -> Result {
    store_text(id, length, &bus_id(find(device)?.ordinal))
}

/// Device `n` sits alone on bus `n + 1`.
fn bus_id(ordinal: usize) -> String {
    format!("0000:{:02X}:00.0", ordinal + 1)
}

/// `cuDeviceGetByPCIBusId`
pub fn by_pci_bus_id(device: Out<CUdevice>, id: In<c_char>) -> Result {
    let id = id.text()?;
    let same = |d: usize| {
        let own = bus_id(d);
        own.eq_ignore_ascii_case(&id) || own["0000:".len()..].eq_ignore_ascii_case(&id)
    };
    let found = (0..platform().devices.len()).find(|d| same(*d)).ok_or(Error::INVALID_DEVICE)?;
    device.set(found as CUdevice)
}

/// `cuDeviceCanAccessPeer`: every pair of different devices can.
pub fn can_access_peer(can: Out<c_int>, device: CUdevice, peer: CUdevice) -> Result {
    can.set((find(device)?.ordinal != find(peer)?.ordinal).into())
}

/// `cuDeviceGetP2PAttribute`
pub fn p2p_attribute(value: Out<c_int>, attribute: c_uint, from: CUdevice, to: CUdevice) -> Result {
    if find(from)?.ordinal == find(to)?.ordinal {
        return Err(Error::INVALID_DEVICE);
    }
    value.set(match attribute {
        1 => 0, // performance rank: all links are alike
        2 => 1, // access
        3 => 1, // atomics
        4 => 0, // arrays
        _ => return Err(Error::INVALID_VALUE),
    })
}

/// `cuDeviceGetAttribute`
pub fn attribute(value: Out<c_int>, attribute: c_uint, device: CUdevice) -> Result {
    let device = find(device)?;
    let memory_operations = settings().memops.into();
    // By number: `CUdevice_attribute` of cuda.h. Limits are those of compute capability 9.0.
    value.set(match attribute {
        1..=3 => 1024,   // threads of a block, in x, in y
        4 => 64,         // in z
        5 => i32::MAX,   // blocks in x
        6 | 7 => 65535,  // blocks in y, z
        8 => 48 << 10,   // shared memory of a block
        9 => 64 << 10,   // constant memory
        10 => 32,        // warp
        11 => i32::MAX,  // pitch
        12 => 65536,     // registers of a block
        13 => CLOCK_KHZ, // clock
        14 => 512,       // texture alignment
        15 => 1,         // overlap of copies and kernels
        16 => device.gpu.config().multiprocessors as c_int,
        17 | 18 => 0,                      // time limit, integrated
        19 => 1,                           // mapped host memory
        20 => 0,                           // compute mode: default
        31 => 1,                           // concurrent kernels
        32 => 0,                           // ECC
        33 => device.ordinal as c_int + 1, // PCI bus
        34 | 35 => 0,                      // PCI device, TCC
        36 => 3_201_000,                   // memory clock in kHz, an H200's
        37 => 6144,                        // memory bus in bits, an H200's
        38 => 60 << 20,                    // L2 cache
        39 => 2048,                        // threads of a multiprocessor
        40 => 3,                           // copy engines
        41 => 1,                           // unified addressing
        50 => 0,                           // PCI domain
        75 => (device.gpu.config().sm / 10) as c_int,
        76 => (device.gpu.config().sm % 10) as c_int,
        78 => 1,                                  // stream priorities
        79 | 80 => 1,                             // L1 for global and local memory
        81 => 228 << 10,                          // shared memory of a multiprocessor
        82 => 65536,                              // registers of a multiprocessor
        83 => 1,                                  // managed memory
        84 | 85 => 0,                             // multi-GPU board
        86 => 0,                                  // atomics on host memory are the host's too
        87 => 2,                                  // single to double speed
        88 => 0,                                  // pageable memory access
        89 => 1,                                  // concurrent managed access
        90 => 1,                                  // preemption
        91 => 1,                                  // registered memory has the host's address
        92..=94 | 122 | 123 => memory_operations, // stream memory operations, 64-bit, NOR
        95 | 96 => 0,                             // cooperative launch
        97 => 227 << 10,                          // shared memory of a block that opts in
        98 => 0,                                  // flush remote writes
        99 => 1,                                  // host register
        100..=105 => 0,                           // host page tables, virtual memory handles
        106 => 32,                                // blocks of a multiprocessor
        107..=110 => 0,                           // compression, persisting L2, RDMA
        111 => 1024,                              // shared memory that a block loses
        112..=114 => 0,                           // sparse arrays, read-only registration, semaphores
        115 => 1,                                 // memory pools
        116..=119 => 0,                           // RDMA, pool handles
        120 => 0,                                 // clusters
        121 | 124..=136 => 0,                     // arrays, DMA-BUF, IPC, tensor maps, fabric, NUMA, MPS
        21..=30 | 42..=49 | 51..=74 | 77 => 0,    // textures and surfaces
        _ => return Err(Error::INVALID_VALUE),
    })
}
