//! Instructions: guard, opcode, modifiers, operands; and calls.

use super::body::Frame;
use super::forms::Form;
use super::scope::Entry;
use super::{Parser, Result};
use crate::ast::*;

impl<'a> Parser<'a> {
    /// An instruction, its semicolon included.
    pub(super) fn instruction(&mut self, frame: &mut Frame<'a>) -> Result<Instruction> {
        let start = self.token;
        let guard = if self.take(b'@') {
            let negated = self.take(b'!');
            Some(Guard { register: self.predicate(frame)?, negated })
        } else {
            None
        };
        let name = self.word("an instruction")?;
        let opcode =
            Opcode::from_word(name.text).ok_or_else(|| self.error_at(name, "a known instruction"))?;
        let form = Form::of(opcode);
        let modifiers = self.modifiers(opcode, &form)?;
        let operands = match opcode {
            Opcode::Call => vec![Operand::Call(Box::new(self.call(frame)?))],
            Opcode::Bra => {
                let label = self.word("a label")?;
                vec![Operand::Label(frame.labels.mention(label, &mut frame.body.labels))]
            }
            Opcode::Brx => self.indexed_branch(frame)?,
            _ => self.operands(frame, form.operands.1)?,
        };
        if operands.len() < form.operands.0 {
            return Err(self.error(format!("`{opcode}` to have {} operands at least", form.operands.0)));
        }
        self.expect(b';')?;
        Ok(Instruction { guard, opcode, modifiers, operands, span: self.span_from(start), location: None })
    }

    /// A predicate register.
    fn predicate(&mut self, frame: &Frame) -> Result<RegisterId> {
        let token = self.token;
        let register = self.register()?;
        match frame.body.registers[register.index()].ty {
            Type::Pred => Ok(register),
            _ => Err(self.error_at(token, "a predicate register")),
        }
    }

    /// Operands up to the semicolon, `most` at most.
    fn operands(&mut self, frame: &mut Frame<'a>, most: usize) -> Result<Vec<Operand>> {
        let mut operands = Vec::with_capacity(most);
        if most == 0 || self.at(b';') {
            return Ok(operands);
        }
        loop {
            operands.push(self.operand(frame)?);
            if operands.len() == most || !self.take(b',') {
                return Ok(operands);
            }
        }
    }

    /// `INDEX, TARGETS` of `brx.idx`.
    fn indexed_branch(&mut self, frame: &mut Frame<'a>) -> Result<Vec<Operand>> {
        let index = self.operand(frame)?;
        self.expect(b',')?;
        let name = self.word("the label of a `.branchtargets` list")?;
        match self.names.get(name.text) {
            Some(Entry::BranchTargets(id)) => Ok(vec![index, Operand::BranchTargets(id)]),
            _ => Err(self.error_at(name, "the label of a `.branchtargets` list")),
        }
    }

    /// `[(RETURN),] FUNCTION [, (ARGUMENT, ...)]` or `[(RETURN),] REGISTER [, (ARGUMENT, ...)], PROTOTYPE`.
    fn call(&mut self, frame: &mut Frame<'a>) -> Result<Call> {
        let mut returns = Vec::new();
        if self.at(b'(') {
            returns = self.call_list(frame)?;
            self.expect(b',')?;
        }
        let name = self.word("a function or a register")?;
        let callee = self.names.get(name.text);
        let mut arguments = Vec::new();
        let mut comma = self.take(b',');
        if comma && self.at(b'(') {
            arguments = self.call_list(frame)?;
            comma = self.take(b',');
        }
        let callee = match callee {
            Some(Entry::Symbol(Symbol::Function(id))) if !comma => Callee::Direct(id),
            Some(Entry::Register(register)) if comma => {
                let targets = self.word("a prototype or a list of targets")?;
                match self.names.get(targets.text) {
                    Some(Entry::Prototype(id)) => Callee::Indirect(register, id),
                    Some(Entry::CallTargets(id)) => Callee::OneOf(register, id),
                    _ => return Err(self.error_at(targets, "a prototype or a list of targets")),
                }
            }
            Some(Entry::Symbol(Symbol::Function(_))) => return Err(self.error("`;`")),
            Some(Entry::Register(_)) => return Err(self.error("`,` and a prototype or a list of targets")),
            _ => return Err(self.error_at(name, "a function declared before, or a register")),
        };
        Ok(Call { returns, callee, arguments })
    }

    /// `(OPERAND, ...)`
    fn call_list(&mut self, frame: &mut Frame<'a>) -> Result<Vec<Operand>> {
        self.expect(b'(')?;
        let mut operands = Vec::new();
        if self.take(b')') {
            return Ok(operands);
        }
        loop {
            operands.push(self.operand(frame)?);
            if !self.take(b',') {
                self.expect(b')')?;
                return Ok(operands);
            }
        }
    }
}
