//! The code of a queue that needs `unsafe`.

mod append;
#[cfg(feature = "bytes")]
mod buf_mut;
mod kept;

pub(in crate::queue) use append::append_within;
pub(in crate::queue) use kept::Kept;
