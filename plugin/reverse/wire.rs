//! What a kernel and the host share for reverse offload through our device runtime: the Rust side of `include/rev_wire.h`, which
//! explains it. `tests/wire_layout.rs` compares the two.

use super::sync::{AtomicI32, AtomicU32, AtomicU64};

/// `REV_WIRE_VERSION`
pub const VERSION: u32 = 5;
/// `REV_FN_BITS`
pub const FN_BITS: u32 = 48;
/// `REV_DEV_NUM_BITS`
pub const DEV_NUM_BITS: u32 = 4;
/// `REV_ITEMS_BITS`
pub const ITEMS_BITS: u32 = 4;
/// `REV_COMPACT_ITEMS`; loom's models have one item.
pub const COMPACT_ITEMS: usize = if cfg!(loom) { 1 } else { 8 };
/// `REV_ITEM_WORDS`
pub const ITEM_WORDS: usize = 4;
/// `REV_REPLY_WORDS`
pub const REPLY_WORDS: usize = if cfg!(loom) { 1 } else { 7 };
/// `REV_ADDRESS_BITS`
pub const ADDRESS_BITS: u32 = 48;
/// `REV_KIND_BITS`
pub const KIND_BITS: u32 = 14;
/// `REV_REGION_BYTES`
pub const REGION_BYTES: u64 = 256;
/// Slots in a window, at least: their turns keep what lies behind them aligned.
pub const MIN_SLOTS: usize = 16;
/// `REV_MAX_SLOTS`
pub const MAX_SLOTS: usize = 1024;
/// `REV_MAX_INLINE_ITEMS`
pub const MAX_INLINE_ITEMS: usize = 32;
/// `REV_ITEM_ALIGN`
pub const ITEM_ALIGN: usize = 16;
/// `REV_OP_TARGET`
pub const OP_TARGET: u32 = 0;
/// `REV_OP_USER`
pub const OP_USER: u32 = 1;

/// `struct rev_region`
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Region {
    /// [`VERSION`]
    pub version: u32,
    /// Number of slots - 1.
    pub slot_mask: u32,
    /// Bytes of each inline area.
    pub area_bytes: u32,
    /// The device's count of teams that have ended; zero between kernels.
    pub ended_teams: u32,
    /// Address of the first `posted` word.
    pub posted: u64,
    /// Address of the first [`Request`].
    pub requests: u64,
    /// Address of the first [`Reply`].
    pub replies: u64,
    /// Address of the first inline area.
    pub areas: u64,
    /// Address of the first [`Turn`].
    pub turns: u64,
    /// Address of the [`Bell`].
    pub bell: u64,
    /// Address of the word that the last team of a kernel sets to 1.
    pub end: u64,
    /// Address of the first [`Words`].
    pub words: u64,
}

/// `struct rev_turn`, which the host only clears; the mock device uses it.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Turn {
    pub(super) next: AtomicU32,
    pub(super) serving: AtomicU32,
    pub(super) left: AtomicU32,
    first_look: u32,
}

/// `REV_BELL_COPIES`; loom's models have one requester.
pub const BELL_COPIES: usize = if cfg!(loom) { 1 } else { 64 };

/// `struct rev_bell`
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Bell {
    /// 1 to wake the host.
    pub rung: AtomicU32,
    /// Copies of the word that says that the host has to be rung for.
    pub asleep: [Asleep; BELL_COPIES],
}

/// 1 while the host has to be rung for.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Asleep(pub AtomicU32);

impl Default for Bell {
    fn default() -> Bell {
        Bell { rung: AtomicU32::new(0), asleep: std::array::from_fn(|_| Asleep::default()) }
    }
}

