//! Where variables lie, and what is in them at first.

use crate::Actor;
use crate::ir::{CODE_STEP, CODE_WINDOW, LOCAL_WINDOW, SHARED_WINDOW};
use crate::mem::{AccessError, Memory, OutOfMemory};
use crate::module::Global;
use boomerang_ptx::Program;
use boomerang_ptx::ast::{Float, Initial, Space, Symbol, Type, Variable};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where the next program's functions begin, from [`CODE_WINDOW`]: no two programs of the process share an address.
static NEXT_CODE: AtomicU64 = AtomicU64::new(0);

/// The addresses of a program's variables and functions.
pub(crate) struct Placement {
    /// For each variable: its device address, or its offset in shared or local memory.
    pub addresses: Vec<u64>,
    /// Bytes of statically allocated shared memory.
    pub shared_size: u64,
    /// Bytes at the start of each thread's local memory that the module's variables take.
    pub local_size: u64,
    /// Address of function 0.
    pub code_base: u64,
    /// The device memory that holds the others; freed with the module.
    pub allocations: Vec<u64>,
}

impl Placement {
    /// Places a program's variables, each global one in an allocation of its own so that an overrun faults.
    pub fn new(program: &Program, memory: &Memory, device: usize) -> Result<Placement, OutOfMemory> {
        let code_size = program.functions.len() as u64 * CODE_STEP;
        let mut placement = Placement {
            addresses: vec![0; program.variables.len()],
            shared_size: 0,
            local_size: 0,
            code_base: CODE_WINDOW + NEXT_CODE.fetch_add(code_size, Ordering::Relaxed),
            allocations: Vec::new(),
        };
        let variables: Vec<_> = program.variables.iter().enumerate().collect();
        let shared = |v: &&(usize, &Variable)| v.1.space == Space::Shared;
        let mut end = placement.line_up(variables.iter().filter(shared));
        placement.local_size = placement.line_up(variables.iter().filter(|v| v.1.space == Space::Local));
        // Dynamic shared memory comes last; all unsized arrays begin there.
        end = end.checked_next_multiple_of(16).unwrap_or(u64::MAX);
        for (index, _) in variables.iter().filter(shared).filter(|v| v.1.size() == 0) {
            placement.addresses[*index] = end;
        }
        placement.shared_size = end;
        for (index, variable) in variables.iter().filter(|v| in_device_memory(v.1)) {
            match memory.alloc_device(device, variable.size().max(1), variable.align.max(1).into()) {
                Ok(address) => {
                    placement.addresses[*index] = address;
                    // Without a value of its own it is zero.
                    memory.mark_written(address, variable.size());
                    memory.credit(address, Actor::new(format!("the loader, for variable {}", variable.name)));
                    placement.allocations.push(address);
                }
                Err(error) => {
                    placement.free(memory);
                    return Err(error);
                }
            }
        }
        Ok(placement)
    }

    /// Gives variables offsets, one behind the other; the end of the last.
    fn line_up<'v>(&mut self, variables: impl Iterator<Item = &'v (usize, &'v Variable)>) -> u64 {
        variables.fold(0, |end: u64, (index, variable)| {
            let at = end.checked_next_multiple_of(variable.align.max(1).into()).unwrap_or(u64::MAX);
            self.addresses[*index] = at;
            at.saturating_add(variable.size())
        })
    }

    /// Gives the device memory back.
    pub fn free(&self, memory: &Memory) {
        for &address in &self.allocations {
            memory.free_device(address);
        }
    }

    /// The variables in device memory, by name.
    pub fn globals(&self, program: &Program) -> HashMap<String, Global> {
        let placed = program.variables.iter().zip(&self.addresses).filter(|(v, _)| in_device_memory(v));
        placed.map(|(v, &address)| (v.name.clone(), Global { address, size: v.size() })).collect()
    }
}

/// Whether there is one for the device, rather than one for each block or thread.
fn in_device_memory(variable: &Variable) -> bool {
    !matches!(variable.space, Space::Shared | Space::Local)
}

/// Where a variable's space begins among the generic addresses.
pub(super) fn window(space: Space) -> u64 {
    match space {
        Space::Shared => SHARED_WINDOW,
        Space::Local => LOCAL_WINDOW,
        _ => 0,
    }
}

/// Writes the initial values of all variables in device memory.
pub(crate) fn initialize(
    program: &Program,
    placement: &Placement,
    memory: &Memory,
) -> Result<(), AccessError> {
    for (index, variable) in program.variables.iter().enumerate() {
        if !in_device_memory(variable) || variable.initializer.is_empty() {
            continue;
        }
        let bytes = image(program, placement, variable);
        let len = bytes.len().min(variable.size() as usize) as u64;
        // SAFETY: the source is `bytes`, of at least `len` bytes; the destination is device memory.
        unsafe { memory.copy(placement.addresses[index], bytes.as_ptr() as u64, len)? };
    }
    Ok(())
}

/// The bytes of a variable's initial values.
fn image(program: &Program, placement: &Placement, variable: &Variable) -> Vec<u8> {
    let size = variable.ty.size() as usize;
    let mut bytes = Vec::with_capacity(variable.initializer.len() * size);
    for initial in &variable.initializer {
        let value = match *initial {
            Initial::Integer(value) => value,
            Initial::Float(float) => float_bits(float, variable.ty),
            Initial::Address { symbol, offset, generic, mask } => {
                let address = symbol_address(program, placement, symbol, generic).wrapping_add(offset as u64);
                mask.map_or(address, |mask| (address & mask) >> mask.trailing_zeros().min(63))
            }
        };
        let wide = [value.to_le_bytes(), [0; 8]].concat();
        bytes.extend_from_slice(&wide[..size]);
    }
    bytes
}

fn float_bits(float: Float, ty: Type) -> u64 {
    match (float, ty.size()) {
        (Float::Single(bits), 4) => bits.into(),
        (float, 4) => (float.value() as f32).to_bits().into(),
        (float, 2) => crate::exec::half::from_f64(float.value()).into(),
        (float, _) => float.value().to_bits(),
    }
}

fn symbol_address(program: &Program, placement: &Placement, symbol: Symbol, generic: bool) -> u64 {
    match symbol {
        Symbol::Function(id) => super::code_address(program, placement, id),
        Symbol::Variable(id) => {
            let window = if generic { window(program.variables[id.index()].space) } else { 0 };
            placement.addresses[id.index()] + window
        }
        // The parser takes only symbols of the module in an initialiser.
        Symbol::Local(_) | Symbol::Parameter(_) | Symbol::Return(_) => 0,
    }
}
