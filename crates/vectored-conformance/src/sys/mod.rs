//! Signals, and reads into uninitialised memory. `unsafe` code is allowed nowhere else in this crate.

pub mod signals;
pub(crate) mod uninit;
