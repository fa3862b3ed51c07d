//! A device that writes garbage into its window can't have the host read or write anything else: what it asks for is served within
//! its own slot, or refused with a message that names slot and field. A case that goes wrong is added to `tests/hostile/`.

use boomerang::reverse::items::Items;
use boomerang::reverse::mock::{Garbage, MockDevice};
use boomerang::reverse::window::{Claim, Malformed};
use boomerang::reverse::wire::{self, ITEM_WORDS, KIND_BITS, OP_TARGET, OP_USER};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::FileFailurePersistence;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const SLOTS: usize = 4;
const AREA: usize = 512;
/// The slot that is written into, with neighbours on both sides.
const SLOT: usize = 1;
/// What the neighbours' areas hold.
const CANARY: u8 = 0xc5;

/// Numbers as they go wrong: small, about a power of two, anything.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 0..64u64,
        2 => (0..64u32, -2..3i64).prop_map(|(power, off)| (1u64 << power).wrapping_add_signed(off)),
        1 => any::<u64>(),
    ]
}

/// `posted` with the expected ticket, and without.
fn posted() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => Just(wire::posted(0, 0, 0, 0)),
        1 => (0..16u8, any::<u64>()).prop_map(|(device, func)| wire::posted(0, 0, device, wire::func(func))),
        4 => (0..16u8, 0..16u8).prop_map(|(items, device)| wire::posted(0, items, device, 1)),
        1 => any::<u64>(),
    ]
}

/// The words of a compact request: items as they are, and as they aren't, most of them all with the expected ticket.
fn items() -> impl Strategy<Value = Vec<u64>> {
    let kind = prop_oneof![4 => 0..4u32, 2 => Just(12), 2 => 0..0x100u32, 1 => 0..1u32 << KIND_BITS];
    let head = (kind, 0..4u32, prop_oneof![4 => Just(0), 1 => 0..0x10000u32])
        .prop_map(|(kind, words, high)| high | kind << 16 | words << (16 + KIND_BITS));
    let item = (number(), head, number(), number())
        .prop_map(|(address, head, low, high)| [address as u32, head, low as u32, high as u32]);
    let ticket = prop_oneof![20 => Just(0u32), 1 => any::<u32>()];
    (vec(item, 0..=8), ticket, any::<u8>()).prop_map(|(items, ticket, at)| {
        let mut words: Vec<u64> =
            items.into_flattened().into_iter().map(|bits| wire::word(0, bits)).collect();
        if let Some(word) = words.get_mut(usize::from(at) % (8 * ITEM_WORDS)) {
            *word = wire::word(ticket, *word as u32);
        }
        words
    })
}

/// An area: arrays of numbers, and of the kinds that there are, as far as they fit.
fn area() -> impl Strategy<Value = Vec<u8>> {
    let kinds = prop_oneof![4 => 0..4u16, 2 => 0..0x100u16, 1 => any::<u16>()];
    prop_oneof![
        3 => (vec(number(), 0..20), vec(kinds, 0..12)).prop_map(|(words, kinds)| {
            let kinds = kinds.into_iter().flat_map(u16::to_ne_bytes);
            words.into_iter().flat_map(u64::to_ne_bytes).chain(kinds).collect()
        }),
        1 => vec(any::<u8>(), 0..AREA),
    ]
}

fn garbage() -> impl Strategy<Value = Garbage> {
    let op = prop_oneof![4 => Just(OP_TARGET), 2 => Just(OP_USER), 1 => any::<u32>()];
    let has_inline = prop_oneof![4 => Just(1), 2 => Just(0), 1 => any::<u32>()];
    let words = [number(), number(), number(), number(), number()];
    (posted(), op, words, any::<i32>(), has_inline, area(), items()).prop_map(
        |(posted, op, words, dev_num, has_inline, area, items)| Garbage {
            posted,
            op,
            words,
            dev_num,
            has_inline,
            area,
            items,
        },
    )
}

