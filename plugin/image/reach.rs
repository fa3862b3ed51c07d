//! What of an image's PTX its kernels can reach.

use std::collections::{HashMap, HashSet};

use super::items::{Item, Kind, items};

/// The driver's function that prints.
const PRINT: &str = "vprintf";
/// libgomp's functions that print only in a kernel that they then end with a trap (libgomp/error.c; `exit` is one on the device), or
/// when gomp_debug_var is set, which on the device nobody does.
const QUIET: [&str; 5] = ["gomp_fatal", "gomp_vfatal", "GOMP_error", "gomp_debug", "gomp_vdebug"];

/// The items of an image's PTX texts, and which of them are needed.
pub struct Reach<'a> {
    /// For each text its items, in order.
    pub objects: Vec<Vec<Item<'a>>>,
    /// For each item whether it is needed.
    pub needed: Vec<Vec<bool>>,
    /// Whether a kernel may print and go on.
    pub prints: bool,
}

impl<'a> Reach<'a> {
    /// Looks at the texts of an image. Needed are all kernels, what is called one of `names`, and all that
    /// these use, however indirectly. None where a text has a form that isn't known.
    pub fn of(texts: &[&'a str], names: &[&str]) -> Option<Reach<'a>> {
        let objects = texts.iter().map(|text| items(text)).collect::<Option<Vec<_>>>()?;
        let names: HashSet<&str> = names.iter().copied().collect();
        let is_root = |item: &Item<'_>| match item.kind {
            Kind::Kernel => true,
            Kind::Definition => names.contains(item.name),
            Kind::Header | Kind::Declaration => false,
        };
        let index = Index::of(&objects);
        let prints = index.walk(&objects, is_root, |name| QUIET.contains(&name)).prints;
        let needed = index.walk(&objects, is_root, |_| false).reached;
        let needed =
            objects.iter().zip(needed).map(|(items, reached)| with_announcements(items, reached)).collect();
        Some(Reach { objects, needed, prints })
    }
}

/// Adds to the definitions that were reached the headers, and the declarations of names that these define or use.
fn with_announcements(items: &[Item<'_>], reached: Vec<bool>) -> Vec<bool> {
    let kept = || items.iter().zip(&reached).filter(|(_, reached)| **reached).map(|(item, _)| item);
    let names: HashSet<&str> = kept().flat_map(|item| item.uses.iter().copied().chain([item.name])).collect();
    items
        .iter()
        .zip(&reached)
        .map(|(item, reached)| match item.kind {
            Kind::Header => true,
            Kind::Declaration => names.contains(item.name),
            Kind::Definition | Kind::Kernel => *reached,
        })
        .collect()
}

/// Where a definition stands: the numbers of its text and item.
type Place = (usize, usize);

/// Where names are defined.
struct Index<'a> {
    /// Names that all texts see. There can be several definitions: weak ones.
    visible: HashMap<&'a str, Vec<Place>>,
    /// For each text, the names that it alone sees.
    local: Vec<HashMap<&'a str, usize>>,
}

/// What a walk found.
struct Walk {
    reached: Vec<Vec<bool>>,
    prints: bool,
}

impl<'a> Index<'a> {
    fn of(objects: &[Vec<Item<'a>>]) -> Index<'a> {
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

    /// Goes from the items that `is_root` names to all that they use, but not into items of which `ends` holds.
    fn walk(
        &self,
        objects: &[Vec<Item<'a>>],
        is_root: impl Fn(&Item<'a>) -> bool,
        ends: impl Fn(&str) -> bool,
    ) -> Walk {
        let mut walk =
            Walk { reached: objects.iter().map(|items| vec![false; items.len()]).collect(), prints: false };
        let all =
            objects.iter().enumerate().flat_map(|(object, items)| (0..items.len()).map(move |i| (object, i)));
        let mut open: Vec<Place> =
            all.filter(|(object, number)| is_root(&objects[*object][*number])).collect();
        while let Some((object, number)) = open.pop() {
            if std::mem::replace(&mut walk.reached[object][number], true) {
                continue;
            }
            for name in objects[object][number].uses.iter().filter(|name| !ends(name)) {
                walk.prints |= *name == PRINT;
                open.extend(self.local[object].get(name).map(|number| (object, *number)));
                open.extend(self.visible.get(name).into_iter().flatten());
            }
        }
        walk
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = ".version 7.3 .target sm_52 .address_size 64\n\
        .extern .func by_call; .extern .global .u64 by_load; .extern .func unused_declaration;\n\
        .func own { ret; } .func shared_name { call by_twin; }\n\
        .visible .entry main$_omp_fn$0 { call by_call; ld.u64 %r0,[by_load]; mov.u64 %r1,own; call shared_name; }\n";
    const LIBRARY: &str = ".version 7.3 .target sm_52 .address_size 64\n\
        .visible .func by_call { call again; } .func again { call by_call; } .visible .func by_twin { ret; }\n\
        .visible .global .u64 by_load[1] = {generic(by_initializer)}; .visible .func by_initializer { ret; }\n\
        .visible .func nobody { call own; call only_nobody; } .visible .func only_nobody { ret; }\n\
        .func own { ret; } .visible .global .u32 looked_up; .func shared_name { ret; }\n\
        .visible .global .u64 $offload_ind_func_table[] = {by_table}; .visible .func by_table { ret; }\n";

    fn needed<'a>(reach: &Reach<'a>, object: usize) -> Vec<&'a str> {
        let items = reach.objects[object].iter().zip(&reach.needed[object]);
        items
            .filter(|(item, needed)| **needed && item.kind != Kind::Header)
            .map(|(item, _)| item.name)
            .collect()
    }

    #[test]
    fn what_a_kernel_uses_is_needed_and_nothing_else() {
        let reach =
            Reach::of(&[PROGRAM, LIBRARY], &["looked_up", "$offload_ind_func_table"]).expect("known form");
        assert_eq!(needed(&reach, 0), ["by_call", "by_load", "own", "shared_name", "main$_omp_fn$0"]);
        let library = [
            "by_call",
            "again",
            "by_twin",
            "by_load",
            "by_initializer",
            "looked_up",
            "$offload_ind_func_table",
            "by_table",
        ];
        assert_eq!(needed(&reach, 1), library);
    }

    #[test]
    fn every_weak_definition_is_needed() {
        let weak = ".weak .func by_call { ret; }";
        let reach = Reach::of(&[PROGRAM, weak, LIBRARY, weak], &[]).expect("known form");
        assert!([1, 2, 3].iter().all(|object| needed(&reach, *object).contains(&"by_call")));
    }

    #[test]
    fn only_what_is_printed_in_a_kernel_that_goes_on_counts() {
        let prints = |calls: &str| {
            let program = format!(".visible .entry k {{ call {calls}; }}");
            let library = ".visible .func gomp_fatal { call gomp_verror; } .visible .func gomp_verror { call vprintf; }\
                .visible .func gomp_debug { call vprintf; }\
                .visible .func check { call gomp_fatal; } .visible .func GOMP_warning { call gomp_verror; }\
                .visible .func printf { call (%r),vprintf,(%a); }\
                .visible .func nobody { call printf; }";
            Reach::of(&[&program, library], &[]).expect("known form").prints
        };
        assert!(prints("printf") && prints("vprintf") && prints("GOMP_warning"));
        assert!(!prints("check") && !prints("gomp_debug") && !prints("gomp_fatal") && !prints("unknown"));
    }

    #[test]
    fn an_image_of_unknown_form_is_left_alone() {
        assert!(Reach::of(&[PROGRAM, "nonsense"], &[]).is_none());
    }
}
