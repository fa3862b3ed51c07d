//! What of an image's PTX its kernels can reach.

use std::collections::HashSet;

use super::idle::{IDLE, Idle};
use super::items::{Item, Kind, items};
use super::names::{Index, Place};

/// The driver's function that prints.
const PRINT: &str = "vprintf";
/// libgomp's functions that print only in a kernel that they then end with a trap (libgomp/error.c; `exit` is one on the device), or
/// when gomp_debug_var is set, which on the device nobody does.
const QUIET: [&str; 5] = ["gomp_fatal", "gomp_vfatal", "GOMP_error", "gomp_debug", "gomp_vdebug"];

/// Whether an item is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Not at all.
    None,
    /// With this body in place of its own.
    Idle(&'static str),
    /// As it is.
    Whole,
}

/// The items of an image's PTX texts, and which of them are needed.
pub struct Reach<'a> {
    /// For each text its items, in order.
    pub objects: Vec<Vec<Item<'a>>>,
    /// For each item how it is needed.
    pub needs: Vec<Vec<Need>>,
    /// Whether a kernel may print and go on.
    pub prints: bool,
}

impl<'a> Reach<'a> {
    /// Looks at the texts of an image. Needed are all kernels, what is called one of `names`, and all that these use, however
    /// indirectly. None where a text has a form that isn't known.
    pub fn of(texts: &[&'a str], names: &[&str]) -> Option<Reach<'a>> {
        let objects = texts.iter().map(|text| items(text)).collect::<Option<Vec<_>>>()?;
        let names: HashSet<&str> = names.iter().copied().collect();
        let is_root = |_, item: &Item<'_>| match item.kind {
            Kind::Kernel => true,
            Kind::Definition => names.contains(item.name),
            Kind::Header | Kind::Declaration => false,
        };
        let index = Index::of(&objects);
        let mut idle: Vec<&Idle> = IDLE.iter().collect();
        let reached = loop {
            let reached =
                walk(&index, &objects, is_root, |name| idle.iter().any(|idle| idle.function == name)).reached;
            let all = objects.iter().flatten().zip(reached.iter().flatten());
            let names: Vec<&str> = all.filter(|(_, reached)| **reached).map(|(item, _)| item.name).collect();
            let before = idle.len();
            idle.retain(|idle| !names.iter().any(|name| (idle.is_used_with)(name)));
            if idle.len() == before {
                break reached;
            }
        };
        let body = |name: &str| idle.iter().find(|idle| idle.function == name).map(|idle| idle.body);
        let prints =
            walk(&index, &objects, is_root, |name| QUIET.contains(&name) || body(name).is_some()).prints;
        let needs =
            objects.iter().zip(&reached).map(|(items, reached)| needs(items, reached, body)).collect();
        Some(Reach { objects, needs, prints })
    }
}

/// How the items of a text are needed, given which of its definitions were reached: headers always, and declarations of the names
/// that are defined or used by what is kept.
fn needs(
    items: &[Item<'_>],
    reached: &[bool],
    idle_body: impl Fn(&str) -> Option<&'static str>,
) -> Vec<Need> {
    let definition = |(item, reached): (&Item<'_>, &bool)| match (reached, item.visible) {
        (false, _) => Need::None,
        (true, true) => idle_body(item.name).map_or(Need::Whole, Need::Idle),
        (true, false) => Need::Whole,
    };
    let definitions: Vec<Need> = items.iter().zip(reached).map(definition).collect();
    let mut names = HashSet::new();
    for (item, need) in items.iter().zip(&definitions).filter(|(_, need)| **need != Need::None) {
        names.insert(item.name);
        if *need == Need::Whole {
            names.extend(item.uses.iter().copied());
        }
    }
    let need = |(item, definition): (&Item<'_>, Need)| match item.kind {
        Kind::Header => Need::Whole,
        Kind::Declaration if names.contains(item.name) => Need::Whole,
        _ => definition,
    };
    items.iter().zip(definitions).map(need).collect()
}

/// What a walk found.
pub struct Walk {
    /// For each item whether it was reached.
    pub reached: Vec<Vec<bool>>,
    prints: bool,
}

/// Goes from the items that `is_root` names, given the number of the text as well, to all that they use, but no further than to
/// functions of which `ends` holds.
pub fn walk<'a>(
    index: &Index<'a>,
    objects: &[Vec<Item<'a>>],
    is_root: impl Fn(usize, &Item<'a>) -> bool,
    ends: impl Fn(&str) -> bool,
) -> Walk {
    let mut walk =
        Walk { reached: objects.iter().map(|items| vec![false; items.len()]).collect(), prints: false };
    let all =
        objects.iter().enumerate().flat_map(|(object, items)| (0..items.len()).map(move |i| (object, i)));
    let mut open: Vec<Place> =
        all.filter(|(object, number)| is_root(*object, &objects[*object][*number])).collect();
    while let Some((object, number)) = open.pop() {
        if std::mem::replace(&mut walk.reached[object][number], true) {
            continue;
        }
        let item = &objects[object][number];
        if item.visible && ends(item.name) {
            continue;
        }
        for name in &item.uses {
            walk.prints |= *name == PRINT;
            open.extend(index.places(object, name));
        }
    }
    walk
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
        let items = reach.objects[object].iter().zip(&reach.needs[object]);
        let needed = items.filter(|(item, need)| **need != Need::None && item.kind != Kind::Header);
        needed.map(|(item, _)| item.name).collect()
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
    fn a_function_without_anything_to_do_is_idle_and_what_it_uses_is_not_needed() {
        let library = ".visible .func barrier { call gomp_barrier_handle_tasks; }\
            .visible .func gomp_barrier_handle_tasks { call run_task; } .visible .func run_task { call GOMP_taskyield; }\
            .visible .func GOMP_task { ret; } .visible .func GOMP_taskyield { ret; }";
        let need = |program: &str, name: &str| {
            let reach = Reach::of(&[program, library], &[]).expect("known form");
            let index = reach.objects[1].iter().position(|item| item.name == name).expect("it is there");
            reach.needs[1][index]
        };
        let program = ".visible .entry k { call barrier; }";
        assert!(matches!(need(program, "gomp_barrier_handle_tasks"), Need::Idle(_)));
        assert_eq!(need(program, "run_task"), Need::None);
        let program = ".visible .entry k { call barrier; call GOMP_task; }";
        assert_eq!(need(program, "gomp_barrier_handle_tasks"), Need::Whole);
        assert_eq!(need(program, "run_task"), Need::Whole);
        let program = ".visible .entry k { call gomp_barrier_handle_tasks; } .func gomp_barrier_handle_tasks { call run_task; }";
        assert_eq!(need(program, "run_task"), Need::Whole, "the program's own function of that name");
    }

    #[test]
    fn an_image_of_unknown_form_is_left_alone() {
        assert!(Reach::of(&[PROGRAM, "nonsense"], &[]).is_none());
    }
}
