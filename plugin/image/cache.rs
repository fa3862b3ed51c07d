//! Linked cubins kept on disk, so that only the first start of a program waits for the JIT. A cache must never be the reason that
//! something fails: whatever is wrong with its folder or an entry, the JIT does the work.

use std::fs::{self, DirBuilder, File, FileTimes};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

/// How much the cache may hold, in bytes; what was not used for longest is given up first. A cubin has some 100 KB.
const LIMIT: u64 = 256 << 20;
/// What an entry begins with. Another layout gets another number.
const MAGIC: &[u8; 16] = b"boomerang cubin1";
/// How old a file must be that a process began to write and did not finish before it is taken for abandoned.
const ABANDONED: Duration = Duration::from_secs(60 * 60);

const ENTRY: &str = "cubin";
const UNFINISHED: &str = "tmp";

/// What a cubin was made from, and for: its name in the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(blake3::Hash);

impl Key {
    /// The key of a cubin that depends on all of `parts` and nothing else.
    pub fn of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Key {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        Key(hasher.finalize())
    }

    /// What the entry's checksum is: an entry under another's name is as wrong as a damaged one.
    fn checksum(&self, cubin: &[u8]) -> blake3::Hash {
        blake3::keyed_hash(self.0.as_bytes(), cubin)
    }
}

/// A folder of cubins. Any number of processes can use it at once.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    limit: u64,
}

impl Cache {
    /// The cache in `folder`, which is made when something is put there.
    pub fn new(folder: &Path) -> Cache {
        Cache { folder: folder.into(), limit: LIMIT }
    }

