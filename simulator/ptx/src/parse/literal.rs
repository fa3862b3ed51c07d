//! Numbers.

use super::{Parser, Result};
use crate::ast::Float;
use crate::lexer::Kind;

/// A number of either kind.
#[derive(Clone, Copy)]
pub(super) enum Number {
    Integer(u64),
    Float(Float),
}

impl Parser<'_> {
    /// An unsigned integer.
    pub(super) fn integer(&mut self) -> Result<u64> {
        match number(self.token.text) {
            Some(Number::Integer(value)) if self.token.kind == Kind::Number => {
                self.advance();
                Ok(value)
            }
            _ => Err(self.error("an integer")),
        }
    }

    /// An unsigned integer of 32 bits.
    pub(super) fn integer_u32(&mut self) -> Result<u32> {
        let token = self.token;
        u32::try_from(self.integer()?).map_err(|_| self.error_at(token, "an integer below 2^32"))
    }

    /// A number with any signs before it.
    pub(super) fn signed_number(&mut self) -> Result<Number> {
        let mut negative = false;
        while self.at(b'-') || self.at(b'+') {
            negative ^= self.at(b'-');
            self.advance();
        }
        let value = number(self.token.text).filter(|_| self.token.kind == Kind::Number);
        let value = value.ok_or_else(|| self.error("a number"))?;
        self.advance();
        Ok(match value {
            _ if !negative => value,
            Number::Integer(value) => Number::Integer(value.wrapping_neg()),
            Number::Float(Float::Single(bits)) => Number::Float(Float::Single(bits ^ 1 << 31)),
            Number::Float(Float::Double(bits)) => Number::Float(Float::Double(bits ^ 1 << 63)),
        })
    }

    /// The offset behind a base: nothing, `+4`, `-4` or `+-4`.
    pub(super) fn offset(&mut self) -> Result<i64> {
        if !self.at(b'+') && !self.at(b'-') {
            return Ok(0);
        }
        let token = self.token;
        match self.signed_number()? {
            Number::Integer(value) => Ok(value as i64),
            Number::Float(_) => Err(self.error_at(token, "an integer offset")),
        }
    }
}

/// Reads a literal; `None` if it is malformed or too large.
fn number(text: &str) -> Option<Number> {
    let digits = text.strip_suffix(['U', 'u']).unwrap_or(text);
    let bytes = digits.as_bytes();
    let integer = match (bytes.first()?, bytes.get(1)) {
        (b'0', Some(b'x' | b'X')) => u64::from_str_radix(&digits[2..], 16),
        (b'0', Some(b'b' | b'B')) => u64::from_str_radix(&digits[2..], 2),
        (b'0', Some(b'f' | b'F')) => return single(&text[2..]),
        (b'0', Some(b'd' | b'D')) => return double(&text[2..]),
        (b'0', Some(_)) if bytes.iter().all(u8::is_ascii_digit) => u64::from_str_radix(digits, 8),
        _ if bytes.iter().all(u8::is_ascii_digit) => digits.parse(),
        _ if text.bytes().all(|b| b.is_ascii_digit() || b".eE+-".contains(&b)) => {
            let value: f64 = text.parse().ok()?;
            return Some(Number::Float(Float::Double(value.to_bits())));
        }
        _ => return None,
    };
    integer.ok().map(Number::Integer)
}

fn single(digits: &str) -> Option<Number> {
    let bits = u32::try_from(bits(digits, 8)?).ok()?;
    Some(Number::Float(Float::Single(bits)))
}

fn double(digits: &str) -> Option<Number> {
    Some(Number::Float(Float::Double(bits(digits, 16)?)))
}

/// Exactly `count` hexadecimal digits.
fn bits(digits: &str, count: usize) -> Option<u64> {
    let well_formed = digits.len() == count && digits.bytes().all(|b| b.is_ascii_hexdigit());
    u64::from_str_radix(digits, 16).ok().filter(|_| well_formed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integer(text: &str) -> Option<u64> {
        match number(text)? {
            Number::Integer(value) => Some(value),
            Number::Float(_) => None,
        }
    }

    fn float(text: &str) -> Option<f64> {
        match number(text)? {
            Number::Integer(_) => None,
            Number::Float(value) => Some(value.value()),
        }
    }

    #[test]
    fn integers_of_every_radix_are_read() {
        for text in ["26", "0x1A", "032", "0b11010", "26U"] {
            assert_eq!(integer(text), Some(26), "{text}");
        }
        assert_eq!(integer("18446744073709551615"), Some(u64::MAX));
    }

    #[test]
    fn floats_of_every_form_are_read() {
        for text in ["1.5", "15e-1", "0f3FC00000", "0d3FF8000000000000"] {
            assert_eq!(float(text), Some(1.5), "{text}");
        }
    }

    #[test]
    fn malformed_numbers_are_refused() {
        for text in
            ["", "18446744073709551616", "0x", "09", "0f3F80", "0d1", "1.2.3", "12abc", "1e", "0f+1234567"]
        {
            assert!(number(text).is_none(), "{text}");
        }
    }
}
