//! Small copies without a call.
//!
//! GCC copies structures of more than 16 bytes by `memcpy`, newlib's: a call and loops, some 70 instructions for 40 bytes. libgomp does so for
//! each thread that joins a parallel region, one after the other. Here such a copy becomes loads and stores of 8 bytes, where both
//! addresses are multiples of 8; else the call stays.

use std::fmt::Write;

use super::calls::Call;
use super::code::{Code, Writers};
use super::edit::Edit;
use super::items::items;
use super::tokens::Known;

/// The most bytes of such a copy.
const MOST_BYTES: u64 = 80;
/// How many words are loaded before they are stored.
const AHEAD: u64 = 5;

/// `text` with such copies. None where it has none, or a form that isn't known.
pub fn inline(text: &str) -> Option<String> {
    // Most texts have none, and finding the items takes time.
    if !text.contains("memcpy") {
        return None;
    }
    let (mut edit, mut count) = (Edit::of(text), 0);
    for item in items(text)?.iter().filter(|item| item.defines()) {
        let body = &text[item.body..item.span.end];
        if !item.uses.contains(&"memcpy") {
            continue;
        }
        let code = Code::of(body)?;
        let writers = Writers::of(&code);
        for at in 0..code.statements.len() {
            let Some(copy) = Copy::of(&code, &writers, at) else { continue };
            let Call { begin, end, .. } = copy.call;
            edit.replace(item.body + begin..item.body + end, &copy.instead(count, &body[begin..end])?);
            count += 1;
        }
    }
    edit.changed()
}

/// A call of `memcpy` for a number of bytes that is known.
struct Copy<'a> {
    call: Call<'a>,
    words: u64,
}

impl<'a> Copy<'a> {
    fn of(code: &Code<'a>, writers: &Writers<'_, 'a>, at: usize) -> Option<Copy<'a>> {
        let call = Call::of(code, at).filter(|call| call.callee == "memcpy")?;
        let [_, _, bytes] = call.arguments[..] else { return None };
        let bytes = constant(writers, bytes)?;
        (bytes > 0 && bytes <= MOST_BYTES && bytes % 8 == 0).then_some(Copy { call, words: bytes / 8 })
    }

    /// What does the same and goes on behind the call, or else to it.
    fn instead(&self, number: usize, call: &str) -> Known<String> {
        let mut out = String::new();
        let (to, from, words) = (self.call.arguments[0], self.call.arguments[1], self.words);
        write!(
            out,
            ".reg .pred %boomerang_odd;\n.reg .u64 %boomerang_word<{}>;\nor.b64 %boomerang_word0,{to},{from};\n\
             and.b64 %boomerang_word0,%boomerang_word0,7;\nsetp.ne.u64 %boomerang_odd,%boomerang_word0,0;\n\
             @%boomerang_odd bra $boomerang_copy{number};\n",
            AHEAD.min(words)
        )
        .ok()?;
        for first in (0..words).step_by(AHEAD as usize) {
            let group = || (first..words).take(AHEAD as usize).enumerate();
            for (i, word) in group() {
                writeln!(out, "ld.u64 %boomerang_word{i},[{from}+{}];", 8 * word).ok()?;
            }
            for (i, word) in group() {
                writeln!(out, "st.u64 [{to}+{}],%boomerang_word{i};", 8 * word).ok()?;
            }
        }
        if let Some(result) = self.call.result {
            writeln!(out, "mov.u64 {result},{to};").ok()?;
        }
        write!(
            out,
            "bra $boomerang_copied{number};\n$boomerang_copy{number}:\n{call}\n$boomerang_copied{number}:"
        )
        .ok()?;
        Some(out)
    }
}

/// The number that a register has: nothing but one move of it writes there.
fn constant(writers: &Writers<'_, '_>, register: &str) -> Option<u64> {
    let writer = writers.only(register)?;
    let is_move = (writer.name, writer.modifiers, writer.guard) == ("mov", ".u64", None);
    is_move.then(|| writer.operands.get(1)?.text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A call as GCC 13 to 16 write it.
    fn text(bytes: &str) -> String {
        format!(
            ".version 7.3\n.target sm_52\n.address_size 64\n\
             .extern .func (.param .u64 %value_out) memcpy (.param .u64 %in_ar0, .param .u64 %in_ar1, .param .u64 %in_ar2);\n\
             .visible .func gomp_init_task (.param .u64 %in_ar0, .param .u64 %in_ar1)\n{{\n.reg .u64 %r22;\n.reg .u64 %r24;\n.reg .u64 %r38;\n\
             .reg .u64 %r42;\nld.param.u64 %r22,[%in_ar0];\nld.param.u64 %r24,[%in_ar1];\nmov.u64 %r38,{bytes};\n{{\n\
             .param .u64 %value_in;\n.param .u64 %out_arg1;\nst.param.u64 [%out_arg1],%r22;\n.param .u64 %out_arg2;\n\
             st.param.u64 [%out_arg2],%r24;\n.param .u64 %out_arg3;\nst.param.u64 [%out_arg3],%r38;\n\
             call (%value_in),memcpy,(%out_arg1,%out_arg2,%out_arg3);\nld.param.u64 %r42,[%value_in];\n}}\nst.u64 [%r42],%r38;\nret;\n}}\n"
        )
    }

    #[test]
    fn a_copy_of_few_words_is_made_in_place_or_by_the_call() {
        for (bytes, words) in [(8, 1), (40, 5), (72, 9), (80, 10)] {
            let inlined = inline(&text(&bytes.to_string())).expect("known");
            boomerang_ptx::parse(&inlined).expect("well formed");
            assert_eq!(inlined.matches("\nld.u64 %boomerang_word").count(), words, "{inlined}");
            for word in 0..words {
                let (at, register) = (8 * word, word % 5);
                for access in [
                    format!("ld.u64 %boomerang_word{register},[%r24+{at}];"),
                    format!("st.u64 [%r22+{at}],%boomerang_word{register};"),
                ] {
                    assert!(inlined.contains(&access), "{inlined}");
                }
            }
            assert!(
                inlined.contains("mov.u64 %r42,%r22;\nbra $boomerang_copied0;\n$boomerang_copy0:\nst.param")
            );
            assert!(inlined.contains("ld.param.u64 %r42,[%value_in];\n$boomerang_copied0:\n}"), "{inlined}");
        }
    }

    #[test]
    fn other_calls_stay_as_they_are() {
        for bytes in ["0", "12", "88", "%r22", "-8"] {
            assert_eq!(inline(&text(bytes)), None, "{bytes}");
        }
        let copy = text("40");
        for (from, to) in [
            ("memcpy", "memmove"),
            ("st.u64 [%r42],%r38;", "mov.u64 %r38,48;"),
            ("st.u64 [%r42],%r38;", "add.u64 %r38,%r38,8;"),
            ("(%out_arg1,%out_arg2,", "(%out_arg2,%out_arg1,"),
            ("call (", "@%r1 call ("),
            ("st.param.u64 [%out_arg2],%r24;", "st.param.u64 [%out_arg2],0;"),
            ("ret;\n}", "ret;"),
        ] {
            assert_eq!(inline(&copy.replace(from, to)), None, "{to}");
        }
        for end in 0..copy.len() {
            let _ = inline(&copy[..end]);
        }
    }
}
