//! Immediate dominators, by the algorithm of Lengauer and Tarjan ("A fast algorithm for finding dominators in a flowgraph", 1979)
//! in its simple form: `O(edges * log(nodes))` for any graph.

/// No node.
const NONE: usize = usize::MAX;

/// A directed graph: for each node, where its edges go to and where they come from.
pub(super) struct Flow {
    pub successors: Vec<Vec<usize>>,
    pub predecessors: Vec<Vec<usize>>,
}

/// The forest of nodes already handled, each with the ancestor known and the node of the least semidominator on the way there.
struct Forest {
    ancestor: Vec<usize>,
    label: Vec<usize>,
}

impl Forest {
    /// The node of the least semidominator between `node` and the root of its tree.
    fn least(&mut self, node: usize, semi: &[usize]) -> usize {
        let mut path = Vec::new();
        let mut at = node;
        while self.ancestor[at] != NONE && self.ancestor[self.ancestor[at]] != NONE {
            path.push(at);
            at = self.ancestor[at];
        }
        // Compressed from the top, so that each sees its ancestor's final label.
        for &at in path.iter().rev() {
            let above = self.ancestor[at];
            if semi[self.label[above]] < semi[self.label[at]] {
                self.label[at] = self.label[above];
            }
            self.ancestor[at] = self.ancestor[above];
        }
        self.label[node]
    }
}

/// The immediate dominator of each node that `root` reaches, but of `root` itself.
pub(super) fn dominators(flow: &Flow, root: usize) -> Vec<Option<usize>> {
    let count = flow.successors.len();
    let (order, parent) = depth_first(flow, root);
    let mut semi = vec![NONE; count];
    for (n, &node) in order.iter().enumerate() {
        semi[node] = n;
    }
    let mut forest = Forest { ancestor: vec![NONE; count], label: (0..count).collect() };
    let mut buckets = vec![Vec::new(); count];
    let mut dominator = vec![NONE; count];
    for &node in order.iter().skip(1).rev() {
        for &before in flow.predecessors[node].iter().filter(|&&p| parent[p] != NONE) {
            let least = forest.least(before, &semi);
            semi[node] = semi[node].min(semi[least]);
        }
        buckets[order[semi[node]]].push(node);
        let above = parent[node];
        forest.ancestor[node] = above;
        for waiting in std::mem::take(&mut buckets[above]) {
            let least = forest.least(waiting, &semi);
            dominator[waiting] = if semi[least] < semi[waiting] { least } else { above };
        }
    }
    for &node in order.iter().skip(1) {
        if dominator[node] != order[semi[node]] {
            dominator[node] = dominator[dominator[node]];
        }
    }
    dominator.into_iter().map(|d| (d != NONE).then_some(d)).collect()
}

/// The nodes that `root` reaches, in the order of a depth-first search, and each one's parent there (`root` is its own).
fn depth_first(flow: &Flow, root: usize) -> (Vec<usize>, Vec<usize>) {
    let mut parent = vec![NONE; flow.successors.len()];
    let mut order = Vec::new();
    let mut stack = vec![(root, root)];
    while let Some((node, from)) = stack.pop() {
        if parent[node] != NONE {
            continue;
        }
        parent[node] = from;
        order.push(node);
        stack.extend(flow.successors[node].iter().filter(|&&s| parent[s] == NONE).map(|&s| (s, node)));
    }
    (order, parent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn flow(count: usize, edges: &[(usize, usize)]) -> Flow {
        let mut flow = Flow { successors: vec![Vec::new(); count], predecessors: vec![Vec::new(); count] };
        for &(from, to) in edges {
            flow.successors[from].push(to);
            flow.predecessors[to].push(from);
        }
        flow
    }

    /// Whether every path from the root to `node` leads through `by`.
    fn dominates(flow: &Flow, by: usize, node: usize) -> bool {
        let mut seen = vec![false; flow.successors.len()];
        let mut stack = vec![0];
        while let Some(at) = stack.pop() {
            if at != by && !std::mem::replace(&mut seen[at], true) {
                stack.extend(&flow.successors[at]);
            }
        }
        !seen[node]
    }

    #[test]
    fn the_dominator_nearest_to_a_node_is_found_in_any_graph() {
        let mut random = Random::new(1);
        for _ in 0..300 {
            let count = 2 + random.below(12) as usize;
            let mut node = || random.below(count as u64) as usize;
            let edges: Vec<_> = (0..2 * count).map(|_| (node(), node())).collect();
            let flow = flow(count, &edges);
            let (reached, _) = depth_first(&flow, 0);
            let found = dominators(&flow, 0);
            for (node, found) in found.iter().enumerate().skip(1) {
                let strict: Vec<_> = (0..count).filter(|&d| d != node && dominates(&flow, d, node)).collect();
                let nearest =
                    strict.iter().find(|&&d| strict.iter().all(|&e| e == d || dominates(&flow, e, d)));
                let expected = nearest.filter(|_| reached.contains(&node)).copied();
                assert_eq!(*found, expected, "node {node} of {edges:?}");
            }
        }
    }

    #[test]
    fn a_deep_graph_with_many_far_edges_takes_no_time() {
        const DEPTH: usize = 50_000;
        // A long chain, and nodes that both ends of it lead to: each would walk the whole chain.
        let mut edges: Vec<_> = (0..DEPTH).map(|n| (n, n + 1)).collect();
        for far in DEPTH + 1..2 * DEPTH {
            edges.extend([(0, far), (DEPTH, far)]);
        }
        let found = dominators(&flow(2 * DEPTH, &edges), 0);
        assert_eq!((found[DEPTH], found[2 * DEPTH - 1]), (Some(DEPTH - 1), Some(0)));
    }
}
