//! From linked PTX to executable form.

mod arithmetic;
mod call;
mod cfg;
mod control;
mod dominators;
mod function;
mod memory;
mod moves;
mod operand;
mod packed;
mod place;
mod video;
mod warp;

use crate::Checks;
use crate::exec::frames::CALL_OVERHEAD;
use crate::fault::REGION_MARK;
use crate::ir::{self, Builtin, CODE_STEP};
use crate::module::{LoadError, Object, Param};
use boomerang_ptx::Program;
use boomerang_ptx::ast::{Function, FunctionId, Signature, Space};
use function::{LOCAL_LIMIT, Lowering};
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
    check_sizes(program, &objects, placement)?;
    let static_local = placement.local_size.next_multiple_of(16) as u32;
    let needs = stack_needs(&functions);
    let kernels = program.functions.iter().zip(0u32..).filter(|(f, _)| f.entry && f.body.is_some());
    let kernels = kernels.map(|(f, index)| {
        kernel(f, index, &functions[index as usize], needs[index as usize] + u64::from(static_local))
    });
    let kernels = kernels.collect();
    Ok(ir::Program {
        functions,
        kernels,
        globals: placement.globals(program),
        static_shared: placement.shared_size as u32,
        static_local,
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
    let lowered = Lowering::new(program, function, placement, files, checks, library).lower(builtin);
    lowered.map_err(|e| unsupported(objects, function.module, e.line, e.what))
}

fn unsupported(objects: &[Object], module: u32, line: u32, what: String) -> LoadError {
    let object = objects.get(module as usize).map_or_else(String::new, |o| o.name.clone());
    LoadError::Unsupported { object, line, what }
}

/// The most bytes of shared memory of a block, in compute capability 9.0 (CUDA C++ Programming Guide, technical specifications).
const SHARED_LIMIT: u64 = 227 << 10;

fn check_sizes(program: &Program, objects: &[Object], placement: &Placement) -> Result<(), LoadError> {
    let largest = |space| program.variables.iter().filter(|v| v.space == space).max_by_key(|v| v.size());
    if let (Some(variable), true) = (largest(Space::Local), placement.local_size > LOCAL_LIMIT) {
        let what = format!("local variables of more than {LOCAL_LIMIT} bytes in all, `{}`", variable.name);
        return Err(unsupported(objects, variable.module, variable.span.line, what));
    }
    match largest(Space::Shared) {
        Some(variable) if placement.shared_size > SHARED_LIMIT => {
            let what =
                format!("shared variables of more than {SHARED_LIMIT} bytes in all, `{}`", variable.name);
            Err(unsupported(objects, variable.module, variable.span.line, what))
        }
        _ => Ok(()),
    }
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

/// The most bytes of a kernel's parameters, from compute capability 7.0 on (PTX ISA, kernel function parameters).
const PARAMETERS_LIMIT: u64 = 32764;

/// Where a kernel's parameters lie, and their size in all.
fn kernel_parameters(signature: &Signature) -> Result<(Vec<Param>, u64), String> {
    let mut end = 0u64;
    let mut places = Vec::with_capacity(signature.parameters.len());
    for parameter in &signature.parameters {
        let offset = end.next_multiple_of(parameter.align.max(1).into());
        end = offset + parameter.size();
        if end > PARAMETERS_LIMIT {
            return Err(format!("parameters of more than {PARAMETERS_LIMIT} bytes"));
        }
        places.push(Param { offset: offset as u32, size: parameter.size() as u32 });
    }
    Ok((places, end))
}

/// The most threads of a block (CUDA C++ Programming Guide, technical specifications).
const MOST_THREADS: u32 = 1024;

fn kernel(function: &Function, index: u32, code: &ir::Function, stack: u64) -> ir::KernelInfo {
    let bounds = function.bounds.required_threads.or(function.bounds.max_threads);
    let threads = bounds.map_or(MOST_THREADS, |d| d.iter().fold(1u32, |all, &n| all.saturating_mul(n)));
    let params = kernel_parameters(&function.signature).map(|(places, _)| places);
    ir::KernelInfo {
        name: function.name.clone(),
        function: index,
        params: params.expect("they were placed when the function was lowered"),
        local_size: stack.min(LOCAL_LIMIT) as u32,
        registers: code.registers.clamp(16, 255),
        max_threads: threads.clamp(1, MOST_THREADS),
    }
}

/// Bytes of stack that each function and what it calls by name need; recursion and calls through registers are left to the limit
/// that the driver sets.
fn stack_needs(functions: &[ir::Function]) -> Vec<u64> {
    let mut needs: Vec<Option<u64>> = vec![None; functions.len()];
    let mut entered = vec![false; functions.len()];
    for first in 0..functions.len() {
        // The functions entered, each with the number of callees already seen: calls may be nested too deeply for recursion.
        let mut path = vec![(first, 0)];
        while let Some((at, seen)) = path.last_mut() {
            let at = *at;
            if let Some(&callee) = functions[at].callees.get(*seen) {
                *seen += 1;
                if !std::mem::replace(&mut entered[callee as usize], true) {
                    path.push((callee as usize, 0));
                }
                continue;
            }
            // A callee without a number is one that is being called: recursion.
            let deepest = functions[at].callees.iter().filter_map(|&callee| needs[callee as usize]).max();
            let own = u64::from(functions[at].local_size.next_multiple_of(16) + CALL_OVERHEAD);
            needs[at].get_or_insert(own + deepest.unwrap_or(0));
            path.pop();
        }
        entered[first] = true;
    }
    needs.into_iter().map(|need| need.expect("each function was entered")).collect()
}
