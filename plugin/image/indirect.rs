//! Tables by which device code finds the device's twin of a function pointer of the host's (`declare target indirect`).
//!
//! Two layouts, both read by code in GCC's device library (libgomp/config/accel/target-indirect.c): up to GCC 15 a list of
//! pairs that ends with a null word, from GCC 16 on a hash table that the host makes. The hash table's header and probing
//! are those of libgomp/hashtab.h, restated here.

/// Pairs of host and device address, and a null word.
pub fn list(pairs: &[(u64, u64)]) -> Vec<u64> {
    pairs.iter().flat_map(|(host, device)| [*host, *device]).chain([0]).collect()
}

/// `struct htab`: four words (entries, entries in use, deleted entries, number of the prime), then the entries, each a pair of
/// host and device address or two null words.
pub fn hash_table(pairs: &[(u64, u64)]) -> Vec<u64> {
    const HEADER: usize = 4;
    // Never more than half full: probing stays short, and ends, since there is always a free entry.
    let number = (0..PRIMES).find(|number| prime(*number) as usize >= 2 * pairs.len()).unwrap_or(PRIMES - 1);
    let entries = prime(number);
    let mut table = vec![0; HEADER + 2 * entries as usize];
    let mut used = 0;
    for (host, device) in pairs {
        let entry = |index: u32| HEADER + 2 * index as usize;
        let free_or_same = probe(*host, entries).find(|index| [0, *host].contains(&table[entry(*index)]));
        let Some(index) = free_or_same else { continue };
        used += u64::from(table[entry(index)] == 0);
        table[entry(index)] = *host;
        table[entry(index) + 1] = *device;
    }
    table[..HEADER].copy_from_slice(&[u64::from(entries), used, 0, u64::from(number)]);
    table
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
        probe(host, table[0] as u32)
            .map(entry)
            .take_while(|(key, _)| *key != 0)
            .find(|(key, _)| *key == host)
            .map(|(_, device)| device)
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
        }
    }

    #[test]
    fn functions_whose_hashes_collide_are_all_found() {
        let pairs: Vec<_> = (1..=6).map(|i| (13 * i, i)).collect();
        let table = hash_table(&pairs);
        assert!(pairs.iter().all(|(host, device)| look_up(&table, *host) == Some(*device)));
    }
}
