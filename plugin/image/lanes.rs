//! Gives each lane of a warp its own soft-stack pointer and its own word that says whether it is in a SIMD region. GCC's code has one of
//! each for a warp, in shared memory (`__nvptx_stacks`, `__nvptx_uni`), and relies on lanes that part within a region to meet again at
//! its end at the latest. From sm_70 on they need not: while lanes wait for memory that others write, the JIT's code lets those go on
//! that wait for them at the end of a branch or loop. These leave the region and say for the whole warp that it runs in lockstep again,
//! or move the pointer in a function that the waiting ones, too, are in.
//!
//! Outside of SIMD regions all lanes do the same, and so their words are equal there. At a region's end GCC's code has all lanes meet
//! (`bar.warp.sync`, in PTX ISA 6.0, which is what it makes by default).
//!
//! The words of a lane are a row, those of a warp a column. Both variables' addresses occur in one form only, as what `%tid.y` words are
//! added to. So the lane's row is added right there, whatever the code does with the sum.

use std::fmt::Write;

use super::items::{INDIRECT_CALL, Item, Kind, items};
use super::names::Index;
use super::reach::walk;
use super::tokens::{Known, Scanner, Token};

/// The least compute capability whose lanes need not run in lockstep (CUDA C++ Programming Guide, independent thread scheduling).
pub const LEAST_CAPABILITY: u32 = 70;
/// The shared memory that this takes, in bytes.
pub const BYTES: u32 = LANES * ROW * (4 + 8);
/// The most dynamic shared memory of a team beside it, of the 48 KiB that every device has (see [`super::team::MOST_DYNAMIC`]).
pub const MOST_DYNAMIC: u32 = super::team::MOST_DYNAMIC - BYTES;

const LANES: u32 = 32;
/// Words of a row: one for each warp, and one more so that the lanes' words of a warp lie in different banks.
const ROW: u32 = 33;

/// The variables, and the bytes of a word of each.
const VARIABLES: [(&str, u32); 2] = [("__nvptx_uni", 4), ("__nvptx_stacks", 8)];

/// By which a function enters a SIMD region (nvptx.cc, nvptx_output_unisimt_switch).
const ENTER: &str = "mov.u32 %ustmp2,-1;";
/// A function that has such instructions lets lanes go on (`docs/simulator.md`, lanes).
const ATOMIC: &str = "atom.";
/// Functions in which lanes wait for others or for the host, and a program may call from SIMD regions: requests, the driver's functions
/// that device code calls, libgomp's lock for `atomic` and its allocator.
const WAITING: [&str; 10] = [
    "GOMP_target_ext",
    "boomerang_call",
    "boomerang_post",
    "malloc",
    "free",
    "vprintf",
    "GOMP_atomic_start",
    "GOMP_alloc",
    "GOMP_free",
    INDIRECT_CALL,
];
/// What GCC calls for constructs, all of which but these are for code outside of SIMD regions.
const CONSTRUCTS: &str = "GOMP_";

/// What GCC calls a lane's stack in a SIMD region, an array of the thread's own.
const STACK: &str = "%simtstack_ar";
/// What frames are aligned to on a soft stack. Functions store that much at a time.
const FRAME_ALIGN: u64 = 16;

/// The text with lanes' stacks aligned as frames have to be; None if it has none, or one of a form that isn't known. GCC aligns the array to
/// 8 bytes and begins the stack 8 bytes below what a region keeps at its end, whose alignment varies; so it depends on where the JIT puts
/// the array whether a called function fails (misaligned address, on an H200).
pub fn align_stacks(text: &str) -> Option<String> {
    text.contains(STACK).then_some(())?;
    let mut out = String::with_capacity(text.len() + 1024);
    for line in text.split_inclusive('\n') {
        let Some((before, after)) = line.split_once(STACK) else {
            out.push_str(line);
            // The stack's beginning: below the former pointer.
            if line.starts_with("sub.u64 %stack,%r") && line.trim_end().ends_with(",8;") {
                writeln!(out, "and.b64 %stack,%stack,-{FRAME_ALIGN};").ok()?;
            }
            continue;
        };
        // Its declaration, or the address of its end.
        let before = before.replace(".align 8 ", ".align 16 ");
        let digits = after.find(|c: char| c.is_ascii_digit())?;
        let (sign, rest) = after.split_at(digits);
        let size = rest.find(|c: char| !c.is_ascii_digit())?;
        let larger = rest[..size].parse::<u64>().ok()? + FRAME_ALIGN;
        write!(out, "{before}{STACK}{sign}{larger}{}", &rest[size..]).ok()?;
    }
    Some(out)
}

