//! The C library: building and installing it, and programs of C and C++ that use it as installed.

mod install;
pub mod options;
mod test;

pub use install::install;
pub use test::{test, with_program};
