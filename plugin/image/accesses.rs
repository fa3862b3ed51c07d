//! What the loads and stores of a block access, as far as the registers tell.

use std::collections::HashMap;
use std::ops::Range;

use super::code::{Instruction, Operand};

/// The sum of a number and of what registers have where the block begins.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Sum<'a> {
    /// In order.
    registers: Vec<&'a str>,
    number: i64,
}

/// What a block has computed so far. Registers that it hasn't written have what they had; none is not known.
#[derive(Default)]
pub struct Values<'a>(HashMap<&'a str, Option<Sum<'a>>>);

impl<'a> Values<'a> {
    fn of(&self, register: &'a str) -> Option<Sum<'a>> {
        let own = || Some(Sum { registers: vec![register], number: 0 });
        self.0.get(register).cloned().unwrap_or_else(own)
    }

    /// Takes note of what an instruction computes.
    pub fn execute(&mut self, instruction: &Instruction<'a>) {
        let sum = match (instruction.name, instruction.modifiers, &instruction.operands[..]) {
            ("add", ".u64" | ".s64", [_, one, other]) => {
                self.sum(one).zip(self.sum(other)).and_then(|(one, other)| {
                    let mut registers = [one.registers, other.registers].concat();
                    registers.sort_unstable();
                    Some(Sum { registers, number: one.number.checked_add(other.number)? })
                })
            }
            _ => None,
        };
        for name in instruction.result().iter().flat_map(|result| &result.names) {
            self.0.insert(name, sum.clone());
        }
    }

    fn sum(&self, operand: &Operand<'a>) -> Option<Sum<'a>> {
        match operand.names[..] {
            [register] if register == operand.text => self.of(register),
            _ => Some(Sum { registers: vec![], number: operand.text.parse().ok()? }),
        }
    }

    /// What a weak load or store of one number in generic or global memory accesses.
    pub fn access(&self, instruction: &Instruction<'a>) -> Option<Access<'a>> {
        let address = match (instruction.name, &instruction.operands[..]) {
            ("ld", [_, address]) | ("st", [address, _]) => address,
            _ => return None,
        };
        let kind = instruction.modifiers.strip_prefix(".global").unwrap_or(instruction.modifiers);
        let bytes = match kind.strip_prefix(['.'])?.strip_prefix(['b', 'f', 's', 'u'])? {
            "8" => 1,
            "16" => 2,
            "32" => 4,
            "64" => 8,
            _ => return None,
        };
        let (register, offset) = address.address()?;
        let sum = self.of(register)?;
        (!sum.registers.is_empty()).then_some(())?;
        let start = sum.number.checked_add(offset)?;
        Some(Access { base: sum.registers, bytes: start..start.checked_add(bytes)? })
    }
}

/// An access to memory: by what registers have where the block begins, and which bytes from there on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access<'a> {
    /// The registers.
    pub base: Vec<&'a str>,
    /// From where on, and up to where.
    pub bytes: Range<i64>,
}

/// One access for each base, from the first to the last byte.
pub fn joined<'a>(accesses: &[Access<'a>]) -> Vec<Access<'a>> {
    let mut joined: Vec<Access<'a>> = vec![];
    for access in accesses {
        match joined.iter_mut().find(|other| other.base == access.base) {
            Some(other) => {
                let Range { start, end } = access.bytes;
                other.bytes = other.bytes.start.min(start)..other.bytes.end.max(end);
            }
            None => joined.push(access.clone()),
        }
    }
    joined
}
