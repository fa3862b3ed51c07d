//! Where the names of an image's PTX texts are defined.

use std::collections::HashMap;

use super::items::{Item, Kind};

/// libgomp's function that kernels hand theirs to.
pub const MAIN: &str = "gomp_nvptx_main";

/// Where a definition stands: the numbers of its text and item.
pub type Place = (usize, usize);

/// The definitions of all names.
pub struct Index<'a> {
    /// Names that all texts see. There can be several definitions: weak ones.
    visible: HashMap<&'a str, Vec<Place>>,
    /// For each text, the names that it alone sees.
    local: Vec<HashMap<&'a str, usize>>,
}

impl<'a> Index<'a> {
    /// Looks at the items of each text.
    pub fn of(objects: &[Vec<Item<'a>>]) -> Index<'a> {
        let mut index = Index { visible: HashMap::new(), local: vec![HashMap::new(); objects.len()] };
        for (object, items) in objects.iter().enumerate() {
            for (number, item) in items.iter().enumerate() {
                match item.kind {
                    Kind::Header | Kind::Declaration => {}
                    _ if item.visible => index.visible.entry(item.name).or_default().push((object, number)),
                    _ => {
                        index.local[object].insert(item.name, number);
                    }
                }
            }
        }
        index
    }

    /// For each item whether it uses, however indirectly, a name of which `is_wanted` holds. What [`MAIN`] itself uses doesn't count:
    /// it calls the function that the kernel names, and has threads wait for such as others name.
    pub fn users_of(&self, objects: &[Vec<Item<'a>>], is_wanted: impl Fn(&str) -> bool) -> Vec<Vec<bool>> {
        let mut found: Vec<Vec<bool>> = objects.iter().map(|items| vec![false; items.len()]).collect();
        let mut users: Vec<Vec<Vec<Place>>> = objects.iter().map(|items| vec![vec![]; items.len()]).collect();
        let mut open: Vec<Place> = vec![];
        for (object, items) in objects.iter().enumerate() {
            for (number, item) in items.iter().enumerate().filter(|(_, item)| item.name != MAIN) {
                if item.uses.iter().any(|name| is_wanted(name)) {
                    open.push((object, number));
                }
                for (of, used) in item.uses.iter().flat_map(|name| self.places(object, name)) {
                    users[of][used].push((object, number));
                }
            }
        }
        while let Some((object, number)) = open.pop() {
            if !std::mem::replace(&mut found[object][number], true) {
                open.extend(&users[object][number]);
            }
        }
        found
    }

    /// What `name` may stand for in a text.
    pub fn places(&self, object: usize, name: &str) -> impl Iterator<Item = Place> {
        let own = self.local[object].get(name).map(|number| (object, *number));
        own.into_iter().chain(self.visible.get(name).into_iter().flatten().copied())
    }
}
