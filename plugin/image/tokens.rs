//! The tokens of a PTX text.

/// A token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token<'a> {
    /// An identifier. Those of registers and parameters begin with `%` in GCC's texts.
    Word(&'a str),
    /// A dot and what follows: a directive, a type, a modifier.
    Directive(&'a str),
    /// An integer, a floating-point number, a version.
    Number,
    /// In double quotes.
    String,
    /// Any other character.
    Sign(u8),
}

/// Reads tokens from a text.
pub struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

/// What the scanner's functions give: none where the text has a form that isn't known.
pub type Known<T> = Option<T>;

impl<'a> Scanner<'a> {
    /// Begins at the beginning.
    pub fn new(text: &'a str) -> Scanner<'a> {
        Scanner { text, at: 0 }
    }

    /// Goes on here, where a token or what stands between two begins.
    pub fn skip_to(&mut self, at: usize) {
        self.at = at;
    }

    /// Where the next token, or the blanks and comments in front of it, begins.
    pub fn at(&self) -> usize {
        self.at
    }

    /// The next token, or none at the end.
    pub fn token(&mut self) -> Known<Option<Token<'a>>> {
        let bytes = self.text.as_bytes();
        loop {
            let rest = &bytes[self.at..];
            match rest {
                [] => return Some(None),
                [b' ' | b'\t' | b'\n' | b'\r', ..] => self.at += 1,
                [b'/', b'/', ..] => {
                    self.at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                }
                [b'/', b'*', ..] => self.at += 4 + self.text.get(self.at + 2..)?.find("*/")?,
                _ => break,
            }
        }
        let start = self.at;
        let token = match bytes[start] {
            b'"' => {
                let length = bytes[start + 1..].iter().position(|byte| *byte == b'"')?;
                self.at += length + 2;
                Token::String
            }
            b'.' if self.follows(1, is_name) => {
                self.skip(1, is_name);
                Token::Directive(&self.text[start..self.at])
            }
            b'0'..=b'9' => {
                self.skip(0, |byte| byte.is_ascii_alphanumeric());
                // `7.3`, but not the dot of `7.3.target`.
                if self.follows(0, |byte| byte == b'.') && self.follows(1, |byte| byte.is_ascii_digit()) {
                    self.skip(1, |byte| byte.is_ascii_alphanumeric());
                }
                Token::Number
            }
            byte if is_name(byte) => {
                self.skip(0, is_name);
                Token::Word(&self.text[start..self.at])
            }
            byte if byte.is_ascii() => {
                self.at += 1;
                Token::Sign(byte)
            }
            _ => return None,
        };
        Some(Some(token))
    }

    fn follows(&self, offset: usize, is: impl Fn(u8) -> bool) -> bool {
        self.text.as_bytes().get(self.at + offset).is_some_and(|byte| is(*byte))
    }

    /// Skips `first` bytes and then all that are as `is` says.
    fn skip(&mut self, first: usize, is: impl Fn(u8) -> bool) {
        self.at += first;
        while self.follows(0, &is) {
            self.at += 1;
        }
    }

    /// The next token, where there must be one.
    pub fn must(&mut self) -> Known<Token<'a>> {
        self.token()?
    }

    /// Takes the next token if `is` says so.
    pub fn take_if(&mut self, is: impl Fn(Token<'a>) -> bool) -> Known<bool> {
        let before = self.at;
        let taken = self.token()?.is_some_and(is);
        if !taken {
            self.at = before;
        }
        Some(taken)
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Option<Vec<Token<'_>>> {
        let mut scanner = Scanner::new(text);
        let mut tokens = vec![];
        while let Some(token) = scanner.token()? {
            tokens.push(token);
        }
        Some(tokens)
    }

    #[test]
    fn tokens_end_where_the_next_begins_without_blanks_too() {
        use Token::*;
        let expected = vec![
            Directive(".version"),
            Number,
            Directive(".target"),
            Word("sm_52"),
            Directive(".file"),
            Number,
            String,
        ];
        assert_eq!(tokens(".version 7.3.target sm_52.file 1\"a.c\"").as_ref(), Some(&expected));
        let expected = vec![
            Sign(b'@'),
            Word("%p1"),
            Word("ld"),
            Directive(".u64"),
            Word("%r$2"),
            Sign(b','),
            Sign(b'['),
            Word("x"),
            Sign(b'+'),
            Number,
            Sign(b']'),
            Sign(b';'),
        ];
        assert_eq!(tokens("@%p1 ld.u64 %r$2,[x+0x1F];// a\n/* b */"), Some(expected));
    }

    #[test]
    fn what_is_not_closed_or_not_ascii_is_not_known() {
        for text in ["\"open", "/* open", "a \u{e4}"] {
            assert_eq!(tokens(text), None, "{text}");
        }
        assert_eq!(tokens("// \u{e4}"), Some(vec![]));
    }
}