/// `struct rev_request`
#[derive(Debug, Default)]
#[repr(C)]
pub struct Request {
    /// [`OP_TARGET`] or [`OP_USER`].
    pub op: AtomicU32,
    /// Whether the inline area holds the arrays.
    pub has_inline: AtomicU32,
    /// Function or opcode.
    pub func: AtomicU64,
    /// Number of items, or bytes.
    pub mapnum: AtomicU64,
    /// Device address of the array of addresses.
    pub addrs: AtomicU64,
    /// Device address of the array of sizes.
    pub sizes: AtomicU64,
    /// Device address of the array of kinds.
    pub kinds: AtomicU64,
    /// Device number.
    pub dev_num: AtomicI32,
    reserved: [u32; 3],
}

/// `struct rev_words`
#[derive(Debug, Default)]
#[repr(C)]
pub struct Words(pub [AtomicU64; COMPACT_ITEMS * ITEM_WORDS]);

/// `REV_WORD`: a word of the request of a ticket, or of the reply to it.
pub fn word(ticket: u32, bits: u32) -> u64 {
    u64::from(ticket.wrapping_add(1)) << 32 | u64::from(bits)
}

/// `REV_POSTED`: the word that posts the request of a ticket: the number of items, the device's number and the function; or 0.
pub fn posted(ticket: u32, items: u8, dev_num: u8, func: u64) -> u64 {
    u64::from(ticket.wrapping_add(1) as u8) << (FN_BITS + DEV_NUM_BITS + ITEMS_BITS)
        | u64::from(items) << (FN_BITS + DEV_NUM_BITS)
        | u64::from(dev_num) << FN_BITS
        | func
}

/// The low byte of ticket + 1 in such a word.
pub fn ticket_byte(posted: u64) -> u8 {
    (posted >> (FN_BITS + DEV_NUM_BITS + ITEMS_BITS)) as u8
}

/// The function in such a word; 0 of a long request.
pub fn func(posted: u64) -> u64 {
    posted & ((1 << FN_BITS) - 1)
}

/// The device's number in such a word.
pub fn dev_num(posted: u64) -> i32 {
    (posted >> FN_BITS) as i32 & ((1 << DEV_NUM_BITS) - 1)
}

/// How many items such a word announces in the slot's [`Words`].
pub fn items(posted: u64) -> usize {
    if func(posted) == 0 {
        return 0;
    }
    (posted >> (FN_BITS + DEV_NUM_BITS)) as usize & ((1 << ITEMS_BITS) - 1)
}

/// `struct rev_reply`
#[derive(Debug, Default)]
#[repr(C)]
pub struct Reply {
    /// Low half: ticket + 1 of the request that was served last. High half: bit i says that item i has new contents; or, of a compact
    /// request, that word i - 1 brings such.
    pub done_and_dirty: AtomicU64,
    /// New contents of a compact request's items.
    pub words: [AtomicU64; REPLY_WORDS],
}

/// Whether an item of this kind travels to the server (`rev_kind_to`).
pub fn travels_to(kind: u16) -> bool {
    matches!(kind & 0xff, 1 | 3 | 12 | 0x81 | 0x83 | 0x11 | 0x13 | 0x95 | 0x97)
}

/// Whether an item of this kind travels back (`rev_kind_from`).
pub fn travels_from(kind: u16) -> bool {
    matches!(kind & 0xff, 2 | 3 | 0x82 | 0x83 | 0x12 | 0x13 | 0x96 | 0x97)
}

#[cfg(not(loom))]
const _: () = {
    use std::mem::{offset_of, size_of};
    assert!(size_of::<Request>() == 64 && offset_of!(Request, dev_num) == 48);
    assert!(size_of::<Reply>() == 64);
    assert!(size_of::<Turn>() == 16);
    assert!(size_of::<Region>() as u64 <= REGION_BYTES && offset_of!(Region, bell) == 56);
    assert!(offset_of!(Region, ended_teams) == 12 && offset_of!(Region, end) == 64);
    assert!(offset_of!(Region, words) == 72 && size_of::<Words>() == 256);
    assert!(offset_of!(Bell, asleep) == 64 && size_of::<Bell>() == 64 * (1 + BELL_COPIES));
};
