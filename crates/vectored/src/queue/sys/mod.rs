//! The parts of a queue that need `unsafe` code.

#[cfg(feature = "bytes")]
mod buf_mut;
mod kept;

pub(in crate::queue) use kept::Kept;
