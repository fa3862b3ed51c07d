//! Making programs that were linked with a recent glibc start with an older one.
//!
//! A program refers to the newest version that a symbol had when it was linked, such as acosf@GLIBC_2.43, and doesn't start
//! where glibc is older, even though an earlier version of the symbol would do. Here the reference is rewritten to the
//! newest version that is old enough, which the glibc it was linked with still carries.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use object::LittleEndian;
use object::elf::{FileHeader64, SHN_UNDEF, SHT_DYNSYM};
use object::read::elf::{FileHeader, SectionTable, Sym};

type Header = FileHeader64<LittleEndian>;
const ENDIAN: LittleEndian = LittleEndian;

/// A release of glibc: 2.39 is `(2, 39)`.
pub type Release = (u32, u32);

/// One version of one library that a file refers to.
struct Need {
    /// Where the reference lies in the file.
    offset: usize,
    library: String,
    version: String,
    /// The symbols that it is for.
    symbols: Vec<String>,
}

/// Makes an ELF file need nothing newer than `limit`, and returns what was changed, for people.
///
/// `folders` hold the libraries that the file was linked with. A file that isn't ELF is left alone. Fails where a symbol
/// is altogether newer than `limit`.
pub fn lower(path: &Path, limit: Release, folders: &[PathBuf]) -> Result<Vec<String>> {
    let mut data = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    if !data.starts_with(b"\x7fELF") {
        return Ok(Vec::new());
    }
    let mut changes = Vec::new();
    for need in needs(&data)? {
        if release(&need.version).is_none_or(|release| release <= limit) {
            continue;
        }
        let listed = || format!("{} of {}", need.symbols.join(", "), need.library);
        let old =
            substitute(&need, limit, folders).with_context(|| format!("{}: {}", path.display(), listed()))?;
        let name =
            position(&data, &old)?.with_context(|| format!("{} does not name {old}", path.display()))?;
        // Of the entry {hash: u32, flags: u16, other: u16, name: u32, next: u32} two fields tell the version.
        data[need.offset..need.offset + 4].copy_from_slice(&object::elf::hash(old.as_bytes()).to_le_bytes());
        data[need.offset + 8..need.offset + 12].copy_from_slice(&name.to_le_bytes());
        changes.push(format!("{} -> {old}: {}", need.version, listed()));
    }
    if !changes.is_empty() {
        fs::write(path, data)?;
    }
    Ok(changes)
}

/// The release that a version belongs to; None where it isn't one of glibc's numbered ones.
fn release(version: &str) -> Option<Release> {
    let mut numbers = version.strip_prefix("GLIBC_")?.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// The newest version, at most `limit`, in which all of a need's symbols were already there.
fn substitute(need: &Need, limit: Release, folders: &[PathBuf]) -> Result<String> {
    ensure!(!need.symbols.is_empty(), "{} is needed, but by no symbol", need.version);
    let library = folders.iter().map(|folder| folder.join(&need.library)).find(|path| path.exists());
    let library = library.context("this library is nowhere to be found")?;
    let defined = definitions(&fs::read(&library)?)?;
    let mut common: Option<Vec<&str>> = None;
    for symbol in &need.symbols {
        let own = defined.iter().filter(|(name, _)| name == symbol).map(|(_, version)| version.as_str());
        let own: Vec<&str> =
            own.filter(|version| release(version).is_some_and(|release| release <= limit)).collect();
        common = Some(match common {
            None => own,
            Some(others) => others.into_iter().filter(|version| own.contains(version)).collect(),
        });
    }
    let best = common.unwrap_or_default().into_iter().max_by_key(|version| release(version));
    match best {
        Some(version) => Ok(version.to_owned()),
        None => bail!("needs glibc {:?}, and no version before {limit:?} has it", release(&need.version)),
    }
}

fn sections(data: &[u8]) -> Result<SectionTable<'_, Header>> {
    let header = Header::parse(data)?;
    ensure!(header.is_class_64() && header.is_little_endian(), "not a 64-bit little-endian file");
    Ok(header.sections(ENDIAN, data)?)
}

