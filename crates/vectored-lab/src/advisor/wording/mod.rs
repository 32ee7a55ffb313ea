//! Patterns and remedies in words, in the language of the program.

pub mod remedies;
pub(crate) mod runtime;
pub mod words;
