//! The functions that need io_uring.

pub mod ring_sessions;
pub mod rings;
