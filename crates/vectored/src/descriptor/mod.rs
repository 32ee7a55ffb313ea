//! The trait in the signatures of all functions that take a descriptor, on Unix and Windows.
//!
//! A generic function takes `impl AsDescriptor`, calls [`as_descriptor`](AsDescriptor::as_descriptor) once, and
//! passes the [`BorrowedDescriptor`] to functions that are not generic.

pub(crate) mod as_descriptor;
pub(crate) mod borrowed;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

pub use as_descriptor::AsDescriptor;
pub use borrowed::BorrowedDescriptor;
