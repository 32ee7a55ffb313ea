//! A sink of items that are written as frames.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_sink::Sink;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::encoder::QueueEncoder;
use vectored::SegmentQueue;

/// A `Sink` that encodes items into a [`SegmentQueue`] and writes them by as few calls as possible.
///
/// `tokio_util::codec::FramedWrite` writes and flushes whenever it holds 8 KiB. A `FramedQueue` in its place takes items until
/// the queue [is full](SegmentQueue::is_full), and writes when it is flushed, closed or full. A full queue is written only
/// until it is no longer full, without a flush of the writer.
///
/// So flush the sink when there is nothing more to send for now. `send` flushes after each item. `send_all` and `forward` flush
/// when their stream has no item ready. Before a flush, the queue may hold up to
/// [`limit_bytes`](vectored::queue::QueuePolicy::limit_bytes) bytes and one more item.
///
/// If the writer fails, the method that called the writer returns the error, and the queue holds the bytes that the writer has
/// not taken. A cancelled flush or close loses and repeats no byte. A cancelled `send` or `feed` has put in its whole item or
/// nothing.
///
/// `tokio_util::codec::FramedRead` reads frames. A `FramedQueue` passes reads on to its writer. So a `FramedRead` around a
/// `FramedQueue` around a socket is both the stream and the sink, as `tokio_util::codec::Framed` is.
///
/// # Examples
///
/// ```
/// use bytes::Bytes;
/// use futures_util::{SinkExt, StreamExt};
/// use tokio_util::codec::{FramedRead, LengthDelimitedCodec};
/// use vectored_codec::{FramedQueue, LengthDelimitedEncoder};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let (client, server) = tokio::io::duplex(4096);
/// let mut frames = FramedQueue::new(client, LengthDelimitedEncoder::new());
/// for _ in 0..100 {
///     frames.feed(Bytes::from_static(b"a frame")).await?;
/// }
/// frames.flush().await?; // one call
///
/// let mut received = FramedRead::new(server, LengthDelimitedCodec::new());
/// for _ in 0..100 {
///     let frame = received.next().await.expect("a frame")?;
///     assert_eq!(frame, "a frame");
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct FramedQueue<W, E> {
    writer: W,
    encoder: E,
    queue: SegmentQueue,
}

impl<W, E> FramedQueue<W, E> {
    /// A sink with an empty queue of the default policy.
    #[must_use]
    pub const fn new(writer: W, encoder: E) -> FramedQueue<W, E> {
        FramedQueue::with_queue(writer, encoder, SegmentQueue::new())
    }

    /// A sink that begins with the bytes of `queue`, and has the policy of `queue`.
    #[must_use]
    pub const fn with_queue(writer: W, encoder: E, queue: SegmentQueue) -> FramedQueue<W, E> {
        FramedQueue {
            writer,
            encoder,
            queue,
        }
    }

    /// The writer.
    #[must_use]
    pub fn get_ref(&self) -> &W {
        &self.writer
    }

    /// The writer. Bytes written to the writer directly come before the bytes in the queue, and maybe inside a frame.
    #[must_use]
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.writer
    }

    /// The encoder.
    #[must_use]
    pub fn encoder(&self) -> &E {
        &self.encoder
    }

    /// The encoder.
    #[must_use]
    pub fn encoder_mut(&mut self) -> &mut E {
        &mut self.encoder
    }

    /// The queue of the encoded items.
    #[must_use]
    pub fn queue(&self) -> &SegmentQueue {
        &self.queue
    }

    /// The queue of the encoded items. Bytes put in here come after the items.
    #[must_use]
    pub fn queue_mut(&mut self) -> &mut SegmentQueue {
        &mut self.queue
    }

    /// The writer, the encoder, and the queue with the bytes that were not written.
    #[must_use]
    pub fn into_parts(self) -> (W, E, SegmentQueue) {
        (self.writer, self.encoder, self.queue)
    }
}

/// The encoder is never pinned.
impl<W: Unpin, E> Unpin for FramedQueue<W, E> {}

impl<Item, W, E> Sink<Item> for FramedQueue<W, E>
where
    W: AsyncWrite + Unpin,
    E: QueueEncoder<Item>,
{
    type Error = E::Error;

    fn poll_ready(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), E::Error>> {
        let this = self.get_mut();
        // An empty queue takes an item, whatever its limit.
        let most_left = this.queue.policy().limit_bytes.saturating_sub(1);
        let written = this
            .queue
            .poll_write_down_to(cx, &mut this.writer, most_left);
        written.map_err(E::Error::from)
    }

    fn start_send(self: Pin<&mut Self>, item: Item) -> Result<(), E::Error> {
        let this = self.get_mut();
        this.encoder.encode(item, &mut this.queue)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), E::Error>> {
        let this = self.get_mut();
        ready!(this.queue.poll_write_to(cx, &mut this.writer))?;
        Pin::new(&mut this.writer)
            .poll_flush(cx)
            .map_err(E::Error::from)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), E::Error>> {
        ready!(Sink::<Item>::poll_flush(self.as_mut(), cx))?;
        Pin::new(&mut self.writer)
            .poll_shutdown(cx)
            .map_err(E::Error::from)
    }
}

/// Reads from the writer, for a `FramedRead` around the sink.
impl<W: AsyncRead + Unpin, E> AsyncRead for FramedQueue<W, E> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_read(cx, buf)
    }
}
