//! Splits a PTX text into the items of its module scope, and finds which names each of them uses. The grammar is that of the
//! PTX ISA manual (Directives), as far as GCC, clang and mkoffload use it.

use std::ops::Range;

use super::tokens::{Known, Scanner, Token};

/// What an item is to the rest of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `.version`, `.file` and the like: belongs to the text as a whole.
    Header,
    /// Announces a name that is defined elsewhere.
    Declaration,
    /// Defines a function, variable or alias.
    Definition,
    /// Defines a kernel.
    Kernel,
}

/// An item of a text's module scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item<'a> {
    /// What it is.
    pub kind: Kind,
    /// The name that it declares or defines; empty for a header.
    pub name: &'a str,
    /// Whether other texts can see what it defines.
    pub visible: bool,
    /// Whether another definition may stand in for it.
    pub weak: bool,
    /// Where it begins, behind blanks, comments and what says who can see it.
    pub code: usize,
    /// Where it stands, with the comments and blanks in front of it.
    pub span: Range<usize>,
    /// Where its body begins: with the brace, or behind the item where it has none.
    pub body: usize,
    /// Names that its body or initializer may use; more than it does use, never fewer. [`INDIRECT_CALL`] among them.
    pub uses: Vec<&'a str>,
}

impl Item<'_> {
    /// Whether it defines something.
    pub fn defines(&self) -> bool {
        matches!(self.kind, Kind::Definition | Kind::Kernel)
    }

    /// Whether it is a function with its body.
    pub fn has_body(&self) -> bool {
        self.body < self.span.end
    }

    /// Whether it is another name of a function. Its declaration, which stands before, says who can see it.
    pub fn is_alias(&self, text: &str) -> bool {
        text[self.code..].starts_with(".alias")
    }

    /// How the text, or another one, declares what it defines, behind what says who can see it.
    pub fn declaration<'t>(&self, text: &'t str) -> &'t str {
        let head = &text[self.code..self.body];
        // A variable goes on with its initial value, or ends.
        let end = if self.has_body() { None } else { head.find(['=', ';']) };
        head[..end.unwrap_or(head.len())].trim()
    }
}

/// What a function uses that calls another by address: every such call needs one (PTX ISA, Kernel and Function Directives).
pub const INDIRECT_CALL: &str = ".callprototype";

/// The items of `text` in order, or none where it has a form that isn't known. What follows the last item is blank.
pub fn items(text: &str) -> Option<Vec<Item<'_>>> {
    let mut parser = Items { tokens: Scanner::new(text) };
    let mut items = vec![];
    let mut start = 0;
    while let Some(token) = parser.tokens.token()? {
        let mut item = parser.item(token)?;
        item.span = start..parser.tokens.at();
        item.body = item.body.min(parser.tokens.at());
        item.uses.sort_unstable();
        item.uses.dedup();
        start = parser.tokens.at();
        items.push(item);
    }
    Some(items)
}

struct Items<'a> {
    tokens: Scanner<'a>,
}

/// A function's body: where it begins, and what it uses.
struct Body<'a> {
    start: usize,
    uses: Vec<&'a str>,
}

