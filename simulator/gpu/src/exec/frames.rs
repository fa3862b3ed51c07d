//! The activations of functions by a warp, with their registers.

use super::context::lanes;
use crate::ir::{FULL, LANES, Line, NONE, Program, Words};
use std::cell::RefCell;
use std::ops::{Index, IndexMut};
use std::sync::Arc;

/// An activation.
pub(crate) struct Frame {
    pub function: u32,
    registers: Box<[Line]>,
    /// The frame it was called from; [`NONE`] for a kernel.
    pub caller: u32,
    /// Where lanes go on in the caller.
    pub return_pc: u32,
    /// Index of the call site in the caller's function.
    call: u32,
    /// The join that the lanes owe in the caller.
    pub join: u32,
    /// Lanes that have entered and neither returned nor exited.
    pub inside: u32,
    /// Lanes that have returned and wait for the others.
    pub returned: u32,
    /// Where its variables lie in local memory.
    pub local_base: u32,
    /// Where they end.
    pub local_top: u32,
    /// Where those end that `alloca` has added, by lane; absent before its first use.
    pub tops: Option<Box<[u32; LANES]>>,
}

impl Frame {
    /// Where local memory is free for all the lanes of `mask`.
    pub fn top(&self, mask: u32) -> u32 {
        let added = self.tops.as_deref().and_then(|tops| lanes(mask).map(|lane| tops[lane]).max());
        added.unwrap_or(self.local_top)
    }

    /// The ends by lane.
    pub fn tops(&mut self) -> &mut [u32; LANES] {
        self.tops.get_or_insert_with(|| Box::new([self.local_top; LANES]))
    }
}

/// What a call adds to the stack besides the callee's variables: its return address and saved registers, at the least.
pub(crate) const CALL_OVERHEAD: u32 = 16;

/// All activations of a warp.
pub(crate) struct Frames {
    program: Arc<Program>,
    frames: Vec<Frame>,
    free: Vec<u32>,
}

impl Index<u32> for Frames {
    type Output = Frame;
    fn index(&self, index: u32) -> &Frame {
        &self.frames[index as usize]
    }
}

impl IndexMut<u32> for Frames {
    fn index_mut(&mut self, index: u32) -> &mut Frame {
        &mut self.frames[index as usize]
    }
}

impl Frames {
    /// With the activation of a kernel by the lanes `mask`.
    pub fn new(program: Arc<Program>, kernel: u32, mask: u32) -> Frames {
        let code = &program.functions[kernel as usize];
        let registers = take(code.frame_size);
        let first = Frame {
            function: kernel,
            registers,
            caller: NONE,
            return_pc: 0,
            call: 0,
            join: NONE,
            inside: mask,
            returned: 0,
            local_base: program.static_local,
            local_top: program.static_local + code.local_size,
            tops: None,
        };
        Frames { program, frames: vec![first], free: Vec::new() }
    }

    /// Activates `function` for the lanes `mask`, called from `caller`'s call site `call`, and copies the arguments.
    pub fn push(
        &mut self,
        function: u32,
        mask: u32,
        caller: u32,
        call: u32,
        return_pc: u32,
        join: u32,
    ) -> u32 {
        let program = self.program.clone();
        let callee = &program.functions[function as usize];
        let from = &self[caller];
        let code = &program.functions[from.function as usize];
        let mut registers = take(callee.frame_size);
        for (from_byte, to_byte) in places(&code.calls[call as usize].arguments, callee.parameter_words) {
            copy_word(&from.registers, from_byte, &mut registers, to_byte);
        }
        let local_base = from.top(mask) + CALL_OVERHEAD;
        let frame = Frame {
            function,
            registers,
            caller,
            return_pc,
            call,
            join,
            inside: mask,
            returned: 0,
            local_base,
            local_top: local_base + callee.local_size,
            tops: None,
        };
        match self.free.pop() {
            Some(index) => {
                self.frames[index as usize] = frame;
                index
            }
            None => {
                self.frames.push(frame);
                self.frames.len() as u32 - 1
            }
        }
    }