/// Whether lanes may run ahead of others in a SIMD region of an image, and others then do harm: a function that has one reaches one of
/// [`WAITING`] or a function with atomics, or has atomics itself and reaches one that uses the variables. Also where a text has a
/// form that isn't known.
pub fn may_part(texts: &[&str]) -> bool {
    if !texts.iter().any(|text| text.contains(ENTER)) {
        return false;
    }
    let Some(objects) = texts.iter().map(|text| items(text)).collect::<Option<Vec<_>>>() else { return true };
    let has = |object: usize, item: &Item<'_>, what| texts[object][item.body..item.span.end].contains(what);
    let has_region =
        |object: usize, item: &Item<'_>| item.kind == Kind::Definition && has(object, item, ENTER);
    let ends = |name: &str| name.starts_with(CONSTRUCTS);
    let reached = walk(&Index::of(&objects), &objects, has_region, ends).reached;
    let (mut atomics_in_region, mut uses_variables) = (false, false);
    for (object, (items, reached)) in objects.iter().zip(reached).enumerate() {
        let all = items
            .iter()
            .zip(reached)
            .filter(|(item, reached)| *reached && !(item.visible && ends(item.name)));
        for (item, _) in all {
            let (region, atomics) = (has_region(object, item), has(object, item, ATOMIC));
            if item.uses.iter().any(|name| WAITING.contains(name)) || atomics && !region {
                return true;
            }
            atomics_in_region |= atomics;
            uses_variables |= !region && VARIABLES.iter().any(|(name, _)| item.uses.contains(name));
        }
    }
    atomics_in_region && uses_variables
}

/// Gives each lane its own words. None where a text has a form that isn't known; else what each text becomes, if it changes.
pub fn part(texts: &[&str]) -> Option<Vec<Option<String>>> {
    texts.iter().map(|text| part_in(text)).collect()
}

