//! The layout that host and device share: `plugin/reverse/wire.rs` against `include/rev_wire.h`.

use std::fs;
use std::mem::{offset_of, size_of};
use std::process::Command;

use boomerang::reverse::wire::{self, Bell, Region, Reply, Request, Turn, Words};

#[rustfmt::skip]
mod bindings;

use bindings::{rev_bell, rev_region, rev_reply, rev_request, rev_turn, rev_words};

/// Compares the offsets of members: `c.member` with `Rust.member`.
macro_rules! same_offsets {
    ($c:ty, $rust:ty: $($member:ident = $field:ident),* $(,)?) => {
        $(assert_eq!(
            offset_of!($c, $member),
            offset_of!($rust, $field),
            concat!(stringify!($c), ".", stringify!($member))
        );)*
    };
}

#[test]
fn constants_are_the_same_on_both_sides() {
    assert_eq!(bindings::REV_WIRE_VERSION, wire::VERSION);
    assert_eq!(u64::from(bindings::REV_REGION_BYTES), wire::REGION_BYTES);
    assert_eq!(bindings::REV_MAX_SLOTS as usize, wire::MAX_SLOTS);
    assert_eq!(bindings::REV_MAX_INLINE_ITEMS as usize, wire::MAX_INLINE_ITEMS);
    assert_eq!(bindings::REV_ITEM_ALIGN as usize, wire::ITEM_ALIGN);
    assert_eq!(bindings::REV_OP_TARGET, wire::OP_TARGET);
    assert_eq!(bindings::REV_OP_USER, wire::OP_USER);
    assert_eq!(bindings::REV_FN_BITS, wire::FN_BITS);
    assert_eq!(bindings::REV_DEV_NUM_BITS, wire::DEV_NUM_BITS);
    assert_eq!(bindings::REV_ITEMS_BITS, wire::ITEMS_BITS);
    assert_eq!(bindings::REV_COMPACT_ITEMS as usize, wire::COMPACT_ITEMS);
    assert_eq!(bindings::REV_ITEM_WORDS as usize, wire::ITEM_WORDS);
    assert_eq!(bindings::REV_REPLY_WORDS as usize, wire::REPLY_WORDS);
    assert_eq!(bindings::REV_ADDRESS_BITS, wire::ADDRESS_BITS);
    assert_eq!(bindings::REV_KIND_BITS, wire::KIND_BITS);
}

#[test]
fn structures_have_the_same_size_on_both_sides() {
    assert_eq!(size_of::<rev_region>(), size_of::<Region>());
    assert_eq!(size_of::<rev_turn>(), size_of::<Turn>());
    assert_eq!(size_of::<rev_request>(), size_of::<Request>());
    assert_eq!(size_of::<rev_reply>(), size_of::<Reply>());
    assert_eq!(size_of::<rev_words>(), size_of::<Words>());
    // The host keeps the bell in a cache line of its own.
    assert!(size_of::<rev_bell>() <= size_of::<Bell>());
}

#[test]
fn members_have_the_same_offsets_on_both_sides() {
    same_offsets!(rev_region, Region: version = version, slot_mask = slot_mask, area_bytes = area_bytes, ended_teams = ended_teams, posted = posted,
        requests = requests, replies = replies, areas = areas, turns = turns, bell = bell, end = end, words = words);
    assert_eq!(offset_of!(rev_turn, first_look), size_of::<Turn>() - 4);
    same_offsets!(rev_bell, Bell: rung = rung, asleep = asleep);
    same_offsets!(rev_request, Request: op = op, has_inline = has_inline, fn_ = func, mapnum = mapnum, addrs = addrs,
        sizes = sizes, kinds = kinds, dev_num = dev_num);
    same_offsets!(rev_reply, Reply: done = done_and_dirty, word = words);
    // One 64-bit word to the host.
    assert_eq!(offset_of!(rev_reply, dirty), 4);
}

