//! The data of a request that is at hand: its map arrays, and those of its items that lie in an *area* of pinned memory, because they
//! travelled with it or were fetched in one go. The area's layout is that of an inline area (`include/rev_wire.h`).

use super::slot::Request;
use super::wire;
use crate::device::Device;
use crate::driver::{DevicePtr, Driver, Stream};
use crate::error::Result;
use crate::memory::copy;
use crate::openacc::queue::RequestCopies;
use std::ffi::c_void;
use std::slice;

/// Where one item's bytes are in the area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its device address.
    pub address: DevicePtr,
    /// Its size.
    pub bytes: usize,
    /// Where it is in the area.
    pub offset: usize,
    /// Whether its bytes go to the host.
    pub to: bool,
    /// Whether they come back.
    pub from: bool,
    /// Its place in the arrays.
    pub number: u32,
}

/// Which items are in the area. Kept from request to request, for the memory.
#[derive(Debug, Default)]
pub struct Items {
    /// A copy of the arrays, as libgomp gets them: what is checked once can't change later.
    arrays: Vec<u8>,
    items: Vec<Item>,
    /// Address and size of the items whose size in the arrays is a larger one.
    padded: Vec<(DevicePtr, usize)>,
}

/// Bytes of the three arrays of one item: address, size, kind.
pub const ARRAY_BYTES: usize = 8 + 8 + 2;

/// `GOMP_MAP_FIRSTPRIVATE` (gomp-constants.h): libgomp makes a copy of the item for the served block.
const FIRSTPRIVATE: u16 = 12;
/// Alignment of those copies, as far as it can be had: that of memory of `alloca`.
const PRIVATE_ALIGN: usize = 16;

impl Items {
    /// Forgets the last request.
    pub fn clear(&mut self) {
        self.arrays.clear();
        self.items.clear();
        self.padded.clear();
    }

    /// Takes up the arrays at the front of `area` and finds the items behind them. False if the arrays don't fit.
    pub fn read(&mut self, mapnum: u64, area: &[u8]) -> bool {
        self.clear();
        let bytes = usize::try_from(mapnum).ok().and_then(|mapnum| mapnum.checked_mul(ARRAY_BYTES));
        let Some(arrays) = bytes.and_then(|bytes| area.get(..bytes)) else { return false };
        self.arrays.extend_from_slice(arrays);
        self.find(area.len());
        self.align_private();
        true
    }

    /// The rule of `rev_wire.h`.
    fn find(&mut self, area_bytes: usize) {
        let mapnum = self.arrays.len() / ARRAY_BYTES;
        let (words, kinds) = self.arrays.split_at(mapnum * 16);
        let word = |i: usize| u64::from_ne_bytes(words[i * 8..][..8].try_into().expect("8 bytes"));
        let kind = |i: usize| u16::from_ne_bytes(kinds[i * 2..][..2].try_into().expect("2 bytes"));
        let mut offset = self.arrays.len().next_multiple_of(wire::ITEM_ALIGN);
        for i in 0..mapnum.min(wire::MAX_INLINE_ITEMS) {
            let (address, bytes, kind) = (word(i), word(mapnum + i), kind(i));
            let (to, from) = (wire::travels_to(kind), wire::travels_from(kind));
            let room = area_bytes.saturating_sub(offset);
            let Ok(bytes) = usize::try_from(bytes) else { continue };
            let Some(taken) = bytes.checked_next_multiple_of(wire::ITEM_ALIGN) else { continue };
            if address != 0 && bytes != 0 && taken <= room && (to || from) {
                self.items.push(Item { address, bytes, offset, to, from, number: i as u32 });
                offset += taken;
            }
        }
    }

