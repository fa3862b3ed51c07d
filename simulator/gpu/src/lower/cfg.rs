//! Where lanes that part at a branch meet again: its immediate post-dominator.

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

    /// The immediate post-dominator of each block.
    ///
    /// A path that ends in `exit` or `trap` doesn't count: its lanes are gone, and the others needn't wait for them. Blocks from which no
    /// return can be reached are looked at afterwards, with one of themselves in the place of the end, until none is left.
    fn post_dominators(&self) -> Vec<Option<usize>> {
        let mut result = vec![None; self.blocks.len()];
        let mut done = vec![false; self.blocks.len() + 1];
        let mut roots = vec![self.end()];
        loop {
            self.post_dominators_from(&roots, &mut done, &mut result);
            let left = |block: &usize| !done[*block];
            let exits: Vec<usize> =
                (0..self.blocks.len()).filter(left).filter(|&b| self.successors[b].is_empty()).collect();
            roots = match exits.is_empty() {
                false => exits,
                // Only endless loops are left: take the last block for the end of one.
                true => match (0..self.blocks.len()).rfind(left) {
                    Some(last) => vec![last],
                    None => return result,
                },
            };
        }
    }

    /// Post-dominators of the blocks not `done` that reach a root (Cooper, Harvey and Kennedy, "A simple, fast dominance
    /// algorithm", on the reversed graph).
    fn post_dominators_from(&self, roots: &[usize], done: &mut [bool], result: &mut [Option<usize>]) {
        let order = self.reverse_postorder(roots, done);
        let endless = self.endless();
        let count = order.len();
        let mut rank = vec![usize::MAX; self.blocks.len() + 1];
        for (n, &block) in order.iter().enumerate() {
            rank[block] = n + 1;
        }
        // Rank 0 is a node of its own behind all roots.
        let mut parent = vec![usize::MAX; count + 1];
        parent[0] = 0;
        let mut changed = true;
        while changed {
            changed = false;
            for &block in &order {
                let root = roots.contains(&block).then_some(0);
                let next = if block == self.end() { &[][..] } else { &self.successors[block][..] };
                // Lanes that loop for ever never come: nobody waits for them.
                let root = root.or(next.iter().any(|&s| endless[s]).then_some(0));
                let reached =
                    next.iter().map(|&s| rank[s]).filter(|&r| r != usize::MAX && parent[r] != usize::MAX);
                let meet = root.into_iter().chain(reached).reduce(|mut a, mut b| {
                    while a != b {
                        if a > b { a = parent[a] } else { b = parent[b] }
                    }
                    a
                });
                let meet = meet.expect("a successor comes earlier in the order");
                if parent[rank[block]] != meet {
                    parent[rank[block]] = meet;
                    changed = true;
                }
            }
        }
        for &block in &order {
            done[block] = true;
            let by = parent[rank[block]];
            if block != self.end() && by != 0 && order[by - 1] != self.end() {
                result[block] = Some(order[by - 1]);
            }
        }
    }

    /// Which blocks can reach neither the function's end nor an exit.
    fn endless(&self) -> Vec<bool> {
        let exits = (0..self.blocks.len()).filter(|&b| self.successors[b].is_empty());
        let ends: Vec<usize> = exits.chain([self.end()]).collect();
        let mut endless = vec![true; self.blocks.len() + 1];
        for block in self.reverse_postorder(&ends, &vec![false; self.blocks.len() + 1]) {
            endless[block] = false;
        }
        endless
    }

    /// The blocks not `done` that reach a root, each after one of its successors at least.
    fn reverse_postorder(&self, roots: &[usize], done: &[bool]) -> Vec<usize> {
        let mut predecessors = vec![Vec::new(); self.blocks.len() + 1];
        for (block, next) in self.successors.iter().enumerate() {
            for &s in next {
                predecessors[s].push(block);
            }
        }
        let mut seen = done.to_vec();
        let mut postorder = Vec::new();
        for &root in roots {
            if std::mem::replace(&mut seen[root], true) {
                continue;
            }
            let mut stack = vec![(root, 0)];
            while let Some((block, at)) = stack.pop() {
                match predecessors[block].get(at) {
                    Some(&before) => {
                        stack.push((block, at + 1));
                        if !std::mem::replace(&mut seen[before], true) {
                            stack.push((before, 0));
                        }
                    }
                    None => postorder.push(block),
                }
            }
        }
        postorder.reverse();
        postorder
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
