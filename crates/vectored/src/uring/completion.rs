//! The result of a finished transfer: [`Completion`].

use crate::error::TransferError;
use crate::queue::SegmentQueue;

/// A transfer that has ended, and the data that the transfer owned. The descriptor is already dropped.
#[derive(Debug)]
#[non_exhaustive]
pub struct Completion<B = Vec<u8>> {
    /// The token that was submitted with the transfer.
    pub token: u64,
    /// The number of bytes moved, or the error that ended the transfer. The error has the number of bytes moved before
    /// the error.
    ///
    /// `submit_read` and `submit_read_at` fill the buffers unless the file ends first. `submit_read_some` returns 0
    /// bytes only at the end of the file. A successful write has moved all bytes.
    pub result: Result<u64, TransferError>,
    /// The queue of a write, or the buffers of a read. The queue holds exactly the bytes that were not written.
    pub data: Data<B>,
}

/// The data of a transfer that has ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum Data<B = Vec<u8>> {
    /// The queue of a write. Submitting the box again allocates nothing.
    Queue(Box<SegmentQueue>),
    /// The buffers of a read, with their order and lengths unchanged. The first bytes are the bytes that were read, and
    /// [`result`](Completion::result) is their number. All other bytes are unchanged.
    Buffers(Vec<B>),
}

impl<B> Data<B> {
    /// The data of a transfer that is not in use.
    pub(super) const NONE: Data<B> = Data::Buffers(Vec::new());

    /// Returns the queue of a write, or `None` for a read.
    #[must_use]
    pub fn into_queue(self) -> Option<Box<SegmentQueue>> {
        match self {
            Data::Queue(queue) => Some(queue),
            Data::Buffers(_) => None,
        }
    }

    /// Returns the buffers of a read, or `None` for a write.
    #[must_use]
    pub fn into_buffers(self) -> Option<Vec<B>> {
        match self {
            Data::Queue(_) => None,
            Data::Buffers(buffers) => Some(buffers),
        }
    }
}