impl<'a> Items<'a> {
    fn item(&mut self, first: Token<'a>) -> Known<Item<'a>> {
        let mut token = first;
        let (mut visible, mut external, mut weak) = (false, false, false);
        loop {
            let Token::Directive(directive) = token else { return None };
            match directive {
                ".visible" | ".common" => visible = true,
                ".weak" => (visible, weak) = (true, true),
                ".extern" => external = true,
                _ => break,
            }
            token = self.tokens.must()?;
        }
        let Token::Directive(directive) = token else { return None };
        let code = self.tokens.at() - directive.len();
        // `items` knows the span.
        let item =
            |kind, name, uses| Item { kind, name, visible, weak, code, span: 0..0, body: usize::MAX, uses };
        match directive {
            ".version" | ".address_size" => self.numbers(1).map(|()| item(Kind::Header, "", vec![])),
            ".target" => {
                self.words()?;
                Some(item(Kind::Header, "", vec![]))
            }
            ".file" => {
                self.numbers(1)?;
                (self.tokens.must()? == Token::String).then_some(())?;
                while self.tokens.take_if(|token| token == Token::Sign(b','))? {
                    self.numbers(1)?;
                }
                Some(item(Kind::Header, "", vec![]))
            }
            ".func" | ".entry" => {
                let (name, body) = self.function()?;
                let Some(Body { start, uses }) = body else {
                    return Some(item(Kind::Declaration, name, vec![]));
                };
                let kind = if directive == ".entry" { Kind::Kernel } else { Kind::Definition };
                Some(Item { body: start, ..item(kind, name, uses) })
            }
            ".global" | ".const" | ".shared" => {
                let (name, uses) = self.variable()?;
                Some(item(if external { Kind::Declaration } else { Kind::Definition }, name, uses))
            }
            ".alias" => {
                let Token::Word(name) = self.tokens.must()? else { return None };
                (self.tokens.must()? == Token::Sign(b',')).then_some(())?;
                let Token::Word(target) = self.tokens.must()? else { return None };
                (self.tokens.must()? == Token::Sign(b';')).then_some(())?;
                // Its declaration, which stands before, says whether it is visible.
                Some(Item { visible: true, ..item(Kind::Definition, name, vec![target]) })
            }
            _ => None,
        }
    }

    fn numbers(&mut self, count: usize) -> Known<()> {
        (0..count).try_for_each(|_| (self.tokens.must()? == Token::Number).then_some(()))
    }

    /// A list of words with commas between them.
    fn words(&mut self) -> Known<()> {
        loop {
            let Token::Word(_) = self.tokens.must()? else { return None };
            if !self.tokens.take_if(|token| token == Token::Sign(b','))? {
                return Some(());
            }
        }
    }

    /// The rest of a function: its name, and where its body is and what it uses if it has one.
    fn function(&mut self) -> Known<(&'a str, Option<Body<'a>>)> {
        if self.tokens.take_if(|token| token == Token::Sign(b'('))? {
            self.parentheses()?;
        }
        let Token::Word(name) = self.tokens.must()? else { return None };
        loop {
            match self.tokens.must()? {
                Token::Sign(b'(') => self.parentheses()?,
                Token::Sign(b';') => return Some((name, None)),
                Token::Sign(b'{') => {
                    return Some((name, Some(Body { start: self.tokens.at() - 1, uses: self.body()? })));
                }
                Token::Directive(_) | Token::Number | Token::Sign(b',') => {}
                _ => return None,
            }
        }
    }

    /// The rest of a list of parameters.
    fn parentheses(&mut self) -> Known<()> {
        loop {
            match self.tokens.must()? {
                Token::Sign(b')') => return Some(()),
                Token::Sign(b'(' | b'{' | b'}' | b';') => return None,
                _ => {}
            }
        }
    }

    /// The rest of a variable: its name, and what its initializer uses.
    fn variable(&mut self) -> Known<(&'a str, Vec<&'a str>)> {
        let name = loop {
            match self.tokens.must()? {
                Token::Word(name) => break name,
                Token::Directive(_) | Token::Number => {}
                _ => return None,
            }
        };
        let mut uses = vec![];
        let mut initialized = false;
        loop {
            match self.tokens.must()? {
                Token::Sign(b';') => return Some((name, uses)),
                Token::Sign(b'=') => initialized = true,
                // Another variable begins.
                Token::Sign(b',') if !initialized => return None,
                Token::Word(word) => uses.push(word),
                _ => {}
            }
        }
    }

    /// The rest of a function's body: the names in its operands. What begins a statement is an instruction or a label.
    fn body(&mut self) -> Known<Vec<&'a str>> {
        let mut uses = vec![];
        // For each open brace: whether it opened a block and not a vector of operands.
        let mut open = vec![true];
        let mut begins = true;
        loop {
            let token = self.tokens.must()?;
            match token {
                Token::Sign(b'{') => open.push(begins),
                Token::Sign(b'}') => {
                    begins = open.pop()?;
                    if open.is_empty() {
                        return Some(uses);
                    }
                }
                Token::Sign(b';') => begins = true,
                Token::Sign(b'@') if begins => {
                    self.tokens.take_if(|token| token == Token::Sign(b'!'))?;
                    let Token::Word(_) = self.tokens.must()? else { return None };
                }
                Token::Word(_) if begins => {
                    begins = self.tokens.take_if(|token| token == Token::Sign(b':'))?
                }
                // Has no semicolon.
                Token::Directive(".loc") if begins => self.numbers(3)?,
                Token::Directive(INDIRECT_CALL) => {
                    uses.push(INDIRECT_CALL);
                    begins = false;
                }
                Token::Word(word) => {
                    if !word.starts_with('%') {
                        uses.push(word);
                    }
                }
                _ => begins = false,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kind, name, visible, uses.
    fn summary(text: &str) -> Vec<(Kind, &str, bool, Vec<&str>)> {
        let items = items(text).expect("known form");
        items.into_iter().map(|item| (item.kind, item.name, item.visible, item.uses)).collect()
    }

    const GCC: &str = "// BEGIN PREAMBLE\n.version 7.3\n.target sm_52\n.address_size 64\n// END PREAMBLE\n\
        .file 1 \"<dummy>\"\n\
        // BEGIN GLOBAL FUNCTION DECL: called\n\
        .extern .func (.param .u32 %value_out) called (.param .u64 %in_ar0, .param .u64 %in_ar1);\n\
        // BEGIN GLOBAL VAR DECL: __nvptx_uni\n.extern .shared .u32 __nvptx_uni[32];\n\
        // BEGIN VAR DEF: $LC0\n.const .align 1 .u8 $LC0[4] = {37,99,0,0 };\n\
        // BEGIN GLOBAL VAR DEF: table\n.visible .global .align 8 .u64 table[3] =\n{0,generic(__sf) + 176,f };\n\
        .visible .func (.param .u32 %value_out) f (.param .u64 %in_ar0)\n{\n.reg .u32 %value;\n\
        .reg .pred %r24;\nld.param.u64 %ar0,[%in_ar0];\n.loc 2 24 6\nexit;\n@!%r24 bra $L1;\n{\n\
        .param .u64 %out_arg1;\ncvta.const.u64 %r1,$LC0;\n@%r28 call (%value_in),called,(%out_arg1,%out_arg2);\n}\n\
        mov.b64 {%r32,%r33},%r28;\ntrap;\n// (noreturn)\n$L1:\nret;\n}\n\
        .func $plain\n{\nret;\n}\n";

    #[test]
    fn the_texts_of_gcc_are_understood() {
        use Kind::*;
        let header = (Header, "", false, vec![]);
        let expected = vec![
            header.clone(),
            header.clone(),
            header.clone(),
            header,
            (Declaration, "called", false, vec![]),
            (Declaration, "__nvptx_uni", false, vec![]),
            (Definition, "$LC0", false, vec![]),
            (Definition, "table", true, vec!["__sf", "f", "generic"]),
            (Definition, "f", true, vec!["$L1", "$LC0", "called"]),
            (Definition, "$plain", false, vec![]),
        ];
        assert_eq!(summary(GCC), expected);
    }

    #[test]
    fn the_tables_that_mkoffload_writes_without_line_ends_are_understood() {
        let text = ".version 7.3.target sm_52.file 1 \"<dummy>\".func __dummy$func ( );.func __dummy$func ( ){}\
            .extern .func main$_omp_fn$1$nohost$0 (.param .u64 %in_ar0);\
            .visible .global .align 8 .u64 $offload_func_table[] = {main$_omp_fn$1$nohost$0,0};\n";
        let summary = summary(text);
        assert_eq!(
            summary[3..5].iter().map(|item| item.0).collect::<Vec<_>>(),
            [Kind::Declaration, Kind::Definition]
        );
        assert_eq!(
            summary[6],
            (Kind::Definition, "$offload_func_table", true, vec!["main$_omp_fn$1$nohost$0"])
        );
    }

    #[test]
    fn the_texts_of_clang_are_understood() {
        let text = "//\n// Generated\n//\n.version 6.0\n.target sm_70, debug\n.address_size 64\n\
            .extern .global .align 8 .u64 slot;\n/* a\nblock */ .weak .func  (.param .b32 r0) post(\n\t.param .b64 p0\n)\n\
            {\n\t.loc\t1 2 3, function_name $L_info, inlined_at 1 2 3\n$L__BB0_1:\n\t{ // callseq 0, 0\n\
            \tcall.uni (retval0), other, ();\n\t}\n\tld.global.u64 \t%rd1, [slot];\n\tret;\n}\n\
            .visible .entry k(\n\t.param .u64 k_param_0\n)\n.maxntid 128, 1, 1\n{\n\t.pragma \"nounroll\";\n\tret;\n}\n\
            .visible .func twin;\n.alias twin,post;\n";
        let summary = summary(text);
        let post = &summary[4];
        assert_eq!(post.1, "post");
        assert!(["other", "slot"].iter().all(|name| post.3.contains(name)), "{post:?}");
        assert_eq!(summary[5], (Kind::Kernel, "k", true, vec![]));
        assert_eq!(summary[7], (Kind::Definition, "twin", true, vec!["post"]));
    }

    #[test]
    fn the_spans_of_the_items_make_up_the_text() {
        let items = items(GCC).expect("known form");
        let joined: String = items.iter().map(|item| &GCC[item.span.clone()]).collect();
        assert_eq!(joined, GCC.trim_end());
        assert!(GCC[items[4].span.clone()].contains("FUNCTION DECL: called\n"));
        assert_eq!(&GCC[items[9].body..items[9].span.end], "{\nret;\n}");
        assert_eq!(items[7].body, items[7].span.end);
    }

    #[test]
    fn unknown_forms_are_refused() {
        for text in [
            ".section .debug_info { .b8 1 }",
            ".visible .func f { ret;",
            ".global .u32 a, b;",
            ".func f ( { ret; }",
            ".file 1 \"open",
            "/* open",
            "word",
            ".tex .u32 t;",
            ".func f { ret; } }",
            ".global .u32 \u{e4};",
        ] {
            assert_eq!(items(text), None, "{text}");
        }
    }

    #[test]
    fn a_truncated_text_is_refused_or_understood_and_never_a_panic() {
        for end in 0..GCC.len() {
            let _ = items(&GCC[..end]);
        }
    }
}
