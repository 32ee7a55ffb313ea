//! Wrappers of system and C library calls without a safe interface. `unsafe` is
//! allowed only in this module of the crate.

pub(crate) mod mapping;
pub(crate) mod stdio;
