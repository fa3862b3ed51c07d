//! Tables by which device code finds the device's twin of a function pointer of the host's (`declare target indirect`).
//!
//! Two layouts, both read by code in GCC's device library (libgomp/config/accel/target-indirect.c): up to GCC 15 a list of
//! pairs that ends with a null word, and a hash table of pointers into it; from GCC 16 on a hash table that holds the pairs. The hash
//! tables' header and probing are those of libgomp/hashtab.h, restated here.
//!
//! Up to GCC 15 the first team makes the hash table, as the first kernel begins. Other teams do not wait for it: they find no table, or
//! one without their function, unless they happen to start later. So the host makes that one, too.

use super::edit::{Edit, rename};
use super::items::{Kind, items};

/// The variable of libgomp's that points to the hash table, up to GCC 15, and the function that makes one where it is null.
const POINTER: &str = "indirect_htab";
const MAKER: &str = "build_indirect_map";
/// What [`expose`] calls the variable.
pub const EXPOSED: &str = "__boomerang_indirect_htab";

/// The text with the pointer to the hash table visible, under a name that no program has. None where it has none of a known form.
pub fn expose(text: &str) -> Option<String> {
    let items = text.contains(POINTER).then(|| items(text))??;
    let defined = |name| items.iter().find(move |item| item.kind == Kind::Definition && item.name == name);
    let variable = defined(POINTER).filter(|pointer| !pointer.visible && defined(MAKER).is_some())?;
    text[variable.code..].starts_with(".global .align 8 .u64").then_some(())?;
    let mut edit = Edit::of(text);
    edit.replace(variable.code..variable.code, ".visible ");
    rename(&edit.whole(), &[(POINTER, EXPOSED)])
}

/// Pairs of host and device address, and a null word.
pub fn list(pairs: &[(u64, u64)]) -> Vec<u64> {
    pairs.iter().flat_map(|(host, device)| [*host, *device]).chain([0]).collect()
}

/// A hash table of pairs of host and device address; free entries are two null words.
pub fn hash_table(pairs: &[(u64, u64)]) -> Vec<u64> {
    table(pairs, |index| pairs[index].into())
}

/// A hash table of pointers to the pairs of a [`list`] at this address; free entries are null.
pub fn hash_table_of_pointers(pairs: &[(u64, u64)], list: u64) -> Vec<u64> {
    table(pairs, |index| [list + (index * size_of::<(u64, u64)>()) as u64])
}

/// `struct htab`: four words (entries, entries in use, deleted entries, number of the prime), then the entries: of each pair, by its
/// index, these words.
fn table<const WORDS: usize>(pairs: &[(u64, u64)], entry: impl Fn(usize) -> [u64; WORDS]) -> Vec<u64> {
    // Never more than half full: probing stays short, and ends, since there is always a free entry.
    let number = (0..PRIMES).find(|number| prime(*number) as usize >= 2 * pairs.len()).unwrap_or(PRIMES - 1);
    let entries = prime(number);
    let mut places = vec![None; entries as usize];
    for (index, (host, _)) in pairs.iter().enumerate() {
        let is_free_or_same =
            |place: &usize| places[*place].is_none_or(|other: usize| pairs[other].0 == *host);
        if let Some(place) = probe(*host, entries).map(|place| place as usize).find(is_free_or_same) {
            places[place] = Some(index);
        }
    }
    let used = places.iter().flatten().count() as u64;
    let words = places.iter().flat_map(|place| place.map_or([0; WORDS], &entry));
    [u64::from(entries), used, 0, u64::from(number)].into_iter().chain(words).collect()
}

/// The entries to look at for a host address, in order.
fn probe(host: u64, entries: u32) -> impl Iterator<Item = u32> {
    let hash = (host ^ host >> 32) as u32;
    let step = u64::from(1 + hash % (entries - 2));
    let start = u64::from(hash % entries);
    (0..u64::from(entries)).map(move |i| ((start + i * step) % u64::from(entries)) as u32)
}

/// The table sizes: for each power of two from 8 to 2^32, the largest prime below it.
const PRIMES: u32 = 30;

