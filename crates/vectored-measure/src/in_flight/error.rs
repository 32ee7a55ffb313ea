//! Which list failed, how far it got, and why.

use std::error::Error;
use std::fmt;
use std::io;

/// The error that ended a list early.
///
/// It converts into an [`io::Error`] of the same kind and with the same message.
#[derive(Debug)]
pub struct ListError {
    list: u64,
    transferred: u64,
    bytes: u64,
    error: io::Error,
}

impl ListError {
    pub(super) fn new(list: u64, transferred: u64, bytes: u64, error: io::Error) -> ListError {
        ListError {
            list,
            transferred,
            bytes,
            error,
        }
    }

    /// The number of the list, from 0 on. All lists before it were moved whole.
    #[must_use]
    pub fn list(&self) -> u64 {
        self.list
    }

    /// The bytes of the list that were moved: its first ones.
    #[must_use]
    pub fn transferred(&self) -> u64 {
        self.transferred
    }

    /// The error of the kernel, or the reason why the list could not go on, without the counts.
    #[must_use]
    pub fn into_io_error(self) -> io::Error {
        self.error
    }
}

impl fmt::Display for ListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ListError {
            list,
            transferred,
            bytes,
            error,
        } = self;
        write!(
            f,
            "list {list}: after {transferred} of its {bytes} bytes: {error}"
        )
    }
}

impl Error for ListError {}

impl From<ListError> for io::Error {
    fn from(error: ListError) -> io::Error {
        io::Error::new(error.error.kind(), error)
    }
}
