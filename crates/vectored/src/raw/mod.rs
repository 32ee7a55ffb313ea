//! Lists of other languages, as arrays of `iovec`.

pub(crate) mod list;
pub(crate) mod list_mut;
mod sys;
