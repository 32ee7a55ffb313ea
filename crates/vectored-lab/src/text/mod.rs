//! Texts of numbers, sizes and names, and their escaping: below everything that words a report.

pub mod format;
