//! Formatting of numbers, sizes and names, escaping, and line breaking.

pub mod format;
pub(crate) mod wrap;
