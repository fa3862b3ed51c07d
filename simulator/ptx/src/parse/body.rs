//! The body of a function: scopes, declarations, labels, source locations.

use super::scope::{Entry, Labels};
use super::{Parser, Result};
use crate::ast::*;
use crate::lexer::{Kind, Token};

/// The greatest number of scopes open at once.
const NESTING_LIMIT: usize = 256;

/// What is known of the function being parsed.
pub(super) struct Frame<'a> {
    pub(super) body: Body,
    pub(super) labels: Labels<'a>,
    /// The function's name.
    name: Token<'a>,
    /// The source of the instructions to come.
    location: Option<LocationId>,
}

impl<'a> Parser<'a> {
    /// A body from its opening brace on. `body` holds the registers of the parameters.
    pub(super) fn body(&mut self, body: Body, name: Token<'a>) -> Result<Body> {
        let mut frame = Frame { body, labels: Labels::new(), name, location: None };
        self.expect(b'{')?;
        self.names.open();
        loop {
            match self.token.kind {
                Kind::Punct(b'{') => {
                    if frame.labels.depth() == NESTING_LIMIT {
                        return Err(self.error(format!("at most {NESTING_LIMIT} nested scopes")));
                    }
                    self.advance();
                    self.names.open();
                    frame.labels.open();
                }
                Kind::Punct(b'}') => {
                    self.advance();
                    self.names.close();
                    let closed = frame.labels.close(&mut frame.body.labels);
                    closed.map_err(|token| self.error_at(token, "a label defined in an enclosing scope"))?;
                    if frame.labels.depth() == 0 {
                        return Ok(frame.body);
                    }
                }
                Kind::Punct(b';') => {
                    self.advance();
                }
                Kind::Dot => self.body_directive(&mut frame)?,
                Kind::Word if self.lexer.colon_follows(&self.token) => self.label(&mut frame)?,
                Kind::Word | Kind::Punct(b'@') => {
                    let mut instruction = self.instruction(&mut frame)?;
                    instruction.location = frame.location;
                    frame.body.instructions.push(instruction);
                }
                _ => return Err(self.error("an instruction, a directive or `}`")),
            }
        }
    }

    fn body_directive(&mut self, frame: &mut Frame<'a>) -> Result<()> {
        match self.token.dotted() {
            Some("loc") => self.location(frame),
            Some("pragma") => self.pragma(),
            Some("file") => self.file(),
            Some("reg") => self.registers(frame),
            Some("param" | "local" | "shared" | "global" | "const") => self.local_variables(frame),
            _ => Err(self.error("a directive of a function's body")),
        }
    }

    /// `.loc FILE LINE COLUMN [, function_name LABEL[+N], inlined_at FILE LINE COLUMN]`
    fn location(&mut self, frame: &mut Frame<'a>) -> Result<()> {
        self.advance();
        let mut location = self.position()?;
        while self.take(b',') {
            let attribute = self.word("`function_name` or `inlined_at`")?;
            match attribute.text {
                "function_name" => {
                    self.word("a label")?;
                    self.offset()?;
                }
                "inlined_at" => {
                    location.inlined_at = Some(LocationId(frame.body.locations.len() as u32));
                    let outer = self.position()?;
                    frame.body.locations.push(outer);
                }
                _ => return Err(self.error_at(attribute, "`function_name` or `inlined_at`")),
            }
        }
        frame.location = Some(LocationId(frame.body.locations.len() as u32));
        frame.body.locations.push(location);
        Ok(())
    }

    fn position(&mut self) -> Result<Location> {
        let file = self.integer_u32()?;
        let line = self.integer_u32()?;
        let column = self.integer_u32()?;
        Ok(Location { file, line, column, inlined_at: None })
    }

    /// `.reg TYPE %a, %b<8>;`
    fn registers(&mut self, frame: &mut Frame<'a>) -> Result<()> {
        self.advance();
        let declared = self.declared()?;
        loop {
            let name = self.word("a register's name")?;
            let register = Register { name: name.text.to_owned(), ty: declared.ty, vector: declared.vector };
            let next = |frame: &Frame| Entry::Register(RegisterId(frame.body.registers.len() as u32));
            if let Some(count) = self.range(name)? {
                for number in 0..count {
                    let name_text = format!("{}{number}", name.text);
                    if !self.names.declare(name_text.clone(), next(frame)) {
                        return Err(self.error_at(name, "a name not declared before in this scope"));
                    }
                    frame.body.registers.push(Register { name: name_text, ..register });
                }
            } else {
                if !self.names.declare(name.text, next(frame)) {
                    return Err(self.error_at(name, "a name not declared before in this scope"));
                }
                frame.body.registers.push(register);
            }
            if !self.take(b',') {
                return self.expect(b';');
            }
        }
    }

