//! Kernels that say that they end.
//!
//! Nothing may be enqueued behind a kernel that may wait for the host: it would block a hardware channel until the kernel ends, and
//! with it kernels of other streams, on which the host's block may wait (docs/driver.md, hardware channels). So nothing but
//! the driver tells of such a kernel's end, when it is asked. In order that the host need not ask again and again, the last team of a
//! kernel stores a word and rings the bell, moments before the kernel ends. It is a hint: the driver is asked then.

use std::mem::offset_of;

use super::inject::{ENTRY, REGION, stacks};
use super::tokens::{Scanner, Token};
use crate::reverse::wire;

/// The instructions, for a kernel whose region has been stored. The first thread of each team counts it; that of the last team finds
/// that all others have been counted, clears the count for the next launch and tells the host. `membar.sys`: who is woken by the bell
/// finds the word stored.
fn instructions() -> String {
    let (ended, end, bell) = (
        offset_of!(wire::Region, ended_teams),
        offset_of!(wire::Region, end),
        offset_of!(wire::Region, bell),
    );
    format!(
        "{{\n.reg .pred %last;\n.reg .u32 %x,%y;\n.reg .u64 %boomerang,%word;\nmov.u32 %x,%tid.x;\nmov.u32 %y,%tid.y;\n\
         or.b32 %x,%x,%y;\nsetp.eq.u32 %last,%x,0;\nld.shared.u64 %boomerang,[{REGION}];\nmov.u32 %x,%nctaid.x;\n\
         sub.u32 %x,%x,1;\nmov.u32 %y,0;\n@%last atom.inc.u32 %y,[%boomerang+{ended}],%x;\n\
         @%last setp.eq.u32 %last,%x,%y;\n@%last ld.u64 %word,[%boomerang+{end}];\n@%last st.volatile.u32 [%word],1;\n\
         @%last membar.sys;\n@%last ld.u64 %word,[%boomerang+{bell}];\n@%last st.volatile.u32 [%word],1;\n}}\n"
    )
}

/// Has every kernel of a text that has a region tell of its end. None where one returns anywhere but at its end.
pub fn tell_ends(text: &str) -> Option<String> {
    let instructions = instructions();
    let mut out = String::with_capacity(text.len() + 4096);
    let mut rest = text;
    while let Some(at) = rest.find(ENTRY) {
        let head = &rest[at + ENTRY.len()..];
        let end = head.find(['{', ';'])?;
        let (before, body) = rest.split_at(at + ENTRY.len() + end + 1);
        out.push_str(before);
        rest = body;
        if head.as_bytes()[end] == b'{' && stacks(&head[..end])?.is_some() {
            let (before, after) = body.split_at(only_return(body)?);
            out.extend([before, "\n", &instructions]);
            rest = after;
        }
    }
    out.push_str(rest);
    Some(out)
}

/// Where the one statement begins by which a kernel returns, the last of its body, which begins behind its opening brace.
fn only_return(body: &str) -> Option<usize> {
    let mut scanner = Scanner::new(body);
    let (mut depth, mut statement, mut found) = (1, 0, None);
    loop {
        let begin = scanner.at();
        match scanner.token()?? {
            Token::Sign(b'}') if depth == 1 => return found,
            Token::Directive(".uni") | Token::Sign(b';') if found.is_some() => {}
            _ if found.is_some() => return None,
            Token::Word("ret" | "exit") if depth == 1 && begin == statement => found = Some(begin),
            Token::Word("ret" | "exit") => return None,
            Token::Sign(b'{') => depth += 1,
            Token::Sign(b'}') => depth -= 1,
            _ => {}
        }
        if matches!(body.as_bytes()[scanner.at() - 1], b'{' | b'}' | b';') {
            statement = scanner.at();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = ".visible .entry k (.param .u64 a, .param .u64 s, .param .u64 n)\n{";

    fn told(body: &str) -> Option<String> {
        tell_ends(&format!("{HEAD}{body}"))
    }

    #[test]
    fn a_kernel_that_returns_at_its_end_alone_tells_of_it() {
        let body = "\n{\ncall.uni gomp_nvptx_main,(%P0,%P1);\n}\nret.uni;\n}\n.func other\n{\nret;\n}\n";
        let text = told(body).expect("known form");
        let (told_at, ret) =
            (text.find("st.volatile.u32").expect("there"), text.find("ret.uni").expect("kept"));
        assert!(told_at < ret && text.find("gomp_nvptx_main").expect("kept") < told_at);
        assert!(text.ends_with("ret.uni;\n}\n.func other\n{\nret;\n}\n"));
        for body in ["ret;}", "// ret\nexit;\n}", "mov.u32 %r,0;\nret; // }\n}"] {
            assert!(told(body).is_some(), "{body}");
        }
    }

    #[test]
    fn of_two_kernels_both_tell_and_one_without_a_region_does_not() {
        let text = told(&format!("ret;\n}}\n{HEAD}ret;\n}}\n.visible .entry c ()\n{{\nret;\n}}\n"));
        assert_eq!(text.expect("known form").matches("atom.inc").count(), 2);
    }

    #[test]
    fn a_kernel_that_may_return_elsewhere_or_never_is_not_known() {
        let elsewhere =
            ["ret;\nret;\n}", "@%p ret;\nmov.u32 %r,0;\n}", "{\nret;\n}\n}", "@%p exit;\nret;\n}"];
        for body in elsewhere.into_iter().chain(["L:\nbra L;\n}", "ret;"]) {
            assert_eq!(told(body), None, "{body}");
        }
    }
}
