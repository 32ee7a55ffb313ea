//! What is read: files and streams that are filled here.

mod feed_thread;
mod read_source;

pub(crate) use feed_thread::FeedThreadSource;
pub use read_source::check_eviction;
pub(crate) use read_source::{FileSource, PatternFile, StreamSource};
