//! Functions: signatures, launch bounds, declarations and definitions.

use super::scope::Entry;
use super::{Parser, Result};
use crate::ast::*;
use crate::lexer::{Kind, Token};

/// The greatest number of parameters: a kernel's take 32764 bytes at most.
const PARAMETERS_LIMIT: usize = 1 << 15;

impl<'a> Parser<'a> {
    /// A function from `.func` or `.entry` on.
    pub(super) fn function(&mut self, linkage: Linkage, start: Token<'a>) -> Result<()> {
        let entry = self.advance().dotted() == Some("entry");
        self.names.open();
        let mut body = Body::default();
        let mut signature = Signature::default();
        if self.at(b'(') {
            signature.returns = self.parameters(&mut body, Symbol::Return)?;
        }
        let name = self.word("a function's name")?;
        if self.at(b'(') {
            signature.parameters = self.parameters(&mut body, Symbol::Parameter)?;
        }
        let bounds = self.directives(&mut signature)?;
        let function = Function {
            name: name.text.to_owned(),
            linkage,
            entry,
            signature,
            bounds,
            body: None,
            alias: None,
            span: Span::default(),
            declarations: Vec::new(),
            module: 0,
        };
        if self.take(b';') {
            self.names.close();
            let span = self.span_from(start);
            return self.declare_function(name, Function { span, declarations: vec![span], ..function });
        }
        if !self.at(b'{') {
            return Err(self.error("`{` or `;`"));
        }
        let id = self.define_function(name, function)?;
        let body = self.body(body, name)?;
        self.names.close();
        let span = self.span_from(start);
        let function = &mut self.module.functions[id.index()];
        function.body = Some(body);
        function.span = span;
        Ok(())
    }

    /// Enters a declaration without body.
    fn declare_function(&mut self, name: Token<'a>, function: Function) -> Result<()> {
        match self.names.get(name.text) {
            None => {
                let id = FunctionId(self.module.functions.len() as u32);
                self.module.functions.push(function);
                self.names.declare(name.text, Entry::Symbol(Symbol::Function(id)));
            }
            Some(Entry::Symbol(Symbol::Function(id))) => {
                self.module.functions[id.index()].declarations.extend(function.declarations);
            }
            Some(_) => return Err(self.error_at(name, "a name not declared as something else")),
        }
        Ok(())
    }

    /// Enters a function whose body comes next. The scope of its parameters is open, so that the function's name has to
    /// be entered outside of it.
    fn define_function(&mut self, name: Token<'a>, function: Function) -> Result<FunctionId> {
        match self.names.get_outermost(name.text) {
            None => {
                let id = FunctionId(self.module.functions.len() as u32);
                self.module.functions.push(function);
                self.names.declare_outermost(name.text, Entry::Symbol(Symbol::Function(id)));
                Ok(id)
            }
            Some(Entry::Symbol(Symbol::Function(id))) => {
                let declared = &mut self.module.functions[id.index()];
                if declared.body.is_some() || declared.alias.is_some() {
                    return Err(self.error_at(name, "a name not defined before"));
                }
                let declarations = std::mem::take(&mut declared.declarations);
                // A declaration may make the function visible or weak where its definition says nothing.
                let linkage = match (function.linkage, declared.linkage) {
                    (Linkage::Internal, Linkage::Visible | Linkage::Weak) => declared.linkage,
                    (linkage, _) => linkage,
                };
                *declared = Function { linkage, declarations, ..function };
                Ok(id)
            }
            Some(_) => Err(self.error_at(name, "a name not declared as something else")),
        }
    }

    /// `( PARAMETER, ... )`, entered in the open scope.
    fn parameters(&mut self, body: &mut Body, symbol: fn(u32) -> Symbol) -> Result<Vec<Parameter>> {
        self.expect(b'(')?;
        let mut parameters = Vec::new();
        if self.take(b')') {
            return Ok(parameters);
        }
        loop {
            if parameters.len() == PARAMETERS_LIMIT {
                return Err(self.error(format!("at most {PARAMETERS_LIMIT} parameters")));
            }
            let in_register = self.take_directive("reg");
            if !in_register && !self.take_directive("param") {
                return Err(self.error("`.param` or `.reg`"));
            }
            let declared = self.declared()?;
            let name = self.word("a parameter's name")?;
            let dimensions = self.dimensions(declared)?;
            let (entry, register) = if in_register {
                let id = RegisterId(body.registers.len() as u32);
                let register =
                    Register { name: name.text.to_owned(), ty: declared.ty, vector: declared.vector };
                body.registers.push(register);
                (Entry::Register(id), Some(id))
            } else {
                (Entry::Symbol(symbol(parameters.len() as u32)), None)
            };
            if name.text != "_" && !self.names.declare(name.text, entry) {
                return Err(self.error_at(name, "a name not declared before in this scope"));
            }
            parameters.push(Parameter {
                name: name.text.to_owned(),
                register,
                align: declared.alignment(),
                ty: declared.ty,
                vector: declared.vector,
                dimensions,
                pointee: declared.pointee,
            });
            if !self.take(b',') {
                self.expect(b')')?;
                return Ok(parameters);
            }
        }
    }

