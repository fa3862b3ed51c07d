//! Variables: declarators and initialisers.

use super::literal::Number;
use super::scope::Entry;
use super::{Parser, Result};
use crate::ast::*;
use crate::lexer::{Kind, Token};

/// What stands before a name: alignment and type.
#[derive(Clone, Copy)]
pub(super) struct Declared {
    pub(super) align: Option<u32>,
    pub(super) vector: Option<Vector>,
    pub(super) ty: Type,
    pub(super) pointee: Option<Pointee>,
}

impl Declared {
    /// The declared alignment, else the element's size.
    pub(super) fn alignment(&self) -> u32 {
        let natural = self.ty.size() * self.vector.map_or(1, |vector| vector.elements() as u32);
        self.align.unwrap_or(natural)
    }
}

/// The greatest number of array dimensions, and of nested braces in an initialiser.
const DIMENSIONS_LIMIT: usize = 16;

/// The greatest size of a variable in bytes: a GPU's virtual address space has 49 bits at most.
const SIZE_LIMIT: u64 = 1 << 48;

impl<'a> Parser<'a> {
    /// A variable of module scope, from its state space on.
    pub(super) fn module_variable(&mut self, linkage: Linkage, start: Token<'a>) -> Result<()> {
        let space =
            self.token.dotted().and_then(Space::from_word).ok_or_else(|| self.error("a state space"))?;
        self.advance();
        let declared = self.declared()?;
        loop {
            let name = self.word("a variable's name")?;
            let mut variable = self.variable(name, space, declared, start)?;
            variable.linkage = linkage;
            if self.take(b'=') {
                self.initializer(&mut variable)?;
            }
            let more = self.take(b',');
            if !more {
                self.expect(b';')?;
            }
            variable.span = self.span_from(start);
            self.declare_variable(name, variable)?;
            if !more {
                return Ok(());
            }
        }
    }

    /// Enters a variable; a definition replaces a declaration of the same name.
    fn declare_variable(&mut self, name: Token<'a>, variable: Variable) -> Result<()> {
        match self.names.get(name.text) {
            None => {
                let id = VariableId(self.module.variables.len() as u32);
                self.module.variables.push(variable);
                self.names.declare(name.text, Entry::Symbol(Symbol::Variable(id)));
            }
            Some(Entry::Symbol(Symbol::Variable(id))) => {
                let earlier = &mut self.module.variables[id.index()];
                match (earlier.linkage, variable.linkage) {
                    (_, Linkage::Extern) => {}
                    (Linkage::Extern, _) => *earlier = variable,
                    _ => return Err(self.error_at(name, "a name not defined before")),
                }
            }
            Some(_) => return Err(self.error_at(name, "a name not declared as something else")),
        }
        Ok(())
    }

    /// Alignment, attributes and type, in any order; up to the name.
    pub(super) fn declared(&mut self) -> Result<Declared> {
        let (mut align, mut vector, mut ty, mut pointee) = (None, None, None, None);
        while let Some(word) = self.token.dotted() {
            match word {
                "align" => {
                    self.advance();
                    align = Some(self.alignment()?);
                }
                "attribute" => self.attribute()?,
                "ptr" => pointee = Some(self.pointee()?),
                _ if vector.is_none() && Vector::from_word(word).is_some() => {
                    vector = Vector::from_word(word);
                    self.advance();
                }
                _ if ty.is_none() && Type::from_word(word).is_some() => {
                    ty = Type::from_word(word);
                    self.advance();
                }
                _ => return Err(self.error("a type")),
            }
        }
        let ty = ty.ok_or_else(|| self.error("a type"))?;
        Ok(Declared { align, vector, ty, pointee })
    }

    fn alignment(&mut self) -> Result<u32> {
        let token = self.token;
        let align = self.integer_u32()?;
        if align.is_power_of_two() { Ok(align) } else { Err(self.error_at(token, "a power of two")) }
    }

    /// `.attribute(.managed)`: memory that host and device share, which makes no difference to a module.
    fn attribute(&mut self) -> Result<()> {
        self.advance();
        self.expect(b'(')?;
        if !self.take_directive("managed") {
            return Err(self.error("`.managed`"));
        }
        self.expect(b')')
    }

    /// `.ptr [.SPACE] [.align N]`
    fn pointee(&mut self) -> Result<Pointee> {
        self.advance();
        let space = self.token.dotted().and_then(super::modifiers::space);
        if space.is_some() {
            self.advance();
        }
        // Four bytes where nothing is said, by the PTX manual.
        let align = if self.take_directive("align") { self.alignment()? } else { 4 };
        Ok(Pointee { space, align })
    }

    /// A variable's name has been taken: its dimensions.
    pub(super) fn variable(
        &mut self,
        name: Token<'a>,
        space: Space,
        declared: Declared,
        start: Token<'a>,
    ) -> Result<Variable> {
        let dimensions = self.dimensions(declared)?;
        Ok(Variable {
            name: name.text.to_owned(),
            linkage: Linkage::Internal,
            space,
            align: declared.alignment(),
            ty: declared.ty,
            vector: declared.vector,
            dimensions,
            initializer: Vec::new(),
            span: self.span_from(start),
            module: 0,
        })
    }

