//! What needs the C library itself: signals. The only part in which `unsafe` code is allowed.

pub mod signals;