    /// Ends an activation.
    pub fn pop(&mut self, index: u32) {
        give(std::mem::take(&mut self[index].registers));
        self[index].returned = 0;
        self.free.push(index);
    }

    /// Copies the results of the lanes `mask` to the caller.
    pub fn copy_results(&mut self, index: u32, mask: u32) {
        let Frame { function, caller, call, .. } = self[index];
        let program = self.program.clone();
        let callee = &program.functions[function as usize];
        let first = callee.parameter_words as usize * WORD;
        let code = &program.functions[self[caller].function as usize];
        let registers = std::mem::take(&mut self[index].registers);
        for (to_byte, from_byte) in places(&code.calls[call as usize].results, callee.result_words) {
            copy_lanes(&registers, first + from_byte, &mut self[caller].registers, to_byte, mask);
        }
        self[index].registers = registers;
    }

    /// The registers of an activation.
    pub fn registers(&mut self, index: u32) -> *mut u8 {
        self[index].registers.as_mut_ptr().cast()
    }

    /// The indices of all activations, ended ones included.
    pub fn indices(&self) -> std::ops::Range<u32> {
        0..self.frames.len() as u32
    }
}

impl Drop for Frames {
    fn drop(&mut self) {
        for frame in &mut self.frames {
            give(std::mem::take(&mut frame.registers));
        }
    }
}

/// For each of the first `count` words of a call site, its frame offset in the caller and its offset among them.
fn places(words: &[Words], count: u32) -> impl Iterator<Item = (usize, usize)> {
    let each = words.iter().flat_map(|w| (0..w.count as usize).map(|n| w.at as usize + n * WORD));
    each.take(count as usize).enumerate().map(|(word, at)| (at, word * WORD))
}

/// Bytes of a word of all lanes.
pub(crate) const WORD: usize = 8 * LANES;
/// [`Line`]s of such a word.
const WORD_LINES: usize = WORD / size_of::<Line>();

fn copy_word(from: &[Line], from_byte: usize, to: &mut [Line], to_byte: usize) {
    let (from_line, to_line) = (from_byte / size_of::<Line>(), to_byte / size_of::<Line>());
    to[to_line..to_line + WORD_LINES].copy_from_slice(&from[from_line..from_line + WORD_LINES]);
}

fn copy_lanes(from: &[Line], from_byte: usize, to: &mut [Line], to_byte: usize, mask: u32) {
    if mask == FULL {
        return copy_word(from, from_byte, to, to_byte);
    }
    let (from_line, to_line) = (from_byte / size_of::<Line>(), to_byte / size_of::<Line>());
    for lane in lanes(mask) {
        to[to_line + lane / 8].0[lane % 8] = from[from_line + lane / 8].0[lane % 8];
    }
}

/// Register memory kept for reuse by each thread, by the logarithm of its size; so a call allocates nothing.
const KEPT: usize = 64;

thread_local! {
    static POOL: RefCell<[Vec<Box<[Line]>>; 32]> = const { RefCell::new([const { Vec::new() }; 32]) };
}

fn take(bytes: u32) -> Box<[Line]> {
    let lines = (bytes as usize / size_of::<Line>()).max(1).next_power_of_two();
    let kept = POOL.with_borrow_mut(|pool| pool[lines.trailing_zeros() as usize].pop());
    kept.unwrap_or_else(|| vec![Line([0; 8]); lines].into_boxed_slice())
}

fn give(registers: Box<[Line]>) {
    if registers.is_empty() {
        return;
    }
    POOL.with_borrow_mut(|pool| {
        let kept = &mut pool[registers.len().trailing_zeros() as usize];
        if kept.len() < KEPT {
            kept.push(registers);
        }
    });
}
