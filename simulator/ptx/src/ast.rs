//! The syntax tree of a module, with every name resolved.
//!
//! Indices: [`FunctionId`] and [`VariableId`] index the module's (after linking, the program's) lists; the others index
//! the lists of the [`Body`] they occur in. Redeclarations of a name are merged into one entry. Nested `{ }` scopes are
//! dissolved: each declaration has its own entry in the body, and each operand names the entry it means.

pub use crate::types::*;

/// A range of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Byte offset of the first character.
    pub start: u32,
    /// Byte offset after the last character.
    pub end: u32,
    /// Line of the first character, from 1.
    pub line: u32,
}

/// Declares index types.
macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            /// As an index into the list.
            pub fn index(self) -> usize { self.0 as usize }
        }
    )*};
}

ids! {
    /// Indexes [`Module::functions`] or [`crate::Program::functions`].
    FunctionId
    /// Indexes [`Module::variables`] or [`crate::Program::variables`].
    VariableId
    /// Indexes [`Body::registers`].
    RegisterId
    /// Indexes [`Body::variables`].
    LocalId
    /// Indexes [`Body::labels`].
    LabelId
    /// Indexes [`Body::prototypes`].
    PrototypeId
    /// Indexes [`Body::call_targets`].
    CallTargetsId
    /// Indexes [`Body::branch_targets`].
    BranchTargetsId
    /// Indexes [`Body::locations`].
    LocationId
}

/// One PTX module: a translation unit.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// `.version`: major, minor.
    pub version: (u32, u32),
    /// `.target`: the number of `sm_NN`.
    pub sm: u32,
    /// `.target`: the words after the architecture, e.g. `debug`, and its suffix (`a` of `sm_90a`) if any.
    pub target_options: Vec<String>,
    /// `.address_size` in bits: 32 or 64.
    pub address_size: u32,
    /// `.file` directives.
    pub files: Vec<File>,
    /// Variables at module scope, and those of a static state space declared inside functions.
    pub variables: Vec<Variable>,
    /// Functions, defined or only declared.
    pub functions: Vec<Function>,
}

/// A `.file` directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The number by which [`Location::file`] refers to it.
    pub index: u32,
    /// The path.
    pub name: String,
}

/// How a name is seen by other modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linkage {
    /// Known in its module only.
    Internal,
    /// `.extern`: defined elsewhere.
    Extern,
    /// `.visible`.
    Visible,
    /// `.weak`: any one definition serves; a visible one wins.
    Weak,
    /// `.common`: like weak, the largest wins.
    Common,
}

/// A variable.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its linkage; for a variable of a function, [`Linkage::Internal`].
    pub linkage: Linkage,
    /// Its state space, never [`Space::Reg`].
    pub space: Space,
    /// Alignment in bytes: declared, else natural.
    pub align: u32,
    /// Type of an element.
    pub ty: Type,
    /// Whether an element is a vector of `ty`.
    pub vector: Option<Vector>,
    /// Array dimensions, empty for a scalar. `None` in the first: `[]`, size set elsewhere (by the initialiser, by the
    /// defining module, at launch for `.extern .shared`).
    pub dimensions: Vec<Option<u64>>,
    /// Initial values of the leading elements (vector components count singly), row-major; the rest is zero.
    pub initializer: Vec<Initial>,
    /// Where its declaration or, if there is one, its definition stands, semicolon included.
    pub span: Span,
    /// Index of its module in the list given to the linker; 0 before linking.
    pub module: u32,
}

impl Variable {
    /// Size in bytes; 0 for an unsized array.
    pub fn size(&self) -> u64 {
        size_of_elements(self.ty, self.vector, &self.dimensions)
    }
}

/// The size in bytes of an array (or scalar); the parser has checked that it does not overflow.
fn size_of_elements(ty: Type, vector: Option<Vector>, dimensions: &[Option<u64>]) -> u64 {
    let element = u64::from(ty.size()) * vector.map_or(1, |v| v.elements() as u64);
    dimensions.iter().fold(element, |size, dimension| size * dimension.unwrap_or(0))
}

