//! The functions that need io_uring, and the asynchronous transfers of the measuring engine.

pub mod in_flight;
pub mod ring_sessions;
pub mod rings;
