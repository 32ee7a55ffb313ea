//! C libraries without a safe interface. `unsafe` code is allowed nowhere else in this crate.

pub mod c_callers;
mod compiled;
pub mod evbuffer;
pub mod library;
pub mod liburing;
pub mod uv;