/// Prints a line for each kind: whether the item travels to the server, and from it.
const KINDS: &str = r#"
#include "rev_wire.h"
#include <stdio.h>
int main (void)
{
  for (unsigned kind = 0; kind < 65536; kind++)
    printf ("%d %d\n", !!rev_kind_to (kind), !!rev_kind_from (kind));
  return 0;
}
"#;

/// Compiles a program with the system's compiler and returns what it prints.
fn run(name: &str, source: &str, flags: &[&str]) -> String {
    let folder = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("the folder for temporary files can be written");
    let (file, program) = (folder.join("program.c"), folder.join("program"));
    fs::write(&file, source).expect("the folder for temporary files can be written");
    let include = concat!(env!("CARGO_MANIFEST_DIR"), "/include");
    let mut cc = Command::new("cc");
    cc.args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-I", include]).args(flags);
    let compiled = cc.arg(&file).arg("-o").arg(&program).output().expect("there is a C compiler");
    assert!(compiled.status.success(), "{flags:?}: {}", String::from_utf8_lossy(&compiled.stderr));
    let output = Command::new(&program).output().expect("what was compiled runs");
    fs::remove_dir_all(&folder).expect("it was made here");
    String::from_utf8(output.stdout).expect("numbers")
}

/// Prints `posted` for tickets, numbers of items and of devices, and functions; and words of tickets.
const POSTED: &str = r#"
#include "rev_wire.h"
#include <inttypes.h>
#include <stdio.h>
int main (void)
{
  static const uint32_t tickets[] = { 0, 254, 255, 256, UINT32_MAX - 1, UINT32_MAX };
  static const uint64_t fns[] = { 0, 1, ((uint64_t) 1 << REV_FN_BITS) - 1 };
  for (int i = 0; i < 6; i++)
    {
      for (int j = 0; j < 3; j++)
	printf ("%" PRIx64 " %" PRIx64 "\n", REV_POSTED (tickets[i], 0, 0, fns[j]), REV_POSTED (tickets[i], 8, 15, fns[j]));
      printf ("%" PRIx64 "\n", REV_WORD (tickets[i], 0xfedcba98u));
    }
  return 0;
}
"#;

#[test]
fn both_sides_post_a_request_by_the_same_words() {
    let mut expected = String::new();
    for ticket in [0, 254, 255, 256, u32::MAX - 1, u32::MAX] {
        for func in [0, 1, (1 << wire::FN_BITS) - 1] {
            let posted = [wire::posted(ticket, 0, 0, func), wire::posted(ticket, 8, 15, func)];
            expected += &format!("{:x} {:x}\n", posted[0], posted[1]);
            assert_eq!(posted.map(wire::ticket_byte), [ticket.wrapping_add(1) as u8; 2]);
            assert_eq!(posted.map(wire::func), [func; 2]);
            if func != 0 {
                assert_eq!(posted.map(wire::items), [0, 8]);
                assert_eq!(posted.map(wire::dev_num), [0, 15]);
            }
        }
        expected += &format!("{:x}\n", wire::word(ticket, 0xfedc_ba98));
    }
    assert_eq!(run("wire-posted", POSTED, &["-std=c99"]), expected);
}

#[test]
fn both_sides_agree_which_kinds_of_items_travel() {
    // C99 has no static assertions, C11 has.
    for standard in ["-std=c99", "-std=c11"] {
        let printed = run(&format!("wire-layout{standard}"), KINDS, &[standard]);
        let expected = (0..=u16::MAX).map(|kind| {
            let (to, from) = (wire::travels_to(kind), wire::travels_from(kind));
            format!("{} {}", u8::from(to), u8::from(from))
        });
        for (kind, (printed, expected)) in printed.lines().zip(expected).enumerate() {
            assert_eq!(printed, expected, "kind {kind:#x}");
        }
        assert_eq!(printed.lines().count(), 65536);
    }
}
