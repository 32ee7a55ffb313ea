//! What depends on the platform: the limits of a call, and the calls.
//!
//! The only part of the crate in which `unsafe` code is allowed.

pub(crate) mod call;
pub(crate) mod copy;
#[cfg(test)]
mod copy_tests;
pub(crate) mod limits;
pub(crate) mod look;
pub(crate) mod merged;
pub(crate) mod room;
pub(crate) mod staged;
pub(crate) mod uninit;
