//! The encoder, which puts an item into a queue as a frame.

use std::io;

use bytes::BytesMut;
use tokio_util::codec::Encoder;

use vectored::SegmentQueue;

/// Puts items into a [`SegmentQueue`] as frames, for a [`FramedQueue`](crate::FramedQueue).
///
/// `tokio_util::codec::Encoder` does the same with a `BytesMut`. An encoder copies headers
/// ([`put_slice`](SegmentQueue::put_slice), or the methods of `bytes::BufMut`) and passes bodies on by
/// [`push`](SegmentQueue::push), which copies only short bodies.
///
/// # Implementer notes
///
/// If an encoder fails, it fails before it puts anything in: otherwise half a frame would be sent. An encoder does not write
/// the queue to a descriptor.
///
/// # Examples
///
/// The bulk strings of the Redis protocol:
///
/// ```
/// use std::io::{self, Write};
///
/// use bytes::Bytes;
/// use vectored::SegmentQueue;
/// use vectored_codec::QueueEncoder;
///
/// struct BulkStrings;
///
/// impl QueueEncoder<Bytes> for BulkStrings {
///     type Error = io::Error;
///
///     fn encode(&mut self, value: Bytes, queue: &mut SegmentQueue) -> io::Result<()> {
///         write!(queue, "${}\r\n", value.len())?;
///         queue.push(value);
///         queue.put_slice(b"\r\n");
///         Ok(())
///     }
/// }
///
/// # fn main() -> io::Result<()> {
/// let mut queue = SegmentQueue::new();
/// BulkStrings.encode(Bytes::from_static(b"hello"), &mut queue)?;
/// let segments: Vec<&[u8]> = queue.segments().collect();
/// assert_eq!(segments.concat(), b"$5\r\nhello\r\n");
/// # Ok(())
/// # }
/// ```
pub trait QueueEncoder<Item> {
    /// Why an item has no frame, or why the writer failed.
    type Error: From<io::Error>;

    /// Appends the frame of `item` to `queue`.
    ///
    /// # Errors
    ///
    /// If the item has no frame, for example because it is too long. Nothing is appended then.
    fn encode(&mut self, item: Item, queue: &mut SegmentQueue) -> Result<(), Self::Error>;
}

/// Any `tokio_util::codec::Encoder` as a [`QueueEncoder`].
///
/// The encoder gets an empty `BytesMut` for each item. A short frame is copied from there into the queue, and a long frame
/// is moved. So the encoder copies each body at least once. A [`QueueEncoder`] of your own need not copy long bodies.
///
/// # Examples
///
/// ```
/// use tokio_util::codec::LinesCodec;
/// use vectored::SegmentQueue;
/// use vectored_codec::{QueueEncoder, TokioEncoder};
///
/// let mut queue = SegmentQueue::new();
/// let mut lines = TokioEncoder::new(LinesCodec::new());
/// lines.encode("hello", &mut queue).unwrap();
/// assert_eq!(queue.segments().next(), Some(&b"hello\n"[..]));
/// ```
#[derive(Debug)]
pub struct TokioEncoder<E> {
    encoder: E,
    frame: BytesMut,
}

impl<E> TokioEncoder<E> {
    /// Encodes by `encoder`.
    #[must_use]
    pub fn new(encoder: E) -> TokioEncoder<E> {
        TokioEncoder {
            encoder,
            frame: BytesMut::new(),
        }
    }

    /// The encoder.
    #[must_use]
    pub fn into_inner(self) -> E {
        self.encoder
    }
}

impl<Item, E: Encoder<Item>> QueueEncoder<Item> for TokioEncoder<E> {
    type Error = E::Error;

    fn encode(&mut self, item: Item, queue: &mut SegmentQueue) -> Result<(), E::Error> {
        // An encoder that failed may have left a part of a frame.
        self.frame.clear();
        self.encoder.encode(item, &mut self.frame)?;
        if self.frame.len() <= queue.policy().copy_below_bytes {
            // The memory is used again for the next frame.
            queue.put_slice(&self.frame);
        } else {
            // The queue gets all memory of the frame: after a `split`, the next frames would share that memory for ever.
            queue.push(std::mem::take(&mut self.frame));
        }
        Ok(())
    }
}
