//! Calls of a function by its name, as GCC writes them.

use super::code::{Code, Instruction, Operand, Statement};

/// A call with what passes its arguments and takes its result:
/// ```text
/// st.param.u64 [ARGUMENT1],%r1;
/// st.param.u32 [ARGUMENT2],%r2;
/// call (VALUE),NAME,(ARGUMENT1,ARGUMENT2);      or: call NAME,(ARGUMENT1,ARGUMENT2);
/// ld.param.u64 %r3,[VALUE];                     where the program wants the result
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct Call<'a> {
    /// Where its instructions begin in the body.
    pub begin: usize,
    /// Where they end.
    pub end: usize,
    /// The function.
    pub callee: &'a str,
    /// The registers that are passed.
    pub arguments: Vec<&'a str>,
    /// The register that takes the result.
    pub result: Option<&'a str>,
}

impl<'a> Call<'a> {
    /// The call that the statements from this one on are, if they are one whose arguments are registers.
    pub fn of(code: &Code<'a>, at: usize) -> Option<Call<'a>> {
        let mut rest = code.statements[at..].iter().map_while(|statement| match statement {
            Statement::Instruction(instruction) if instruction.guard.is_none() => Some(instruction),
            _ => None,
        });
        let is = |it: &Instruction<'_>, name| it.name == name && it.modifiers.starts_with(".param");
        let first = rest.next()?;
        let (mut call, mut parameters, mut arguments) = (first, Vec::<&str>::new(), vec![]);
        while is(call, "st") {
            let [parameter, argument] = &call.operands[..] else { return None };
            (argument.names == [argument.text]).then_some(())?;
            parameters.extend(&parameter.names);
            arguments.push(argument.text);
            call = rest.next()?;
        }
        (call.name == "call" && call.modifiers.is_empty()).then_some(())?;
        let is_list = |operand: &&Operand<'_>| operand.text.starts_with('(');
        let mut operands = call.operands.iter().peekable();
        let value = operands.next_if(is_list).map(|value| &value.names);
        let callee = operands.next()?.text;
        let passed = operands.next_if(is_list).map_or(&[][..], |passed| &passed.names);
        (passed == parameters && operands.next().is_none()).then_some(())?;
        let taken = rest.next().filter(|it| is(it, "ld") && Some(&it.operands[1].names) == value);
        Some(Call {
            begin: first.span.start,
            end: taken.unwrap_or(call).span.end,
            callee,
            arguments,
            result: taken.map(|it| it.operands[0].text),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(body: &str) -> Vec<(&str, Vec<&str>, Option<&str>, &str)> {
        let code = Code::of(body).expect("a known form");
        let calls = (0..code.statements.len()).filter_map(|at| Call::of(&code, at));
        calls.map(|it| (it.callee, it.arguments, it.result, &body[it.begin..it.end])).collect()
    }

    #[test]
    fn a_call_has_its_arguments_and_its_result() {
        let first = "st.param.u64 [%out_arg1],%r1;\n.param .u32 %out_arg2;\nst.param.u32 [%out_arg2],%r2;\n\
                     call (%value_in),f,(%out_arg1,%out_arg2);\nld.param.u64 %r3,[%value_in];";
        let second = "st.param.u64 [%out_arg1],%r3;\ncall g,(%out_arg1);";
        let body = format!(
            "{{\n{{\n.param .u64 %out_arg1;\n{first}\n}}\n{{\n{second}\n}}\nld.u64 %r4,[%r3];\nret;\n}}"
        );
        assert_eq!(
            calls(&body),
            [("f", vec!["%r1", "%r2"], Some("%r3"), first), ("g", vec!["%r3"], None, second)]
        );
    }

    #[test]
    fn what_is_passed_otherwise_is_no_such_call() {
        let call = "{\nst.param.u64 [%o1],%r1;\nst.param.u64 [%o2],%r2;\ncall f,(%o1,%o2);\n}";
        assert_eq!(calls(call).len(), 1);
        for (from, to) in [
            ("%r2;", "8;"),
            ("(%o1,%o2)", "(%o2,%o1)"),
            ("(%o1,%o2)", "(%o1)"),
            ("call ", "@%p call "),
            ("call ", "call.uni "),
            ("call f,", "call f,%r1,%r2,"),
            ("call ", "$L1:\ncall "),
        ] {
            assert_eq!(calls(&call.replace(from, to)), [], "{to}");
        }
    }
}
