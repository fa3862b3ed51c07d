//! What can go wrong, typed where it matters to the caller or to the user's message.

use std::fmt;

use crate::driver::{CudaError, LoadError};

/// An error on its way to an entry point, which reports it once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// There is no CUDA driver.
    Load(LoadError),
    /// A driver call failed.
    Cuda(CudaError),
    /// The driver is shutting down with the process. Entry points fail without a word.
    ShuttingDown,
    /// A driver call failed in a way that needs more words: what was being done. GCC's tests want the call first in the message.
    Context(String, CudaError),
    /// No such device, or not initialized.
    NoDevice {
        /// The number that libgomp passed.
        ordinal: i32,
    },
    /// The process was forked after the driver was started, which does not work in the child.
    Forked {
        /// The device's number.
        ordinal: usize,
    },
    /// A kernel failed earlier; the device is of no use to this process any more. Already reported.
    Lost,
    /// An offload image that cannot be loaded.
    Image {
        /// Which one, in words.
        image: String,
        /// Why.
        why: String,
    },
    /// The caller passed something impossible.
    Argument(String),
    /// The device has no memory left.
    OutOfMemory {
        /// Bytes asked for.
        requested: usize,
        /// Free and total bytes of the device, where the driver would tell.
        available: Option<(usize, usize)>,
    },
}

/// Result of anything that an entry point calls.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Whether the user has been told already, or need not be.
    pub fn is_quiet(&self) -> bool {
        matches!(self, Error::ShuttingDown | Error::Lost)
    }

    /// Whether a kernel has failed, and the user is to be told.
    pub fn is_fault(&self) -> bool {
        matches!(self, Error::Cuda(error) | Error::Context(_, error) if error.code.is_fault())
    }
}

impl From<CudaError> for Error {
    fn from(error: CudaError) -> Error {
        use crate::driver::Code;
        if error.code == Code::DEINITIALIZED { Error::ShuttingDown } else { Error::Cuda(error) }
    }
}

impl From<LoadError> for Error {
    fn from(error: LoadError) -> Error {
        Error::Load(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Load(error) => write!(f, "{error}"),
            Error::Cuda(error) => write!(f, "{error}"),
            Error::ShuttingDown => write!(f, "the CUDA driver is shutting down"),
            Error::Context(what, error) => write!(f, "{error}: {what}"),
            Error::NoDevice { ordinal } => write!(f, "device {ordinal} does not exist or is not initialized"),
            Error::Forked { ordinal } => write!(
                f,
                "device {ordinal}: the CUDA driver was started before this process was forked, and does not work after a fork"
            ),
            Error::Lost => write!(f, "the device is lost after an earlier failure of a kernel"),
            Error::Image { image, why } => write!(f, "offload image {image}: {why}"),
            Error::Argument(what) => write!(f, "{what}"),
            Error::OutOfMemory { requested, available: Some((free, total)) } => {
                write!(f, "out of device memory: {requested} bytes requested, {free} of {total} bytes free")
            }
            Error::OutOfMemory { requested, available: None } => {
                write!(f, "out of device memory: {requested} bytes requested")
            }
        }
    }
}

impl std::error::Error for Error {}
