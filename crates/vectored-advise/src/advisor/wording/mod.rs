//! Patterns and remedies in words, in the language of the program.

pub mod remedies;
pub mod sentences;
