//! Leaves out of PTX texts what isn't needed: the JIT takes time for every function, and most of what an image has are parts of
//! libgomp and newlib that it doesn't use.

use super::items::{Item, Kind};
use super::reach::Reach;

/// The texts that `reach` was made from, without what isn't needed, and without texts of which nothing is.
pub fn prune(texts: &[&str], reach: &Reach<'_>) -> Vec<String> {
    let objects = texts.iter().zip(&reach.objects).zip(&reach.needed);
    let mut pruned: Vec<String> = objects
        .clone()
        .filter(|((_, items), needed)| {
            items.iter().zip(*needed).any(|(item, needed)| *needed && defines(item))
        })
        .map(|((text, items), needed)| {
            let kept = items.iter().zip(needed).filter(|(_, needed)| **needed);
            let mut pruned: String = kept.map(|(item, _)| &text[item.span.clone()]).collect();
            pruned.push('\n');
            pruned
        })
        .collect();
    if pruned.is_empty() {
        // The linker wants an object.
        pruned.extend(texts.first().map(|text| text.to_string()));
    }
    pruned
}

fn defines(item: &Item<'_>) -> bool {
    matches!(item.kind, Kind::Definition | Kind::Kernel)
}
