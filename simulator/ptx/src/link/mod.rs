//! Linking, by the rules of the CUDA driver's JIT linker.
//!
//! Names that are `.extern`, `.visible`, `.weak` or `.common` mean the same thing in all modules (kernels do without
//! saying so); the others are their module's own. A visible definition wins over weak and common ones; of several weak
//! ones the first, and of several common ones the largest serves. A name that is declared and never used need not be
//! defined.

mod error;
mod references;
mod symbols;

pub use error::{LinkError, Problem};

use crate::Program;
use crate::ast::*;
use references::Reference;
use std::collections::HashSet;
use symbols::Symbols;

/// The functions that the driver supplies, as `.extern .func` declares them.
pub const DRIVER_FUNCTIONS: [&str; 4] = ["vprintf", "malloc", "free", "__assertfail"];

/// Links modules into a program.
///
/// # Errors
///
/// All names that are defined twice, undefined but used, or declared unlike their definitions.
pub fn link(modules: Vec<Module>) -> Result<Program, LinkError> {
    let mut symbols = Symbols::collect(&modules);
    let mut problems = symbols.take_problems();
    let numbers = symbols.number(&modules);

    let mut program = Program::default();
    let mut parts = Vec::with_capacity(modules.len());
    for module in modules {
        program.files.push(module.files);
        let functions: Vec<_> = module.functions.into_iter().map(Some).collect();
        let variables: Vec<_> = module.variables.into_iter().map(Some).collect();
        parts.push((functions, variables));
    }
    for (module, index) in symbols.functions() {
        let Some(mut function) = parts[module].0[index].take() else { continue };
        function.module = module as u32;
        let Function { name, body, alias, .. } = &mut function;
        let mut relocate = |reference: Reference| numbers.relocate(reference, module, name, &mut problems);
        alias.iter_mut().for_each(|target| relocate(Reference::Function(target)));
        body.iter_mut().for_each(|body| references::of_body(body, &mut relocate));
        program.functions.push(function);
    }
    for (module, index) in symbols.variables() {
        let Some(mut variable) = parts[module].1[index].take() else { continue };
        variable.module = module as u32;
        let Variable { name, initializer, .. } = &mut variable;
        let mut relocate = |reference: Reference| numbers.relocate(reference, module, name, &mut problems);
        references::of_initializer(initializer, &mut relocate);
        program.variables.push(variable);
    }
    problems.extend(alias_cycles(&program.functions));
    let mut reported = HashSet::new();
    problems.retain(|problem| reported.insert(problem.clone()));
    if problems.is_empty() { Ok(program) } else { Err(LinkError { problems }) }
}

/// The aliases that stand for themselves. Each module's stand for a function that it defines, but another module's alias may
/// take that one's place.
fn alias_cycles(functions: &[Function]) -> Vec<Problem> {
    let mut problems = Vec::new();
    // The first function from which each was visited.
    let mut visited: Vec<Option<usize>> = vec![None; functions.len()];
    for first in 0..functions.len() {
        let mut at = first;
        while let (None, Some(target)) = (visited[at], functions[at].alias) {
            visited[at] = Some(first);
            at = target.index();
        }
        if visited[at] == Some(first) && functions[at].alias.is_some() {
            let Function { name, module, .. } = &functions[at];
            problems.push(Problem::AliasCycle { name: error::shown(name), module: *module });
        }
    }
    problems
}
