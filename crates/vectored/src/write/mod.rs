//! Functions that write all segments of a list.

pub(crate) mod all;
#[cfg(unix)]
pub(crate) mod flags;
pub(crate) mod once;
pub(crate) mod positional;
