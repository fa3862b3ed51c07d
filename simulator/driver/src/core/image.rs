//! What the linker makes and the loader takes: the simulator's counterpart of a cubin. It holds the PTX
//! texts themselves, so it may be stored and loaded by another process.
//!
//! All numbers are little-endian: magic (8 bytes), length of the whole (u64), FNV-1a of what follows (u64),
//! then for each object the lengths of name and text (u64 each), name, text.

use crate::c::In;
use crate::error::{Error, Result};
use boomerang_gpu::Object;
use std::ffi::c_char;

const MAGIC: [u8; 8] = *b"BOOMSIM\x01";
const HEADER: usize = 24;

/// The bytes of an image.
pub fn encode(objects: &[Object]) -> Vec<u8> {
    let mut body = Vec::new();
    for Object { name, text } in objects {
        body.extend((name.len() as u64).to_le_bytes());
        body.extend((text.len() as u64).to_le_bytes());
        body.extend(name.as_bytes());
        body.extend(text.as_bytes());
    }
    let mut image = MAGIC.to_vec();
    image.extend(((HEADER + body.len()) as u64).to_le_bytes());
    image.extend(checksum(&body).to_le_bytes());
    image.extend(body);
    image
}

/// The objects in what a program gives to load: an image, or PTX text that ends with a NUL.
pub fn read(image: In<u8>) -> Result<Vec<Object>> {
    // The shortest PTX module is longer than the magic, and a C string ends where it ends.
    let first = image.get()?;
    if first != MAGIC[0] {
        return ptx(image);
    }
    for (i, byte) in MAGIC.iter().enumerate() {
        if image.at(i)? != *byte {
            return Err(Error::INVALID_IMAGE);
        }
    }
    let length = u64::from_le_bytes(image.bytes(16)?[8..].try_into().expect("8 bytes"));
    let length = usize::try_from(length).map_err(|_| Error::INVALID_IMAGE)?;
    decode(&image.bytes(length)?)
}

/// The objects of an image of known length.
pub fn decode(image: &[u8]) -> Result<Vec<Object>> {
    let number = |bytes: &[u8]| Some(u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?));
    let body = image.get(HEADER..).ok_or(Error::INVALID_IMAGE)?;
    let right = image.starts_with(&MAGIC)
        && number(&image[8..]) == Some(image.len() as u64)
        && number(&image[16..]) == Some(checksum(body));
    if !right {
        return Err(Error::INVALID_IMAGE);
    }
    let (mut rest, mut objects) = (body, Vec::new());
    while !rest.is_empty() {
        let object = (|| {
            let (name, text) = (number(rest)? as usize, number(&rest[8..])? as usize);
            let (head, tail) = rest[16..].split_at_checked(name.checked_add(text)?)?;
            rest = tail;
            let string = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
            Some(Object { name: string(&head[..name])?, text: string(&head[name..])? })
        })();
        objects.push(object.ok_or(Error::INVALID_IMAGE)?);
    }
    Ok(objects)
}

/// One PTX module out of a C string.
fn ptx(image: In<u8>) -> Result<Vec<Object>> {
    // An ELF file (a real cubin) or a fat binary: nothing in it for this device.
    if image.at(0)? == 0x7f || image.at(0)? == 0x50 {
        return Err(Error::NO_BINARY_FOR_GPU);
    }
    let text = image.cast::<c_char>().text().map_err(|_| Error::INVALID_IMAGE)?;
    Ok(vec![Object { name: "module".to_owned(), text }])
}

fn checksum(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<Object> {
        let object = |name: &str, text: &str| Object { name: name.into(), text: text.into() };
        vec![object("a.o", ".version 7.3"), object("", ".version 6.0\n")]
    }

    #[test]
    fn an_image_read_back_holds_the_same_objects() {
        let objects = decode(&encode(&sample())).unwrap();
        assert_eq!(objects.len(), 2);
        assert_eq!((objects[0].name.as_str(), objects[1].text.as_str()), ("a.o", ".version 6.0\n"));
    }

    #[test]
    fn a_damaged_or_cut_image_is_refused() {
        let image = encode(&sample());
        for i in 0..image.len() {
            let mut damaged = image.clone();
            damaged[i] ^= 1;
            assert!(decode(&damaged).is_err(), "byte {i}");
            assert!(decode(&image[..i]).is_err(), "length {i}");
        }
    }
}
