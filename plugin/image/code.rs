//! The body of a function as statements: instructions with what they read and write, and labels.

use std::collections::HashMap;
use std::ops::Range;

use super::tokens::{Known, Scanner, Token};

/// Instructions whose first operand is no result (PTX ISA, Instruction Set). `call` has its results in brackets.
const WITHOUT_RESULT: [&str; 17] = [
    "bar",
    "barrier",
    "bra",
    "brkpt",
    "call",
    "discard",
    "exit",
    "fence",
    "isspacep",
    "membar",
    "nanosleep",
    "pmevent",
    "prefetch",
    "red",
    "ret",
    "st",
    "trap",
];

/// A register as it is declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Register<'a> {
    /// Its name; where `count` is, the beginning of the names.
    pub name: &'a str,
    /// Its type, such as `.u64`.
    pub kind: &'a str,
    /// Whether it stands for many: `%r<5>`.
    pub is_range: bool,
}

/// An operand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operand<'a> {
    /// As it stands there.
    pub text: &'a str,
    /// The names in it.
    pub names: Vec<&'a str>,
}

impl<'a> Operand<'a> {
    /// What `[register+offset]` consists of.
    pub fn address(&self) -> Option<(&'a str, i64)> {
        let (register, offset) = match self.text.strip_prefix('[')?.strip_suffix(']')?.split_once('+') {
            Some((register, offset)) => (register.trim(), offset.trim().parse().ok()?),
            None => (self.names.first().copied()?, 0),
        };
        (self.names == [register]).then_some((register, offset))
    }
}

/// An instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction<'a> {
    /// Where it stands in the body, from its guard to its semicolon.
    pub span: Range<usize>,
    /// Its guard: the predicate, and whether that is negated.
    pub guard: Option<(&'a str, bool)>,
    /// What it does, such as `ld`.
    pub name: &'a str,
    /// What stands behind that, such as `.global.f64`.
    pub modifiers: &'a str,
    /// Its operands.
    pub operands: Vec<Operand<'a>>,
}

impl<'a> Instruction<'a> {
    /// The operand that takes the result, if it has one.
    pub fn result(&self) -> Option<&Operand<'a>> {
        self.operands.first().filter(|_| !WITHOUT_RESULT.contains(&self.name))
    }

    /// The names that it reads, its guard's among them.
    pub fn reads(&self) -> impl Iterator<Item = &'a str> {
        let others = &self.operands[usize::from(self.result().is_some())..];
        let guard = self.guard.iter().map(|(predicate, _)| *predicate);
        guard.chain(others.iter().flat_map(|operand| operand.names.iter().copied()))
    }

    /// The label that it branches to, if it is a branch.
    pub fn target(&self) -> Option<&'a str> {
        self.operands.first().filter(|_| self.name == "bra")?.names.first().copied()
    }

    /// Whether what comes behind it isn't reached from here.
    pub fn ends(&self) -> bool {
        self.guard.is_none() && matches!(self.name, "bra" | "ret" | "exit" | "trap")
    }
}

/// A statement of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Statement<'a> {
    /// A place to branch to, and where the statements behind it begin.
    Label(&'a str, usize),
    /// An instruction.
    Instruction(Instruction<'a>),
}

/// A function's body.
#[derive(Debug, Default)]
pub struct Code<'a> {
    /// What it declares. A name may be declared several times, in scopes of its own.
    pub registers: Vec<Register<'a>>,
    /// Its statements in order.
    pub statements: Vec<Statement<'a>>,
}

impl<'a> Code<'a> {
    /// The code in `body`, which begins and ends with a brace. None where it has a form that isn't known, or branches to where
    /// a register says.
    pub fn of(body: &'a str) -> Known<Code<'a>> {
        let mut code = Code::default();
        let mut scanner = Scanner::new(body);
        while let Some(token) = scanner.token()? {
            match token {
                Token::Sign(b'{' | b'}' | b';') => {}
                Token::Directive(".reg") => code.declare(&mut scanner)?,
                // Has no semicolon.
                Token::Directive(".loc") => while scanner.take_if(|token| token == Token::Number)? {},
                Token::Directive(_) => while scanner.must()? != Token::Sign(b';') {},
                Token::Word(name) if scanner.take_if(|token| token == Token::Sign(b':'))? => {
                    code.statements.push(Statement::Label(name, scanner.at()));
                }
                token => {
                    let instruction = instruction(body, token, &mut scanner)?;
                    (instruction.name != "brx").then_some(())?;
                    code.statements.push(Statement::Instruction(instruction));
                }
            }
        }
        Some(code)
    }

    /// Its instructions in order.
    pub fn instructions(&self) -> impl Iterator<Item = &Instruction<'a>> {
        self.statements.iter().filter_map(|statement| match statement {
            Statement::Instruction(instruction) => Some(instruction),
            Statement::Label(..) => None,
        })
    }

    /// Reads what stands behind `.reg`.
    fn declare(&mut self, scanner: &mut Scanner<'a>) -> Known<()> {
        let mut kind = "";
        loop {
            match scanner.must()? {
                Token::Directive(word) => kind = word,
                Token::Word(name) => {
                    let is_range = scanner.take_if(|token| token == Token::Sign(b'<'))?;
                    self.registers.push(Register { name, kind, is_range });
                }
                Token::Sign(b';') => return Some(()),
                _ => {}
            }
        }
    }
}