/// Does all that serving may do with a request: gets and puts what it names, and much that it doesn't.
fn serve(mut claim: Claim<'_>, numbers: &[u64]) -> Result<(), Malformed> {
    if claim.op == OP_USER {
        let (_, data) = claim.call()?;
        assert!(data.len() <= AREA);
        data.fill(0xff);
        claim.reply(0);
        return Ok(());
    }
    let mut items = Items::default();
    let mut data = claim.data(&mut items)?;
    assert_eq!(data.area.len(), AREA);
    let found: Vec<_> = data.items.iter().copied().collect();
    for item in &found {
        assert!(item.offset + item.bytes <= AREA, "{item:?}");
    }
    // What was checked once must not matter any more.
    data.area.fill(0xff);
    let arrays = [data.request.addrs, data.request.sizes, data.request.kinds];
    let addresses =
        arrays.into_iter().chain(found.iter().map(|item| item.address)).chain(numbers.iter().copied());
    for address in addresses {
        for bytes in [0, 1, 8, 16, 18, AREA, 4 * AREA] {
            let _ = data.give(&mut vec![0; bytes], address);
            let _ = data.take(address, &vec![0xff; bytes]);
        }
    }
    for item in &found {
        let _ = data.take(item.address, &vec![0xff; item.bytes]);
    }
    assert!(data.changed().all(|(_, bytes)| bytes.len() <= AREA));
    let dirty = data.dirty;
    claim.reply(dirty);
    Ok(())
}

/// The device's end: the garbage in its slot, canaries around it.
fn device(garbage: &Garbage) -> MockDevice {
    let mut device = MockDevice::new(SLOTS, AREA);
    for slot in 0..SLOTS {
        device.area(slot).fill(CANARY);
    }
    device.corrupt(SLOT, garbage);
    device
}

/// Whether words are missing that `posted` announces: the host looks for them again.
fn is_late(garbage: &Garbage) -> bool {
    let items = wire::items(garbage.posted);
    let missing = |at| garbage.items.get(at).is_none_or(|word: &u64| word >> 32 != 1);
    wire::ticket_byte(garbage.posted) == 1 && (0..(items * ITEM_WORDS).min(8 * ITEM_WORDS)).any(missing)
}

fn check_message(malformed: &Malformed) {
    let message = malformed.to_string();
    assert!(["posted", "op", "mapnum", "has_inline", "fn", "word"].contains(&malformed.field), "{message}");
    assert_eq!(malformed.slot, SLOT);
    assert!(
        message.contains(&format!("slot {SLOT}: {} is {:#x}", malformed.field, malformed.value)),
        "{message}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 20_000,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct("tests/hostile/cases.txt"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn garbage_is_served_within_its_slot_or_refused(garbage in garbage(), numbers in vec(number(), 0..4)) {
        let mut device = device(&garbage);
        match device.window.claim() {
            Ok(None) => assert!(is_late(&garbage) == device.window.has_request()),
            Ok(Some(claim)) => {
                if let Err(malformed) = serve(claim, &numbers) {
                    check_message(&malformed);
                }
            }
            Err(malformed) => check_message(&malformed),
        }
        for slot in (0..SLOTS).filter(|slot| *slot != SLOT) {
            assert!(device.area(slot).iter().all(|byte| *byte == CANARY), "slot {slot} was written");
        }
    }
}

