//! A transfer that has ended, as `Ring::wait` returns it.

use crate::error::TransferError;
use crate::queue::SegmentQueue;

/// A transfer that has ended, with all that it owned but the descriptor, which is dropped.
#[derive(Debug)]
#[non_exhaustive]
pub struct Completion<B = Vec<u8>> {
    /// The number that the transfer was submitted with.
    pub token: u64,
    /// The bytes that were moved, or the error that ended the transfer, with the bytes before it.
    ///
    /// A read of `submit_read` or `submit_read_at` that moved fewer bytes than its buffers hold has come to the end of the
    /// file; one of `submit_read_some`, if it moved none. A write that succeeds has moved all its bytes.
    pub result: Result<u64, TransferError>,
    /// The queue of a write, which holds exactly the bytes that were not written; the buffers of a read.
    pub data: Data<B>,
}

/// The data that a transfer owned until it ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum Data<B = Vec<u8>> {
    /// The queue of a write. Its box can be filled and submitted again, which moves a pointer and allocates nothing.
    Queue(Box<SegmentQueue>),
    /// The buffers of a read, in their order, as long as they were. The first bytes of them, as many as
    /// [`result`](Completion::result) counts, were read; the others are as they were.
    Buffers(Vec<B>),
}

impl<B> Data<B> {
    /// The data of a transfer that is over.
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
