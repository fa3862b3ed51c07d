//! The shell of every entry point: no panic gets out, an error is reported once, and the caller gets the value that means
//! failure.

use std::any::Any;
use std::ffi::{c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use super::host;
use crate::error::{Error, Result};
use crate::openacc::property::Value;

/// A type that entry points return.
pub trait Answer: Sized {
    /// Tells the user of an error, unless that has been done, and gives the value that tells libgomp of a failure.
    fn failure(error: &Error) -> Self;
}

macro_rules! answer {
    ($($type:ty => $value:expr;)*) => {
        $(impl Answer for $type {
            fn failure(error: &Error) -> Self {
                if !error.is_quiet() {
                    host::error(&error.to_string());
                }
                if error.is_fault() {
                    host::fault_is_told();
                }
                $value
            }
        })*
    };
}

answer! {
    bool => false;
    c_int => -1;
    isize => 0;
    *mut c_void => ptr::null_mut();
    *const c_char => ptr::null();
    Value => Value::NONE;
}

/// An entry point that returns nothing cannot tell of a failure, so the program ends.
impl Answer for () {
    fn failure(error: &Error) {
        if *error == Error::Lost {
            host::await_fault_told();
        }
        host::fatal(&error.to_string());
    }
}

/// Runs the body of the entry point `name`.
pub fn guard<T: Answer>(name: &str, body: impl FnOnce() -> Result<T>) -> T {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(value)) => value,
        Ok(Err(error)) => {
            if error == Error::ShuttingDown {
                host::await_end();
            }
            T::failure(&error)
        }
        Err(panic) => T::failure(&Error::Argument(format!("{name}: internal error: {}", text_of(&*panic)))),
    }
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    let literal = panic.downcast_ref::<&str>().copied();
    literal.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("panic")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_gives_the_value_that_means_failure() {
        assert!(!guard::<bool>("f", || Err(Error::Lost)));
        assert_eq!(guard::<c_int>("f", || Err(Error::Lost)), -1);
        assert!(guard::<*mut c_void>("f", || Err(Error::ShuttingDown)).is_null());
        assert!(guard::<bool>("f", || Ok(true)));
    }

    #[test]
    fn a_panic_does_not_get_out() {
        assert!(!guard::<bool>("f", || panic!("on purpose")));
        assert_eq!(text_of(&"literal"), "literal");
        assert_eq!(text_of(&String::from("made")), "made");
        assert_eq!(text_of(&7), "panic");
    }
}