fn part_in(text: &str) -> Known<Option<String>> {
    if !VARIABLES.iter().any(|(name, _)| text.contains(name)) {
        return Some(None);
    }
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    let mut scanner = Scanner::new(text);
    let mut done = 0;
    // The tokens before, the latest first.
    let mut before = [Token::Sign(b';'); 5];
    while let Some(token) = scanner.token()? {
        let variable = VARIABLES.into_iter().find(|(name, _)| token == Token::Word(name));
        match (variable, before) {
            (None, _) => {}
            // `.shared .u32 NAME[32];`
            (Some(_), [Token::Directive(_), ..]) => {
                (scanner.must()? == Token::Sign(b'[')).then_some(())?;
                let start = scanner.at();
                (scanner.must()? == Token::Number).then_some(())?;
                // Words, or bytes: for 32 warps either way.
                let elements: u32 = text[start..scanner.at()].trim().parse().ok()?;
                write!(out, "{}{}", &text[done..start], elements.checked_mul(ROW)?).ok()?;
                done = scanner.at();
                (scanner.must()? == Token::Sign(b']')).then_some(())?;
                (scanner.must()? == Token::Sign(b';')).then_some(())?;
            }
            // `mov.u64 REGISTER,NAME;`
            (
                Some((_, bytes)),
                [
                    Token::Sign(b','),
                    Token::Word(register),
                    Token::Directive(".u64"),
                    Token::Word("mov"),
                    // No guard.
                    Token::Sign(_) | Token::Number,
                ],
            ) => {
                (scanner.must()? == Token::Sign(b';')).then_some(())?;
                write!(
                    out,
                    "{}\n{{\n.reg .u32 %row;\nmov.u32 %row,%laneid;\nmad.wide.u32 {register},%row,{},{register};\n}}",
                    &text[done..scanner.at()],
                    ROW * bytes
                )
                .ok()?;
                done = scanner.at();
            }
            _ => return None,
        }
        before.rotate_right(1);
        // A variable's statement has been read to its end.
        before[0] = if variable.is_some() { Token::Sign(b';') } else { token };
    }
    out.push_str(&text[done..]);
    Some(Some(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREAMBLE: &str =
        "// BEGIN PREAMBLE\n.version 6.0\n.target sm_35\n.address_size 64\n// END PREAMBLE\n";
    const DECLARED: &str = "// BEGIN GLOBAL VAR DECL: __nvptx_stacks\n.extern .shared .u64 __nvptx_stacks[32];\n\
        // BEGIN GLOBAL VAR DECL: __nvptx_uni\n.extern .shared .u32 __nvptx_uni[32];\n";

    /// A function as GCC 13 to 16 begin it, with this code, which has `%r58` and `%r24` for the region.
    fn function(name: &str, code: &str) -> String {
        format!(
            ".func {name} (.param .u64 %in_ar0)\n{{\n.reg .u64 %stack;\n.reg .u64 %frame;\n.reg .u64 %sspslot;\n.reg .u64 %sspprev;\n{{\n\
             .reg .u32 %fstmp0;\n.reg .u64 %fstmp1;\n.reg .u64 %fstmp2;\nmov.u32 %fstmp0,%tid.y;\nmul.wide.u32 %fstmp1,%fstmp0,8;\n\
             mov.u64 %fstmp2,__nvptx_stacks;\nadd.u64 %sspslot,%fstmp2,%fstmp1;\nld.shared.u64 %sspprev,[%sspslot];\n\
             sub.u64 %frame,%sspprev,0;\nsub.u64 %stack,%frame,0;\nst.shared.u64 [%sspslot],%stack;\n}}\n\
             .local .align 8 .b8 %simtstack_ar[136];\n.reg .u64 %r58;\n.reg .u64 %r24;\n{{\n.reg .u32 %ustmp0;\n.reg .u64 %ustmp1;\n\
             mov.u32 %ustmp0,%tid.y;\nmul.wide.u32 %ustmp1,%ustmp0,4;\nmov.u64 %r58,__nvptx_uni;\nadd.u64 %r58,%r58,%ustmp1;\n}}\n\
             {code}st.shared.u64 [%sspslot],%sspprev;\nret;\n}}\n"
        )
    }

    /// A SIMD region, with this code.
    fn region(code: &str) -> String {
        format!(
            "{{\n.reg .u32 %ustmp2;\nmov.u32 %ustmp2,-1;\nst.shared.u32 [%r58],%ustmp2;\n}}\n{{\n\
             cvta.local.u64 %r24,%simtstack_ar + 136;\nsub.u64 %r24,%r24,0;\nst.u64 [%r24 + -8],%stack;\n\
             sub.u64 %stack,%r24,8;\nst.shared.u64 [%sspslot],%stack;\n}}\n{code}\
             {{\n.reg .u32 %ustmp2;\nmov.u32 %ustmp2,0;\nst.shared.u32 [%r58],%ustmp2;\n}}\n{{\nld.u64 %stack,[%r24 + -8];\n\
             st.shared.u64 [%sspslot],%stack;\n}}\nbar.warp.sync 0xffffffff;\n"
        )
    }

    fn program(code: &str) -> String {
        format!(
            "{PREAMBLE}{DECLARED}.extern .func ask;\n.extern .func GOMP_barrier;\n.extern .func GOMP_target_ext;\n.extern .func malloc;\n{}\
             .visible .entry k (.param .u64 %arg,.param .u64 %stack,.param .u64 %sz)\n{{\n.reg .u32 %r<3>;\n.reg .u64 %R<4>;\n\
             mov.u32 %r0,%tid.y;\nmov.u64 %R0,__nvptx_stacks;\nmad.wide.u32 %R0,%r0,8,%R0;\nld.param.u64 %R2,[%stack];\n\
             st.shared.u64 [%R0],%R2;\nmov.u64 %R0,__nvptx_uni;\nmad.wide.u32 %R0,%r0,4,%R0;\nmov.u32 %r0,0;\n\
             st.shared.u32 [%R0],%r0;\nret;\n}}\n",
            function("k$impl", code)
        )
    }

    /// As libgcc has the definitions, and a library function.
    fn library(code: &str) -> String {
        format!(
            "{PREAMBLE}// BEGIN GLOBAL VAR DEF: __nvptx_stacks\n.visible .shared .align 8 .u64 __nvptx_stacks[32];\n\
             // BEGIN GLOBAL VAR DEF: __nvptx_uni\n.visible .shared .align 4 .u32 __nvptx_uni[32];\n\
             .extern .func malloc;\n.extern .func GOMP_target_ext;\n.visible .func GOMP_barrier\n{{\ncall malloc;\nret;\n}}\n.visible .func ask\n{{\n{code}ret;\n}}\n"
        )
    }

    #[test]
    fn every_address_gets_the_row_of_its_lane_and_both_variables_have_room_for_all() {
        let runtime = include_str!("../../device-runtime/ptx/target_ext.sm_70.ptx");
        let (program, library) = (program(&region("call ask;\n")), library("call GOMP_target_ext;\n"));
        let parted = part(&[&program, &library, runtime, PREAMBLE]).expect("known form");
        assert_eq!(parted[3], None, "it has nothing of it");
        let texts: Vec<&String> = parted[..3].iter().flatten().collect();
        for line in [
            "mov.u64 %fstmp2,__nvptx_stacks;\n{\n.reg .u32 %row;\nmov.u32 %row,%laneid;\n\
             mad.wide.u32 %fstmp2,%row,264,%fstmp2;\n}\nadd.u64 %sspslot,",
            "mad.wide.u32 %r58,%row,132,%r58;\n}\nadd.u64 %r58,%r58,%ustmp1;",
            "mad.wide.u32 %R0,%row,264,%R0;\n}\nmad.wide.u32 %R0,%r0,8,%R0;",
            "mad.wide.u32 %R0,%row,132,%R0;\n}\nmad.wide.u32 %R0,%r0,4,%R0;",
            ".extern .shared .u64 __nvptx_stacks[1056];",
            ".extern .shared .u32 __nvptx_uni[1056];",
        ] {
            assert!(texts[0].contains(line), "{line} in {}", texts[0]);
        }
        assert!(texts[1].contains(".visible .shared .align 8 .u64 __nvptx_stacks[1056];"), "{}", texts[1]);
        assert!(texts[1].contains(".visible .shared .align 4 .u32 __nvptx_uni[1056];"), "{}", texts[1]);
        assert!(texts[2].contains(".b8 __nvptx_uni[4224];"), "the device runtime's bytes");
        assert!(texts[2].contains(",%row,132,"), "the device runtime's own look");
        for text in texts {
            boomerang_ptx::parse(text).expect("well formed");
        }
        assert_eq!(BYTES, 1056 * 12);
    }

    #[test]
    fn other_forms_are_not_known() {
        let known = program("");
        for (from, to) in [
            ("mov.u64 %fstmp2,__nvptx_stacks;", "@%p mov.u64 %fstmp2,__nvptx_stacks;"),
            ("mov.u64 %fstmp2,__nvptx_stacks;", "cvta.shared.u64 %fstmp2,__nvptx_stacks;"),
            ("mov.u64 %fstmp2,__nvptx_stacks;", "mov.u64 %fstmp2,__nvptx_stacks+8;"),
            ("ld.shared.u64 %sspprev,[%sspslot];", "ld.shared.u64 %sspprev,[__nvptx_stacks];"),
            ("ld.shared.u64 %sspprev,[%sspslot];", "ld.shared.u64 %sspprev,[__nvptx_stacks+8];"),
            ("__nvptx_uni[32];", "__nvptx_uni[];"),
            ("__nvptx_uni[32];", "__nvptx_uni;"),
        ] {
            let other = known.replace(from, to);
            assert_ne!(other, known, "{from}");
            assert_eq!(part(&[&other]), None, "{to}");
        }
    }

    #[test]
    fn lanes_may_part_where_a_function_with_a_region_reaches_what_lets_them() {
        let waits = |program: &str, library: &str| may_part(&[program, library]);
        let request = library("call GOMP_target_ext;\n");
        assert!(waits(&program(&region("call ask;\n")), &request));
        assert!(waits(&program(&region("call GOMP_target_ext;\n")), &library("")));
        assert!(waits(&program(&region("call ask;\n")), &library("call malloc;\n")));
        let indirect = region("p: .callprototype _ ();\ncall %r24,(),p;\n");
        assert!(waits(&program(&indirect), &library("")));
        assert!(!waits(&program("call ask;\n"), &request), "it has no region");
        assert!(!waits(&program(&region("")), &request), "the region calls nothing");
        assert!(!waits(&program(&region("call ask;\n")), &library("")), "the function does not wait");
        assert!(!waits(&program(&(region("") + "call GOMP_barrier;\n")), &request), "not for regions");
        assert!(waits(&program(&region("call ask;\n")), "of unknown form"));
        let atomic = "atom.add.u64 %r24,[%r24],1;\n";
        assert!(waits(&program(&region("call ask;\n")), &library("atom.add.u64 %r1,[%r2],1;\n")));
        assert!(!waits(&program(&(region("call ask;\n") + atomic)), &library("")), "it uses no soft stack");
        let with_stack = library("") + &function("own", "") + ".visible .func other\n{\ncall own;\nret;\n}\n";
        assert!(waits(&program(&region(&format!("{atomic}call other;\n"))), &with_stack));
        assert!(!waits(&program(&region("call other;\n")), &with_stack), "no atomics");
    }

    #[test]
    fn frames_of_functions_that_lanes_call_are_aligned_whatever_the_region_keeps() {
        let text = ".func f ()\n{\n.local .align 8 .b8 %simtstack_ar[176];\ncvta.local.u64 %r25,%simtstack_ar + 176;\n\
                    sub.u64 %r25,%r25,40;\nst.u64 [%r25 + -8],%stack;\nsub.u64 %stack,%r25,8;\nst.shared.u64 [%sspslot],%stack;\n\
                    sub.u64 %stack,%frame,0;\nret;\n}\n";
        let aligned = ".func f ()\n{\n.local .align 16 .b8 %simtstack_ar[192];\ncvta.local.u64 %r25,%simtstack_ar + 192;\n\
                       sub.u64 %r25,%r25,40;\nst.u64 [%r25 + -8],%stack;\nsub.u64 %stack,%r25,8;\nand.b64 %stack,%stack,-16;\n\
                       st.shared.u64 [%sspslot],%stack;\nsub.u64 %stack,%frame,0;\nret;\n}\n";
        assert_eq!(align_stacks(text).as_deref(), Some(aligned));
        assert_eq!(align_stacks("sub.u64 %stack,%r25,8;\n"), None);
    }

    #[test]
    fn truncated_texts_are_not_known_or_parted_and_never_a_panic() {
        let text = program(&region("call ask;\n"));
        for end in 0..text.len() {
            let _ = (part(&[&text[..end]]), may_part(&[&text[..end]]));
        }
    }
}
