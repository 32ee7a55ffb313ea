//! Signals. `unsafe` code is allowed nowhere else in this crate.

pub mod signals;