/// The versions that a file refers to.
fn needs(data: &[u8]) -> Result<Vec<Need>> {
    let sections = sections(data)?;
    let symbols = sections.symbols(ENDIAN, data, SHT_DYNSYM)?;
    let (Some((mut needs, _)), Some(versions)) =
        (sections.gnu_verneed(ENDIAN, data)?, sections.versions(ENDIAN, data)?)
    else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    while let Some((need, mut entries)) = needs.next()? {
        let library = String::from_utf8_lossy(need.file(ENDIAN, symbols.strings())?).into_owned();
        while let Some(entry) = entries.next()? {
            let index = entry.vna_other.get(ENDIAN);
            let of_entry =
                symbols.enumerate().filter(|(at, _)| versions.version_index(ENDIAN, *at).index() == index);
            found.push(Need {
                offset: std::ptr::from_ref(entry).addr() - data.as_ptr().addr(),
                library: library.clone(),
                version: String::from_utf8_lossy(entry.name(ENDIAN, symbols.strings())?).into_owned(),
                symbols: of_entry
                    .map(|(_, symbol)| {
                        Ok(String::from_utf8_lossy(symbol.name(ENDIAN, symbols.strings())?).into_owned())
                    })
                    .collect::<Result<_>>()?,
            });
        }
    }
    Ok(found)
}

/// Each symbol that a library defines, with its version.
fn definitions(data: &[u8]) -> Result<Vec<(String, String)>> {
    let sections = sections(data)?;
    let symbols = sections.symbols(ENDIAN, data, SHT_DYNSYM)?;
    let versions = sections.versions(ENDIAN, data)?.context("the library has no symbol versions")?;
    let mut found = Vec::new();
    for (at, symbol) in symbols.enumerate().filter(|(_, symbol)| symbol.st_shndx(ENDIAN) != SHN_UNDEF) {
        if let Some(version) = versions.version(versions.version_index(ENDIAN, at))? {
            let name = String::from_utf8_lossy(symbol.name(ENDIAN, symbols.strings())?).into_owned();
            found.push((name, String::from_utf8_lossy(version.name()).into_owned()));
        }
    }
    Ok(found)
}

/// Where a string starts in the table of a file's dynamic strings.
fn position(data: &[u8], string: &str) -> Result<Option<u32>> {
    use object::read::elf::SectionHeader;
    let sections = sections(data)?;
    let table = sections.symbols(ENDIAN, data, SHT_DYNSYM)?.string_section();
    let strings = sections.section(table)?.data(ENDIAN, data)?;
    let wanted = [b"\0", string.as_bytes(), b"\0"].concat();
    let at = strings.windows(wanted.len()).position(|window| window == wanted);
    Ok(at.map(|at| u32::try_from(at + 1)).transpose()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_compare_by_number() {
        assert!(release("GLIBC_2.39") > release("GLIBC_2.4"));
        assert_eq!(release("GLIBC_2.2.5"), Some((2, 2)));
        assert_eq!(release("GLIBC_PRIVATE"), None);
        assert_eq!(release("GCC_3.0"), None);
    }

    #[test]
    fn our_own_executable_needs_the_c_library() {
        let data = fs::read(std::env::current_exe().unwrap()).unwrap();
        let needs = needs(&data).unwrap();
        let c = needs.iter().filter(|need| need.library == "libc.so.6");
        assert!(c.clone().any(|need| need.symbols.iter().any(|symbol| symbol == "malloc")));
        assert!(c.clone().all(|need| need.offset < data.len()));
    }

    #[test]
    fn a_file_that_is_no_program_is_left_alone() {
        let path = std::env::temp_dir().join(format!("boomerang-glibc-{}", std::process::id()));
        fs::write(&path, "text").unwrap();
        assert_eq!(lower(&path, (2, 0), &[]).unwrap(), Vec::<String>::new());
        fs::remove_file(&path).unwrap();
    }
}
