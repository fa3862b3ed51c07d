//! The form of each instruction: which modifiers it takes, how many of them are types, and how many operands follow.

use super::modifiers::Class::{self, *};
use crate::ast::Opcode;

/// The form of an instruction.
pub(super) struct Form {
    /// The classes of its modifiers.
    pub(super) classes: &'static [Class],
    /// The least and the greatest number of types.
    pub(super) types: (usize, usize),
    /// The least and the greatest number of operands.
    pub(super) operands: (usize, usize),
}

const fn form(classes: &'static [Class], types: (usize, usize), operands: (usize, usize)) -> Form {
    Form { classes, types, operands }
}

const INTEGER_SUM: &[Class] = &[Type, Rounding, Flags(&["sat", "ftz", "cc"])];
const FLOAT: &[Class] = &[Type, Rounding, Flags(&["sat", "ftz", "approx", "full"])];
const VIDEO: &[Class] = &[Type, Flags(&["sat"]), Overflow, Video, Selector];
const BRANCH: &[Class] = &[Flags(&["uni"]), Words(&["idx"])];
const BARRIER: &[Class] =
    &[Type, Barrier, Combine, Semantics, Flags(&["warp", "cluster", "aligned"]), Words(&["cta"])];
const LOAD: &[Class] = &[Type, Vector, Space, Semantics, Scope, Cache, CacheHint, Flags(&["nc"])];
const ATOMIC: &[Class] = &[Type, Space, Semantics, Scope, Atomic, CacheHint, Flags(&["noftz"])];
const FENCE: &[Class] = &[Semantics, Scope, Proxy];

impl Form {
    /// The form of `opcode`.
    pub(super) const fn of(opcode: Opcode) -> Form {
        use Opcode::*;
        match opcode {
            Add | Sub | Addc | Subc => form(INTEGER_SUM, (1, 1), (3, 3)),
            Mul | Mul24 => form(&[Type, Part, Rounding, Flags(&["sat", "ftz"])], (1, 1), (3, 3)),
            Mad | Mad24 | Madc => form(&[Type, Part, Rounding, Flags(&["sat", "ftz", "cc"])], (1, 1), (4, 4)),
            Fma => form(&[Type, Rounding, Flags(&["sat", "ftz", "relu"])], (1, 1), (4, 4)),
            Div => form(FLOAT, (1, 1), (3, 3)),
            Rem | And | Or | Xor | Shl | Shr | Copysign => form(&[Type], (1, 1), (3, 3)),
            Min | Max => form(&[Type, Flags(&["ftz", "relu", "NaN", "xorsign", "abs"])], (1, 1), (3, 4)),
            Abs | Neg | Rcp | Sqrt | Rsqrt | Sin | Cos | Lg2 | Ex2 | Tanh => form(FLOAT, (1, 1), (2, 2)),
            Not | Cnot | Popc | Clz | Brev => form(&[Type], (1, 1), (2, 2)),
            Testp => form(&[Type, FloatTest], (1, 1), (2, 2)),
            Bfind => form(&[Type, Flags(&["shiftamt"])], (1, 1), (2, 2)),
            Bfe | Sad | Selp | Fns => form(&[Type], (1, 1), (4, 4)),
            Bfi => form(&[Type], (1, 1), (5, 5)),
            Bmsk | Szext => form(&[Type, Overflow], (1, 1), (3, 3)),
            Slct => form(&[Type, Flags(&["ftz"])], (2, 2), (4, 4)),
            Prmt => form(&[Type, Permute], (1, 1), (4, 4)),
            Lop3 => form(&[Type, Combine], (1, 1), (5, 6)),
            Shf => form(&[Type, Direction, Overflow], (1, 1), (4, 4)),
            Dp4a => form(&[Type], (2, 2), (4, 4)),
            Dp2a => form(&[Type, Part], (2, 2), (4, 4)),
            Vadd | Vsub | Vabsdiff | Vmin | Vmax | Vshl | Vshr => form(VIDEO, (3, 3), (3, 4)),
            Vmad => form(&[Type, Flags(&["sat", "po"])], (3, 3), (4, 4)),
            Vset => form(&[Type, Compare, Video, Selector], (2, 2), (3, 4)),
            Set => form(&[Type, Compare, Combine, Flags(&["ftz"])], (2, 2), (3, 4)),
            Setp => form(&[Type, Compare, Combine, Flags(&["ftz"])], (1, 1), (3, 4)),
            Mov => form(&[Type, Vector], (1, 1), (2, 2)),
            Cvt => form(&[Type, Rounding, Flags(&["sat", "ftz", "relu", "satfinite"])], (2, 2), (2, 3)),
            Cvta => form(&[Type, Space, Flags(&["to"])], (1, 1), (2, 2)),
            Isspacep => form(&[Space], (0, 0), (2, 2)),
            Ld => form(LOAD, (1, 1), (2, 3)),
            Ldu => form(LOAD, (1, 1), (2, 2)),
            St => form(LOAD, (1, 1), (2, 3)),
            Prefetch | Prefetchu => form(&[Space, CacheLevel, CacheHint], (0, 0), (1, 1)),
            Discard => form(&[Space, CacheLevel], (0, 0), (2, 2)),
            Atom => form(ATOMIC, (1, 1), (3, 5)),
            Red => form(ATOMIC, (1, 1), (2, 3)),
            Fence | Membar => form(FENCE, (0, 0), (0, 2)),
            Bar | Opcode::Barrier => form(BARRIER, (0, 1), (0, 4)),
            Shfl => form(&[Type, Shuffle, Flags(&["sync"])], (1, 1), (4, 5)),
            Opcode::Vote => form(&[Type, Class::Vote, Flags(&["sync"])], (1, 1), (2, 3)),
            Opcode::Match => form(&[Type, Class::Match, Flags(&["sync"])], (1, 1), (3, 3)),
            Redux => form(&[Type, Atomic, Flags(&["sync", "abs", "NaN"])], (1, 1), (3, 3)),
            Elect => form(&[Flags(&["sync"])], (0, 0), (2, 2)),
            Activemask => form(&[Type], (1, 1), (1, 1)),
            Alloca => form(&[Type], (1, 1), (2, 3)),
            Stacksave | Stackrestore | Nanosleep => form(&[Type], (1, 1), (1, 1)),
            Bra => form(BRANCH, (0, 0), (1, 1)),
            Brx => form(BRANCH, (0, 0), (2, 2)),
            Call => form(BRANCH, (0, 0), (1, 1)),
            Ret => form(BRANCH, (0, 0), (0, 0)),
            Exit | Trap | Brkpt => form(&[], (0, 0), (0, 0)),
            Pmevent => form(&[Words(&["mask"])], (0, 0), (1, 1)),
            Griddepcontrol => form(&[Words(&["launch_dependents", "wait"])], (0, 0), (0, 0)),
        }
    }
}