    /// Has libgomp make the copies of `firstprivate` items. libgomp 13 to 16 (`gomp_target_rev`) copies only those whose kind says
    /// nothing of an alignment, one behind the other, and leaves the device's addresses of others to the served block. So alignments
    /// are taken out of the kinds, and sizes rounded up: every copy then begins at a multiple of [`PRIVATE_ALIGN`] from where
    /// `alloca` put the first. Types that want more than that may lie misaligned.
    fn align_private(&mut self) {
        let mapnum = self.arrays.len() / ARRAY_BYTES;
        let (addresses, rest) = self.arrays.split_at_mut(mapnum * 8);
        let (sizes, kinds) = rest.split_at_mut(mapnum * 8);
        let words = addresses.chunks_exact(8).zip(sizes.chunks_exact_mut(8));
        for ((address, size), kind) in words.zip(kinds.chunks_exact_mut(2)) {
            if u16::from_ne_bytes([kind[0], kind[1]]) & 0xff != FIRSTPRIVATE {
                continue;
            }
            kind.copy_from_slice(&FIRSTPRIVATE.to_ne_bytes());
            let word = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().expect("8 bytes"));
            let Ok(bytes) = usize::try_from(word(size)) else { continue };
            if let Some(padded) =
                bytes.checked_next_multiple_of(PRIVATE_ALIGN).filter(|padded| *padded != bytes)
            {
                self.padded.push((word(address), bytes));
                size.copy_from_slice(&(padded as u64).to_ne_bytes());
            }
        }
    }

    /// How many bytes there are of what libgomp takes for `bytes` at `address`.
    fn bytes_of(&self, address: DevicePtr, bytes: usize) -> usize {
        let is_it =
            |item: &&(DevicePtr, usize)| item.0 == address && item.1.next_multiple_of(PRIVATE_ALIGN) == bytes;
        self.padded.iter().find(is_it).map_or(bytes, |item| item.1)
    }

    /// Fetches the arrays alone, where they did not come with the request and don't fit into its area.
    fn fetch_arrays(&mut self, device: &Device, request: &Request) -> Result<()> {
        let mapnum = request.mapnum as usize;
        let mut arrays = vec![0; mapnum * ARRAY_BYTES];
        let (addresses, rest) = arrays.split_at_mut(mapnum * 8);
        let (sizes, kinds) = rest.split_at_mut(mapnum * 8);
        for (to, from) in [(addresses, request.addrs), (sizes, request.sizes), (kinds, request.kinds)] {
            // SAFETY: memory of ours.
            unsafe { copy::to_host(device, to.as_mut_ptr().cast(), from, to.len()) }?;
        }
        self.arrays = arrays;
        self.align_private();
        Ok(())
    }

    /// The items found.
    pub fn iter(&self) -> impl Iterator<Item = &Item> {
        self.items.iter()
    }

    /// Fetches a request's arrays and items from the device into `area`, all arrays and then all items at once. Leaves out what can't
    /// be had: libgomp asks for it again and gets the error.
    pub fn fetch(&mut self, driver: &Driver, stream: Stream, request: &Request, area: &mut [u8]) {
        self.clear();
        let mapnum = usize::try_from(request.mapnum).unwrap_or(usize::MAX);
        if mapnum.checked_mul(ARRAY_BYTES).is_none_or(|bytes| bytes > area.len()) {
            return;
        }
        let get = |area: &mut [u8], offset: usize, from: DevicePtr, bytes: usize| {
            let to = area[offset..offset + bytes].as_mut_ptr();
            // SAFETY: pinned memory of ours, which nobody else uses before the stream has been waited for.
            unsafe { driver.copy_to_host_async(to.cast(), from, bytes, stream) }
        };
        let arrays = get(area, 0, request.addrs, mapnum * 8)
            .and_then(|()| get(area, mapnum * 8, request.sizes, mapnum * 8))
            .and_then(|()| get(area, mapnum * 16, request.kinds, mapnum * 2));
        // Also after an error: an earlier copy may be under way.
        if driver.synchronize_stream(stream).and(arrays).is_err() || !self.read(request.mapnum, area) {
            return;
        }
        self.items.retain(|item| !item.to || get(area, item.offset, item.address, item.bytes).is_ok());
        if driver.synchronize_stream(stream).is_err() {
            self.clear();
        }
    }
}

/// A request's data, on its way between libgomp and the device.
pub struct Data<'a> {
    /// The request.
    pub request: Request,
    /// What is in the area.
    pub items: &'a mut Items,
    /// The area.
    pub area: &'a mut [u8],
    /// Bit i: libgomp has put new contents of item i into the area.
    pub dirty: u32,
}

