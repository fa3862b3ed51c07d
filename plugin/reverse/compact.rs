//! Requests of the compact form (`include/rev_wire.h`). To whoever serves one it is as a long request: its items are laid out in the
//! slot's inline area.

use super::items::{ARRAY_BYTES, Items};
use super::sync::{AtomicU64, Ordering};
use super::wire;

/// The addresses by which libgomp asks for a compact request's arrays, which have none on the device. No item has so large a one.
pub const ARRAYS: [u64; 3] = [1 << 63, 1 << 63 | 1, 1 << 63 | 2];

/// Where the area holds what the words of a reply bring back.
#[derive(Debug, Default)]
pub struct Places {
    places: [Place; wire::REPLY_WORDS],
    used: u8,
}

/// Four bytes of contents.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// The number of their item.
    number: u8,
    /// Where they are in the area, in fours of bytes. So few items are so near to its front.
    fours: u8,
}

/// The first of these words that doesn't carry `done`, the ticket + 1, if there is one.
pub fn missing(words: &[AtomicU64], done: u32) -> Option<u64> {
    // Acquire: pairs with the lanes' fence.acq_rel.sys before they store their words (before sm_70 membar.sys).
    words.iter().map(|word| word.load(Ordering::Acquire)).find(|word| (word >> 32) as u32 != done)
}

/// Lays out in `area` the items that these words hold, and has `items` find them.
///
/// # Errors
/// When they are none that a device runtime sends in this form: the head of the item that is not, or the number of items.
pub fn unfold(words: &[AtomicU64], items: &mut Items, area: &mut [u8]) -> Result<Places, u32> {
    let (mut sent, count) = ([[0; wire::ITEM_WORDS]; wire::COMPACT_ITEMS], words.len() / wire::ITEM_WORDS);
    for (bits, word) in sent.as_flattened_mut().iter_mut().zip(words) {
        // Relaxed: `missing` has seen them.
        *bits = word.load(Ordering::Relaxed) as u32;
    }
    let contents_of = |head: u32| (head >> (16 + wire::KIND_BITS)) as usize * 4;
    let arrays = area.get_mut(..count * ARRAY_BYTES).ok_or(count as u32)?;
    let (addresses, rest) = arrays.split_at_mut(count * 8);
    let (sizes, kinds) = rest.split_at_mut(count * 8);
    for (i, &[address, head, low, high]) in sent.iter().enumerate().take(count) {
        let address = u64::from(address) | u64::from(head & 0xffff) << 32;
        let size = match contents_of(head) {
            0 => u64::from(low) | u64::from(high) << 32,
            bytes => bytes as u64,
        };
        let kind = (head >> 16) as u16 & ((1 << wire::KIND_BITS) - 1);
        addresses[i * 8..][..8].copy_from_slice(&address.to_ne_bytes());
        sizes[i * 8..][..8].copy_from_slice(&size.to_ne_bytes());
        kinds[i * 2..][..2].copy_from_slice(&kind.to_ne_bytes());
    }
    if !items.read(count as u64, area) {
        return Err(count as u32);
    }
    let mut places = Places::default();
    for item in items.iter() {
        let [_, head, contents @ ..] = &sent[item.number as usize];
        if contents_of(*head) != item.bytes || item.bytes > 8 {
            return Err(*head);
        }
        for (word, contents) in contents[..item.bytes / 4].iter().enumerate() {
            let offset = item.offset + word * 4;
            area[offset..][..4].copy_from_slice(&contents.to_ne_bytes());
            if item.from {
                let place = places.places.get_mut(usize::from(places.used)).ok_or(*head)?;
                *place = Place { number: item.number as u8, fours: (offset / 4) as u8 };
                places.used += 1;
            }
        }
    }
    Ok(places)
}

/// Writes the contents of the items that `dirty` names into the reply's words; returns which words these are, bit i for word i - 1.
pub fn reply(places: &Places, dirty: u32, area: &[u8], words: &[AtomicU64], done: u32) -> u32 {
    let mut written = 0;
    for (i, (place, word)) in places.places[..places.used.into()].iter().zip(words).enumerate() {
        if dirty >> place.number & 1 != 0 {
            let bits =
                u32::from_ne_bytes(area[usize::from(place.fours) * 4..][..4].try_into().expect("4 bytes"));
            // Relaxed: the release store of `done` follows.
            word.store(wire::word(done.wrapping_sub(1), bits), Ordering::Relaxed);
            written |= 2 << i;
        }
    }
    written
}
