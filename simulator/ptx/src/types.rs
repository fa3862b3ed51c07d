//! The words of the instruction set: opcodes, types and modifiers, each with its spelling.

/// Declares enums whose variants each have one spelling, the word after the dot (or the whole opcode).
macro_rules! words {
    ($($(#[$doc:meta])* pub enum $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "a variant is documented by its spelling")]
        pub enum $name { $($(#[$variant_doc])* $variant,)* }

        impl $name {
            /// All variants.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The variant spelled `word`.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)* _ => None }
            }

            /// The spelling.
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str(self.word()) }
        }
    )*};
}

words! {
    /// A fundamental type.
    pub enum Type {
        U8 = "u8", U16 = "u16", U32 = "u32", U64 = "u64",
        S8 = "s8", S16 = "s16", S32 = "s32", S64 = "s64",
        B8 = "b8", B16 = "b16", B32 = "b32", B64 = "b64", B128 = "b128",
        F16 = "f16", F16x2 = "f16x2", Bf16 = "bf16", Bf16x2 = "bf16x2", Tf32 = "tf32", F32 = "f32", F64 = "f64",
        U16x2 = "u16x2", S16x2 = "s16x2",
        Pred = "pred",
    }

    /// A state space.
    pub enum Space {
        Reg = "reg", Global = "global", Shared = "shared", Const = "const", Local = "local", Param = "param",
    }

    /// How many elements a vector register or access has.
    pub enum Vector { V2 = "v2", V4 = "v4", V8 = "v8", }

    /// The comparison of `set` and `setp`. The `u` forms are true when an operand is NaN; `lo`, `ls`, `hi` and `hs` are
    /// the unsigned orders.
    pub enum Compare {
        Eq = "eq", Ne = "ne", Lt = "lt", Le = "le", Gt = "gt", Ge = "ge", Lo = "lo", Ls = "ls", Hi = "hi", Hs = "hs",
        Equ = "equ", Neu = "neu", Ltu = "ltu", Leu = "leu", Gtu = "gtu", Geu = "geu", Num = "num", Nan = "nan",
    }

    /// How `set` and `setp` join their comparison with a predicate; also the reductions of `bar.red`.
    pub enum BoolOp { And = "and", Or = "or", Xor = "xor", Popc = "popc", }

    /// A rounding: to nearest even, zero, minus and plus infinity, nearest with ties away; the `i` forms round to an
    /// integral value.
    pub enum Rounding {
        Rn = "rn", Rz = "rz", Rm = "rm", Rp = "rp", Rna = "rna", Rni = "rni", Rzi = "rzi", Rmi = "rmi", Rpi = "rpi",
    }

    /// Which part of a product `mul` and `mad` keep.
    pub enum Part { Lo = "lo", Hi = "hi", Wide = "wide", }

    /// The memory semantics of an access or a fence.
    pub enum Semantics {
        Weak = "weak", Volatile = "volatile", Relaxed = "relaxed", Acquire = "acquire", Release = "release",
        AcqRel = "acq_rel", Sc = "sc", Mmio = "mmio",
    }

    /// The threads a synchronising access or fence concerns. `membar`'s `.gl` is [`Scope::Gpu`].
    pub enum Scope { Cta = "cta", Cluster = "cluster", Gpu = "gpu", Sys = "sys", }

    /// A cache operator, which only hints.
    pub enum CacheOp {
        Ca = "ca", Cg = "cg", Cs = "cs", Lu = "lu", Cv = "cv", Wb = "wb", Wt = "wt",
    }

    /// The operation of `atom`, `red` and `redux`.
    pub enum AtomicOp {
        And = "and", Or = "or", Xor = "xor", Cas = "cas", Exch = "exch", Add = "add", Inc = "inc", Dec = "dec",
        Min = "min", Max = "max",
    }

    /// Where `shfl` reads: a lane above, below, across, or by number.
    pub enum Shuffle { Up = "up", Down = "down", Bfly = "bfly", Idx = "idx", }

    /// What `vote` computes.
    pub enum Vote { All = "all", Any = "any", Uni = "uni", Ballot = "ballot", }

    /// What `match` computes.
    pub enum Match { Any = "any", All = "all", }

    /// What a barrier instruction does.
    pub enum Barrier { Sync = "sync", Arrive = "arrive", Red = "red", Wait = "wait", }

    /// What `testp` asks of a float.
    pub enum FloatTest {
        Finite = "finite", Infinite = "infinite", Number = "number", NotANumber = "notanumber", Normal = "normal",
        Subnormal = "subnormal",
    }

    /// The special modes of `prmt`; without one the selector names each byte.
    pub enum Permute { F4e = "f4e", B4e = "b4e", Rc8 = "rc8", Ecl = "ecl", Ecr = "ecr", Rc16 = "rc16", }

    /// Whether a shift count, or a lookup, beyond the width is clamped or taken modulo the width.
    pub enum Overflow { Clamp = "clamp", Wrap = "wrap", }

    /// A direction, of the funnel shift.
    pub enum Direction { Left = "l", Right = "r", }

    /// The second operation of a video instruction.
    pub enum VideoOp { Add = "add", Min = "min", Max = "max", }

    /// The byte or half of a 32-bit operand that a video instruction uses or replaces.
    pub enum Selector { B0 = "b0", B1 = "b1", B2 = "b2", B3 = "b3", H0 = "h0", H1 = "h1", }

    /// The cache level of a prefetch.
    pub enum CacheLevel { L1 = "L1", L2 = "L2", }

    /// One dimension of a launch-geometry register.
    pub enum Axis { X = "x", Y = "y", Z = "z", }

    /// A component of a vector register.
    pub enum Component { X = "x", Y = "y", Z = "z", W = "w", }

    /// An instruction, less its modifiers.
    pub enum Opcode {
        Abs = "abs", Activemask = "activemask", Add = "add", Addc = "addc", Alloca = "alloca", And = "and",
        Atom = "atom", Bar = "bar", Barrier = "barrier", Bfe = "bfe", Bfi = "bfi", Bfind = "bfind", Bmsk = "bmsk",
        Bra = "bra", Brev = "brev", Brkpt = "brkpt", Brx = "brx", Call = "call", Clz = "clz", Cnot = "cnot",
        Copysign = "copysign", Cos = "cos", Cvt = "cvt", Cvta = "cvta", Discard = "discard", Div = "div",
        Dp2a = "dp2a", Dp4a = "dp4a", Elect = "elect", Ex2 = "ex2", Exit = "exit", Fence = "fence", Fma = "fma",
        Fns = "fns", Griddepcontrol = "griddepcontrol", Isspacep = "isspacep", Ld = "ld", Ldu = "ldu", Lg2 = "lg2",
        Lop3 = "lop3", Mad = "mad", Mad24 = "mad24", Madc = "madc", Match = "match", Max = "max", Membar = "membar",
        Min = "min", Mov = "mov", Mul = "mul", Mul24 = "mul24", Nanosleep = "nanosleep", Neg = "neg", Not = "not",
        Or = "or", Pmevent = "pmevent", Popc = "popc", Prefetch = "prefetch", Prefetchu = "prefetchu", Prmt = "prmt",
        Rcp = "rcp", Red = "red", Redux = "redux", Rem = "rem", Ret = "ret", Rsqrt = "rsqrt", Sad = "sad",
        Selp = "selp", Set = "set", Setp = "setp", Shf = "shf", Shfl = "shfl", Shl = "shl", Shr = "shr", Sin = "sin",
        Slct = "slct", Sqrt = "sqrt", St = "st", Stackrestore = "stackrestore", Stacksave = "stacksave", Sub = "sub",
        Subc = "subc", Szext = "szext", Tanh = "tanh", Testp = "testp", Trap = "trap", Vabsdiff = "vabsdiff",
        Vadd = "vadd", Vmad = "vmad", Vmax = "vmax", Vmin = "vmin", Vote = "vote", Vset = "vset", Vshl = "vshl",
        Vshr = "vshr", Vsub = "vsub", Xor = "xor",
    }
}

impl Type {
    /// Size in bytes; a predicate, which has no memory form, counts as one.
    pub fn size(self) -> u32 {
        use Type::*;
        match self {
            U8 | S8 | B8 | Pred => 1,
            U16 | S16 | B16 | F16 | Bf16 => 2,
            U32 | S32 | B32 | F32 | Tf32 | F16x2 | Bf16x2 | U16x2 | S16x2 => 4,
            U64 | S64 | B64 | F64 => 8,
            B128 => 16,
        }
    }

    /// Whether values are signed integers.
    pub fn is_signed(self) -> bool {
        matches!(self, Type::S8 | Type::S16 | Type::S32 | Type::S64 | Type::S16x2)
    }

    /// Whether values are floating point numbers, or packed pairs of them.
    pub fn is_float(self) -> bool {
        use Type::*;
        matches!(self, F16 | F16x2 | Bf16 | Bf16x2 | Tf32 | F32 | F64)
    }
}

impl Vector {
    /// The number of elements.
    pub fn elements(self) -> usize {
        match self {
            Vector::V2 => 2,
            Vector::V4 => 4,
            Vector::V8 => 8,
        }
    }
}

/// The modifiers of an instruction: what stands after dots behind the opcode.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Modifiers {
    /// Types in order of the text, e.g. destination and source of `cvt`.
    pub types: [Option<Type>; 3],
    /// Vector access.
    pub vector: Option<Vector>,
    /// State space; generic if `None`. `.param::entry` and `.param::func` are both [`Space::Param`], `.shared::cta` and
    /// `.shared::cluster` both [`Space::Shared`].
    pub space: Option<Space>,
    /// Memory semantics.
    pub semantics: Option<Semantics>,
    /// Memory scope.
    pub scope: Option<Scope>,
    /// Cache operator.
    pub cache: Option<CacheOp>,
    /// Comparison.
    pub compare: Option<Compare>,
    /// What the comparison is combined with.
    pub combine: Option<BoolOp>,
    /// Rounding.
    pub rounding: Option<Rounding>,
    /// Part of a product; of `dp2a`, the half used.
    pub part: Option<Part>,
    /// What the opcode leaves open.
    pub mode: Option<Mode>,
    /// Second operation of a video instruction.
    pub video: Option<VideoOp>,
    /// Byte or half of the destination a video instruction replaces.
    pub selector: Option<Selector>,
    /// Whether a shift or bit-field count beyond the width is clamped or wraps.
    pub overflow: Option<Overflow>,
    /// Single-word modifiers.
    pub flags: Flags,
}

/// Modifiers that are there or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// `.sat`: clamp to [0, 1], or to the integer type's range.
    pub sat: bool,
    /// `.satfinite`.
    pub satfinite: bool,
    /// `.ftz`: subnormals are flushed to zero.
    pub ftz: bool,
    /// `.noftz`: subnormals are kept.
    pub noftz: bool,
    /// `.relu`: negative results become zero.
    pub relu: bool,
    /// `.NaN`: a NaN operand makes a NaN result.
    pub nan: bool,
    /// `.xorsign`: the result's sign is the exclusive or of the operands'.
    pub xorsign: bool,
    /// `.abs`: of the operands (with `.xorsign`).
    pub abs: bool,
    /// `.approx`.
    pub approx: bool,
    /// `.full`: full-range approximation.
    pub full: bool,
    /// `.uni`: all active threads agree.
    pub uni: bool,
    /// `.cc`: carries out.
    pub cc: bool,
    /// `.to` of `cvta`: from generic.
    pub to: bool,
    /// `.nc`: through the non-coherent cache.
    pub nc: bool,
    /// `.sync`, of the warp-wide operations.
    pub sync: bool,
    /// `.warp` of `bar.warp.sync`.
    pub warp: bool,
    /// `.cluster` of `barrier.cluster`.
    pub cluster: bool,
    /// `.aligned`: all threads of the warp execute it.
    pub aligned: bool,
    /// `.po` of `vmad`: plus one.
    pub plus_one: bool,
    /// `.shiftamt` of `bfind`.
    pub shiftamt: bool,
    /// `.proxy` or another form of `fence` and `membar` beyond semantics and scope.
    pub proxy: bool,
}

