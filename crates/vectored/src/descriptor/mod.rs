//! The trait in the signatures of all functions that take a descriptor: one surface for Unix and Windows.
//!
//! A generic function takes `impl AsDescriptor` and calls [`as_descriptor`](AsDescriptor::as_descriptor) once; all
//! further code takes the [`BorrowedDescriptor`].

pub(crate) mod as_descriptor;
pub(crate) mod borrowed;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

pub use as_descriptor::AsDescriptor;
pub use borrowed::BorrowedDescriptor;