    /// What stands between a function's parameters and its body.
    fn directives(&mut self, signature: &mut Signature) -> Result<LaunchBounds> {
        let mut bounds = LaunchBounds::default();
        while let Some(word) = self.token.dotted() {
            if word == "pragma" {
                self.pragma()?;
                continue;
            }
            let directive = self.advance();
            match word {
                "noreturn" => signature.noreturn = true,
                "maxntid" => bounds.max_threads = Some(self.threads()?),
                "reqntid" => bounds.required_threads = Some(self.threads()?),
                "minnctapersm" => bounds.min_blocks = Some(self.integer_u32()?),
                "maxnreg" => bounds.max_registers = Some(self.integer_u32()?),
                // These bound what the optimiser and the launch may choose, not what the code does.
                "minnreg" | "maxnctapersm" | "maxclusterrank" => {
                    self.integer_u32()?;
                }
                _ => return Err(self.error_at(directive, "a directive of a function")),
            }
        }
        Ok(bounds)
    }

    /// `NX [, NY [, NZ]]`
    fn threads(&mut self) -> Result<[u32; 3]> {
        let mut threads = [self.integer_u32()?, 1, 1];
        for dimension in &mut threads[1..] {
            if self.take(b',') {
                *dimension = self.integer_u32()?;
            }
        }
        Ok(threads)
    }

    /// `.callprototype [(RETURN)] _ [(PARAMETER, ...)] [.noreturn];`
    pub(super) fn prototype(&mut self) -> Result<Signature> {
        self.names.open();
        // Registers of a prototype's parameters are no one's.
        let mut unused = Body::default();
        let mut signature = Signature::default();
        if self.at(b'(') {
            signature.returns = self.parameters(&mut unused, Symbol::Return)?;
        }
        self.word("`_`")?;
        if self.at(b'(') {
            signature.parameters = self.parameters(&mut unused, Symbol::Parameter)?;
        }
        signature.returns.iter_mut().chain(&mut signature.parameters).for_each(|p| p.register = None);
        signature.noreturn = self.take_directive("noreturn");
        self.names.close();
        self.expect(b';')?;
        Ok(signature)
    }

    /// `.alias NAME, FUNCTION;`
    pub(super) fn alias(&mut self) -> Result<()> {
        self.advance();
        let name = self.word("the name of a declared function")?;
        let alias = self.declared_function(name)?;
        self.expect(b',')?;
        let target_name = self.word("the name of a defined function")?;
        let target = self.declared_function(target_name)?;
        // GCC's aliases stand before the definition.
        self.aliased.push((target_name, target));
        let function = &mut self.module.functions[alias.index()];
        if function.body.is_some() || function.alias.is_some() {
            return Err(self.error_at(name, "a name not defined before"));
        }
        function.alias = Some(target);
        self.expect(b';')
    }

    /// At the module's end: whether all that has an alias was defined.
    pub(super) fn check_aliased(&self) -> Result<()> {
        let defined = |id: FunctionId| self.module.functions[id.index()].body.is_some();
        match self.aliased.iter().find(|(_, target)| !defined(*target)) {
            Some((name, _)) => Err(self.error_at(*name, "the name of a defined function")),
            None => Ok(()),
        }
    }

    /// The function that `name` was declared as.
    pub(super) fn declared_function(&self, name: Token) -> Result<FunctionId> {
        match self.names.get(name.text) {
            Some(Entry::Symbol(Symbol::Function(id))) if name.kind == Kind::Word => Ok(id),
            _ => Err(self.error_at(name, "a function declared before")),
        }
    }
}