/// The initial value of an element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Initial {
    /// An integer, two's complement, to be truncated to the element's size.
    Integer(u64),
    /// A float, to be converted to the element's type.
    Float(Float),
    /// An address.
    Address {
        /// Of what: a function or a variable of the module.
        symbol: Symbol,
        /// Added to it, in bytes.
        offset: i64,
        /// `generic(symbol)`: a generic address rather than one in the symbol's state space.
        generic: bool,
        /// `MASK(symbol)`: the element is one byte of the address, the one this mask selects, shifted down.
        mask: Option<u64>,
    },
}

/// A floating point literal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Float {
    /// `0f...`: the bits of a single.
    Single(u32),
    /// `0d...`, or a decimal literal: the bits of a double.
    Double(u64),
}

impl Float {
    /// The value.
    pub fn value(self) -> f64 {
        match self {
            Float::Single(bits) => f64::from(f32::from_bits(bits)),
            Float::Double(bits) => f64::from_bits(bits),
        }
    }
}

/// Something with an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Symbol {
    /// A function.
    Function(FunctionId),
    /// A variable of the module, or one of a static state space declared in a function.
    Variable(VariableId),
    /// A `.local` variable of the function, or a `.param` one declared for a call.
    Local(LocalId),
    /// A parameter of the function, by position.
    Parameter(u32),
    /// A return parameter of the function, by position.
    Return(u32),
}

/// A function or kernel.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Its linkage: of the definition if there is one.
    pub linkage: Linkage,
    /// `.entry`: a kernel.
    pub entry: bool,
    /// Parameters and attributes.
    pub signature: Signature,
    /// Launch bounds.
    pub bounds: LaunchBounds,
    /// The code; `None` if only declared.
    pub body: Option<Body>,
    /// `.alias`: the function this is another name of.
    pub alias: Option<FunctionId>,
    /// Where its definition stands, from its first directive to the closing brace; of a mere declaration, its text.
    pub span: Span,
    /// Where its declarations without body stand, semicolons included.
    pub declarations: Vec<Span>,
    /// Index of its module in the list given to the linker; 0 before linking.
    pub module: u32,
}

/// The parameters of a function or of a `.callprototype`.
#[derive(Clone, Debug, Default)]
pub struct Signature {
    /// Return parameters.
    pub returns: Vec<Parameter>,
    /// Parameters.
    pub parameters: Vec<Parameter>,
    /// `.noreturn`.
    pub noreturn: bool,
}

/// A formal parameter.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its name; `_` where a prototype names none.
    pub name: String,
    /// The register that holds it, where it is of the `.reg` space and the function has a body.
    pub register: Option<RegisterId>,
    /// Alignment in bytes: declared, else natural.
    pub align: u32,
    /// Type of an element.
    pub ty: Type,
    /// Whether an element is a vector of `ty`.
    pub vector: Option<Vector>,
    /// Array dimensions, empty for a scalar.
    pub dimensions: Vec<Option<u64>>,
    /// `.ptr`: what the parameter points to.
    pub pointee: Option<Pointee>,
}

impl Parameter {
    /// Size in bytes; 0 for an unsized array (variable arguments).
    pub fn size(&self) -> u64 {
        size_of_elements(self.ty, self.vector, &self.dimensions)
    }
}

/// The `.ptr` attribute of a kernel parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointee {
    /// The state space; generic if `None`.
    pub space: Option<Space>,
    /// The alignment in bytes.
    pub align: u32,
}

/// Performance directives of a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchBounds {
    /// `.maxntid`, unnamed dimensions 1.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`, unnamed dimensions 1.
    pub required_threads: Option<[u32; 3]>,
    /// `.minnctapersm`.
    pub min_blocks: Option<u32>,
    /// `.maxnreg`.
    pub max_registers: Option<u32>,
}

