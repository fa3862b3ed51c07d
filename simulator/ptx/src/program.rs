//! The result of linking.

use crate::ast::{File, Function, Variable};

/// Linked modules: every symbol of every body and initialiser is an index into these lists.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Functions. Those without a body are the driver's own: `vprintf`, `malloc`, `free`, `__assertfail`.
    pub functions: Vec<Function>,
    /// Variables of the global, constant, shared and local spaces; each thread has its own of the last.
    pub variables: Vec<Variable>,
    /// The file table of each module, by [`Function::module`].
    pub files: Vec<Vec<File>>,
}