fn prime(number: u32) -> u32 {
    let is_prime = |n: &u64| (2..).take_while(|d| d * d <= *n).all(|d| n % d != 0);
    (2..1 << (number + 3)).rev().find(is_prime).expect("there is a prime below eight") as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks `host` up as the device library does.
    fn look_up(table: &[u64], host: u64) -> Option<u64> {
        let entry = |index: u32| (table[4 + 2 * index as usize], table[5 + 2 * index as usize]);
        look_up_by(table, host, entry)
    }

    /// The same up to GCC 15, with the list, which is at this address.
    fn look_up_by_pointer(table: &[u64], list: (&[u64], u64), host: u64) -> Option<u64> {
        let pair = |pointer: u64| ((pointer - list.1) / 8) as usize;
        let entry = |index: u32| match table[4 + index as usize] {
            0 => (0, 0),
            pointer => (list.0[pair(pointer)], list.0[pair(pointer) + 1]),
        };
        look_up_by(table, host, entry)
    }

    fn look_up_by(table: &[u64], host: u64, entry: impl Fn(u32) -> (u64, u64)) -> Option<u64> {
        let entries = probe(host, table[0] as u32).map(entry).take_while(|(key, _)| *key != 0);
        entries.into_iter().find(|(key, _)| *key == host).map(|(_, device)| device)
    }

    #[test]
    fn the_pointer_to_the_hash_table_can_be_found_from_outside() {
        let text = ".version 6.0\n.target sm_30\n.address_size 64\n// BEGIN VAR DEF: indirect_htab\n\
                    .global .align 8 .u64 indirect_htab[1];\n.visible .func build_indirect_map\n{\n.reg .u64 %r164;\n\
                    ld.global.u64 %r164,[indirect_htab];\nret;\n}\n";
        let exposed = expose(text).expect("known");
        assert!(
            exposed.contains("\n.visible .global .align 8 .u64 __boomerang_indirect_htab[1];\n"),
            "{exposed}"
        );
        assert!(exposed.contains("ld.global.u64 %r164,[__boomerang_indirect_htab];"), "{exposed}");
        boomerang_ptx::parse(&exposed).expect("well formed");
        // The program's own, and what is none.
        for (from, to) in [
            ("build_indirect_map", "mine"),
            (".global", ".visible .global"),
            ("u64 indirect_htab[1]", "u32 indirect_htab[1]"),
            ("indirect_htab", "table"),
        ] {
            assert_eq!(expose(&text.replace(from, to)), None, "{from}");
        }
    }

    #[test]
    fn the_list_ends_with_a_null_word() {
        assert_eq!(list(&[(1, 2), (3, 4)]), [1, 2, 3, 4, 0]);
        assert_eq!(list(&[]), [0]);
    }

    #[test]
    fn the_sizes_are_those_of_the_device_librarys_table() {
        let sizes = [7, 13, 31, 61, 127, 251, 509, 1021, 2039, 4093, 8191, 16381, 32749, 65521];
        assert!((0..).zip(sizes).all(|(number, size)| prime(number) == size));
        assert_eq!(prime(PRIMES - 1), 4_294_967_291);
    }

    #[test]
    fn every_function_is_found_and_no_other() {
        for count in [0, 1, 2, 3, 7, 40, 1000] {
            // Addresses of functions in two libraries, which differ in their low words only by multiples of 16.
            let pairs: Vec<_> =
                (0..count).map(|i| (0x5555_0000_1000 + ((i % 2) << 32) + 16 * i, 7 * i + 1)).collect();
            let table = hash_table(&pairs);
            assert_eq!(table[1], count);
            assert_eq!(prime(table[3] as u32), table[0] as u32);
            for (host, device) in &pairs {
                assert_eq!(look_up(&table, *host), Some(*device));
            }
            assert_eq!(look_up(&table, 0x1234), None);
            let (list, at) = (list(&pairs), 0x7000_0000);
            let pointers = hash_table_of_pointers(&pairs, at);
            assert_eq!(pointers[..4], table[..4]);
            for (host, device) in &pairs {
                assert_eq!(look_up_by_pointer(&pointers, (&list, at), *host), Some(*device));
            }
            assert_eq!(look_up_by_pointer(&pointers, (&list, at), 0x1234), None);
        }
    }

    #[test]
    fn functions_whose_hashes_collide_are_all_found() {
        let pairs: Vec<_> = (1..=6).map(|i| (13 * i, i)).collect();
        let table = hash_table(&pairs);
        assert!(pairs.iter().all(|(host, device)| look_up(&table, *host) == Some(*device)));
    }
}
