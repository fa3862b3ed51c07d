//! Loads, stores, atomics and address conversions.

use super::function::{LOCAL_LIMIT, Lowered, Lowering};
use crate::exec::check::{self, Traits, kind};
use crate::exec::registers::WORD;
use crate::exec::{alu, atomics, load_store, local, moves};
use crate::ir::{Handler, Inst, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, Slot};
use boomerang_ptx::ast::*;

/// Where an access goes.
enum Place {
    /// Memory: a register with the base address, an offset, and the space that the routine works on.
    Memory(Slot, u64, Option<Space>),
    /// Words of a parameter, result or call argument: the frame offset of the variable's first word, its size in bytes, and a byte
    /// offset in it.
    Word(usize, u64, u64),
}

impl Lowering<'_> {
    pub(super) fn lower_memory(&mut self, n: usize, i: &Instruction) -> Lowered {
        match i.opcode {
            Opcode::Ld | Opcode::Ldu => self.lower_load(n, i),
            Opcode::St => self.lower_store(n, i),
            Opcode::Cvta => self.lower_cvta(i),
            Opcode::Isspacep => {
                let a = self.value(&i.operands[1], Type::U64)?;
                let d = self.predicate_destination(&i.operands[0])?;
                let window = window(i.modifiers.space).ok_or("this space")?;
                self.emit_op(moves::is_in_space, window, d, [a; 3]);
                Ok(())
            }
            Opcode::Alloca | Opcode::Stacksave | Opcode::Stackrestore => self.lower_stack(i),
            _ => self.lower_atomic(i),
        }
    }

    fn lower_stack(&mut self, i: &Instruction) -> Lowered {
        if i.opcode == Opcode::Stackrestore {
            let a = self.value(&i.operands[0], Type::U64)?;
            self.emit_op(local::stack_restore, 0, Slot::UNUSED, [a; 3]);
            return Ok(());
        }
        let (run, a, align): (Handler, _, _) = match (i.operands.get(1), i.operands.get(2)) {
            (None, _) => (local::stack_save, Slot::UNUSED, 0),
            (Some(size), align) => {
                let align = match align {
                    Some(Operand::Integer(align)) if align.is_power_of_two() && *align <= LOCAL_LIMIT => {
                        *align
                    }
                    Some(_) => return Err("an alignment that is no power of two".into()),
                    None => 8,
                };
                (local::alloca, self.value(size, Type::U64)?, align)
            }
        };
        let d = self.destination(&i.operands[0], Type::U64)?;
        self.emit_op(run, align, d.slot, [a; 3]);
        self.finish(d);
        Ok(())
    }

    fn place(&mut self, operand: &Operand, space: Option<Space>) -> Lowered<Place> {
        let Operand::Address(Address { base, offset }) = operand else {
            return Err("the operand is no address".into());
        };
        let offset = *offset;
        Ok(match base {
            Base::Register(id) => {
                let slot = self.value(&Operand::Register(*id), Type::U64)?;
                let space = space.filter(|s| *s != Space::Param || self.function.entry);
                Place::Memory(slot, offset as u64, space)
            }
            Base::Absolute => Place::Memory(self.constant(0, true), offset as u64, space),
            Base::Symbol(Symbol::Local(id)) if self.body.variables[id.index()].space == Space::Param => {
                Place::Word(self.variables[id.index()], self.body.variables[id.index()].size(), offset as u64)
            }
            Base::Symbol(Symbol::Return(n)) => {
                let size = self.function.signature.returns[*n as usize].size();
                Place::Word(self.returns[*n as usize], size, offset as u64)
            }
            Base::Symbol(Symbol::Parameter(n)) if !self.function.entry => {
                let size = self.function.signature.parameters[*n as usize].size();
                Place::Word(self.parameters[*n as usize], size, offset as u64)
            }
            Base::Symbol(Symbol::Parameter(n)) => {
                let at = self.kernel_parameters[*n as usize].wrapping_add(offset as u64);
                Place::Memory(self.constant(0, true), at, Some(Space::Param))
            }
            Base::Symbol(symbol) => {
                let slot = self.symbol(*symbol, 0, space.is_none())?;
                Place::Memory(slot, offset as u64, space)
            }
        })
    }

    /// The access `n` of a vector, of `size` bytes each: its offset and the alignment it must have.
    fn nth(offset: u64, n: usize, size: u32, count: usize) -> (u64, Slot) {
        let align = if n == 0 { size * count as u32 } else { size };
        (offset.wrapping_add(n as u64 * u64::from(size)), Slot::from_bits(align))
    }

    /// The word that holds `size` bytes at `offset` of a parameter of `whole` bytes at `at`, and the bit where they begin.
    fn word(at: usize, whole: u64, offset: u64, size: u32) -> Lowered<(Slot, u64)> {
        match offset.checked_add(size.into()).filter(|&end| end <= whole && offset % u64::from(size) == 0) {
            Some(_) => Ok((Slot::frame(at + offset as usize / 8 * WORD), offset % 8 * 8)),
            None => Err(format!("{size} bytes at offset {} of a parameter of {whole}", offset as i64)),
        }
    }

    /// The elements that an access moves.
    fn accessed(&self, operand: &Operand, vector: Option<Vector>) -> Lowered<Vec<Operand>> {
        let elements = self.elements(operand);
        match elements.len() == vector.map_or(1, Vector::elements) {
            true => Ok(elements),
            false => Err(format!("{} elements", elements.len())),
        }
    }

    fn lower_load(&mut self, at: usize, i: &Instruction) -> Lowered {
        let m = &i.modifiers;
        let ty = m.types[0].ok_or("it has no type")?;
        let (size, signed) = (ty.size(), ty.is_signed());
        let elements = self.accessed(&i.operands[0], m.vector)?;
        match self.place(&i.operands[1], m.space)? {
            Place::Word(at, whole, offset) => {
                let run =
                    load_store::select_load_word(size, signed).ok_or_else(|| format!("the type {ty}"))?;
                for (n, element) in elements.iter().enumerate() {
                    let (offset, _) = Self::nth(offset, n, size, 1);
                    let (word, bit) = Self::word(at, whole, offset, size)?;
                    let d = self.destination(element, ty)?;
                    self.emit_op(run, bit, d.slot, [word; 3]);
                    self.finish(d);
                }
            }
            Place::Memory(mut base, offset, space) => {
                let traits = self.traits(space, m.semantics, || self.has_fence_beyond(at, 1));
                let run =
                    load_store::select_load(size, signed, space).ok_or_else(|| format!("the type {ty}"))?;
                if elements.len() > 1 {
                    // A copy, as an element may be loaded into the register that holds the address.
                    let copy = self.temporary(8);
                    self.emit(Inst { d: copy, a: base, ..Inst::new(moves::select(8)) });
                    base = copy;
                }
                for (n, element) in elements.iter().enumerate() {
                    let (offset, align) = Self::nth(offset, n, size, elements.len());
                    let d = self.destination(element, ty)?;
                    self.emit_check(check::access::<{ kind::READ }>, base, offset, size, traits);
                    self.emit_op(run, offset, d.slot, [base, base, align]);
                    self.finish(d);
                }
                match m.semantics {
                    Some(Semantics::Acquire | Semantics::AcqRel | Semantics::Sc) => {
                        self.emit(Inst::new(load_store::fence_acquire_release));
                    }
                    Some(Semantics::Relaxed | Semantics::Volatile | Semantics::Mmio) => {
                        self.emit(Inst::new(load_store::note_ordering));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn lower_store(&mut self, at: usize, i: &Instruction) -> Lowered {
        let m = &i.modifiers;
        let ty = m.types[0].ok_or("it has no type")?;
        let size = ty.size();
        let elements = self.accessed(&i.operands[1], m.vector)?;
        match self.place(&i.operands[0], m.space)? {
            Place::Word(at, whole, offset) => {
                let run = load_store::select_store_word(size).ok_or_else(|| format!("the type {ty}"))?;
                for (n, element) in elements.iter().enumerate() {
                    let (offset, _) = Self::nth(offset, n, size, 1);
                    let (word, bit) = Self::word(at, whole, offset, size)?;
                    let b = self.value(element, ty)?;
                    self.emit_op(run, bit, word, [b; 3]);
                }
            }
            Place::Memory(base, offset, space) => {
                let traits = self.traits(space, m.semantics, || self.has_fence_beyond(at, -1));
                let run = load_store::select_store(size, space).ok_or_else(|| format!("the type {ty}"))?;
                if let Some(Semantics::Release | Semantics::AcqRel | Semantics::Sc) = m.semantics {
                    self.emit(Inst::new(load_store::fence_acquire_release));
                }
                for (n, element) in elements.iter().enumerate() {
                    let (offset, align) = Self::nth(offset, n, size, elements.len());
                    let b = self.value(element, ty)?;
                    self.emit_check(check::access::<{ kind::WRITE }>, base, offset, size, traits);
                    self.emit_op(run, offset, Slot::UNUSED, [base, b, align]);
                }
            }
        }
        Ok(())
    }

    /// What the checks of an access need to know; `None` where there are none. `near_fence` says whether a fence makes it an atomic one.
    fn traits(
        &self,
        space: Option<Space>,
        semantics: Option<Semantics>,
        near_fence: impl Fn() -> bool,
    ) -> Option<Traits> {
        if !self.checked || matches!(space, Some(Space::Local | Space::Param | Space::Const)) {
            return None;
        }
        let weak = matches!(semantics, None | Some(Semantics::Weak));
        let fences = matches!(
            semantics,
            Some(Semantics::Acquire | Semantics::Release | Semantics::AcqRel | Semantics::Sc)
        );
        Some(Traits {
            own: !self.library,
            shared: space == Some(Space::Shared),
            ordered: !weak || near_fence(),
            fences,
        })
    }

    /// Whether a fence stands before (`step` -1) or behind (1) instruction `at` of the body, with no access, call or branch between.
    fn has_fence_beyond(&self, at: usize, step: isize) -> bool {
        use Opcode::*;
        let beyond = |n: &usize| n.checked_add_signed(step).filter(|n| *n < self.body.instructions.len());
        let others = std::iter::successors(beyond(&at), beyond).map(|n| self.body.instructions[n].opcode);
        let mut decisive = others.skip_while(|opcode| {
            !matches!(
                opcode,
                Ld | Ldu | St | Atom | Red | Call | Bra | Brx | Bar | Barrier | Membar | Fence | Ret
            )
        });
        matches!(decisive.next(), Some(Membar | Fence))
    }

    fn emit_check(&mut self, run: Handler, base: Slot, offset: u64, size: u32, traits: Option<Traits>) {
        if let Some(traits) = traits {
            self.emit_op(run, offset, Slot::UNUSED, [base, traits.slot(), Slot::from_bits(size)]);
        }
    }

    fn lower_atomic(&mut self, i: &Instruction) -> Lowered {
        let m = &i.modifiers;
        let ty = m.types[0].ok_or("it has no type")?;
        let Some(Mode::Atomic(op)) = m.mode else { return Err("it has no operation".into()) };
        let run = atomics::select(op, ty, m.space).ok_or_else(|| format!("{op} of {ty}"))?;
        let (to, operands) = match i.opcode {
            Opcode::Atom => (Some(&i.operands[0]), &i.operands[1..]),
            _ => (None, &i.operands[..]),
        };
        let Place::Memory(base, offset, space) = self.place(&operands[0], m.space)? else {
            return Err("a parameter can't be updated".into());
        };
        let traits = self.traits(space, m.semantics, || false);
        let b = self.value(&operands[1], ty)?;
        let c = match operands.get(2) {
            Some(operand) => self.value(operand, ty)?,
            None => b,
        };
        match to {
            Some(to) => {
                let d = self.destination(to, ty)?;
                self.emit_check(check::access::<{ kind::ATOMIC }>, base, offset, ty.size(), traits);
                self.emit_op(run, offset, d.slot, [base, b, c]);
                self.finish(d);
            }
            None => {
                self.emit_check(check::access::<{ kind::ATOMIC }>, base, offset, ty.size(), traits);
                self.emit_op(run, offset, Slot::UNUSED, [base, b, c]);
            }
        }
        Ok(())
    }

    fn lower_cvta(&mut self, i: &Instruction) -> Lowered {
        let m = &i.modifiers;
        let window = window(m.space).ok_or("this space")?;
        if let (Operand::Symbol(symbol, offset), false) = (&i.operands[1], m.flags.to) {
            let generic = self.symbol(*symbol, *offset, true)?;
            return self.copy_address(&i.operands[0], generic);
        }
        let a = self.value(&i.operands[1], Type::U64)?;
        let add = alu::select(Opcode::Add, Type::U64, m).expect("64-bit addition");
        let distance = self.constant(if m.flags.to { window.wrapping_neg() } else { window }, true);
        let t = self.temporary(8);
        self.emit_op(add, 0, t, [a, distance, distance]);
        self.copy_address(&i.operands[0], t)
    }

    fn copy_address(&mut self, to: &Operand, address: Slot) -> Lowered {
        let d = self.destination(to, Type::U64)?;
        self.emit_op(moves::select(8), 0, d.slot, [address; 3]);
        self.finish(d);
        Ok(())
    }
}

/// Where a space begins among the generic addresses.
fn window(space: Option<Space>) -> Option<u64> {
    Some(match space? {
        Space::Global | Space::Const => 0,
        Space::Shared => SHARED_WINDOW,
        Space::Local => LOCAL_WINDOW,
        Space::Param => PARAM_WINDOW,
        Space::Reg => return None,
    })
}
