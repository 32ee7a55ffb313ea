//! The parts of a queue that need `unsafe` code.

mod append;
#[cfg(feature = "bytes")]
mod buf_mut;
mod kept;

pub(in crate::queue) use append::append_within;
pub(in crate::queue) use kept::Kept;
