//! PTX, the assembly that GCC and clang emit for NVIDIA GPUs and that the CUDA driver compiles: parsing it into a
//! resolved syntax tree, and linking several modules into one program as the driver's JIT linker does.
//!
//! [`parse`] turns the text of one module into an [`ast::Module`]; [`link()`] joins modules into a
//! [`Program`]. Names are resolved while parsing: an operand holds the index of a declaration, never a name.

pub mod ast;
mod error;
mod lexer;
mod link;
mod parse;
mod program;
pub mod types;

pub use error::ParseError;
pub use link::{DRIVER_FUNCTIONS, LinkError, Problem, link};
pub use parse::parse;
pub use program::Program;