    /// The cubin with this key, if it is there and undamaged.
    pub fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let path = self.entry(key);
        // Opening a pipe that somebody put there would block.
        let size = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?.len();
        if size > self.limit {
            return None;
        }
        let mut file = File::open(&path).ok()?;
        let mut bytes = Vec::with_capacity(size as usize);
        file.read_to_end(&mut bytes).ok()?;
        let (magic, rest) = bytes.split_first_chunk::<{ MAGIC.len() }>()?;
        let (checksum, cubin) = rest.split_first_chunk::<{ blake3::OUT_LEN }>()?;
        if magic != MAGIC || key.checksum(cubin) != *checksum {
            return None;
        }
        // For `make_room`. Where it can't be noted that the entry was used, it only is given up earlier.
        let _ = file.set_times(FileTimes::new().set_modified(SystemTime::now()));
        bytes.drain(..MAGIC.len() + blake3::OUT_LEN);
        Some(bytes)
    }

    /// Keeps a cubin, in place of what is there under this key. Without effect where the folder can't be written.
    pub fn put(&self, key: &Key, cubin: &[u8]) {
        if cubin.len() as u64 <= self.limit {
            // A cache that can't be written is none.
            let _ = self.try_put(key, cubin);
        }
    }

    fn try_put(&self, key: &Key, cubin: &[u8]) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        // Other processes see the whole entry or none: it gets its name when it is complete. No need for fsync: what a crash of
        // the machine leaves incomplete has the wrong checksum.
        static NEXT: AtomicU32 = AtomicU32::new(0);
        // Relaxed: only the number itself counts.
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let unfinished = self.folder.join(format!("{}-{number}.{UNFINISHED}", std::process::id()));
        let written = File::create(&unfinished).and_then(|mut file| {
            file.write_all(MAGIC)?;
            file.write_all(key.checksum(cubin).as_bytes())?;
            file.write_all(cubin)
        });
        let named = written.and_then(|()| fs::rename(&unfinished, self.entry(key)));
        if named.is_err() {
            let _ = fs::remove_file(&unfinished);
        }
        self.make_room();
        named
    }

    /// Gives up entries until the others are within the limit, and what dead processes left.
    fn make_room(&self) {
        let Ok(files) = fs::read_dir(&self.folder) else { return };
        let mut entries = vec![];
        for path in files.filter_map(|file| Some(file.ok()?.path())) {
            let Ok(about) = fs::symlink_metadata(&path) else { continue };
            let used = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            match path.extension().and_then(|extension| extension.to_str()) {
                Some(ENTRY) => entries.push((used, about.len(), path)),
                Some(UNFINISHED) if used.elapsed().is_ok_and(|age| age > ABANDONED) => {
                    let _ = fs::remove_file(path);
                }
                _ => {}
            }
        }
        entries.sort();
        let mut total: u64 = entries.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, bytes, path) in entries {
            if total <= self.limit {
                break;
            }
            // Where it was another process that removed it, it is gone as well.
            let _ = fs::remove_file(path);
            total -= bytes;
        }
    }

    fn entry(&self, key: &Key) -> PathBuf {
        self.folder.join(key.0.to_hex().as_str()).with_extension(ENTRY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::thread;

    /// A folder of a test's own, removed at its end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(test: &str) -> Folder {
            let folder = std::env::temp_dir().join(format!("boomerang-cache-{}-{test}", std::process::id()));
            let _ = fs::remove_dir_all(&folder);
            Folder(folder)
        }

        fn cache(&self) -> Cache {
            Cache::new(&self.0)
        }

        fn names(&self) -> Vec<String> {
            let files = fs::read_dir(&self.0).expect("it is there");
            files.map(|file| file.expect("readable").file_name().to_string_lossy().into_owned()).collect()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn key(name: &str) -> Key {
        Key::of([name.as_bytes()])
    }

    fn set_age(path: &Path, age: Duration) {
        let times = FileTimes::new().set_modified(SystemTime::now() - age);
        File::options().write(true).open(path).and_then(|file| file.set_times(times)).expect("ours");
    }

    #[test]
    fn a_cubin_is_found_again_by_its_key_and_no_other() {
        let folder = Folder::new("again");
        let cache = folder.cache();
        assert_eq!(cache.get(&key("a")), None, "there is not even a folder");
        cache.put(&key("a"), b"cubin of a");
        cache.put(&key("b"), b"");
        assert_eq!(cache.get(&key("a")).as_deref(), Some(&b"cubin of a"[..]));
        assert_eq!(cache.get(&key("b")).as_deref(), Some(&b""[..]));
        assert_eq!(cache.get(&key("c")), None);
        cache.put(&key("a"), b"another");
        assert_eq!(folder.cache().get(&key("a")).as_deref(), Some(&b"another"[..]));
        assert_eq!(fs::metadata(&folder.0).expect("made").permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn the_key_tells_where_one_part_ends_and_the_next_begins() {
        let keys = [vec![&b"ab"[..], b"c"], vec![b"a", b"bc"], vec![b"abc"], vec![b"abc", b""], vec![]];
        for (i, parts) in keys.iter().enumerate() {
            for (j, others) in keys.iter().enumerate() {
                assert_eq!(Key::of(parts.iter().copied()) == Key::of(others.iter().copied()), i == j);
            }
        }
    }

    #[test]
    fn a_damaged_entry_is_none_and_can_be_replaced() {
        let folder = Folder::new("damaged");
        let cache = folder.cache();
        cache.put(&key("a"), b"some cubin");
        let path = cache.entry(&key("a"));
        let whole = fs::read(&path).expect("written");
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 0x10;
            for damaged in [&changed[..], &whole[..at]] {
                fs::write(&path, damaged).expect("ours");
                assert_eq!(cache.get(&key("a")), None, "{at}");
            }
        }
        fs::write(&path, [&whole[..], b"more"].concat()).expect("ours");
        assert_eq!(cache.get(&key("a")), None);
        fs::write(cache.entry(&key("b")), &whole).expect("ours");
        assert_eq!(cache.get(&key("b")), None, "another's entry");
        cache.put(&key("a"), b"some cubin");
        assert_eq!(cache.get(&key("a")).as_deref(), Some(&b"some cubin"[..]));
    }

    #[test]
    fn what_is_not_a_file_is_none() {
        let folder = Folder::new("kind");
        let cache = folder.cache();
        fs::create_dir_all(cache.entry(&key("folder"))).expect("ours");
        std::os::unix::fs::symlink("/dev/zero", cache.entry(&key("link"))).expect("ours");
        for name in ["folder", "link"] {
            assert_eq!(cache.get(&key(name)), None);
        }
        cache.put(&key("link"), b"fine");
        cache.put(&key("folder"), b"can't be");
        assert_eq!(cache.get(&key("link")).as_deref(), Some(&b"fine"[..]));
        assert!(folder.names().iter().all(|name| name.ends_with(ENTRY)), "{:?}", folder.names());
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_no_error() {
        let folder = Folder::new("unwritable");
        fs::create_dir_all(&folder.0).expect("ours");
        fs::write(folder.0.join("file"), "").expect("ours");
        // The last is read-only for root, too.
        for place in [folder.0.join("file"), folder.0.join("file/below"), "/proc/boomerang".into()] {
            let cache = Cache::new(&place);
            cache.put(&key("a"), b"cubin");
            assert_eq!(cache.get(&key("a")), None);
        }
    }

    #[test]
    fn a_full_disk_leaves_nothing_behind() {
        // Writes to this device fail as those to a full disk.
        assert!(
            File::options().write(true).open("/dev/full").and_then(|mut file| file.write_all(b"x")).is_err()
        );
        let folder = Folder::new("full");
        fs::create_dir_all(&folder.0).expect("ours");
        let cache = folder.cache();
        // Whatever number comes next, writing it goes to the full device.
        for number in 0..1000 {
            let name = format!("{}-{number}.{UNFINISHED}", std::process::id());
            std::os::unix::fs::symlink("/dev/full", folder.0.join(name)).expect("ours");
        }
        cache.put(&key("a"), b"cubin");
        assert_eq!(cache.get(&key("a")), None);
        assert_eq!(folder.names().len(), 999, "the unfinished file is gone");
    }

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let folder = Folder::new("room");
        let entry_bytes = (MAGIC.len() + blake3::OUT_LEN + 100) as u64;
        let cache = Cache { limit: 3 * entry_bytes, ..folder.cache() };
        for (hours, name) in [(3, "a"), (2, "b"), (1, "c")] {
            cache.put(&key(name), &[0; 100]);
            set_age(&cache.entry(&key(name)), Duration::from_secs(3600 * hours));
        }
        assert!(cache.get(&key("a")).is_some(), "used just now");
        cache.put(&key("d"), &[0; 100]);
        let there = ["a", "b", "c", "d"].map(|name| cache.get(&key(name)).is_some());
        assert_eq!(there, [true, false, true, true]);
        cache.put(&key("e"), &[0; 1000]);
        assert_eq!(cache.get(&key("e")), None, "larger than the whole cache");
        assert_eq!(folder.names().len(), 3);
    }

    #[test]
    fn what_a_killed_process_left_is_removed_when_it_is_old() {
        let folder = Folder::new("killed");
        let cache = folder.cache();
        cache.put(&key("a"), b"cubin");
        for (name, age) in [("1-0", 2 * ABANDONED), ("2-0", ABANDONED / 2)] {
            let path = folder.0.join(name).with_extension(UNFINISHED);
            fs::write(&path, &MAGIC[..7]).expect("ours");
            set_age(&path, age);
        }
        fs::write(folder.0.join("of somebody else"), "").expect("ours");
        cache.put(&key("b"), b"cubin");
        let mut left = folder.names();
        left.retain(|name| !name.ends_with(ENTRY));
        left.sort();
        assert_eq!(left, ["2-0.tmp", "of somebody else"]);
        assert!(cache.get(&key("a")).is_some() && cache.get(&key("b")).is_some());
    }

    #[test]
    fn several_writers_and_readers_at_once_see_whole_entries() {
        let folder = Folder::new("several");
        let cubin = |name: &str| name.repeat(20_000).into_bytes();
        thread::scope(|scope| {
            for writer in 0..4 {
                let cache = folder.cache();
                scope.spawn(move || {
                    for round in 0..20 {
                        let name = ["a", "b", "c"][(writer + round) % 3];
                        if let Some(found) = cache.get(&key(name)) {
                            assert_eq!(found, cubin(name));
                        }
                        cache.put(&key(name), &cubin(name));
                        assert_eq!(cache.get(&key(name)), Some(cubin(name)));
                    }
                });
            }
        });
        assert_eq!(folder.names().len(), 3);
    }
}
