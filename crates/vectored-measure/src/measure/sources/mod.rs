//! What is read: files and streams that are filled here.

pub(crate) mod feed_thread;
pub(crate) mod read_source;