    /// The `<N>` that makes `name` stand for `name0` to `nameN-1`.
    fn range(&mut self, name: Token<'a>) -> Result<Option<u64>> {
        if !self.take(b'<') {
            return Ok(None);
        }
        let count = self.integer()?;
        self.expect(b'>')?;
        self.spend_names(count, name)?;
        Ok(Some(count))
    }

    /// A `.param`, `.local` or static variable of a function.
    fn local_variables(&mut self, frame: &mut Frame<'a>) -> Result<()> {
        let start = self.token;
        let space = start.dotted().and_then(Space::from_word).ok_or_else(|| self.error("a state space"))?;
        if !matches!(space, Space::Param | Space::Local) {
            return self.static_variable(frame, space);
        }
        self.advance();
        let declared = self.declared()?;
        loop {
            let name = self.word("a variable's name")?;
            let range = self.range(name)?;
            let mut variable = self.variable(name, space, declared, start)?;
            for number in 0..range.unwrap_or(1) {
                if range.is_some() {
                    variable.name = format!("{}{number}", name.text);
                }
                let id = LocalId(frame.body.variables.len() as u32);
                if !self.names.declare(variable.name.clone(), Entry::Symbol(Symbol::Local(id))) {
                    return Err(self.error_at(name, "a name not declared before in this scope"));
                }
                frame.body.variables.push(variable.clone());
            }
            if !self.take(b',') {
                return self.expect(b';');
            }
        }
    }

    /// A variable of the function whose memory is the module's. `FUNCTION::NAME` names it for people: being internal, it
    /// is not looked up by name.
    fn static_variable(&mut self, frame: &mut Frame<'a>, space: Space) -> Result<()> {
        let start = self.advance();
        let declared = self.declared()?;
        loop {
            let name = self.word("a variable's name")?;
            let mut variable = self.variable(name, space, declared, start)?;
            if self.take(b'=') {
                self.initializer(&mut variable)?;
            }
            self.spend_names(1, frame.name)?;
            variable.name = format!("{}::{}", frame.name.text, name.text);
            let id = VariableId(self.module.variables.len() as u32);
            self.module.variables.push(variable);
            if !self.names.declare(name.text, Entry::Symbol(Symbol::Variable(id))) {
                return Err(self.error_at(name, "a name not declared before in this scope"));
            }
            if !self.take(b',') {
                return self.expect(b';');
            }
        }
    }

    /// `NAME:`, which names the next instruction, or the prototype or list of targets that follows.
    fn label(&mut self, frame: &mut Frame<'a>) -> Result<()> {
        let name = self.advance();
        self.expect(b':')?;
        let entry = match self.token.dotted() {
            Some("callprototype") => {
                self.advance();
                let prototype = self.prototype()?;
                frame.body.prototypes.push(prototype);
                Entry::Prototype(PrototypeId(frame.body.prototypes.len() as u32 - 1))
            }
            Some("calltargets") => {
                self.advance();
                let targets = self.list_of("a function", |parser, name| parser.declared_function(name))?;
                frame.body.call_targets.push(targets);
                Entry::CallTargets(CallTargetsId(frame.body.call_targets.len() as u32 - 1))
            }
            Some("branchtargets") => {
                self.advance();
                let (labels, list) = (&mut frame.labels, &mut frame.body.labels);
                let targets = self.list_of("a label", |_, name| Ok(labels.mention(name, list)))?;
                frame.body.branch_targets.push(targets);
                Entry::BranchTargets(BranchTargetsId(frame.body.branch_targets.len() as u32 - 1))
            }
            _ => {
                let target = frame.body.instructions.len() as u32;
                if !frame.labels.define(name, target, &mut frame.body.labels) {
                    return Err(self.error_at(name, "a label not defined before in this scope"));
                }
                return Ok(());
            }
        };
        if !self.names.declare(name.text, entry) {
            return Err(self.error_at(name, "a name not declared before in this scope"));
        }
        Ok(())
    }

    /// `NAME, ... ;`
    fn list_of<T>(
        &mut self,
        expected: &str,
        mut item: impl FnMut(&Self, Token<'a>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut items = Vec::new();
        loop {
            let name = self.word(expected)?;
            items.push(item(self, name)?);
            if !self.take(b',') {
                self.expect(b';')?;
                return Ok(items);
            }
        }
    }
}
