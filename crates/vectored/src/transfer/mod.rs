//! The loops that all readers and writers share, and the fallback for files that refuse lists.

pub(crate) mod aligned_buffer;
pub(crate) mod message_sockets;
pub(crate) mod read_loop;
pub(crate) mod read_plan;
pub(crate) mod unvectored;
pub(crate) mod write_loop;
