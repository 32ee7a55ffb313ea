//! What `Ring::wait` returns.

use crate::error::TransferError;
use crate::queue::SegmentQueue;

/// A transfer that has ended, with all that it owned except the descriptor: the descriptor is dropped.
#[derive(Debug)]
#[non_exhaustive]
pub struct Completion<B = Vec<u8>> {
    /// The number that the transfer was submitted with.
    pub token: u64,
    /// The number of bytes that were moved; or the error that ended the transfer, with the number of bytes moved before
    /// the error.
    ///
    /// `submit_read` and `submit_read_at` fill the buffers unless the file ends before; `submit_read_some` moves no byte only
    /// at the end of the file. A write that succeeds has moved all its bytes.
    pub result: Result<u64, TransferError>,
    /// The queue of a write, which holds exactly the bytes that were not written; the buffers of a read.
    pub data: Data<B>,
}

/// The data that a transfer owned until it ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum Data<B = Vec<u8>> {
    /// The queue of a write. Submitting the box again allocates nothing.
    Queue(Box<SegmentQueue>),
    /// The buffers of a read, in their order and with their lengths. The bytes that were read come first, as many as
    /// [`result`](Completion::result) says; the bytes after them are unchanged.
    Buffers(Vec<B>),
}

impl<B> Data<B> {
    /// The data of a transfer before it is submitted and after it has ended.
    pub(super) const NONE: Data<B> = Data::Buffers(Vec::new());

    /// The queue of a write; `None` for a read.
    #[must_use]
    pub fn into_queue(self) -> Option<Box<SegmentQueue>> {
        match self {
            Data::Queue(queue) => Some(queue),
            Data::Buffers(_) => None,
        }
    }

    /// The buffers of a read; `None` for a write.
    #[must_use]
    pub fn into_buffers(self) -> Option<Vec<B>> {
        match self {
            Data::Queue(_) => None,
            Data::Buffers(buffers) => Some(buffers),
        }
    }
}
