//! Formatting of numbers, sizes and names, and escaping.

pub mod format;