/// What an opcode with several operations does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// `atom`, `red`, `redux`.
    Atomic(AtomicOp),
    /// `shfl`.
    Shuffle(Shuffle),
    /// `vote`.
    Vote(Vote),
    /// `match`.
    Match(Match),
    /// `bar`, `barrier`; of [`Barrier::Red`] the reduction is in [`Modifiers::combine`].
    Barrier(Barrier),
    /// `testp`.
    FloatTest(FloatTest),
    /// `prmt`.
    Permute(Permute),
    /// `shf`.
    Direction(Direction),
    /// `prefetch`.
    CacheLevel(CacheLevel),
}

/// A read-only register that the machine defines, e.g. `%tid.x`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "named as in the PTX manual's chapter on special registers")]
pub enum SpecialRegister {
    Tid(Axis),
    Ntid(Axis),
    Ctaid(Axis),
    Nctaid(Axis),
    Clusterid(Axis),
    Nclusterid(Axis),
    ClusterCtaid(Axis),
    ClusterNctaid(Axis),
    ClusterCtarank,
    ClusterNctarank,
    IsExplicitCluster,
    Laneid,
    Warpid,
    Nwarpid,
    Smid,
    Nsmid,
    Gridid,
    LanemaskEq,
    LanemaskLe,
    LanemaskLt,
    LanemaskGe,
    LanemaskGt,
    Clock,
    ClockHi,
    Clock64,
    Globaltimer,
    GlobaltimerLo,
    GlobaltimerHi,
    TotalSmemSize,
    AggrSmemSize,
    DynamicSmemSize,
    ReservedSmemOffsetBegin,
    ReservedSmemOffsetEnd,
    ReservedSmemOffsetCap,
    /// `%reserved_smem_offset_<0>` and `_<1>`.
    ReservedSmemOffset(u8),
    CurrentGraphExec,
    /// `%pm0` to `%pm7`.
    Pm(u8),
    /// `%pm0_64` to `%pm7_64`.
    Pm64(u8),
    /// `%envreg0` to `%envreg31`.
    Envreg(u8),
}
