//! The activations of functions by a warp, with their registers.

use super::map::lanes;
use super::registers::{Registers, WORD};
use crate::ir::{LANES, NONE, Program, Words};
use std::ops::{Index, IndexMut};
use std::sync::Arc;

/// An activation.
pub(crate) struct Frame {
    pub function: u32,
    registers: Registers,
    /// The frame it was called from; [`NONE`] for a kernel.
    pub caller: u32,
    /// Where lanes go on in the caller.
    pub return_pc: u32,
    /// Index of the call site in the caller's function.
    call: u32,
    /// The join that the lanes owe in the caller.
    pub join: u32,
    /// Lanes that have entered.
    pub entered: u32,
    /// Those that have entered and neither returned nor exited.
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
        let registers = Registers::take(code.frame_size);
        let first = Frame {
            function: kernel,
            registers,
            caller: NONE,
            return_pc: 0,
            call: 0,
            join: NONE,
            entered: mask,
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
        let from = &mut self[caller];
        let code = &program.functions[from.function as usize];
        let mut registers = Registers::take(callee.frame_size);
        for (from_byte, to_byte) in places(&code.calls[call as usize].arguments, callee.parameter_words) {
            registers.copy_word(to_byte, &mut from.registers, from_byte, mask, true);
        }
        let local_base = from.top(mask) + CALL_OVERHEAD;
        let frame = Frame {
            function,
            registers,
            caller,
            return_pc,
            call,
            join,
            entered: mask,
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
        std::mem::take(&mut self[index].registers).give();
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
        let mut registers = std::mem::take(&mut self[index].registers);
        let to = &mut self.frames[caller as usize];
        for (to_byte, from_byte) in places(&code.calls[call as usize].results, callee.result_words) {
            let all = mask == to.entered;
            to.registers.copy_word(to_byte, &mut registers, first + from_byte, mask, all);
        }
        self[index].registers = registers;
    }

    /// The registers of an activation.
    pub fn registers(&mut self, index: u32) -> *mut u8 {
        self[index].registers.first_mut()
    }

    /// The indices of all activations, ended ones included.
    pub fn indices(&self) -> std::ops::Range<u32> {
        0..self.frames.len() as u32
    }
}

impl Drop for Frames {
    fn drop(&mut self) {
        for frame in &mut self.frames {
            std::mem::take(&mut frame.registers).give();
        }
    }
}

/// For each of the first `count` words of a call site, its frame offset in the caller and its offset among them.
fn places(words: &[Words], count: u32) -> impl Iterator<Item = (usize, usize)> {
    let each = words.iter().flat_map(|w| (0..w.count as usize).map(|n| w.at as usize + n * WORD));
    each.take(count as usize).enumerate().map(|(word, at)| (at, word * WORD))
}
