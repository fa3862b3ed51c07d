//! Lowering one function: its frame, its instructions in order, its labels.

use super::cfg;
use super::place::Placement;
use crate::Checks;
use crate::exec::registers::{Registers, WORD};
use crate::exec::{branch, moves, soft_stack, special};
use crate::ir::{
    self, Builtin, CallSite, Guard, Handler, Inst, LANES, Line, NONE, Origin, REGISTER_ALIGN, Slot, pair,
};
use boomerang_ptx::Program;
use boomerang_ptx::ast::*;
use std::collections::HashMap;

/// What this GPU doesn't execute.
pub(super) struct Unsupported {
    /// Line of the PTX.
    pub line: u32,
    pub what: String,
}

pub(super) type Lowered<T = ()> = Result<T, String>;

/// A jump whose target is not known yet: the instruction at `pc` goes to where instruction `target` of the body will be, in the
/// half of its `imm` or the entry of a branch table that `part` says.
struct Fixup {
    pc: usize,
    target: u32,
    part: Part,
}

enum Part {
    Target,
    Meeting,
    Table(usize, usize),
}

/// The state of lowering.
pub(super) struct Lowering<'a> {
    pub program: &'a Program,
    pub function: &'a Function,
    pub body: &'a Body,
    pub placement: &'a Placement,
    files: &'a mut super::Files,
    /// Whether accesses get checks in front of them.
    pub checked: bool,
    pub library: bool,
    pub code: Vec<Inst>,
    origins: Vec<Origin>,
    origin: Origin,
    pub guard: Option<Guard>,
    constants: Vec<Line>,
    known_constants: HashMap<(u64, bool), Slot>,
    pub registers: Vec<Slot>,
    /// Words of parameters, one entry a parameter, then of results.
    pub parameters: Vec<usize>,
    pub returns: Vec<usize>,
    /// For each variable of the body: its frame offset (`.param`), or its offset in the local variables.
    pub variables: Vec<usize>,
    frame_size: usize,
    /// Whether [`FRAME_LIMIT`] was reached: then the code is not to be run.
    too_large: bool,
    /// For a kernel: the offset of each parameter in the parameter buffer.
    pub kernel_parameters: Vec<u64>,
    /// Where the next predicate goes, and how many fit there.
    predicates: (usize, usize),
    /// Register memory for values in passing, by class, and which of it the current instruction uses.
    temporaries: [Vec<Slot>; 2],
    used: [usize; 2],
    carry: Option<Slot>,
    fixups: Vec<Fixup>,
    pub calls: Vec<CallSite>,
    pub branch_tables: Vec<Vec<u32>>,
    pub videos: Vec<crate::exec::video::Video>,
    /// Where each instruction of the body begins.
    starts: Vec<u32>,
    pub meeting: Vec<Option<u32>>,
}

/// The register in which GCC's functions keep the end of the soft stack (nvptx.cc, `init_softstack_frame`).
const SOFT_STACK: &str = "%stack";

const NO_BODY: &Body = &Body {
    registers: Vec::new(),
    variables: Vec::new(),
    labels: Vec::new(),
    prototypes: Vec::new(),
    call_targets: Vec::new(),
    branch_targets: Vec::new(),
    locations: Vec::new(),
    instructions: Vec::new(),
};

/// The most bytes that the registers of a function may take, for all lanes; hardware has 256 registers a lane, so that compilers
/// long since gave up.
const FRAME_LIMIT: usize = 1 << 26;
/// The most bytes of local memory that a thread may have (CUDA C++ Programming Guide, technical specifications).
pub(super) const LOCAL_LIMIT: u64 = 512 << 10;
/// The most targets that the `brx` of a function may have in all: a short text can name a long list many times.
const TARGETS_LIMIT: usize = 1 << 20;

/// Words that a parameter of that size takes.
pub(super) fn words(size: u64) -> usize {
    (size as usize).div_ceil(8).max(1)
}

