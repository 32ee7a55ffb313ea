//! What has no safe interface; the only place of this crate where `unsafe` may
//! be.

pub(crate) mod mapping;
pub(crate) mod residency;
pub(crate) mod sockets;
pub(crate) mod stdio;
pub(crate) mod usage;
