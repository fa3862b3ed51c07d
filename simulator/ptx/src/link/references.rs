//! Finds what a body or an initialiser refers to.

use crate::ast::*;

/// A place that holds the index of a function or of a variable of the module.
pub(super) enum Reference<'a> {
    Function(&'a mut FunctionId),
    Variable(&'a mut VariableId),
}

/// Visits all references of a body.
pub(super) fn of_body(body: &mut Body, visit: &mut impl FnMut(Reference)) {
    for operand in body.instructions.iter_mut().flat_map(|instruction| &mut instruction.operands) {
        of_operand(operand, visit);
    }
    for function in body.call_targets.iter_mut().flatten() {
        visit(Reference::Function(function));
    }
}

/// Visits all references of an initialiser.
pub(super) fn of_initializer(initializer: &mut [Initial], visit: &mut impl FnMut(Reference)) {
    for initial in initializer {
        if let Initial::Address { symbol, .. } = initial {
            of_symbol(symbol, visit);
        }
    }
}

fn of_operand(operand: &mut Operand, visit: &mut impl FnMut(Reference)) {
    match operand {
        Operand::Symbol(symbol, _) | Operand::Address(Address { base: Base::Symbol(symbol), .. }) => {
            of_symbol(symbol, visit);
        }
        Operand::Vector(elements) => elements.iter_mut().for_each(|element| of_operand(element, visit)),
        Operand::Call(call) => {
            if let Callee::Direct(function) = &mut call.callee {
                visit(Reference::Function(function));
            }
            for operand in call.returns.iter_mut().chain(&mut call.arguments) {
                of_operand(operand, visit);
            }
        }
        Operand::Register(_)
        | Operand::Negated(_)
        | Operand::Component(..)
        | Operand::Selected(..)
        | Operand::Pair(..)
        | Operand::Sink
        | Operand::Special(_)
        | Operand::Integer(_)
        | Operand::Float(_)
        | Operand::Address(_)
        | Operand::Label(_)
        | Operand::BranchTargets(_) => {}
    }
}

fn of_symbol(symbol: &mut Symbol, visit: &mut impl FnMut(Reference)) {
    match symbol {
        Symbol::Function(function) => visit(Reference::Function(function)),
        Symbol::Variable(variable) => visit(Reference::Variable(variable)),
        Symbol::Local(_) | Symbol::Parameter(_) | Symbol::Return(_) => {}
    }
}
