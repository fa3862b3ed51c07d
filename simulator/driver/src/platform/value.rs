//! Single values of a platform file, and errors that say where they are.

use super::PlatformError;
use crate::env;
use std::cell::RefCell;
use std::collections::HashSet;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

type Result<T> = std::result::Result<T, PlatformError>;

/// A file's name and text, for errors.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub file: &'a str,
    pub text: &'a str,
}

impl Source<'_> {
    /// An error about what stands at `span`.
    pub fn error(
        &self,
        span: Range<usize>,
        key: impl Into<String>,
        what: impl Into<String>,
    ) -> PlatformError {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        let line = 1 + before.bytes().filter(|byte| *byte == b'\n').count();
        PlatformError { file: self.file.to_owned(), line, key: key.into(), what: what.into() }
    }
}

/// A table, which remembers the keys that were asked for: the others are unknown.
pub(super) struct Table<'a> {
    source: Source<'a>,
    /// How errors call it; empty for the file itself.
    name: &'a str,
    table: &'a DeTable<'a>,
    span: Range<usize>,
    asked: RefCell<HashSet<&'static str>>,
}

/// A value and its key.
pub(super) struct Value<'a> {
    pub table: &'a Table<'a>,
    pub key: &'a str,
    pub value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Table<'a> {
    pub fn new(source: Source<'a>, name: &'a str, table: &'a DeTable<'a>, span: Range<usize>) -> Table<'a> {
        Table { source, name, table, span, asked: RefCell::default() }
    }

    /// An error about a key of the table.
    pub fn error(&self, span: Range<usize>, key: &str, what: impl Into<String>) -> PlatformError {
        let key = if self.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name) };
        self.source.error(span, key, what)
    }

    /// Where the table begins.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// The value of a key, if there is one.
    pub fn get(&'a self, key: &'static str) -> Option<Value<'a>> {
        self.asked.borrow_mut().insert(key);
        self.table.get(key).map(|value| Value { table: self, key, value })
    }

    /// The value of a key that must be there.
    pub fn require(&'a self, key: &'static str) -> Result<Value<'a>> {
        self.get(key).ok_or_else(|| self.error(self.span(), key, "is missing"))
    }

    /// All keys with their values.
    pub fn all(&'a self) -> impl Iterator<Item = Value<'a>> {
        self.table.iter().map(|(key, value)| Value { table: self, key: key.get_ref(), value })
    }

    /// The tables of a list of tables, none if the key is missing.
    pub fn tables(&'a self, key: &'static str) -> Result<Vec<Table<'a>>> {
        let Some(value) = self.get(key) else { return Ok(Vec::new()) };
        let wrong = || value.wrong(&format!("written as [[{key}]]"));
        let DeValue::Array(list) = value.value.get_ref() else { return Err(wrong()) };
        let table = |entry: &'a Spanned<DeValue<'a>>| match entry.get_ref() {
            DeValue::Table(table) => Ok(Table::new(self.source, key, table, entry.span())),
            _ => Err(wrong()),
        };
        list.iter().map(table).collect()
    }

    /// An error for the first key that nobody has asked for.
    pub fn no_others(&self) -> Result<()> {
        let asked = self.asked.borrow();
        match self
            .table
            .keys()
            .filter(|key| !asked.contains(&**key.get_ref()))
            .min_by_key(|key| key.span().start)
        {
            Some(key) => Err(self.error(key.span(), key.get_ref(), "is not known")),
            None => Ok(()),
        }
    }
}

impl<'a> Value<'a> {
    /// An error about the value.
    pub fn error(&self, what: impl Into<String>) -> PlatformError {
        self.table.error(self.value.span(), self.key, what)
    }

    fn wrong(&self, right: &str) -> PlatformError {
        let text = self.table.source.text.get(self.value.span()).unwrap_or_default();
        self.error(format!("must be {right}, not {text}"))
    }

    /// A number that `right` accepts.
    fn number(&self, expected: &str, right: impl Fn(f64) -> bool) -> Result<f64> {
        let parsed = match self.value.get_ref() {
            DeValue::Integer(n) => i64::from_str_radix(n.as_str(), n.radix()).ok().map(|n| n as f64),
            DeValue::Float(n) => n.as_str().parse().ok(),
            _ => None,
        };
        parsed.filter(|n: &f64| n.is_finite() && right(*n)).ok_or_else(|| self.wrong(expected))
    }

    /// A number above 0.
    pub fn positive(&self) -> Result<f64> {
        self.number("a number above 0", |n| n > 0.0)
    }

    /// Microseconds, as ns; at most a day.
    pub fn microseconds(&self) -> Result<u64> {
        const DAY: f64 = 24.0 * 3600.0 * 1e6;
        let us = self.number("a number of microseconds from 0 to a day's", |n| (0.0..=DAY).contains(&n))?;
        Ok((us * 1e3).round() as u64)
    }

    /// A whole number from 1 to `most`.
    pub fn count(&self, most: u32) -> Result<u32> {
        let fits = |n: f64| n.fract() == 0.0 && (1.0..=f64::from(most)).contains(&n);
        self.number(&format!("a whole number from 1 to {most}"), fits).map(|n| n as u32)
    }

    /// True or false.
    pub fn flag(&self) -> Result<bool> {
        match self.value.get_ref() {
            DeValue::Boolean(flag) => Ok(*flag),
            _ => Err(self.wrong("true or false")),
        }
    }

    /// Bytes: as [`env::bytes`] reads them, at least 1 MiB.
    pub fn bytes(&self) -> Result<u64> {
        let bytes = self.value.get_ref().as_str().and_then(env::bytes);
        let expected = "a string such as \"8G\" (bytes, or a number with K, M, G or T), at least \"1M\"";
        bytes.filter(|n| *n >= 1 << 20).ok_or_else(|| self.wrong(expected))
    }

    /// A string that isn't empty.
    pub fn text(&self) -> Result<&'a str> {
        let text = self.value.get_ref().as_str().filter(|text| !text.is_empty());
        text.ok_or_else(|| self.wrong("a string that is not empty"))
    }

    /// A string, or a list of them; each comes as a value of its own.
    pub fn one_or_more(&self) -> Vec<Value<'a>> {
        let Value { table, key, value } = *self;
        match value.get_ref() {
            DeValue::Array(list) => list.iter().map(|value| Value { table, key, value }).collect(),
            _ => vec![Value { table, key, value }],
        }
    }
}
