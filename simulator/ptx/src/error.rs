//! What can be wrong with a text.

use std::fmt;

/// A text that is not PTX, or that uses what this parser does not know: where, what was found, what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Line, from 1.
    pub line: u32,
    /// Column in bytes, from 1.
    pub column: u32,
    /// The offending token; empty at the end of the text.
    pub token: String,
    /// What should stand there instead.
    pub expected: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: expected {}, found ", self.line, self.column, self.expected)?;
        match self.token.as_str() {
            "" => f.write_str("the end of the text"),
            token => write!(f, "`{token}`"),
        }
    }
}

impl std::error::Error for ParseError {}