/// The code of a function and what it declares.
#[derive(Clone, Debug, Default)]
pub struct Body {
    /// Registers, of every scope, ranges expanded.
    pub registers: Vec<Register>,
    /// `.local` variables, and `.param` variables of call scopes.
    pub variables: Vec<Variable>,
    /// Labels.
    pub labels: Vec<Label>,
    /// `.callprototype` directives.
    pub prototypes: Vec<Signature>,
    /// `.calltargets` directives.
    pub call_targets: Vec<Vec<FunctionId>>,
    /// `.branchtargets` directives.
    pub branch_targets: Vec<Vec<LabelId>>,
    /// Source locations.
    pub locations: Vec<Location>,
    /// The instructions, in order of the text. Running past the last one returns.
    pub instructions: Vec<Instruction>,
}

/// A register.
#[derive(Clone, Debug)]
pub struct Register {
    /// Its name, e.g. `%r1`; several registers of different scopes may share one.
    pub name: String,
    /// Type of the register, or of its components.
    pub ty: Type,
    /// Whether it is a vector of `ty`.
    pub vector: Option<Vector>,
}

/// A label.
#[derive(Clone, Debug)]
pub struct Label {
    /// Its name.
    pub name: String,
    /// Index of the instruction it stands before; the number of instructions if it stands at the end.
    pub target: u32,
}

/// A `.loc` directive: the source of the instructions after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// [`File::index`] of the file.
    pub file: u32,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 if unknown.
    pub column: u32,
    /// `inlined_at`: where the inlined call stands.
    pub inlined_at: Option<LocationId>,
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// `@p` or `@!p`.
    pub guard: Option<Guard>,
    /// What it does.
    pub opcode: Opcode,
    /// How.
    pub modifiers: Modifiers,
    /// Operands in order of the text, destination first. `call` has one, [`Operand::Call`].
    pub operands: Vec<Operand>,
    /// Where it stands, guard and semicolon included.
    pub span: Span,
    /// Its source.
    pub location: Option<LocationId>,
}

/// The predicate under which an instruction executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The predicate register.
    pub register: RegisterId,
    /// `@!p`: executes when the predicate is false.
    pub negated: bool,
}

/// An operand.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// `%r`
    Register(RegisterId),
    /// `!%p`, also `-%r` of `vmad`.
    Negated(RegisterId),
    /// `%v.x`
    Component(RegisterId, Component),
    /// `%r.b0`, of a video instruction.
    Selected(RegisterId, Selector),
    /// `%p|%q`; each a register or a sink (`None`).
    Pair(Option<RegisterId>, Option<RegisterId>),
    /// `_`: the result is dropped.
    Sink,
    /// `%tid.x`
    Special(SpecialRegister),
    /// An integer, two's complement.
    Integer(u64),
    /// A float.
    Float(Float),
    /// The address of a symbol, plus an offset in bytes.
    Symbol(Symbol, i64),
    /// `[...]`
    Address(Address),
    /// `{a, b}`
    Vector(Vec<Operand>),
    /// The target of `bra`.
    Label(LabelId),
    /// The targets of `brx.idx`.
    BranchTargets(BranchTargetsId),
    /// All of `call`.
    Call(Box<Call>),
}

/// A memory operand: base plus offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// To what the offset is added.
    pub base: Base,
    /// In bytes.
    pub offset: i64,
}

/// What a memory operand starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// A register's value.
    Register(RegisterId),
    /// A symbol's address.
    Symbol(Symbol),
    /// Zero.
    Absolute,
}

/// A call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Where results go: `.param` variables, registers, or sinks.
    pub returns: Vec<Operand>,
    /// Who is called.
    pub callee: Callee,
    /// Arguments: `.param` variables, registers or immediates.
    pub arguments: Vec<Operand>,
}

/// Who is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callee {
    /// A function by name.
    Direct(FunctionId),
    /// The function whose address a register holds, as a prototype describes it.
    Indirect(RegisterId, PrototypeId),
    /// The function whose address a register holds, one of those listed.
    OneOf(RegisterId, CallTargetsId),
}
