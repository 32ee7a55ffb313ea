//! What `vectored advise` finds: where gathering would help a program. The source is the log of the program's system
//! calls.
//!
//! [`advisor`] turns the log into an [`Advisory`](model::Advisory), which [`report`] renders.
//! Only the command `vectored` uses the public items of this crate; names say what most of them are.

#![allow(missing_docs)]

pub mod advisor;
pub mod languages;
pub mod model;
pub mod report;
