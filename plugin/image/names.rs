//! Where the names of an image's PTX texts are defined.

use std::collections::HashMap;

use super::items::{Item, Kind};

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

    /// What `name` may stand for in a text.
    pub fn places(&self, object: usize, name: &str) -> impl Iterator<Item = Place> {
        let own = self.local[object].get(name).map(|number| (object, *number));
        own.into_iter().chain(self.visible.get(name).into_iter().flatten().copied())
    }
}
