//! The linker's symbol table: which definition each name of each module means.

use super::DRIVER_FUNCTIONS;
use super::error::{Problem, shown};
use super::references::Reference;
use crate::ast::*;
use std::collections::HashMap;

/// A function or variable of a module: the module, and the index in the module's list.
type Origin = (usize, usize);

/// How firmly a module defines a name, weakest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    /// Not at all.
    Declared,
    /// The driver does, if no module does.
    Supplied,
    /// As common, of this size in bytes.
    Common(u64),
    Weak,
    Strong,
}

/// What one name, or a name of several modules, stands for.
struct Item {
    /// The definition; if there is none, the first declaration.
    origin: Origin,
    strength: Strength,
}

/// Functions, or variables.
#[derive(Default)]
struct Table {
    items: Vec<Item>,
    /// For each module, the item of each entry of its list.
    of_module: Vec<Vec<usize>>,
}

/// What a name refers to in the program.
enum Target {
    /// The entry of this index.
    Defined(u32),
    /// Nothing; the name.
    Undefined(String),
}

/// All names of all modules.
#[derive(Default)]
pub(super) struct Symbols {
    functions: Table,
    variables: Table,
    problems: Vec<Problem>,
}

/// For each module, what its functions and variables are in the program.
pub(super) struct Numbers {
    functions: Vec<Vec<Target>>,
    variables: Vec<Vec<Target>>,
}

impl Table {
    /// Enters the next entry of the last module; `shared` is the item its name has already. Returns the item.
    fn enter(
        &mut self,
        shared: Option<usize>,
        strength: Strength,
        name: &str,
        problems: &mut Vec<Problem>,
    ) -> usize {
        let module = self.of_module.len() - 1;
        let origin = (module, self.of_module[module].len());
        let index = shared.unwrap_or(self.items.len());
        match self.items.get_mut(index) {
            None => self.items.push(Item { origin, strength }),
            Some(item) if strength == Strength::Strong && item.strength == Strength::Strong => {
                let modules = [item.origin.0 as u32, module as u32];
                problems.push(Problem::MultipleDefinitions { name: shown(name), modules });
            }
            Some(item) if strength > item.strength => *item = Item { origin, strength },
            Some(_) => {}
        }
        self.of_module[module].push(index);
        index
    }

    /// The entries that become the program's, in its order.
    fn kept(&self) -> impl Iterator<Item = Origin> {
        self.items.iter().filter(|item| item.strength > Strength::Declared).map(|item| item.origin)
    }

    /// For each item, its index in the program.
    fn numbers(&self) -> Vec<Option<u32>> {
        let mut next = 0..;
        self.items
            .iter()
            .map(|item| if item.strength > Strength::Declared { next.next() } else { None })
            .collect()
    }
}

impl Symbols {
    /// Enters all names.
    pub(super) fn collect(modules: &[Module]) -> Self {
        let mut symbols = Self::default();
        // What the names with linkage mean: whether a function, and the item.
        let mut shared: HashMap<&str, (bool, usize)> = HashMap::new();
        for (index, module) in modules.iter().enumerate() {
            symbols.functions.of_module.push(Vec::new());
            symbols.variables.of_module.push(Vec::new());
            let functions = module
                .functions
                .iter()
                .map(|f| (true, &f.name, is_shared(f.linkage) || f.entry, function_strength(f)));
            let variables =
                module.variables.iter().map(|v| (false, &v.name, is_shared(v.linkage), variable_strength(v)));
            for (is_function, name, exported, strength) in functions.chain(variables) {
                let known = if exported { shared.get(name.as_str()).copied() } else { None };
                let same_kind = known.filter(|known| known.0 == is_function).map(|known| known.1);
                let table = if is_function { &mut symbols.functions } else { &mut symbols.variables };
                let item = table.enter(same_kind, strength, name, &mut symbols.problems);
                if exported && known.is_none() {
                    shared.insert(name, (is_function, item));
                } else if exported && same_kind.is_none() {
                    symbols.problems.push(Problem::Mismatch {
                        name: shown(name),
                        modules: [symbols.first_module(known), index as u32],
                        difference: "a function in one, a variable in the other".to_owned(),
                    });
                }
            }
        }
        symbols.check_declarations(modules);
        symbols
    }

    fn first_module(&self, known: Option<(bool, usize)>) -> u32 {
        known.map_or(0, |(is_function, item)| {
            let table = if is_function { &self.functions } else { &self.variables };
            table.items[item].origin.0 as u32
        })
    }

    /// Compares each declaration with the definition it means.
    fn check_declarations(&mut self, modules: &[Module]) {
        for (index, module) in modules.iter().enumerate() {
            for (function, &item) in module.functions.iter().zip(&self.functions.of_module[index]) {
                let Item { origin: (defining, position), .. } = self.functions.items[item];
                let definition = &modules[defining].functions[position];
                if let Some(difference) = function_difference(definition, function) {
                    let modules = [defining as u32, index as u32];
                    self.problems.push(Problem::Mismatch {
                        name: shown(&function.name),
                        modules,
                        difference,
                    });
                }
            }
            for (variable, &item) in module.variables.iter().zip(&self.variables.of_module[index]) {
                let Item { origin: (defining, position), .. } = self.variables.items[item];
                let definition = &modules[defining].variables[position];
                if let Some(difference) = variable_difference(definition, variable) {
                    let modules = [defining as u32, index as u32];
                    self.problems.push(Problem::Mismatch {
                        name: shown(&variable.name),
                        modules,
                        difference,
                    });
                }
            }
        }
    }

