//! Which names PTX objects define, so that the driver need not be asked for one that is not there: such a call fails, and
//! tools like compute-sanitizer report every failing call to the user.

use std::collections::HashSet;

/// The names that PTX texts define at module scope.
#[derive(Debug, Default)]
pub struct Symbols<'a>(HashSet<&'a [u8]>);

impl<'a> Symbols<'a> {
    /// Takes up the definitions of one text.
    pub fn add(&mut self, text: &'a [u8]) {
        self.0.extend(text.split(|byte| b"\n;{}".contains(byte)).filter_map(defined));
    }

    /// Whether `name` is defined.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains(name.as_bytes())
    }
}

/// The name that a statement's first line defines: one that begins with a linking directive other than `.extern`, as the
/// compiler writes it.
fn defined(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii_start();
    let rest =
        [b".visible".as_slice(), b".weak", b".common"].iter().find_map(|start| line.strip_prefix(*start))?;
    let rest = rest.trim_ascii_start();
    if let Some(rest) = rest.strip_prefix(b".entry") {
        return name(rest.trim_ascii_start());
    }
    if let Some(rest) = rest.strip_prefix(b".func") {
        let rest = rest.trim_ascii_start();
        // The result, in parentheses.
        let rest = match rest.first() {
            Some(b'(') => &rest[rest.iter().position(|byte| *byte == b')')? + 1..],
            _ => rest,
        };
        return name(rest.trim_ascii_start());
    }
    // `.global .align 8 .u64 name[2] = {...};`: the first word that is neither a directive nor a number.
    rest.split(u8::is_ascii_whitespace).find_map(name)
}

/// The identifier that `text` begins with.
fn name(text: &[u8]) -> Option<&[u8]> {
    let is_start = |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$' | b'%');
    let end = text.iter().position(|byte| !is_start(byte) && !byte.is_ascii_digit()).unwrap_or(text.len());
    text.first().filter(|byte| is_start(byte)).map(|_| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbols(text: &str) -> Symbols<'_> {
        let mut symbols = Symbols::default();
        symbols.add(text.as_bytes());
        symbols
    }

    #[test]
    fn definitions_are_found_as_gcc_writes_them() {
        let symbols = symbols(
            ".visible .global .align 4 .u64 __gomp_additional_icvs[2];\n\
             .visible .entry main$_omp_fn$0 (.param .u64 %arg, .param .u64 %stack, .param .u64 %sz)\n\
             .visible .func (.param .u32 %value_out) omp_get_device_num\n\
             .visible .func plain (.param .u64 %in_ar0);\n\
             .visible .entry __do_global_ctors__entry\n\
             \t.visible .global .align 8 .u64 $offload_func_table[] = {\n\
             .weak .global .align 1 .u8 weak_one[3] = {1,2,3 };\n\
             .visible .entry short() { ret; } .visible .global .u32 behind;",
        );
        for name in [
            "__gomp_additional_icvs",
            "main$_omp_fn$0",
            "omp_get_device_num",
            "plain",
            "__do_global_ctors__entry",
            "$offload_func_table",
            "weak_one",
            "short",
            "behind",
        ] {
            assert!(symbols.has(name), "{name}");
        }
    }

    #[test]
    fn declarations_uses_and_comments_define_nothing() {
        let symbols = symbols(
            "// BEGIN GLOBAL VAR DEF: commented\n\
             .extern .global .align 8 .u64 declared[1];\n\
             .extern .func (.param .u32 %value_out) called (.param .u64 %in_ar0);\n\
             \tld.global.u64 %r1,[used];\n\
             .visible\n.visible .func (.param .u32 unclosed\n",
        );
        for name in ["commented", "declared", "called", "used", "unclosed", "align", "func"] {
            assert!(!symbols.has(name), "{name}");
        }
    }
}