/// Which instruction gives each register its value; none where there are several.
pub struct Writers<'c, 'a>(HashMap<&'a str, Option<&'c Instruction<'a>>>);

impl<'c, 'a> Writers<'c, 'a> {
    /// Those of a function.
    pub fn of(code: &'c Code<'a>) -> Writers<'c, 'a> {
        let mut writers = HashMap::new();
        for instruction in code.instructions() {
            for name in instruction.result().iter().flat_map(|result| &result.names) {
                writers.entry(*name).and_modify(|writer| *writer = None).or_insert(Some(instruction));
            }
        }
        Writers(writers)
    }

    /// The only one that writes a register.
    pub fn only(&self, register: &str) -> Option<&'c Instruction<'a>> {
        self.0.get(register).copied().flatten()
    }
}

/// The instruction that begins with `first`, which the scanner has just read.
fn instruction<'a>(body: &'a str, first: Token<'a>, scanner: &mut Scanner<'a>) -> Known<Instruction<'a>> {
    let mut token = first;
    let mut start = scanner.at();
    let mut guard = None;
    if let Token::Sign(b'@') = token {
        start -= 1;
        let is_negated = scanner.take_if(|token| token == Token::Sign(b'!'))?;
        let Token::Word(predicate) = scanner.must()? else { return None };
        guard = Some((predicate, is_negated));
        token = scanner.must()?;
    }
    let Token::Word(name) = token else { return None };
    if guard.is_none() {
        start -= name.len();
    }
    let modified = scanner.at();
    while scanner.take_if(|token| matches!(token, Token::Directive(_)))? {}
    let modifiers = body[modified..scanner.at()].trim();
    let mut operands = vec![];
    let (mut depth, mut begin, mut names) = (0, scanner.at(), vec![]);
    loop {
        let end = scanner.at();
        match scanner.must()? {
            Token::Sign(b'{' | b'[' | b'(') => depth += 1,
            Token::Sign(b'}' | b']' | b')') => depth -= 1,
            Token::Word(name) => names.push(name),
            Token::Sign(sign @ (b',' | b';')) if depth == 0 => {
                let text = body[begin..end].trim();
                if !text.is_empty() {
                    operands.push(Operand { text, names: std::mem::take(&mut names) });
                }
                begin = scanner.at();
                if sign == b';' {
                    return Some(Instruction { span: start..begin, guard, name, modifiers, operands });
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_tells_what_it_reads_and_writes() {
        let body = "{\n.reg .u64 %a,%b;\n.reg .pred %p<3>;\n$L1:\n.loc 1 2 3\n@!%p1 ld.global.f64 %x,[%a+8];\nst.f64 [ %b + 16 ] , %x;\n\
                    setp.ne.u32 %p1|%p2,%c,0;\n{\n.param .u32 %o;\ncall (%o),f,(%o);\n}\nmov.b64 {%l,%h},%x;\n@%p2 bra $L1;\nret;\n}";
        let code = Code::of(body).expect("a known form");
        let register = |name, kind, is_range| Register { name, kind, is_range };
        let declared =
            [register("%a", ".u64", false), register("%b", ".u64", false), register("%p", ".pred", true)];
        assert_eq!(code.registers, declared);
        for statement in &code.statements {
            if let Statement::Label(name, at) = statement {
                assert_eq!((*name, &body[*at - 4..*at]), ("$L1", "$L1:"));
            }
        }
        let instructions: Vec<_> = code.instructions().collect();
        let told: Vec<_> = instructions
            .iter()
            .map(|it| {
                let results = it.result().map_or(vec![], |result| result.names.clone());
                (&body[it.span.clone()], results, it.reads().collect::<Vec<_>>())
            })
            .collect();
        let expected = vec![
            ("@!%p1 ld.global.f64 %x,[%a+8];", vec!["%x"], vec!["%p1", "%a"]),
            ("st.f64 [ %b + 16 ] , %x;", vec![], vec!["%b", "%x"]),
            ("setp.ne.u32 %p1|%p2,%c,0;", vec!["%p1", "%p2"], vec!["%c"]),
            ("call (%o),f,(%o);", vec![], vec!["%o", "f", "%o"]),
            ("mov.b64 {%l,%h},%x;", vec!["%l", "%h"], vec!["%x"]),
            ("@%p2 bra $L1;", vec![], vec!["%p2", "$L1"]),
            ("ret;", vec![], vec![]),
        ];
        assert_eq!(told, expected);
        assert_eq!(instructions[0].operands[1].address(), Some(("%a", 8)));
        assert_eq!(instructions[1].operands[0].address(), Some(("%b", 16)));
        assert_eq!(instructions[5].target(), Some("$L1"));
        assert!(instructions[6].ends() && !instructions[5].ends());
    }

    #[test]
    fn what_is_not_closed_or_branches_to_a_register_is_not_known() {
        for body in ["{ add.u32 %a,%b,1 }", "{ brx.idx %r1,$T; }", "{ @ add; }", "{ 7; }"] {
            assert!(Code::of(body).is_none(), "{body}");
        }
    }
}
