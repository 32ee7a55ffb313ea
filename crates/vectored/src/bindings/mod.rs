//! For bindings to other languages: lists as arrays of `iovec`, and transfers that end at a signal.

#[cfg(unix)]
pub(crate) mod list;
#[cfg(unix)]
pub(crate) mod list_mut;
#[cfg(unix)]
mod sys;

#[cfg(unix)]
pub use self::list::RawList;
#[cfg(unix)]
pub use self::list_mut::RawListMut;
pub use crate::descriptor::BorrowedDescriptor;
pub use crate::interruption::{CallEnd, interruptible};
