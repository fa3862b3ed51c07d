//! Kernels that say that they end.
//!
//! A kernel that may wait for the host has no mark behind it that tells of its end: marks block hardware channels (docs/driver.md). So
//! nothing but the driver tells of it. In order that the host need not ask it again and again, the last team of a kernel that may
//! make requests stores a word and rings the bell, moments before the kernel ends, where the launch asks for it. It is a hint: the driver
//! is asked then. A team that ends by an `exit` of its own doesn't count; then the hint comes late, or early, once.

use std::mem::offset_of;

use super::inject::{ENTRY, Parameters, REGION, parameters};
use super::tokens::{Scanner, Token};
use crate::reverse::wire;

/// The bit of the size of a soft stack that asks a kernel to tell of its end: [`STACK_BYTES`](crate::launch::stacks::STACK_BYTES) hasn't
/// got it, and the next smaller multiple of it has.
pub const TELL: u64 = 256;

/// The instructions, for a kernel whose region has been stored, and whose parameter `size` is the size of a soft stack. The first thread
/// of each team counts it; that of the last team finds that all others have been counted, clears the count for the next launch and
/// tells the host. `membar.sys`: who is woken by the bell finds the word stored.
fn instructions(size: &str) -> String {
    let (ended, end, bell) = (
        offset_of!(wire::Region, ended_teams),
        offset_of!(wire::Region, end),
        offset_of!(wire::Region, bell),
    );
    format!(
        "{{\n.reg .pred %last,%many;\n.reg .u32 %x,%y;\n.reg .u64 %boomerang,%word;\n\
         ld.param.u64 %word,[{size}];\nand.b64 %word,%word,{TELL};\nmov.u32 %x,%tid.x;\nmov.u32 %y,%tid.y;\nor.b32 %x,%x,%y;\n\
         setp.ne.u64 %many,%word,0;\nsetp.eq.and.u32 %last,%x,0,%many;\n@!%last bra $boomerang_told;\n\
         ld.shared.u64 %boomerang,[{REGION}];\nmov.u32 %x,%nctaid.x;\nsub.u32 %x,%x,1;\nmov.u32 %y,0;\n\
         setp.ne.u32 %many,%x,0;\n@%many atom.inc.u32 %y,[%boomerang+{ended}],%x;\n\
         setp.ne.u32 %last,%x,%y;\n@%last bra $boomerang_told;\n\
         ld.u64 %word,[%boomerang+{end}];\nst.volatile.u32 [%word],1;\nmembar.sys;\n\
         ld.u64 %word,[%boomerang+{bell}];\nst.volatile.u32 [%word],1;\n$boomerang_told:\n}}\n"
    )
}

/// Has every kernel of a text that has a region tell of its end. None where one returns anywhere but at its end.
pub fn tell_ends(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len() + 4096);
    let mut rest = text;
    while let Some(at) = rest.find(ENTRY) {
        let head = &rest[at + ENTRY.len()..];
        let end = head.find(['{', ';'])?;
        let (before, body) = rest.split_at(at + ENTRY.len() + end + 1);
        out.push_str(before);
        rest = body;
        let defined = head.as_bytes()[end] == b'{';
        if let Some(Parameters { size, .. }) = parameters(&head[..end])?.filter(|_| defined) {
            let (before, after) = body.split_at(only_return(body)?);
            out.extend([before, "\n", &instructions(size)]);
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
    use crate::launch::stacks::STACK_BYTES;

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
    fn the_size_of_a_stack_asks_for_it_in_a_multiple_of_its_alignment() {
        assert_eq!(STACK_BYTES & TELL, 0);
        assert_eq!((STACK_BYTES - TELL) & TELL, TELL);
        assert!(told("ret;\n}").expect("known form").contains("ld.param.u64 %word,[n];"));
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
