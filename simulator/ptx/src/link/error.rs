//! Why modules do not link.

use std::fmt;

/// Why modules do not link: every problem found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkError {
    /// The problems, at least one.
    pub problems: Vec<Problem>,
}

/// One reason why modules do not link. Modules are numbered as in the list given to [`crate::link`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Problem {
    /// A name is defined twice.
    MultipleDefinitions {
        /// The name.
        name: String,
        /// The modules of the two definitions.
        modules: [u32; 2],
    },
    /// A name is used and defined nowhere.
    Undefined {
        /// The name.
        name: String,
        /// The function or variable that uses it.
        user: String,
        /// That one's module.
        module: u32,
    },
    /// Two modules disagree about what a name is.
    Mismatch {
        /// The name.
        name: String,
        /// The modules of the definition and of the declaration.
        modules: [u32; 2],
        /// In what they differ.
        difference: String,
    },
    /// An alias stands, by way of other aliases, for itself.
    AliasCycle {
        /// The name.
        name: String,
        /// The module that makes it an alias.
        module: u32,
    },
}

/// The most characters of a name in a problem: who fails in many ways may have a name of megabytes.
const NAME_LIMIT: usize = 256;

/// A name as a problem holds it.
pub(super) fn shown(name: &str) -> String {
    name.chars().take(NAME_LIMIT).collect()
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::MultipleDefinitions { name, modules: [first, second] } => {
                write!(f, "multiple definitions of `{name}`: in module {first} and module {second}")
            }
            Problem::Undefined { name, user, module } => {
                write!(f, "undefined reference to `{name}` in `{user}` (module {module})")
            }
            Problem::Mismatch { name, modules: [definition, declaration], difference } => write!(
                f,
                "`{name}` is declared in module {declaration} unlike its definition in module {definition}: {difference}"
            ),
            Problem::AliasCycle { name, module } => {
                write!(f, "`{name}` (module {module}) is an alias of itself")
            }
        }
    }
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            write!(f, "{}{problem}", if index > 0 { "\n" } else { "" })?;
        }
        Ok(())
    }
}

impl std::error::Error for LinkError {}