impl Data<'_> {
    /// Gives the bytes of device memory at `from`; false if they aren't at hand.
    pub fn give(&self, to: &mut [u8], from: DevicePtr) -> bool {
        let Items { arrays, items, .. } = &*self.items;
        let mapnum = arrays.len() / ARRAY_BYTES;
        let Request { addrs, sizes, kinds, .. } = self.request;
        for (address, start, end) in
            [(addrs, 0, mapnum * 8), (sizes, mapnum * 8, mapnum * 16), (kinds, mapnum * 16, mapnum * 18)]
        {
            if mapnum != 0 && address == from && to.len() == end - start {
                to.copy_from_slice(&arrays[start..end]);
                return true;
            }
        }
        let inside = |item: &&Item| {
            let behind =
                from.checked_sub(item.address).and_then(|skip| (item.bytes as u64).checked_sub(skip));
            item.to && behind.is_some_and(|behind| to.len() as u64 <= behind)
        };
        let Some(item) = items.iter().find(inside) else { return false };
        let start = item.offset + (from - item.address) as usize;
        to.copy_from_slice(&self.area[start..start + to.len()]);
        true
    }

    /// Takes new contents of the item at `to`; false if it has no place in the area.
    pub fn take(&mut self, to: DevicePtr, from: &[u8]) -> bool {
        let whole = |item: &&Item| item.from && item.address == to && item.bytes == from.len();
        let Some(item) = self.items.iter().find(whole) else { return false };
        self.area[item.offset..item.offset + item.bytes].copy_from_slice(from);
        self.dirty |= 1 << item.number;
        true
    }

    /// The items that have new contents, with those.
    pub fn changed(&self) -> impl Iterator<Item = (DevicePtr, &[u8])> {
        let changed = self.items.iter().filter(|item| self.dirty >> item.number & 1 != 0);
        changed.map(|item| (item.address, &self.area[item.offset..item.offset + item.bytes]))
    }
}

