//! The parser: recursive descent, one token ahead.

mod body;
mod forms;
mod function;
mod instruction;
mod literal;
mod modifiers;
mod operand;
mod scope;
mod takes;
mod variable;

use crate::ast::*;
use crate::error::ParseError;
use crate::lexer::{Kind, Lexer, Token};
use scope::Names;

type Result<T> = std::result::Result<T, ParseError>;

/// Parses the text of one module.
///
/// # Errors
///
/// The first thing that is not PTX, or not known here, with its line and column.
pub fn parse(text: &str) -> Result<Module> {
    if u32::try_from(text.len()).is_err() {
        let expected = "a text shorter than 4 GiB".to_owned();
        return Err(ParseError { line: 1, column: 1, token: String::new(), expected });
    }
    let mut lexer = Lexer::new(text);
    let token = lexer.next_token();
    let mut parser = Parser {
        lexer,
        token,
        last: token,
        module: Module { address_size: 32, ..Module::default() },
        names: Names::default(),
        aliased: Vec::new(),
        budget: EXPANSION_LIMIT,
    };
    parser.module()?;
    Ok(parser.module)
}

/// How many declarations and array elements a module may have that are not spelled out in its text, but made from a
/// register range or by padding an initialiser. The driver's limit is memory; this keeps a short text from using it up.
const EXPANSION_LIMIT: u64 = 1 << 21;
/// Characters of a name made from another that count as one such declaration.
const NAME_UNIT: u64 = 32;

struct Parser<'a> {
    lexer: Lexer<'a>,
    /// The next token.
    token: Token<'a>,
    /// The token before it.
    last: Token<'a>,
    module: Module,
    names: Names<'a>,
    /// What aliases name, which must be defined by the module's end.
    aliased: Vec<(Token<'a>, FunctionId)>,
    /// What is left of [`EXPANSION_LIMIT`].
    budget: u64,
}

