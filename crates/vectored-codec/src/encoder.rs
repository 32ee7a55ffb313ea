//! The encoder, which puts an item into a queue as a frame.

use std::io;

use bytes::BytesMut;
use tokio_util::codec::Encoder;

use vectored::SegmentQueue;

/// Puts items into a [`SegmentQueue`] as frames, for a [`FramedQueue`](crate::FramedQueue).
///
/// It is to a queue what `tokio_util::codec::Encoder` is to a `BytesMut`. An encoder copies headers
/// ([`put_slice`](SegmentQueue::put_slice), or the methods of `bytes::BufMut`) and passes bodies on
/// ([`push`](SegmentQueue::push)), which are copied only if they are short.
///
/// # Implementer notes
///
/// An encoder that can fail does so before it puts anything in, since the bytes of half a frame would be sent. It does
/// not write the queue.
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
/// The encoder gets an empty `BytesMut` for each item. A short frame is copied from it into the queue, and a long frame is
/// moved. So bodies are copied at least once, by the encoder. An encoder for queues never copies long bodies.
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
            // The frame goes with all its memory, which a `split` would share with the next frame for ever.
            queue.push(std::mem::take(&mut self.frame));
        }
        Ok(())
    }
}
