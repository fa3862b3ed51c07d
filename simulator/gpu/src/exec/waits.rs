//! Who waits for what: the report of a block whose threads do not go on.

use super::block::Block;
use super::report;
use super::warp::{Split, State, Warp};
use crate::fault::Region;
use crate::ir::{LANES, SHARED_WINDOW};
use crate::launch::Grid;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Lines of a report; what is alike shares one.
const LINES: usize = 16;

/// What the warps of blocks wait for, a line for each different thing.
pub(crate) struct Waits<'a> {
    grid: &'a Grid,
    region: Option<Region>,
    lines: Vec<(String, Vec<u32>)>,
    more: usize,
}

impl<'a> Waits<'a> {
    pub fn new(grid: &'a Grid) -> Waits<'a> {
        Waits { grid, region: report::region(grid), lines: Vec::new(), more: 0 }
    }

    /// What a block and a warp are called.
    fn terms(&self) -> [&'static str; 2] {
        self.region.as_ref().map_or(["block", "warp"], |r| [r.terms[0], r.terms[1]])
    }

    /// Adds those of a block.
    pub fn add(&mut self, block: &Block) {
        let [x, y, z] = block.state.index;
        let team = match self.region {
            Some(_) => format!("{} {x}", self.terms()[0]),
            None => format!("block ({x},{y},{z})"),
        };
        for warp in block.warps.iter().flatten() {
            for split in &warp.splits {
                let text = format!("{team}, %: {}", self.split(block, warp, split));
                match self.lines.iter().position(|(line, _)| *line == text) {
                    Some(at) => self.lines[at].1.push(warp.index),
                    None if self.lines.len() < LINES => self.lines.push((text, vec![warp.index])),
                    None => self.more += 1,
                }
            }
        }
    }

    /// The lines.
    pub fn text(mut self) -> String {
        let term = self.terms()[1];
        let mut text = "who waits for what:".to_string();
        for (line, warps) in &mut self.lines {
            warps.dedup();
            let plural = if warps.len() > 1 { "s" } else { "" };
            text += &format!("\n    {}", line.replacen('%', &format!("{term}{plural} {}", list(warps)), 1));
        }
        if self.more > 0 {
            text += &format!("\n    and {} more", self.more);
        }
        text
    }

    fn split(&self, block: &Block, warp: &Warp, split: &Split) -> String {
        let what = match split.state {
            State::AtBarrier { id, .. } | State::InBarrier { id, .. } => {
                let barrier = &block.state.barriers[id as usize];
                let here = barrier.arrived / LANES as u32;
                let expected = match barrier.expected {
                    0 => block.state.live_warps,
                    threads => threads / LANES as u32,
                };
                format!("barrier {id}, where {here} of {expected} {}s are", self.terms()[1])
            }
            State::Gathering(lanes) => format!("lanes {lanes:#x} of its warp"),
            State::Ready => self.word(block, split.watched, warp.frames[split.frame].function),
        };
        format!("{what}, {}", self.place(warp, split))
    }

    /// The word that a split looks at again and again.
    fn word(&self, block: &Block, at: u64, function: u32) -> String {
        let shared = at.checked_sub(SHARED_WINDOW).unwrap_or(at);
        if let Some(word) = block.state.shared_word(shared & !3) {
            return format!("a change of the word at {shared:#x} of shared memory, now {word:#x}");
        }
        let aligned = at & !3;
        let Some(view) = self.grid.view(aligned) else { return "nothing in memory".into() };
        let word = aligned.wrapping_add(view.delta) as *mut u32;
        // SAFETY: the word lies in an allocation, as `view` says, and is aligned. The threads of the kernel read it themselves.
        let now = unsafe { AtomicU32::from_ptr(word) }.load(Relaxed);
        let host = self.grid.memory().lookup(at).is_some_and(|a| a.kind.is_host());
        let requests = self.grid.program().functions[function as usize].name == "GOMP_target_ext";
        let whose = match (host, requests) {
            (true, true) => "the host, to serve its request and change the word",
            (true, false) => "the host, to change the word",
            (false, _) => "a change of the word",
        };
        let mut text = format!("{whose} at {at:#x}, now {now:#x}");
        let holder = block.warps.iter().flatten().find(|warp| warp.has_updated(at));
        if let Some(holder) = holder {
            text += &format!(" (set by {} {})", self.terms()[1], holder.index);
        }
        text
    }

    /// Where that is, and where in the program's own code.
    fn place(&self, warp: &Warp, split: &Split) -> String {
        let program = self.grid.program();
        let innermost = report::location(program, warp.frames[split.frame].function, split.pc);
        let at = |(function, pc)| report::location(program, function, pc);
        match report::own_place(program, &warp.frames, split.frame, split.pc).map(at) {
            Some(own) if own == innermost => format!("at {own}"),
            Some(own) => format!("in {}, called from {own}", innermost.function),
            None => {
                let last = warp.last_barrier.map(at);
                let last =
                    last.map_or(String::new(), |place| format!("; its last barrier before was at {place}"));
                format!("in {}{last}", innermost.function)
            }
        }
    }
}

/// Numbers, those in a row as a range.
pub(super) fn list(numbers: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &n in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == n => *last = n,
            _ => ranges.push((n, n)),
        }
    }
    let text = |&(a, b): &(u32, u32)| if a == b { a.to_string() } else { format!("{a}-{b}") };
    ranges.iter().map(text).collect::<Vec<_>>().join(", ")
}
