//! For bindings to other languages: lists as arrays of `iovec`, and transfers that a signal ends.

#[cfg(unix)]
pub(crate) mod list;
#[cfg(unix)]
mod sys;

#[cfg(unix)]
pub use self::list::{RawList, RawListMut};
pub use crate::descriptor::BorrowedDescriptor;
pub use crate::interruption::{CallEnd, interruptible};
