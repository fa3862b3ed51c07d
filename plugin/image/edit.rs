//! Texts of which some parts are replaced.

use std::ops::Range;

use super::tokens::{Known, Scanner, Token};

/// A text in the making, from its beginning to its end.
pub struct Edit<'t> {
    text: &'t str,
    /// Up to where it has been taken over.
    done: usize,
    made: String,
    has_changed: bool,
}

impl<'t> Edit<'t> {
    /// Begins with all as it is.
    pub fn of(text: &'t str) -> Edit<'t> {
        Edit { text, done: 0, made: String::with_capacity(text.len() + text.len() / 16), has_changed: false }
    }

    /// Has this stand in place of a part, which comes behind those before.
    pub fn replace(&mut self, part: Range<usize>, new: &str) {
        self.made += &self.text[self.done..part.start];
        self.made += new;
        self.done = part.end;
        self.has_changed = true;
    }

    /// What has become of the text, if anything was replaced.
    pub fn changed(self) -> Option<String> {
        self.has_changed.then(|| self.whole())
    }

    /// What has become of the text.
    pub fn whole(mut self) -> String {
        self.made += &self.text[self.done..];
        self.made
    }
}

/// `text` with other names: pairs of what stands there and what is to. None where it has a form that isn't known.
pub fn rename(text: &str, names: &[(&str, &str)]) -> Known<String> {
    rename_by(text, |word| names.iter().find(|(from, _)| *from == word).map(|(_, to)| *to))
}

/// As above, where there is a `new` name.
pub fn rename_by<'n>(text: &str, new: impl Fn(&str) -> Option<&'n str>) -> Known<String> {
    let mut edit = Edit::of(text);
    let mut tokens = Scanner::new(text);
    while let Some(token) = tokens.token()? {
        let Token::Word(word) = token else { continue };
        if let Some(new) = new(word) {
            edit.replace(tokens.at() - word.len()..tokens.at(), new);
        }
    }
    Some(edit.whole())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_replaced_and_the_rest_stays() {
        let mut edit = Edit::of("one two three");
        edit.replace(0..3, "1");
        edit.replace(7..7, ",");
        edit.replace(8..13, "");
        assert_eq!(edit.changed().as_deref(), Some("1 two, "));
        assert_eq!(Edit::of("one").changed(), None);
        assert_eq!(Edit::of("one").whole(), "one");
    }

    #[test]
    fn names_are_replaced_as_a_whole() {
        let names = [("%r1", "%new")];
        assert_eq!(rename("add %r1,%r11,%r1; // %r1", &names).as_deref(), Some("add %new,%r11,%new; // %r1"));
        assert_eq!(rename("\"open", &names), None);
    }
}
