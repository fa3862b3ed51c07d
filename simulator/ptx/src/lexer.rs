//! Splits a text into tokens, which borrow from it. Never fails: what is no token becomes one of kind
//! [`Kind::Invalid`], which no rule of the grammar expects.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An identifier: a name, an opcode, or the sink `_`.
    Word,
    /// A dot and a word, e.g. `.u32` or `.L1::evict_last`: a directive, a modifier, or a component.
    Dot,
    /// A number: it starts with a digit.
    Number,
    /// A string, quotes included.
    String,
    /// A punctuation character.
    Punct(u8),
    /// A character that starts no token, or an unterminated string or comment.
    Invalid,
    /// The end of the text.
    End,
}

/// A token.
#[derive(Clone, Copy, Debug)]
pub struct Token<'a> {
    /// What it is.
    pub kind: Kind,
    /// Its text.
    pub text: &'a str,
    /// Byte offset of its start.
    pub start: u32,
    /// Its line, from 1.
    pub line: u32,
}

impl<'a> Token<'a> {
    /// The word behind the dot of a [`Kind::Dot`] token.
    pub fn dotted(&self) -> Option<&'a str> {
        (self.kind == Kind::Dot).then(|| &self.text[1..])
    }

    /// Byte offset after its end.
    pub fn end(&self) -> u32 {
        self.start + self.text.len() as u32
    }
}

/// The state of the scan.
pub struct Lexer<'a> {
    text: &'a str,
    position: usize,
    line: u32,
}

impl<'a> Lexer<'a> {
    /// Starts at the beginning of `text`, which must be shorter than 4 GiB.
    pub fn new(text: &'a str) -> Self {
        Self { text, position: 0, line: 1 }
    }

    /// The column, in bytes from 1, of a byte offset.
    pub fn column(&self, offset: u32) -> u32 {
        let line_start = self.text[..offset as usize].rfind('\n').map_or(0, |newline| newline + 1);
        offset - line_start as u32 + 1
    }

    /// Whether a colon follows `token`, which makes it a label.
    pub fn colon_follows(&self, token: &Token) -> bool {
        self.text[token.end() as usize..].trim_ascii_start().starts_with(':')
    }