    /// `[N][M]`, `[]`, or nothing.
    pub(super) fn dimensions(&mut self, declared: Declared) -> Result<Vec<Option<u64>>> {
        let mut dimensions = Vec::new();
        let mut size = u64::from(declared.ty.size()) * declared.vector.map_or(1, |v| v.elements() as u64);
        while self.at(b'[') {
            let token = self.advance();
            if dimensions.len() == DIMENSIONS_LIMIT {
                return Err(self.error_at(token, format!("at most {DIMENSIONS_LIMIT} dimensions")));
            }
            if dimensions.is_empty() && self.take(b']') {
                dimensions.push(None);
                continue;
            }
            let number = self.token;
            let dimension = self.integer()?;
            size =
                size.checked_mul(dimension.max(1)).filter(|&size| size <= SIZE_LIMIT).ok_or_else(|| {
                    self.error_at(
                        number,
                        format!("a dimension that keeps the size within {SIZE_LIMIT} bytes"),
                    )
                })?;
            dimensions.push(Some(dimension));
            self.expect(b']')?;
        }
        Ok(dimensions)
    }

    /// What follows `=`: a value, or nested lists of values, each list padded to its dimension.
    pub(super) fn initializer(&mut self, variable: &mut Variable) -> Result<()> {
        // The number of elements that one element of each dimension spans.
        let lanes = variable.vector.map_or(1, |vector| vector.elements() as u64);
        let extents: Vec<u64> = variable.dimensions.iter().map(|d| d.unwrap_or(0)).collect();
        let mut strides: Vec<u64> =
            (1..=extents.len()).map(|from| extents[from..].iter().product::<u64>() * lanes).collect();
        if lanes > 1 || extents.is_empty() {
            strides.push(1);
        }
        let mut values = Vec::new();
        self.initial_list(&strides, &mut values, variable)?;
        if let Some(unsized_dimension) = variable.dimensions.first_mut().filter(|first| first.is_none()) {
            *unsized_dimension = Some((values.len() as u64).div_ceil(strides[0].max(1)));
        }
        variable.initializer = values;
        Ok(())
    }

    /// A value, or a list whose elements each span `strides[0]` values.
    fn initial_list(
        &mut self,
        strides: &[u64],
        values: &mut Vec<Initial>,
        variable: &Variable,
    ) -> Result<()> {
        let open = self.token;
        if !self.take(b'{') {
            values.push(self.initial_value()?);
            return Ok(());
        }
        let Some((&stride, inner)) = strides.split_first() else {
            return Err(self.error_at(open, "a value, not a list, in as many braces as dimensions"));
        };
        let capacity = self.capacity(strides, variable);
        let start = values.len() as u64;
        while !self.at(b'}') {
            let element = self.token;
            let nested = self.at(b'{');
            let from = values.len() as u64;
            self.initial_list(inner, values, variable)?;
            // A nested list is padded to what it spans; a bare value is one of those that fill this list in order.
            let padding = if nested { stride.saturating_sub(values.len() as u64 - from) } else { 0 };
            self.spend(padding, element)?;
            values.resize(values.len() + padding as usize, Initial::Integer(0));
            if capacity.is_some_and(|capacity| values.len() as u64 - start > capacity) {
                return Err(self.error_at(element, "no more values than the array holds"));
            }
            if !self.take(b',') {
                break;
            }
        }
        self.expect(b'}')
    }

    /// How many values a list at the level of `strides` may hold; `None` at the level of `[]`.
    fn capacity(&self, strides: &[u64], variable: &Variable) -> Option<u64> {
        let lanes = variable.vector.map_or(1, |vector| vector.elements() as u64);
        let levels = variable.dimensions.len() + usize::from(lanes > 1 || variable.dimensions.is_empty());
        match variable.dimensions.get(levels - strides.len()) {
            Some(dimension) => dimension.map(|dimension| dimension * strides[0]),
            None => Some(lanes),
        }
    }

    fn initial_value(&mut self) -> Result<Initial> {
        if self.token.kind == Kind::Word {
            return self.initial_address(None);
        }
        let token = self.token;
        match self.signed_number()? {
            Number::Integer(mask) if self.take(b'(') => {
                if !(0..8).any(|byte| mask == 0xff << (8 * byte)) {
                    return Err(self.error_at(token, "a mask that selects one byte, e.g. 0xFF00"));
                }
                let value = self.initial_address(Some(mask))?;
                self.expect(b')')?;
                Ok(value)
            }
            Number::Integer(value) => Ok(Initial::Integer(value)),
            Number::Float(value) => Ok(Initial::Float(value)),
        }
    }

    /// `symbol+offset` or `generic(symbol)+offset`
    fn initial_address(&mut self, mask: Option<u64>) -> Result<Initial> {
        let mut word = self.word("a symbol")?;
        let generic = word.text == "generic" && self.take(b'(');
        if generic {
            word = self.word("a symbol")?;
        }
        let Some(Entry::Symbol(symbol @ (Symbol::Function(_) | Symbol::Variable(_)))) =
            self.names.get(word.text)
        else {
            return Err(self.error_at(word, "a function or variable declared before"));
        };
        let mut offset = self.offset()?;
        if generic {
            self.expect(b')')?;
            offset = offset.wrapping_add(self.offset()?);
        }
        Ok(Initial::Address { symbol, offset, generic, mask })
    }
}