impl RequestCopies for Data<'_> {
    unsafe fn read(&mut self, device: &Device, to: *mut c_void, from: DevicePtr, bytes: usize) -> Result<()> {
        let Request { mapnum, addrs, .. } = self.request;
        let is_first = bytes != 0 && from == addrs && mapnum.checked_mul(8) == Some(bytes as u64);
        if is_first && self.items.arrays.is_empty() {
            self.items.fetch_arrays(device, &self.request)?;
        }
        let bytes = self.items.bytes_of(from, bytes);
        // SAFETY: the caller's promise.
        if self.give(unsafe { slice::from_raw_parts_mut(to.cast(), bytes) }, from) {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        unsafe { copy::to_host(device, to, from, bytes) }
    }

    unsafe fn write(
        &mut self,
        device: &Device,
        to: DevicePtr,
        from: *const c_void,
        bytes: usize,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        if self.take(to, unsafe { slice::from_raw_parts(from.cast(), bytes) }) {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        unsafe { copy::to_device(device, to, from, bytes) }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// An area that holds the arrays of `items` (address, size, kind), and as many bytes behind.
    fn area(items: &[(u64, u64, u16)], bytes: usize) -> Vec<u8> {
        let words = items.iter().map(|item| item.0).chain(items.iter().map(|item| item.1));
        let mut area: Vec<u8> = words.flat_map(u64::to_ne_bytes).collect();
        area.extend(items.iter().flat_map(|item| item.2.to_ne_bytes()));
        area.resize(area.len().next_multiple_of(16) + bytes, 0);
        area
    }

    fn request(mapnum: u64) -> Request {
        Request { func: 1, mapnum, addrs: 0x100, sizes: 0x200, kinds: 0x300, dev_num: 0 }
    }

    const TO: u16 = 1;
    const TOFROM: u16 = 0x203;
    const ALLOC: u16 = 0;

    #[test]
    fn items_lie_one_behind_the_other_and_those_that_do_not_move_take_no_room() {
        let area = area(&[(0x1000, 4, TO), (0x2000, 8, ALLOC), (0, 4, TO), (0x3000, 17, TOFROM)], 64);
        let mut items = Items::default();
        assert!(items.read(4, &area));
        let found: Vec<_> = items.iter().map(|item| (item.address, item.offset, item.bytes)).collect();
        assert_eq!(found, [(0x1000, 80, 4), (0x3000, 96, 17)]);
    }

    #[test]
    fn an_item_that_does_not_fit_is_left_out_and_a_later_one_may_fit() {
        let area = area(&[(0x1000, 100, TO), (0x2000, 16, TO)], 32);
        let mut items = Items::default();
        assert!(items.read(2, &area));
        assert_eq!(items.iter().map(|item| item.address).collect::<Vec<_>>(), [0x2000]);
    }

    #[test]
    fn what_is_at_hand_is_given_and_what_is_not_is_not() {
        let mut area = area(&[(0x1000, 4, TO), (0x2000, 8, TOFROM)], 64);
        let offset = 48;
        area[offset..offset + 4].copy_from_slice(&[1, 2, 3, 4]);
        let mut items = Items::default();
        assert!(items.read(2, &area));
        let data = Data { request: request(2), items: &mut items, area: &mut area, dirty: 0 };
        let mut bytes = [0; 2];
        assert!(data.give(&mut bytes, 0x1001));
        assert_eq!(bytes, [2, 3]);
        assert!(data.give(&mut [0; 16], 0x200), "the sizes");
        for (length, from) in [(2, 0x1003), (4, 0xfff), (16, 0x1000), (8, 0x200), (1, u64::MAX)] {
            assert!(!data.give(&mut vec![0; length], from), "{length} bytes at {from:#x}");
        }
    }

    #[test]
    fn only_whole_items_that_come_back_are_taken() {
        let mut area = area(&[(0x1000, 4, TO), (0x2000, 8, TOFROM)], 64);
        let mut items = Items::default();
        assert!(items.read(2, &area));
        let mut data = Data { request: request(2), items: &mut items, area: &mut area, dirty: 0 };
        assert!(!data.take(0x1000, &[1; 4]));
        assert!(!data.take(0x2000, &[1; 4]));
        assert!(!data.take(0x2004, &[1; 4]));
        assert_eq!(data.changed().count(), 0);
        assert!(data.take(0x2000, &[7; 8]));
        assert_eq!(data.changed().collect::<Vec<_>>(), [(0x2000, [7; 8].as_slice())]);
    }

    #[test]
    fn firstprivate_items_lose_their_alignment_and_are_padded_to_sixteen_bytes() {
        let area = area(&[(0x1000, 4, 0x20c), (0x2000, 8, TOFROM), (0x3000, 32, 0x40c)], 64);
        let mut items = Items::default();
        assert!(items.read(3, &area));
        let (sizes, kinds) = (&items.arrays[24..48], &items.arrays[48..]);
        assert_eq!(sizes.iter().step_by(8).collect::<Vec<_>>(), [&16, &8, &32]);
        assert_eq!(kinds, [FIRSTPRIVATE, TOFROM, FIRSTPRIVATE].map(u16::to_ne_bytes).as_flattened());
        assert_eq!(items.iter().next().map(|item| item.bytes), Some(4), "no more is fetched than there is");
        assert_eq!(items.bytes_of(0x1000, 16), 4);
        assert_eq!([items.bytes_of(0x2000, 8), items.bytes_of(0x3000, 32)], [8, 32]);
    }

    #[test]
    fn garbage_never_reaches_outside_the_area() {
        for (address, size) in [(1, u64::MAX), (u64::MAX, 1), (u64::MAX, u64::MAX), (1, 1 << 63), (8, 65)] {
            let mut area = area(&[(address, size, TOFROM)], 64);
            let mut items = Items::default();
            assert!(items.read(1, &area));
            let length = area.len();
            assert!(items.iter().all(|item| item.offset + item.bytes <= length));
            let mut data = Data { request: request(1), items: &mut items, area: &mut area, dirty: 0 };
            let _ = data.give(&mut [0; 8], address);
            let _ = data.take(address, &[0; 8]);
        }
        let mut items = Items::default();
        assert!(!items.read(u64::MAX, &[0; 64]));
        assert!(!items.read(4, &[0; 64]));
    }
}
