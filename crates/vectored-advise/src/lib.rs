//! Where gathering would help in a program, by the log of its system calls: what `vectored advise` finds.
//!
//! [`advisor`] turns the log into an [`Advisory`](model::Advisory), which [`report`] renders.
//! The public items of this crate are for the program alone; names say what most of them are.

#![allow(missing_docs)]

pub mod advisor;
pub mod languages;
pub mod model;
pub mod report;
