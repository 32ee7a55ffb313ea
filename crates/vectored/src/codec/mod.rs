//! Frames in a queue, for programs that use `tokio_util::codec`.

pub(crate) mod encoder;
pub(crate) mod framed_queue;
pub(crate) mod length_delimited;