#[test]
fn what_is_wrong_is_named_with_its_slot() {
    let right = Garbage {
        posted: wire::posted(0, 0, 0, 0),
        op: OP_TARGET,
        words: [1, 2, 3, 4, 5],
        dev_num: 0,
        has_inline: 1,
        area: vec![],
        items: vec![],
    };
    assert!(device(&right).window.claim().expect("well-formed").is_some());
    let billions = 3_000_000_000;
    let compact = wire::posted(0, 1, 0, 1);
    let item = |bits: [u32; ITEM_WORDS]| bits.map(|bits| wire::word(0, bits)).to_vec();
    let many = item([8, 1 << 30 | 2 << 16, 0, 0]).repeat(8);
    for (wrong, expected) in [
        (Garbage { op: 7, ..right.clone() }, "op is 0x7"),
        (Garbage { has_inline: 2, ..right.clone() }, "has_inline is 0x2"),
        (Garbage { words: [1, billions, 3, 4, 5], ..right.clone() }, "mapnum is 0xb2d05e00"),
        (Garbage { words: [1, 29, 3, 4, 5], ..right.clone() }, "mapnum is 0x1d"),
        (Garbage { posted: 9 << 56, ..right.clone() }, "posted is 0x900000000000000"),
        (
            Garbage { posted: wire::posted(0, 9, 0, 1), items: many.clone(), ..right.clone() },
            "posted is 0x190000000000001",
        ),
        // An item that says that it has no contents, and one that has more than travels so.
        (Garbage { posted: compact, items: item([8, 1 << 16, 4, 0]), ..right.clone() }, "word is 0x10000"),
        (
            Garbage { posted: compact, items: item([8, 3 << 30 | 1 << 16, 4, 0]), ..right.clone() },
            "word is 0xc0010000",
        ),
        // More than can come back.
        (Garbage { posted: wire::posted(0, 8, 0, 1), items: many, ..right.clone() }, "word is 0x40020000"),
    ] {
        let device = device(&wrong);
        let claimed = device.window.claim();
        let malformed = match claimed {
            Ok(claim) => claim.expect("posted").data(&mut Items::default()).err(),
            Err(malformed) => Some(malformed),
        };
        let message = malformed.expect("malformed").to_string();
        assert_eq!(message, format!("malformed reverse-offload request in slot 1: {expected}"));
    }
}

#[test]
fn a_compact_request_whose_words_never_come_is_refused_and_keeps_no_other_waiting() {
    let words = [0x1000, 1 << 16 | 1 << 30, 7, 0].map(|bits| wire::word(0, bits));
    let whole = Garbage {
        posted: wire::posted(0, 1, 0, 1),
        op: 0,
        words: [0; 5],
        dev_num: 0,
        has_inline: 0,
        area: vec![],
        items: words.into(),
    };
    assert!(device(&whole).window.claim().expect("well-formed").is_some());
    for missing in 0..ITEM_WORDS {
        let mut part = whole.clone();
        part.items[missing] = 0x7_0000_0000;
        let device = device(&part);
        device.scribble(SLOT + 1, &whole);
        // The other request is served meanwhile.
        device.window.claim().expect("well-formed").expect("posted").reply(0);
        let malformed = loop {
            match device.window.claim() {
                Ok(claim) => assert!(claim.is_none()),
                Err(malformed) => break malformed,
            }
        };
        let message = malformed.to_string();
        assert_eq!(message, "malformed reverse-offload request in slot 1: word is 0x700000000");
    }
}

#[test]
fn a_slot_that_changes_while_it_is_read_is_no_different() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut sample = || garbage().new_tree(&mut runner).expect("always possible").current();
    let mut device = device(&sample());
    let versions: Vec<Garbage> = (0..256).map(|_| sample()).collect();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for garbage in versions.iter().cycle().take_while(|_| !done.load(Ordering::Relaxed)) {
                device.scribble(SLOT, garbage);
            }
        });
        // Until some version was served, however late the other thread gets a processor.
        let (mut looks, mut served) = (0, 0);
        while looks < 200_000 || served == 0 {
            looks += 1;
            match device.window.claim() {
                Ok(Some(claim)) => served += u32::from(serve(claim, &[]).is_ok()),
                Ok(None) => thread::yield_now(),
                Err(_) => {}
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    for slot in (0..SLOTS).filter(|slot| *slot != SLOT) {
        assert!(device.area(slot).iter().all(|byte| *byte == CANARY), "slot {slot} was written");
    }
}
