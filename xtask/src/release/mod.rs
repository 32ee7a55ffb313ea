//! The checks of a release, and its notes.

pub mod deny;
pub mod msrv;
pub mod notes;
pub mod publish;