    /// The problems found while entering names.
    pub(super) fn take_problems(&mut self) -> Vec<Problem> {
        std::mem::take(&mut self.problems)
    }

    /// The functions that become the program's, in its order.
    pub(super) fn functions(&self) -> impl Iterator<Item = Origin> {
        self.functions.kept()
    }

    /// The variables that become the program's, in its order.
    pub(super) fn variables(&self) -> impl Iterator<Item = Origin> {
        self.variables.kept()
    }

    /// Numbers what becomes the program's. An alias has a number of its own, under which its name is found; references
    /// to it are references to the function it names.
    pub(super) fn number(&self, modules: &[Module]) -> Numbers {
        let (functions, variables) = (self.functions.numbers(), self.variables.numbers());
        let function_target = |item: usize, function: &Function| {
            let Item { origin: (module, position), .. } = self.functions.items[item];
            let alias = modules[module].functions[position].alias;
            let aliased = alias.map_or(item, |target| self.functions.of_module[module][target.index()]);
            functions[aliased].map_or_else(|| Target::Undefined(shown(&function.name)), Target::Defined)
        };
        let variable_target = |item: usize, variable: &Variable| {
            variables[item].map_or_else(|| Target::Undefined(shown(&variable.name)), Target::Defined)
        };
        let mut numbers = Numbers { functions: Vec::new(), variables: Vec::new() };
        for (index, module) in modules.iter().enumerate() {
            let items = self.functions.of_module[index].iter();
            numbers
                .functions
                .push(items.zip(&module.functions).map(|(&i, f)| function_target(i, f)).collect());
            let items = self.variables.of_module[index].iter();
            numbers
                .variables
                .push(items.zip(&module.variables).map(|(&i, v)| variable_target(i, v)).collect());
        }
        numbers
    }
}

impl Numbers {
    /// Makes a reference of `user`, of `module`, one into the program's lists.
    pub(super) fn relocate(
        &self,
        reference: Reference,
        module: usize,
        user: &str,
        problems: &mut Vec<Problem>,
    ) {
        let (number, targets) = match reference {
            Reference::Function(id) => (&mut id.0, &self.functions[module]),
            Reference::Variable(id) => (&mut id.0, &self.variables[module]),
        };
        match &targets[*number as usize] {
            Target::Defined(target) => *number = *target,
            Target::Undefined(name) => {
                let (name, user, module) = (name.clone(), shown(user), module as u32);
                problems.push(Problem::Undefined { name, user, module });
            }
        }
    }
}

fn is_shared(linkage: Linkage) -> bool {
    linkage != Linkage::Internal
}

fn function_strength(function: &Function) -> Strength {
    match (function.body.is_some() || function.alias.is_some(), function.linkage) {
        (true, Linkage::Weak) => Strength::Weak,
        (true, _) => Strength::Strong,
        (false, Linkage::Extern) if DRIVER_FUNCTIONS.contains(&function.name.as_str()) => Strength::Supplied,
        (false, _) => Strength::Declared,
    }
}

fn variable_strength(variable: &Variable) -> Strength {
    match variable.linkage {
        // An unsized shared array is the launch's dynamic shared memory.
        Linkage::Extern if variable.space == Space::Shared && variable.size() == 0 => Strength::Supplied,
        Linkage::Extern => Strength::Declared,
        Linkage::Common => Strength::Common(variable.size()),
        Linkage::Weak => Strength::Weak,
        Linkage::Visible | Linkage::Internal => Strength::Strong,
    }
}

/// In what a function's declaration differs from its definition, as far as a call is concerned.
fn function_difference(definition: &Function, declaration: &Function) -> Option<String> {
    if definition.entry != declaration.entry {
        return Some("a kernel in one, a function in the other".to_owned());
    }
    let (definition, declaration) = (&definition.signature, &declaration.signature);
    let lists = [
        ("parameters", "parameter", &definition.parameters, &declaration.parameters),
        ("return values", "return value", &definition.returns, &declaration.returns),
    ];
    lists.into_iter().find_map(|(plural, singular, defined, declared)| {
        if defined.len() != declared.len() {
            return Some(format!("{} {plural} defined, {} declared", defined.len(), declared.len()));
        }
        let sizes = defined.iter().zip(declared).map(|(d, e)| (d.size(), e.size())).enumerate();
        sizes
            .filter(|(_, (defined, declared))| defined != declared)
            .map(|(index, (defined, declared))| {
                format!("{singular} {} has {defined} bytes as defined, {declared} as declared", index + 1)
            })
            .next()
    })
}

/// In what a variable's declaration differs from its definition.
fn variable_difference(definition: &Variable, declaration: &Variable) -> Option<String> {
    if definition.space != declaration.space {
        return Some(format!("defined in .{}, declared in .{}", definition.space, declaration.space));
    }
    let common = definition.linkage == Linkage::Common || declaration.linkage == Linkage::Common;
    match (definition.size(), declaration.size()) {
        (defined, declared) if defined != declared && defined != 0 && declared != 0 && !common => {
            Some(format!("{defined} bytes defined, {declared} declared"))
        }
        _ => None,
    }
}
