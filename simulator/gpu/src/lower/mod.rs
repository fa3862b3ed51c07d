//! From linked PTX to executable form.

mod arithmetic;
mod call;
mod cfg;
mod control;
mod function;
mod memory;
mod moves;
mod operand;
mod place;
mod video;
mod warp;

use crate::Checks;
use crate::fault::REGION_MARK;
use crate::ir::{self, Builtin, CODE_STEP};
use crate::module::{LoadError, Object, Param};
use boomerang_ptx::Program;
use boomerang_ptx::ast::{Function, FunctionId};
use function::Lowering;
pub(crate) use place::{Placement, initialize};
use std::collections::HashMap;
use std::sync::Arc;

/// Whether GCC links a function to every program, or made it to start a target region: by its name or its source.
fn is_library(program: &Program, function: &Function) -> bool {
    const NAMES: [&str; 8] =
        ["GOMP_", "gomp_", "omp_", "GOACC_", "goacc_", "acc_", "boomerang_", "__boomerang_"];
    const FOLDERS: [&str; 5] = ["/libgomp/", "/newlib/", "/libgcc/", "/libgfortran/", "/libatomic/"];
    let located = function.body.iter().flat_map(|body| &body.locations).next();
    let files = program.files.get(function.module as usize);
    let file = located.zip(files).and_then(|(l, files)| files.iter().find(|f| f.index == l.file));
    let starts_region =
        function.name.contains(REGION_MARK) && function.entry && function.signature.parameters.len() == 3;
    starts_region
        || NAMES.iter().any(|start| function.name.starts_with(start))
        || file.is_some_and(|f| {
            FOLDERS.iter().any(|name| f.name.contains(name)) && !f.name.contains("/testsuite/")
        })
}

/// The address that stands for a function.
pub(crate) fn code_address(program: &Program, placement: &Placement, mut id: FunctionId) -> u64 {
    while let Some(target) = program.functions[id.index()].alias {
        id = target;
    }
    placement.code_base + u64::from(id.0) * CODE_STEP
}

/// Makes a program executable whose variables are placed.
pub(crate) fn lower(
    program: &Program,
    objects: Vec<Object>,
    placement: &Placement,
    checks: Checks,
) -> Result<ir::Program, LoadError> {
    let mut files = Files::default();
    let mut functions = Vec::with_capacity(program.functions.len());
    for function in &program.functions {
        functions.push(lower_function(program, function, &objects, placement, &mut files, checks)?);
    }
    let mut kernels = Vec::new();
    for (index, function) in program.functions.iter().enumerate().filter(|(_, f)| f.entry && f.body.is_some())
    {
        kernels.push(kernel(function, index as u32, &functions));
    }
    Ok(ir::Program {
        functions,
        kernels,
        globals: placement.globals(program),
        static_shared: placement.shared_size,
        code_base: placement.code_base,
        objects,
        files: files.names,
    })
}

fn lower_function(
    program: &Program,
    function: &Function,
    objects: &[Object],
    placement: &Placement,
    files: &mut Files,
    checks: Checks,
) -> Result<ir::Function, LoadError> {
    let builtin = match (function.body.is_some(), function.name.as_str()) {
        (true, _) => None,
        (_, "vprintf") => Some(Builtin::Vprintf),
        (_, "malloc") => Some(Builtin::Malloc),
        (_, "free") => Some(Builtin::Free),
        (_, "__assertfail") => Some(Builtin::AssertFail),
        // Nobody calls it, or the linker would have refused; its address may still be taken by an alias.
        _ => None,
    };
    let library = is_library(program, function);
    Lowering::new(program, function, placement, files, checks, library).lower(builtin).map_err(|e| {
        LoadError::Unsupported {
            object: objects.get(function.module as usize).map_or_else(String::new, |o| o.name.clone()),
            line: e.line,
            what: e.what,
        }
    })
}

/// The source files that instructions come from, each once.
#[derive(Default)]
pub(crate) struct Files {
    names: Vec<Arc<str>>,
    numbers: HashMap<(u32, u32), u32>,
}

impl Files {
    /// One plus the index of a module's file; 0 if it has none of that number.
    fn number(&mut self, program: &Program, module: u32, file: u32) -> u32 {
        *self.numbers.entry((module, file)).or_insert_with(|| {
            let files = program.files.get(module as usize);
            match files.and_then(|files| files.iter().find(|f| f.index == file)) {
                Some(file) => {
                    self.names.push(file.name.as_str().into());
                    self.names.len() as u32
                }
                None => 0,
            }
        })
    }
}

fn kernel(function: &Function, index: u32, functions: &[ir::Function]) -> ir::KernelInfo {
    let mut end = 0u32;
    let place = |p: &boomerang_ptx::ast::Parameter| {
        let offset = end.next_multiple_of(p.align.max(1));
        end = offset + p.size() as u32;
        Param { offset, size: p.size() as u32 }
    };
    let params = function.signature.parameters.iter().map(place).collect();
    let product = |d: [u32; 3]| d.iter().product::<u32>();
    let bounds = function.bounds;
    let code = &functions[index as usize];
    ir::KernelInfo {
        name: function.name.clone(),
        function: index,
        params,
        local_size: stack_need(index, functions, &mut vec![Visit::New; functions.len()]),
        registers: code.registers.clamp(16, 255),
        max_threads: bounds.required_threads.or(bounds.max_threads).map_or(1024, product),
    }
}

#[derive(Clone, Copy)]
enum Visit {
    New,
    Open,
    Done(u32),
}

/// Bytes of stack that a function and what it calls by name need; recursion and calls through registers are left to the limit that
/// the driver sets.
fn stack_need(function: u32, functions: &[ir::Function], visits: &mut [Visit]) -> u32 {
    match visits[function as usize] {
        Visit::Open => return 0,
        Visit::Done(need) => return need,
        Visit::New => visits[function as usize] = Visit::Open,
    }
    let code = &functions[function as usize];
    let deepest = code.callees.iter().map(|&c| stack_need(c, functions, visits)).max().unwrap_or(0);
    let need = code.local_size.next_multiple_of(16) + crate::exec::frames::CALL_OVERHEAD + deepest;
    visits[function as usize] = Visit::Done(need);
    need
}
