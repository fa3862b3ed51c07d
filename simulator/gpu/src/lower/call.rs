//! Calls and returns. Arguments and results travel as words: see [`crate::ir::CallSite`].

use super::function::{Lowered, Lowering, words};
use crate::exec::registers::WORD;
use crate::exec::{branch, call, load_store};
use crate::ir::{CallSite, Inst, NONE, Slot, Words};
use boomerang_ptx::ast::*;

impl<'a> Lowering<'a> {
    pub(super) fn lower_call(&mut self, i: &Instruction) -> Lowered {
        let Some(Operand::Call(the_call)) = i.operands.first() else { return Err("it has no callee".into()) };
        let (callee, register, signature) = self.callee(the_call)?;
        let mut arguments = Vec::new();
        for (operand, parameter) in matched("argument", &the_call.arguments, &signature.parameters)? {
            let place = match self.param_variable(operand) {
                Some(place) => place,
                None => self.argument(operand, parameter.ty)?,
            };
            arguments.push(fitting("argument", place, parameter)?);
        }
        let mut results = Vec::new();
        let mut to_registers = Vec::new();
        for (operand, parameter) in matched("result", &the_call.returns, &signature.returns)? {
            let place = self.param_variable(operand).unwrap_or_else(|| {
                let at = self.reserve(WORD);
                to_registers.push((operand, at, parameter.ty));
                Words { at: at as u32, count: 1 }
            });
            results.push(fitting("result", place, parameter)?);
        }
        let number = self.calls.len() as u64;
        self.calls.push(CallSite { callee, arguments, results });
        match register {
            None => self.emit(Inst { imm: number, ..Inst::new(call::direct) }),
            Some(id) => {
                let a = self.value(&Operand::Register(id), Type::U64)?;
                self.emit(Inst { a, imm: number, ..Inst::new(call::indirect) });
                self.emit(Inst::new(branch::join));
            }
        }
        for (operand, at, ty) in to_registers {
            let run = load_store::select_load_word(ty.size(), ty.is_signed()).ok_or("such a result")?;
            let d = self.destination(operand, ty)?;
            self.emit_op(run, 0, d.slot, [Slot::frame(at); 3]);
            self.finish(d);
        }
        Ok(())
    }

    /// The callee's index, or the register with its address, and its signature.
    fn callee(&self, the_call: &Call) -> Lowered<(u32, Option<RegisterId>, &'a Signature)> {
        let (program, body) = (self.program, self.body);
        let signature = |id: FunctionId| &program.functions[id.index()].signature;
        Ok(match the_call.callee {
            Callee::Direct(mut id) => {
                while let Some(target) = self.program.functions[id.index()].alias {
                    id = target;
                }
                (id.0, None, signature(id))
            }
            Callee::Indirect(register, prototype) => {
                (NONE, Some(register), &body.prototypes[prototype.index()])
            }
            Callee::OneOf(register, list) => {
                let first =
                    self.body.call_targets[list.index()].first().ok_or("the list of targets is empty")?;
                (NONE, Some(register), signature(*first))
            }
        })
    }

    /// Where a `.param` variable lies.
    fn param_variable(&self, operand: &Operand) -> Option<Words> {
        let Operand::Symbol(Symbol::Local(id), 0) = operand else { return None };
        let variable = &self.body.variables[id.index()];
        let at = self.variables[id.index()] as u32;
        (variable.space == Space::Param).then(|| Words { at, count: words(variable.size()) as u32 })
    }

    /// Brings a value to a word of the frame.
    fn argument(&mut self, operand: &Operand, ty: Type) -> Lowered<Words> {
        let run = load_store::select_store_word(ty.size()).ok_or("such an argument")?;
        let b = self.value(operand, ty)?;
        let at = self.reserve(WORD);
        self.emit_op(run, 0, Slot::frame(at), [b; 3]);
        Ok(Words { at: at as u32, count: 1 })
    }

    /// Brings parameters that the function has in registers there.
    pub(super) fn receive_register_parameters(&mut self) -> Lowered {
        for (n, parameter) in self.function.signature.parameters.iter().enumerate() {
            if let (Some(id), false) = (parameter.register, self.function.entry) {
                let run = load_store::select_load_word(parameter.ty.size(), parameter.ty.is_signed());
                let word = Slot::frame(self.parameters[n]);
                self.emit_op(run.ok_or("such a parameter")?, 0, self.registers[id.index()], [word; 3]);
            }
        }
        Ok(())
    }

    /// Returns, with results that are in registers.
    pub(super) fn lower_return(&mut self) -> Lowered {
        for (n, result) in self.function.signature.returns.iter().enumerate() {
            if let (Some(id), true) = (result.register, self.function.body.is_some()) {
                let run = load_store::select_store_word(result.ty.size()).ok_or("such a result")?;
                let b = self.registers[id.index()];
                self.emit_op(run, 0, Slot::frame(self.returns[n]), [b; 3]);
            }
        }
        self.emit(Inst::new(branch::ret));
        Ok(())
    }
}

/// The operands of a call, each with the parameter it stands for.
fn matched<'o, 's>(
    what: &str,
    operands: &'o [Operand],
    parameters: &'s [Parameter],
) -> Lowered<impl Iterator<Item = (&'o Operand, &'s Parameter)> + use<'o, 's>> {
    if operands.len() != parameters.len() {
        return Err(format!("{} {what}s, the function has {}", operands.len(), parameters.len()));
    }
    Ok(operands.iter().zip(parameters))
}

/// `place`, if the parameter has as many words.
fn fitting(what: &str, place: Words, parameter: &Parameter) -> Lowered<Words> {
    match words(parameter.size()) == place.count as usize {
        true => Ok(place),
        false => Err(format!("the {what} for `{}` has another size", parameter.name)),
    }
}
