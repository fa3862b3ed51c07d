//! Names and what they mean, by scope.

use crate::ast::*;
use crate::lexer::Token;
use std::borrow::Cow;
use std::collections::HashMap;

/// What a name means.
#[derive(Clone, Copy, Debug)]
pub(super) enum Entry {
    Register(RegisterId),
    Symbol(Symbol),
    Prototype(PrototypeId),
    CallTargets(CallTargetsId),
    BranchTargets(BranchTargetsId),
}

/// An entry, and the number of scopes open where it was declared.
type Declared = (Entry, usize);

/// The names visible at a point of the text: one map for all scopes, and a log of what inner scopes have hidden.
#[derive(Default)]
pub(super) struct Names<'a> {
    visible: HashMap<Cow<'a, str>, Declared>,
    hidden: Vec<(Cow<'a, str>, Option<Declared>)>,
    /// For each open scope, the length of `hidden` at its start.
    scopes: Vec<usize>,
}

impl<'a> Names<'a> {
    /// What `name` means here.
    pub(super) fn get(&self, name: &str) -> Option<Entry> {
        self.visible.get(name).map(|&(entry, _)| entry)
    }

    /// Declares `name` in the innermost scope; false if it is declared there already.
    pub(super) fn declare(&mut self, name: impl Into<Cow<'a, str>>, entry: Entry) -> bool {
        let (name, depth) = (name.into(), self.scopes.len());
        let previous = self.visible.insert(name.clone(), (entry, depth));
        let fresh = previous.is_none_or(|(_, declared_at)| declared_at != depth);
        if depth > 0 {
            self.hidden.push((name, previous));
        }
        fresh
    }

    /// What `name` means at module scope, while a function's parameters, in the one scope open, may hide it.
    pub(super) fn get_outermost(&self, name: &str) -> Option<Entry> {
        let hidden = self.hidden.iter().find(|(hidden, _)| hidden == name);
        hidden.map_or_else(|| self.get(name), |(_, previous)| previous.map(|(entry, _)| entry))
    }

    /// Declares `name` at module scope, under the same circumstances.
    pub(super) fn declare_outermost(&mut self, name: &'a str, entry: Entry) {
        match self.hidden.iter_mut().find(|(hidden, _)| hidden == name) {
            Some((_, previous)) => *previous = Some((entry, 0)),
            None => {
                self.visible.insert(Cow::Borrowed(name), (entry, 0));
            }
        }
    }

    /// Opens a scope.
    pub(super) fn open(&mut self) {
        self.scopes.push(self.hidden.len());
    }

    /// Closes the innermost scope.
    pub(super) fn close(&mut self) {
        let start = self.scopes.pop().unwrap_or(0);
        for (name, previous) in self.hidden.drain(start..).rev() {
            match previous {
                Some(entry) => self.visible.insert(name, entry),
                None => self.visible.remove(&name),
            };
        }
    }
}

/// A label that has been mentioned or defined in a scope.
struct Mention<'a> {
    id: LabelId,
    defined: bool,
    /// The first mention, for errors.
    token: Token<'a>,
}

/// The labels of a function. A label is known in its scope and the scopes within, and may be mentioned before it is
/// defined: so a label that a scope mentions and does not define is handed to the enclosing scope when it closes.
pub(super) struct Labels<'a> {
    scopes: Vec<HashMap<&'a str, Mention<'a>>>,
    /// Entries that turned out to mean the same label as another, in order of discovery.
    same: Vec<(LabelId, LabelId)>,
}

impl<'a> Labels<'a> {
    /// No labels, in the function's outermost scope.
    pub(super) fn new() -> Self {
        Self { scopes: vec![HashMap::new()], same: Vec::new() }
    }

    /// The number of open scopes.
    pub(super) fn depth(&self) -> usize {
        self.scopes.len()
    }

    fn entry(&mut self, token: Token<'a>, labels: &mut Vec<Label>) -> &mut Mention<'a> {
        let scope = self.scopes.last_mut().expect("the outermost scope closes last");
        scope.entry(token.text).or_insert_with(|| {
            let id = LabelId(labels.len() as u32);
            labels.push(Label { name: token.text.to_owned(), target: 0 });
            Mention { id, defined: false, token }
        })
    }

    /// The label that an operand names.
    pub(super) fn mention(&mut self, token: Token<'a>, labels: &mut Vec<Label>) -> LabelId {
        self.entry(token, labels).id
    }

    /// Defines a label to stand before the instruction of index `target`; false if the scope has defined it already.
    pub(super) fn define(&mut self, token: Token<'a>, target: u32, labels: &mut Vec<Label>) -> bool {
        let mention = self.entry(token, labels);
        let fresh = !std::mem::replace(&mut mention.defined, true);
        let id = mention.id;
        labels[id.index()].target = target;
        fresh
    }

    /// Opens a scope.
    pub(super) fn open(&mut self) {
        self.scopes.push(HashMap::new());
    }

    /// Closes the innermost scope. When that was the outermost: completes the list, or returns the first mention of a
    /// label that is defined nowhere.
    pub(super) fn close(&mut self, labels: &mut [Label]) -> Result<(), Token<'a>> {
        let closed = self.scopes.pop().unwrap_or_default();
        let undefined = closed.into_iter().filter(|(_, mention)| !mention.defined);
        let Some(outer) = self.scopes.last_mut() else {
            if let Some(token) = undefined.map(|(_, mention)| mention.token).min_by_key(|token| token.start) {
                return Err(token);
            }
            for &(inner, outer) in self.same.iter().rev() {
                labels[inner.index()].target = labels[outer.index()].target;
            }
            return Ok(());
        };
        undefined.for_each(|(name, mention)| match outer.get(name) {
            Some(same) => self.same.push((mention.id, same.id)),
            None => {
                outer.insert(name, mention);
            }
        });
        Ok(())
    }
}
