//! C's printf formatting.

use std::ffi::{c_char, c_int};

unsafe extern "C" {
    fn snprintf(buffer: *mut c_char, size: usize, format: *const c_char, ...) -> c_int;
}

/// Where the arguments come from.
pub(crate) trait Arguments {
    /// Why an argument can't be had.
    type Error;
    /// The next argument, of `size` bytes: 4 or 8.
    fn value(&mut self, size: u64) -> Result<u64, Self::Error>;
    /// The string at an address.
    fn string(&mut self, addr: u64) -> Result<Vec<u8>, Self::Error>;
}

/// A conversion, from `%` to its letter.
struct Conversion {
    /// Flags, width and precision, in C's notation.
    spec: Vec<u8>,
    /// Whether the argument is 64 bits wide.
    long: bool,
    letter: u8,
}

/// The text that `template` makes of the arguments, and how many these are.
pub(crate) fn format<A: Arguments>(template: &[u8], arguments: &mut A) -> Result<(Vec<u8>, u64), A::Error> {
    let (mut out, mut count) = (Vec::new(), 0);
    let mut rest = template;
    while let Some(at) = rest.iter().position(|&b| b == b'%') {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        let Some((conversion, length)) = parse(rest, arguments, &mut count)? else {
            out.push(b'%');
            rest = &rest[1..];
            continue;
        };
        rest = &rest[length..];
        if conversion.letter == b'%' {
            out.push(b'%');
        } else {
            count += 1;
            convert(&conversion, arguments, &mut out)?;
        }
    }
    out.extend_from_slice(rest);
    Ok((out, count))
}

/// The conversion at the start of `text` and its length; `None` if it is none.
fn parse<A: Arguments>(
    text: &[u8],
    arguments: &mut A,
    count: &mut u64,
) -> Result<Option<(Conversion, usize)>, A::Error> {
    let mut spec = vec![b'%'];
    let mut long = false;
    for (at, &byte) in text.iter().enumerate().skip(1) {
        match byte {
            b'-' | b'+' | b' ' | b'#' | b'0'..=b'9' | b'.' => spec.push(byte),
            b'*' => {
                *count += 1;
                let value = arguments.value(4)? as i32;
                // A negative precision counts as none.
                if spec.last() == Some(&b'.') && value < 0 {
                    spec.pop();
                } else {
                    spec.extend_from_slice(value.to_string().as_bytes());
                }
            }
            b'l' | b'j' | b'z' | b't' | b'q' | b'L' => long = true,
            // Shorter integers come as `int`; their conversion truncates.
            b'h' => spec.push(b'h'),
            b'd' | b'i' | b'u' | b'o' | b'x' | b'X' | b'c' | b's' | b'p' | b'n' | b'%' | b'e' | b'E'
            | b'f' | b'F' | b'g' | b'G' | b'a' | b'A' => {
                return Ok(Some((Conversion { spec, long, letter: byte }, at + 1)));
            }
            _ => return Ok(None),
        }
    }
    Ok(None)
}

fn convert<A: Arguments>(c: &Conversion, arguments: &mut A, out: &mut Vec<u8>) -> Result<(), A::Error> {
    let spec = |suffix: &[u8]| [&c.spec, suffix, &[c.letter, 0]].concat();
    match c.letter {
        b's' => {
            let addr = arguments.value(8)?;
            let text = if addr == 0 { b"(null)".to_vec() } else { arguments.string(addr)? };
            let text = [text, vec![0]].concat();
            out.extend(print(&spec(b""), |buffer, size, spec| {
                // SAFETY: `spec` is one `%s` conversion, and the argument a terminated string.
                unsafe { snprintf(buffer, size, spec, text.as_ptr()) }
            }));
        }
        b'e' | b'E' | b'f' | b'F' | b'g' | b'G' | b'a' | b'A' => {
            let value = f64::from_bits(arguments.value(8)?);
            out.extend(print(&spec(b""), |buffer, size, spec| {
                // SAFETY: `spec` is one conversion of a double.
                unsafe { snprintf(buffer, size, spec, value) }
            }));
        }
        b'n' => {
            arguments.value(8)?;
        }
        b'p' => {
            let value = arguments.value(8)?;
            out.extend(print(&spec(b""), |buffer, size, spec| {
                // SAFETY: `spec` is one conversion of a pointer.
                unsafe { snprintf(buffer, size, spec, value) }
            }));
        }
        _ if c.long => {
            let value = arguments.value(8)?;
            out.extend(print(&spec(b"ll"), |buffer, size, spec| {
                // SAFETY: `spec` is one conversion of a long long.
                unsafe { snprintf(buffer, size, spec, value) }
            }));
        }
        _ => {
            let value = arguments.value(4)? as u32;
            out.extend(print(&spec(b""), |buffer, size, spec| {
                // SAFETY: `spec` is one conversion of an int.
                unsafe { snprintf(buffer, size, spec, value) }
            }));
        }
    }
    Ok(())
}

/// The size of CUDA's printf buffer: what is longer is cut (CUDA C++ Programming Guide, formatted output).
const LONGEST: usize = 1 << 20;

/// What a call of `snprintf` writes.
fn print(spec: &[u8], call: impl Fn(*mut c_char, usize, *const c_char) -> c_int) -> Vec<u8> {
    let mut buffer = vec![0u8; 128];
    loop {
        let length = call(buffer.as_mut_ptr().cast(), buffer.len(), spec.as_ptr().cast());
        let length = usize::try_from(length).unwrap_or(0);
        if length < buffer.len() || buffer.len() > LONGEST {
            buffer.truncate(length.min(LONGEST));
            return buffer;
        }
        buffer.resize(length.min(LONGEST) + 1, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    struct List(Vec<u64>);

    impl Arguments for List {
        type Error = Infallible;
        fn value(&mut self, _: u64) -> Result<u64, Infallible> {
            Ok(self.0.remove(0))
        }
        fn string(&mut self, addr: u64) -> Result<Vec<u8>, Infallible> {
            Ok(format!("string {addr}").into_bytes())
        }
    }

    fn text(template: &str, arguments: &[u64]) -> String {
        let Ok((out, count)) = format(template.as_bytes(), &mut List(arguments.to_vec()));
        assert_eq!(count, arguments.len() as u64);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn conversions_come_out_as_in_c() {
        assert_eq!(
            text("%d|%5u|%-4x|%lld", &[-1i32 as u32 as u64, 7, 255, -5i64 as u64]),
            "-1|    7|ff  |-5"
        );
        assert_eq!(text("%*d|%.*f", &[5, 42, 2, 2.71f64.to_bits()]), "   42|2.71");
        assert_eq!(text("%s and %10s%c", &[7, 8, 33]), "string 7 and   string 8!");
        assert_eq!(text("%p %g 100%%", &[0x1000, 0.5f64.to_bits()]), "0x1000 0.5 100%");
        assert_eq!(text("%hhd %zu", &[0x1ff, 1 << 40]), "-1 1099511627776");
    }

    #[test]
    fn what_is_no_conversion_stays() {
        assert_eq!(text("50% yield %y %", &[]), "50% yield %y %");
    }
}