    /// Whether a name follows `token`, rather than a number.
    pub fn word_follows(&self, token: &Token) -> bool {
        let rest = self.text[token.end() as usize..].trim_ascii_start();
        rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '%' || c == '$' || c == '_')
    }

    /// The next token.
    pub fn next_token(&mut self) -> Token<'a> {
        let terminated = self.skip_blanks();
        let bytes = self.text.as_bytes();
        let (start, line) = (self.position, self.line);
        let first = bytes.get(start).copied();
        let kind = match first {
            _ if !terminated => {
                self.position = bytes.len();
                Kind::Invalid
            }
            None => Kind::End,
            Some(b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | b'%') => {
                self.scan_word(start + 1);
                Kind::Word
            }
            Some(b'.') => self.scan_dotted(start),
            Some(b'0'..=b'9') => {
                self.scan_number();
                Kind::Number
            }
            Some(b'"') => self.scan_string(start),
            Some(punct) if punct.is_ascii_punctuation() => {
                self.position += 1;
                Kind::Punct(punct)
            }
            Some(_) => {
                self.position += self.text[start..].chars().next().map_or(1, char::len_utf8);
                Kind::Invalid
            }
        };
        Token { kind, text: &self.text[start..self.position], start: start as u32, line }
    }

    /// Moves past white space and comments; false at a comment that does not end.
    fn skip_blanks(&mut self) -> bool {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.position) {
            match byte {
                b'\n' => {
                    self.line += 1;
                    self.position += 1;
                }
                b' ' | b'\t' | b'\r' | b'\x0b' | b'\x0c' => self.position += 1,
                b'/' if bytes.get(self.position + 1) == Some(&b'/') => {
                    let rest = &bytes[self.position..];
                    self.position += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
                }
                b'/' if bytes.get(self.position + 1) == Some(&b'*') => {
                    let Some(length) = self.text[self.position + 2..].find("*/") else { return false };
                    let comment = &bytes[self.position..self.position + 2 + length];
                    self.line += comment.iter().filter(|&&b| b == b'\n').count() as u32;
                    self.position += length + 4;
                }
                _ => break,
            }
        }
        true
    }

    /// Moves to the end of the run of word characters that includes `from`.
    fn scan_word(&mut self, from: usize) {
        let bytes = self.text.as_bytes();
        self.position = from;
        while bytes.get(self.position).is_some_and(|&b| b.is_ascii_alphanumeric() || b == b'_' || b == b'$') {
            self.position += 1;
        }
    }

    fn scan_dotted(&mut self, start: usize) -> Kind {
        let bytes = self.text.as_bytes();
        self.scan_word(start + 1);
        if self.position == start + 1 {
            return Kind::Punct(b'.');
        }
        let is_word = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphanumeric);
        while bytes[self.position..].starts_with(b"::") && is_word(self.position + 2) {
            self.scan_word(self.position + 2);
        }
        Kind::Dot
    }

    /// Integers and floats of every form; the parser checks the digits.
    fn scan_number(&mut self) {
        let bytes = self.text.as_bytes();
        let start = self.position;
        self.scan_word(start);
        if bytes[start..self.position].iter().all(u8::is_ascii_digit)
            && bytes.get(self.position) == Some(&b'.')
        {
            self.scan_word(self.position + 1);
        }
        let hexadecimal = matches!(bytes.get(start + 1), Some(b'x' | b'X' | b'f' | b'F' | b'd' | b'D'));
        let exponent = matches!(bytes[self.position - 1], b'e' | b'E') && !hexadecimal;
        if exponent && matches!(bytes.get(self.position), Some(b'+' | b'-')) {
            self.scan_word(self.position + 1);
        }
    }

    fn scan_string(&mut self, start: usize) -> Kind {
        let bytes = self.text.as_bytes();
        self.position = start + 1;
        while let Some(&byte) = bytes.get(self.position) {
            match byte {
                b'"' => {
                    self.position += 1;
                    return Kind::String;
                }
                b'\n' => break,
                b'\\' if bytes.get(self.position + 1) == Some(&b'"') => self.position += 2,
                _ => self.position += 1,
            }
        }
        Kind::Invalid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<(Kind, &str, u32)> {
        let mut lexer = Lexer::new(text);
        std::iter::from_fn(|| {
            let token = lexer.next_token();
            (token.kind != Kind::End).then_some((token.kind, token.text, token.line))
        })
        .collect()
    }

    #[test]
    fn words_numbers_and_modifiers_are_told_apart() {
        use Kind::{Dot, Number, Punct, Word};
        assert_eq!(
            texts("ld.L1::evict_last %r1,[$x+0x1F]; /* a\nb */ 1.5e-3 // c\n0f3F800000 _"),
            [
                (Word, "ld", 1),
                (Dot, ".L1::evict_last", 1),
                (Word, "%r1", 1),
                (Punct(b','), ",", 1),
                (Punct(b'['), "[", 1),
                (Word, "$x", 1),
                (Punct(b'+'), "+", 1),
                (Number, "0x1F", 1),
                (Punct(b']'), "]", 1),
                (Punct(b';'), ";", 1),
                (Number, "1.5e-3", 2),
                (Number, "0f3F800000", 3),
                (Word, "_", 3),
            ]
        );
    }

    #[test]
    fn a_hexadecimal_number_ending_in_e_does_not_swallow_a_sign() {
        assert_eq!(texts("0xFE+1").len(), 3);
    }

    #[test]
    fn what_does_not_end_is_an_invalid_token() {
        assert_eq!(texts("\"abc\n"), [(Kind::Invalid, "\"abc", 1)]);
        assert_eq!(texts(" /* abc"), [(Kind::Invalid, "/* abc", 1)]);
        assert_eq!(texts("é"), [(Kind::Invalid, "é", 1)]);
    }
}
