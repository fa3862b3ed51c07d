//! Where lanes that part at a branch meet again: its immediate post-dominator.

use super::dominators::{Flow, dominators};
use boomerang_ptx::ast::{Body, Opcode, Operand};
use std::collections::BTreeSet;

/// For each instruction, the one before which lanes meet that part there; `None` where they meet at the function's end only, or where
/// none can part.
pub(super) fn meeting_points(body: &Body) -> Vec<Option<u32>> {
    let graph = Graph::new(body);
    let dominators = graph.post_dominators();
    let mut points = vec![None; body.instructions.len()];
    for (block, &(_, end)) in graph.blocks.iter().enumerate() {
        let meet = dominators[block].filter(|_| graph.successors[block].len() > 1);
        points[end as usize - 1] = meet.map(|meet| graph.blocks[meet].0);
    }
    points
}

struct Graph {
    /// First instruction and the one after the last.
    blocks: Vec<(u32, u32)>,
    /// The block [`Graph::end`] is the function's end.
    successors: Vec<Vec<usize>>,
}

/// Where an instruction may go on, `end` standing for a return.
fn targets(body: &Body, at: u32) -> Vec<u32> {
    let instruction = &body.instructions[at as usize];
    let end = body.instructions.len() as u32;
    let mut next = match (instruction.opcode, instruction.operands.last()) {
        (Opcode::Bra, Some(Operand::Label(label))) => vec![body.labels[label.index()].target],
        (Opcode::Brx, Some(Operand::BranchTargets(list))) => {
            body.branch_targets[list.index()].iter().map(|l| body.labels[l.index()].target).collect()
        }
        (Opcode::Ret, _) => vec![end],
        (Opcode::Exit | Opcode::Trap, _) => vec![],
        _ => return vec![at + 1],
    };
    if instruction.guard.is_some() {
        next.push(at + 1);
    }
    next
}

impl Graph {
    fn new(body: &Body) -> Graph {
        let end = body.instructions.len() as u32;
        let mut leaders = BTreeSet::from([0, end]);
        leaders.extend(body.labels.iter().map(|l| l.target));
        for (at, instruction) in body.instructions.iter().enumerate() {
            if matches!(
                instruction.opcode,
                Opcode::Bra | Opcode::Brx | Opcode::Ret | Opcode::Exit | Opcode::Trap
            ) {
                leaders.insert(at as u32 + 1);
            }
        }
        let starts: Vec<u32> = leaders.into_iter().filter(|&l| l < end).collect();
        let block_at = |at: u32| starts.binary_search(&at).unwrap_or(starts.len());
        let mut blocks = Vec::new();
        let mut successors = Vec::new();
        for (n, &start) in starts.iter().enumerate() {
            let stop = starts.get(n + 1).copied().unwrap_or(end);
            blocks.push((start, stop));
            let mut next: Vec<usize> = targets(body, stop - 1).into_iter().map(block_at).collect();
            next.sort_unstable();
            next.dedup();
            successors.push(next);
        }
        Graph { blocks, successors }
    }

    fn end(&self) -> usize {
        self.blocks.len()
    }

    /// The immediate post-dominator of each block; `None` where that is the function's end.
    ///
    /// A path that ends in `exit` or `trap` doesn't count: its lanes are gone, and the others needn't wait for them. Nor does one that
    /// never ends: lanes that loop for ever never come, so where some may, the others don't wait.
    fn post_dominators(&self) -> Vec<Option<usize>> {
        let (end, root) = (self.end(), self.end() + 1);
        let exits: Vec<usize> = (0..end).filter(|&b| self.successors[b].is_empty()).collect();
        let returning = self.reaching(&[end]);
        let ending = self.reaching(&exits);
        // The graph reversed, from a root behind the end and all exits on.
        let mut flow =
            Flow { successors: vec![Vec::new(); end + 2], predecessors: vec![Vec::new(); end + 2] };
        let mut edge = |from: usize, to: usize| {
            flow.successors[to].push(from);
            flow.predecessors[from].push(to);
        };
        edge(end, root);
        for block in 0..end {
            let endless = |s: &usize| !returning[*s] && !ending[*s];
            if self.successors[block].is_empty() || self.successors[block].iter().any(endless) {
                edge(block, root);
            }
            for &next in self.successors[block].iter().filter(|&&s| returning[s] || !returning[block]) {
                edge(block, next);
            }
        }
        let mut found = dominators(&flow, root);
        found.truncate(end);
        found.into_iter().map(|by| by.filter(|&by| by < end)).collect()
    }

    /// Which blocks (and the end) reach one of `goals`.
    fn reaching(&self, goals: &[usize]) -> Vec<bool> {
        let mut predecessors = vec![Vec::new(); self.end() + 1];
        for (block, next) in self.successors.iter().enumerate() {
            next.iter().for_each(|&s| predecessors[s].push(block));
        }
        let mut reaching = vec![false; self.end() + 1];
        let mut stack = goals.to_vec();
        while let Some(block) = stack.pop() {
            if !std::mem::replace(&mut reaching[block], true) {
                stack.extend(&predecessors[block]);
            }
        }
        reaching
    }
}

/// Whether an instruction makes lanes wait for each other or leaves the function, so that lanes for which its guard doesn't hold must be
/// sent around it.
pub(super) fn needs_detour(opcode: Opcode, sync: bool) -> bool {
    match opcode {
        Opcode::Call | Opcode::Bar | Opcode::Barrier | Opcode::Brx => true,
        Opcode::Shfl | Opcode::Vote | Opcode::Match | Opcode::Redux | Opcode::Elect => sync,
        _ => false,
    }
}
