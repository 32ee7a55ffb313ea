//! Frames in a [`SegmentQueue`](vectored::SegmentQueue), for programs that use `tokio_util::codec`.
//!
//! [`FramedQueue`] takes the place of `FramedWrite`: a `Sink` that puts the frames of many items into a queue, and writes
//! them by few calls. [`LengthDelimitedEncoder`] writes what `LengthDelimitedCodec` reads. For a protocol of your own,
//! implement [`QueueEncoder`], which can reference long bodies. [`TokioEncoder`] makes a `QueueEncoder` of any `Encoder`
//! of tokio-util.
//!
//! The traits in the signatures come from `futures-sink` 0.3 and `tokio-util` 0.7.

mod encoder;
mod framed_queue;
mod length_delimited;

pub use encoder::{QueueEncoder, TokioEncoder};
pub use framed_queue::FramedQueue;
pub use length_delimited::LengthDelimitedEncoder;

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
