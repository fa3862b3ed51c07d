//! Which types an instruction takes (PTX ISA, instruction set).
//!
//! Where the manual asks for signed and unsigned integers or for untyped bits, any type of the size will do, as for the driver.

use crate::ast::{Opcode, Type};

fn integer(ty: Type, sizes: &[u32]) -> bool {
    use Type::*;
    sizes.contains(&ty.size()) && !ty.is_float() && !matches!(ty, Pred | U16x2 | S16x2)
}

/// Floats of 16 bits, single or as a pair.
fn half(ty: Type) -> bool {
    use Type::*;
    matches!(ty, F16 | F16x2 | Bf16 | Bf16x2)
}

fn single_or_double(ty: Type) -> bool {
    matches!(ty, Type::F32 | Type::F64)
}

/// Whether `ty` may be type number `n` of `opcode`, from 0.
pub(super) fn takes(opcode: Opcode, n: usize, ty: Type) -> bool {
    use Opcode::*;
    use Type::*;
    let float = half(ty) || single_or_double(ty);
    match opcode {
        Add | Sub | Min | Max => integer(ty, &[2, 4, 8]) || matches!(ty, U16x2 | S16x2) || float,
        Mul | Mad | Abs | Neg => integer(ty, &[2, 4, 8]) || float,
        Div => integer(ty, &[2, 4, 8]) || single_or_double(ty),
        Fma => float,
        Addc | Subc | Madc | Popc | Clz | Brev | Bfind | Bfe | Bfi | Opcode::Match => integer(ty, &[4, 8]),
        Rem | Sad | Cnot | Shl | Shr => integer(ty, &[2, 4, 8]),
        And | Or | Xor | Not => ty == Pred || integer(ty, &[2, 4, 8]),
        Rcp | Sqrt | Rsqrt | Testp | Copysign => single_or_double(ty),
        Sin | Cos | Lg2 => ty == F32,
        Ex2 | Tanh => ty == F32 || half(ty),
        Mul24 | Mad24 | Fns | Bmsk | Szext | Prmt | Lop3 | Shf | Dp4a | Dp2a => integer(ty, &[4]),
        Vadd | Vsub | Vabsdiff | Vmin | Vmax | Vshl | Vshr | Vmad | Vset => integer(ty, &[4]),
        Slct if n == 1 => matches!(ty, S32 | F32),
        Selp | Slct => integer(ty, &[2, 4, 8]) || float,
        Set if n == 0 => integer(ty, &[2, 4]) || matches!(ty, F32) || half(ty),
        Set | Setp => integer(ty, &[2, 4, 8]) || float,
        Cvt => ty != Pred && ty != B128,
        Cvta | Alloca | Stacksave | Stackrestore => integer(ty, &[4, 8]),
        Nanosleep | Activemask => integer(ty, &[4]),
        Shfl => ty.size() == 4,
        Opcode::Vote | Bar | Barrier => ty == Pred || integer(ty, &[4]),
        Ld | Ldu | St | Atom | Red | Redux => ty != Pred,
        Mov => true,
        // The others have no type.
        _ => false,
    }
}
