//! Calls and returns. Arguments and results travel as words: see [`crate::ir::CallSite`].

use super::function::{Lowered, Lowering, words};
use crate::exec::frames::WORD;
use crate::exec::{branch, call, load_store};
use crate::ir::{CallSite, Inst, NONE, Slot};
use boomerang_ptx::ast::*;

impl Lowering<'_> {
    pub(super) fn lower_call(&mut self, i: &Instruction) -> Lowered {
        let Some(Operand::Call(the_call)) = i.operands.first() else { return Err("it has no callee".into()) };
        let (callee, register, signature) = self.callee(the_call)?;
        let mut arguments = Vec::new();
        for (n, operand) in the_call.arguments.iter().enumerate() {
            let ty = signature.parameters.get(n).map_or(Type::B64, |p| p.ty);
            self.argument(operand, ty, &mut arguments)?;
        }
        let mut results = Vec::new();
        let mut to_registers = Vec::new();
        for (n, operand) in the_call.returns.iter().enumerate() {
            let ty = signature.returns.get(n).map_or(Type::B64, |p| p.ty);
            match self.param_variable(operand) {
                Some((at, count)) => push_words(&mut results, at, count),
                None => {
                    let at = self.new_words(1);
                    push_words(&mut results, at, 1);
                    to_registers.push((operand, at, ty));
                }
            }
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
    fn callee(&self, the_call: &Call) -> Lowered<(u32, Option<RegisterId>, Signature)> {
        let signature = |id: FunctionId| self.program.functions[id.index()].signature.clone();
        Ok(match the_call.callee {
            Callee::Direct(mut id) => {
                while let Some(target) = self.program.functions[id.index()].alias {
                    id = target;
                }
                (id.0, None, signature(id))
            }
            Callee::Indirect(register, prototype) => {
                (NONE, Some(register), self.body.prototypes[prototype.index()].clone())
            }
            Callee::OneOf(register, list) => {
                let first =
                    self.body.call_targets[list.index()].first().ok_or("the list of targets is empty")?;
                (NONE, Some(register), signature(*first))
            }
        })
    }

    /// Frame offset and words of a `.param` variable.
    fn param_variable(&self, operand: &Operand) -> Option<(usize, usize)> {
        let Operand::Symbol(Symbol::Local(id), 0) = operand else { return None };
        let variable = &self.body.variables[id.index()];
        (variable.space == Space::Param).then(|| (self.variables[id.index()], words(variable.size())))
    }

    fn argument(&mut self, operand: &Operand, ty: Type, arguments: &mut Vec<u32>) -> Lowered {
        if let Some((at, count)) = self.param_variable(operand) {
            push_words(arguments, at, count);
            return Ok(());
        }
        let run = load_store::select_store_word(ty.size()).ok_or("such an argument")?;
        let b = self.value(operand, ty)?;
        let at = self.new_words(1);
        self.emit_op(run, 0, Slot::frame(at), [b; 3]);
        push_words(arguments, at, 1);
        Ok(())
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

fn push_words(list: &mut Vec<u32>, at: usize, count: usize) {
    list.extend((0..count).map(|w| (at + w * WORD) as u32));
}