impl<'a> Lowering<'a> {
    pub fn new(
        program: &'a Program,
        function: &'a Function,
        placement: &'a Placement,
        files: &'a mut super::Files,
        checks: Checks,
        library: bool,
    ) -> Lowering<'a> {
        let body = function.body.as_ref().unwrap_or(NO_BODY);
        Lowering {
            program,
            function,
            body,
            placement,
            files,
            checked: checks.any(),
            library,
            code: Vec::new(),
            origins: Vec::new(),
            origin: Origin { line: function.span.line, ..Origin::default() },
            guard: None,
            constants: Vec::new(),
            known_constants: HashMap::new(),
            registers: Vec::new(),
            parameters: Vec::new(),
            returns: Vec::new(),
            variables: Vec::new(),
            frame_size: 0,
            too_large: false,
            kernel_parameters: Vec::new(),
            predicates: (0, 0),
            temporaries: Default::default(),
            used: [0; 2],
            carry: None,
            fixups: Vec::new(),
            calls: Vec::new(),
            branch_tables: Vec::new(),
            videos: Vec::new(),
            starts: Vec::new(),
            meeting: Vec::new(),
        }
    }

    pub fn lower(mut self, builtin: Option<Builtin>) -> Result<ir::Function, Unsupported> {
        let at = |this: &Self, what: String| Unsupported { line: this.origin.line, what };
        self.check_branch_targets().map_err(|e| at(&self, e))?;
        self.meeting = cfg::meeting_points(self.body);
        let (parameter_words, result_words) = self.lay_out_parameters().map_err(|e| at(&self, e))?;
        let local_size = self.lay_out().map_err(|e| at(&self, e))?;
        self.receive_register_parameters().map_err(|e| at(&self, e))?;
        let stack_end = self.body.registers.iter().position(|r| r.name == SOFT_STACK && r.ty.size() == 8);
        let stack_end = stack_end.map(|index| RegisterId(index as u32));
        let joins: std::collections::HashSet<u32> = self.meeting.iter().flatten().copied().collect();
        for n in 0..self.body.instructions.len() {
            let instruction = &self.body.instructions[n];
            self.origin = self.origin_of(instruction);
            self.starts.push(self.code.len() as u32);
            if joins.contains(&(n as u32)) {
                self.emit(Inst::new(branch::join));
            }
            self.used = [0; 2];
            self.instruction(n, instruction)
                .map_err(|e| at(&self, format!("{}: {e}", instruction.opcode)))?;
            self.guard = None;
            if matches!(instruction.operands.first(), Some(Operand::Register(id)) if stack_end == Some(*id)) {
                let a = self.registers[stack_end.expect("it was found").index()];
                self.emit(Inst { a, ..Inst::new(soft_stack::check) });
            }
        }
        self.starts.push(self.code.len() as u32);
        match self.function.body {
            Some(_) => self.lower_return().map_err(|e| at(&self, e))?,
            // Reached by a call through a made-up address only.
            None => self.emit(Inst::new(branch::trap)),
        }
        if self.too_large {
            self.origin.line = self.function.span.line;
            return Err(at(&self, format!("its registers take more than {FRAME_LIMIT} bytes a warp")));
        }
        self.resolve_jumps();
        let callees = self.calls.iter().map(|c| c.callee).filter(|&c| c != NONE).collect();
        Ok(ir::Function {
            name: self.function.name.clone(),
            object: self.function.module,
            code: self.code,
            origins: self.origins,
            constants: Registers::constants(&self.constants),
            calls: self.calls,
            branch_tables: self.branch_tables,
            videos: self.videos,
            frame_size: self.frame_size.next_multiple_of(REGISTER_ALIGN) as u32,
            parameter_words: parameter_words as u32,
            result_words: result_words as u32,
            local_size,
            registers: self.body.registers.iter().map(|r| r.ty.size().div_ceil(4)).sum(),
            library: self.library,
            builtin,
            callees,
        })
    }

    fn origin_of(&mut self, instruction: &Instruction) -> Origin {
        let Span { start, end, line } = instruction.span;
        let source = instruction.location.map(|l| self.body.locations[l.index()]);
        let file = source.map_or(0, |l| self.files.number(self.program, self.function.module, l.file));
        Origin { line, text: (start, end), file, source_line: source.map_or(0, |l| l.line) }
    }

    /// Places parameters and results at the frame's start; a kernel's parameters are not in its frame.
    fn lay_out_parameters(&mut self) -> Lowered<(usize, usize)> {
        let signature = &self.function.signature;
        if self.function.entry {
            let (places, _) = super::kernel_parameters(signature)?;
            self.kernel_parameters = places.iter().map(|p| p.offset.into()).collect();
            // Offset 0 is left out: it stands for "no predicate".
            self.reserve(REGISTER_ALIGN);
            return Ok((0, 0));
        }
        if signature.parameters.iter().chain(&signature.returns).any(|p| p.register.is_some() && p.size() > 8)
        {
            return Err("a vector register as a parameter".into());
        }
        self.parameters = signature.parameters.iter().map(|p| self.reserve(words(p.size()) * WORD)).collect();
        let parameter_words = self.frame_size / WORD;
        self.returns = signature.returns.iter().map(|p| self.reserve(words(p.size()) * WORD)).collect();
        let result_words = self.frame_size / WORD - parameter_words;
        if self.frame_size == 0 {
            self.reserve(REGISTER_ALIGN);
        }
        Ok((parameter_words, result_words))
    }

    /// The frame offset of `bytes` more of the frame.
    pub fn reserve(&mut self, bytes: usize) -> usize {
        let at = self.frame_size;
        match at.checked_add(bytes).filter(|&end| end <= FRAME_LIMIT) {
            Some(end) => self.frame_size = end,
            None => {
                self.too_large = true;
                return 0;
            }
        }
        at
    }

    fn check_branch_targets(&self) -> Lowered {
        let targets = self.body.instructions.iter().map(|i| match i.operands.last() {
            Some(Operand::BranchTargets(list)) => self.body.branch_targets[list.index()].len(),
            _ => 0,
        });
        match targets.sum::<usize>() > TARGETS_LIMIT {
            true => Err(format!("its `brx` have more than {TARGETS_LIMIT} targets in all")),
            false => Ok(()),
        }
    }

    /// Places registers and variables. Gives the size of the local ones.
    fn lay_out(&mut self) -> Lowered<u32> {
        for register in &self.body.registers {
            let slot = match register.ty {
                Type::Pred => self.new_predicate(),
                ty => {
                    let count = register.vector.map_or(1, Vector::elements);
                    Slot::frame(self.reserve(count * register_bytes(ty.size())))
                }
            };
            self.registers.push(slot);
        }
        let mut local = 0u64;
        for variable in &self.body.variables {
            let at = if variable.space == Space::Param {
                self.reserve(words(variable.size()) * WORD)
            } else {
                // Aligned as declared and no better: what counts on more by chance fails here.
                let align = u64::from(variable.align.max(1));
                let at = local.next_multiple_of(align);
                let at = if align < 16 && at % (2 * align) == 0 { at + align } else { at };
                local = at + variable.size();
                if local > LOCAL_LIMIT {
                    return Err(format!("its local variables take more than {LOCAL_LIMIT} bytes"));
                }
                at as usize
            };
            self.variables.push(at);
        }
        Ok((local as u32).next_multiple_of(16))
    }

    pub fn new_predicate(&mut self) -> Slot {
        if self.predicates.1 == 0 {
            self.predicates = (self.reserve(REGISTER_ALIGN), REGISTER_ALIGN / 4);
        }
        let (at, left) = self.predicates;
        self.predicates = (at + 4, left - 1);
        Slot::frame(at)
    }

    /// The predicate that holds the carry.
    pub fn carry(&mut self) -> Slot {
        if let Some(carry) = self.carry {
            return carry;
        }
        let carry = self.new_predicate();
        self.carry = Some(carry);
        carry
    }

    /// A register for a value in passing, until the end of the instruction.
    pub fn temporary(&mut self, size: u32) -> Slot {
        let class = usize::from(size == 8);
        let n = self.used[class];
        self.used[class] += 1;
        if n == self.temporaries[class].len() {
            let slot = Slot::frame(self.reserve(register_bytes(size)));
            self.temporaries[class].push(slot);
        }
        self.temporaries[class][n]
    }

    /// A value that is the same in all lanes, as a register of 32 or (`wide`) 64 bits.
    pub fn constant(&mut self, value: u64, wide: bool) -> Slot {
        if let Some(&slot) = self.known_constants.get(&(value, wide)) {
            return slot;
        }
        let slot = Slot::constant(self.constants.len() * size_of::<Line>());
        let (word, lines) = match wide {
            true => (value, LANES * 8 / size_of::<Line>()),
            false => (value & 0xffff_ffff | value << 32, LANES * 4 / size_of::<Line>()),
        };
        self.constants.extend(std::iter::repeat_n(Line([word; 8]), lines));
        self.known_constants.insert((value, wide), slot);
        slot
    }

    /// Appends an instruction, under the guard of the one being lowered.
    pub fn emit(&mut self, inst: Inst) {
        self.code.push(Inst { guard: self.guard, ..inst });
        self.origins.push(self.origin);
    }

    /// Appends `run` of the operands.
    pub fn emit_op(&mut self, run: Handler, imm: u64, d: Slot, [a, b, c]: [Slot; 3]) {
        self.emit(Inst { run, guard: None, d, a, b, c, imm });
    }

    /// Appends a jump to instruction `target` of the body, with lanes that part meeting at `meet`.
    pub fn emit_jump(&mut self, inst: Inst, target: u32, meet: Option<u32>) {
        let pc = self.code.len();
        self.fixups.push(Fixup { pc, target, part: Part::Target });
        if let Some(meet) = meet {
            self.fixups.push(Fixup { pc, target: meet, part: Part::Meeting });
        }
        self.emit(Inst { imm: pair(NONE, NONE), ..inst });
    }

    /// Appends a jump by a table of targets.
    pub fn emit_table_jump(&mut self, inst: Inst, targets: &[u32], meet: Option<u32>) {
        let (pc, table) = (self.code.len(), self.branch_tables.len());
        self.branch_tables.push(vec![NONE; targets.len()]);
        for (entry, &target) in targets.iter().enumerate() {
            self.fixups.push(Fixup { pc, target, part: Part::Table(table, entry) });
        }
        if let Some(meet) = meet {
            self.fixups.push(Fixup { pc, target: meet, part: Part::Meeting });
        }
        self.emit(Inst { imm: pair(table as u32, NONE), ..inst });
    }

    fn resolve_jumps(&mut self) {
        for Fixup { pc, target, part } in std::mem::take(&mut self.fixups) {
            let to = self.starts[target as usize];
            let (low, high) = self.code[pc].pair();
            match part {
                Part::Target => self.code[pc].imm = pair(to, high),
                Part::Meeting => self.code[pc].imm = pair(low, to),
                Part::Table(table, entry) => self.branch_tables[table][entry] = to,
            }
        }
    }

    /// Lowers an instruction.
    fn instruction(&mut self, n: usize, instruction: &Instruction) -> Lowered {
        let guard = instruction.guard.map(|g| Guard {
            slot: self.registers[g.register.index()],
            flip: if g.negated { !0 } else { 0 },
        });
        match guard {
            Some(guard) if cfg::needs_detour(instruction.opcode, instruction.modifiers.flags.sync) => {
                // The lanes that don't execute it jump over it and wait behind it.
                let around = self.code.len();
                self.guard = Some(Guard { flip: !guard.flip, ..guard });
                self.emit(Inst::new(branch::branch));
                self.guard = None;
                self.dispatch(n, instruction)?;
                let behind = self.code.len() as u32;
                self.code[around].imm = pair(behind, behind);
                self.emit(Inst::new(branch::join));
                Ok(())
            }
            guard => {
                self.guard = guard;
                self.dispatch(n, instruction)
            }
        }
    }

    fn dispatch(&mut self, n: usize, instruction: &Instruction) -> Lowered {
        use Opcode::*;
        match instruction.opcode {
            Bra | Brx | Ret | Exit | Trap | Brkpt | Bar | Barrier | Membar | Fence | Nanosleep => {
                self.lower_control(n, instruction)
            }
            Call => self.lower_call(instruction),
            Ld | Ldu | St | Atom | Red | Cvta | Isspacep | Alloca | Stacksave | Stackrestore => {
                self.lower_memory(n, instruction)
            }
            Mov => self.lower_mov(instruction),
            Shfl | Vote | Match | Redux | Elect | Activemask => self.lower_warp(instruction),
            Vadd | Vsub | Vabsdiff | Vmin | Vmax | Vshl | Vshr | Vset => self.lower_video(instruction),
            Prefetch | Prefetchu | Discard | Pmevent | Griddepcontrol => {
                self.emit(Inst::new(moves::nop));
                Ok(())
            }
            _ => self.lower_arithmetic(instruction),
        }
    }

    /// Puts a special register into a temporary; says whether that has 64 bits.
    pub fn special(&mut self, register: SpecialRegister) -> Lowered<(Slot, bool)> {
        let (run, wide) =
            special::select(register).ok_or_else(|| format!("the register {register:?} is not supported"))?;
        let slot = self.temporary(if wide { 8 } else { 4 });
        let guard = self.guard.take();
        self.emit(Inst { d: slot, ..Inst::new(run) });
        self.guard = guard;
        Ok((slot, wide))
    }
}

/// Bytes of a register of that size.
pub(super) fn register_bytes(size: u32) -> usize {
    LANES * if size > 4 { 8 } else { 4 }
}
