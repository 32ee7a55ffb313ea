//! From a cursor to system calls and back: the loops that every reader and writer shares.

pub(crate) mod aligned_buffer;
pub(crate) mod message_sockets;
pub(crate) mod read_loop;
pub(crate) mod read_plan;
pub(crate) mod unvectored;
pub(crate) mod write_loop;