impl<'a> Parser<'a> {
    fn advance(&mut self) -> Token<'a> {
        self.last = std::mem::replace(&mut self.token, self.lexer.next_token());
        self.last
    }

    fn error_at(&self, token: Token, expected: impl Into<String>) -> ParseError {
        let column = self.lexer.column(token.start);
        let text = token.text.chars().take(80).collect();
        ParseError { line: token.line, column, token: text, expected: expected.into() }
    }

    fn error(&self, expected: impl Into<String>) -> ParseError {
        self.error_at(self.token, expected)
    }

    fn at(&self, punct: u8) -> bool {
        self.token.kind == Kind::Punct(punct)
    }

    /// Takes the next token if it is `punct`.
    fn take(&mut self, punct: u8) -> bool {
        let found = self.at(punct);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, punct: u8) -> Result<()> {
        if self.take(punct) { Ok(()) } else { Err(self.error(format!("`{}`", punct as char))) }
    }

    fn word(&mut self, expected: &str) -> Result<Token<'a>> {
        if self.token.kind == Kind::Word { Ok(self.advance()) } else { Err(self.error(expected)) }
    }

    /// Takes the next token if it is the directive `.word`.
    fn take_directive(&mut self, word: &str) -> bool {
        let found = self.token.dotted() == Some(word);
        if found {
            self.advance();
        }
        found
    }

    /// Takes a string, without its quotes.
    fn string(&mut self) -> Result<&'a str> {
        match self.token.kind {
            Kind::String => {
                let text = self.advance().text;
                Ok(&text[1..text.len() - 1])
            }
            _ => Err(self.error("a string")),
        }
    }

    /// The text from `start` to the last token taken.
    fn span_from(&self, start: Token) -> Span {
        Span { start: start.start, end: self.last.end(), line: start.line }
    }

    /// Takes `count` from the budget for things not spelled out in the text.
    fn spend(&mut self, count: u64, token: Token) -> Result<()> {
        match self.budget.checked_sub(count) {
            Some(left) => {
                self.budget = left;
                Ok(())
            }
            None => {
                Err(self.error_at(token, format!("at most {EXPANSION_LIMIT} registers and elements in all")))
            }
        }
    }

    /// [`Parser::spend`], for `count` names made from `name`.
    fn spend_names(&mut self, count: u64, name: Token) -> Result<()> {
        self.spend(count.saturating_mul(1 + name.text.len() as u64 / NAME_UNIT), name)
    }

    fn module(&mut self) -> Result<()> {
        if !self.take_directive("version") {
            return Err(self.error("`.version`"));
        }
        self.version()?;
        if !self.take_directive("target") {
            return Err(self.error("`.target`"));
        }
        self.target()?;
        while self.token.kind != Kind::End {
            match self.token.dotted() {
                Some("address_size") => {
                    self.advance();
                    let token = self.token;
                    self.module.address_size = match self.integer()? {
                        size @ (32 | 64) => size as u32,
                        _ => return Err(self.error_at(token, "32 or 64")),
                    };
                }
                Some("file") => self.file()?,
                Some("section") => self.section()?,
                Some("alias") => self.alias()?,
                Some("pragma") => self.pragma()?,
                Some(_) => self.declaration()?,
                None => return Err(self.error("a directive")),
            }
        }
        self.check_aliased()
    }

    fn version(&mut self) -> Result<()> {
        let parts = self.token.text.split_once('.').filter(|_| self.token.kind == Kind::Number);
        let version = parts.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        self.module.version = version.ok_or_else(|| self.error("a version, e.g. 6.0"))?;
        self.advance();
        Ok(())
    }

    fn target(&mut self) -> Result<()> {
        let architecture = self.word("an architecture, e.g. sm_70")?;
        let number = architecture.text.strip_prefix("sm_").unwrap_or_default();
        let digits = number.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let sm = digits.parse().map_err(|_| self.error_at(architecture, "an architecture, e.g. sm_70"))?;
        self.module.sm = sm;
        if digits.len() < number.len() {
            self.module.target_options.push(number[digits.len()..].to_owned());
        }
        while self.take(b',') {
            let option = self.word("a target option")?.text.to_owned();
            self.module.target_options.push(option);
        }
        Ok(())
    }

    /// `.file INDEX "NAME" [, TIME, SIZE]`, or with directory and name as two strings.
    fn file(&mut self) -> Result<()> {
        self.advance();
        let index = self.integer_u32()?;
        let mut name = self.string()?.to_owned();
        if self.token.kind == Kind::String {
            name = format!("{name}/{}", self.string()?);
        }
        while self.take(b',') {
            self.integer()?;
        }
        self.module.files.push(File { index, name });
        Ok(())
    }

    /// `.section NAME { ... }`: debugging information, skipped.
    fn section(&mut self) -> Result<()> {
        self.advance();
        if !matches!(self.token.kind, Kind::Word | Kind::Dot) {
            return Err(self.error("a section name"));
        }
        self.advance();
        self.expect(b'{')?;
        let mut depth = 1;
        while depth > 0 {
            match self.token.kind {
                Kind::Punct(b'{') => depth += 1,
                Kind::Punct(b'}') => depth -= 1,
                Kind::End | Kind::Invalid => return Err(self.error("`}`")),
                _ => {}
            }
            self.advance();
        }
        Ok(())
    }

    /// `.pragma "...", "...";`: hints to the optimiser, skipped.
    fn pragma(&mut self) -> Result<()> {
        self.advance();
        self.string()?;
        while self.take(b',') {
            self.string()?;
        }
        self.expect(b';')
    }

    /// A variable or function, after its linkage.
    fn declaration(&mut self) -> Result<()> {
        let start = self.token;
        let linkage = match self.token.dotted() {
            Some("extern") => Linkage::Extern,
            Some("visible") => Linkage::Visible,
            Some("weak") => Linkage::Weak,
            Some("common") => Linkage::Common,
            _ => Linkage::Internal,
        };
        if linkage != Linkage::Internal {
            self.advance();
        }
        match self.token.dotted() {
            Some("func" | "entry") => self.function(linkage, start),
            Some(word) => match Space::from_word(word) {
                Some(Space::Global | Space::Const | Space::Shared | Space::Local) => {
                    self.module_variable(linkage, start)
                }
                _ => Err(self.error("a directive of module scope")),
            },
            None => Err(self.error("a directive of module scope")),
        }
    }
}
