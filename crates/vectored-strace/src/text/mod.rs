//! Numbers and escapes within a line.

pub(crate) mod escapes;
pub(crate) mod hex;
pub(crate) mod numbers;
