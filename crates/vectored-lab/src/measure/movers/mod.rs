//! The techniques that write, as a program would write them by hand, one idea a
//! file.

mod adaptive;
mod array;
mod copy;
mod each;
mod mmap;
mod stdio;
mod writev;

pub(super) use adaptive::Adaptive;
pub(super) use array::WithArray;
pub(super) use copy::CopyThenWrite;
pub(crate) use each::write_all;
pub(super) use each::{SendMore, WriteEach};
pub(super) use mmap::Mmap;
pub(super) use stdio::Stdio;
pub(super) use writev::{Pwritev2, Writev};
