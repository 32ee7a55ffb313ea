//! Where gathering would help in a program, by the log of its system calls: what `vectored advise` finds.
//!
//! [`advisor`] turns the log into an [`Advisory`](model::Advisory), which [`report`] renders.

pub mod advisor;
pub mod languages;
pub mod model;
pub mod report;
