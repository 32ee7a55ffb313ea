//! Functions that write all segments of a list.

pub(crate) mod all;
// The flags of pwritev2(2), and a sync in their place.
#[cfg(unix)]
pub(crate) mod flags;
pub(crate) mod once;
pub(crate) mod positional;
