//! Writes a queue to an asynchronous writer.

use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::AsyncWrite;

use crate::queue::SegmentQueue;
use crate::queue::call::with_slices;
use crate::queue::write::checked;
use crate::sys::limits::Limits;
use crate::sys::limits::MAX_CALL_BYTES;

thread_local! {
    static JOINED: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

impl SegmentQueue {
    /// Calls the writer once and removes the bytes that the writer took. Returns the number of bytes, which is 0 only
    /// if the queue is empty.
    ///
    /// With feature `tokio`. A writer that gathers ([`is_write_vectored`](tokio::io::AsyncWrite::is_write_vectored))
    /// gets a list. Any other writer, for example the TLS stream of tokio-native-tls, gets one slice. Segments are
    /// copied together up to [`join_below_bytes`](crate::queue::QueuePolicy::join_below_bytes), so that the writer does
    /// not make a record of each segment.
    ///
    /// After `Pending`, the next call starts with the same bytes and has no fewer bytes, as OpenSSL requires. This
    /// guarantee ends if bytes are removed from the queue, for example by [`advance`](SegmentQueue::advance) or
    /// [`write_some`](SegmentQueue::write_some). Putting in segments does not end the guarantee.
    ///
    /// # Errors
    ///
    /// The error of the writer, also [`Interrupted`](io::ErrorKind::Interrupted);
    /// [`WriteZero`](io::ErrorKind::WriteZero) if the writer took no byte; [`InvalidData`](io::ErrorKind::InvalidData)
    /// if the writer reports more bytes than the queue passed. After an error, no byte is removed from the queue.
    pub fn poll_write_some<W: AsyncWrite + ?Sized>(
        &mut self,
        cx: &mut Context<'_>,
        io: Pin<&mut W>,
    ) -> Poll<io::Result<usize>> {
        if self.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let (given, polled) = match (io.is_write_vectored(), self.only_copied()) {
            (true, Some(copied)) => {
                let most = self.wanted_bytes().min(MAX_CALL_BYTES);
                let bytes = self.end_at_record(most);
                (bytes, io.poll_write(cx, &copied[..bytes]))
            }
            (true, None) => with_slices(|slices| {
                let given = self.fill(Limits::default(), slices).bytes;
                let polled = match &slices[..] {
                    [one] => io.poll_write(cx, one),
                    slices => io.poll_write_vectored(cx, slices),
                };
                (given, polled)
            }),
            (false, _) => self.with_joined(|bytes| (bytes.len(), io.poll_write(cx, bytes))),
        };
        if polled.is_pending() {
            self.offered_bytes = given;
        }
        let taken = checked(ready!(polled)?, given)?;
        self.advance(taken);
        self.offered_bytes = 0;
        Poll::Ready(Ok(taken))
    }

    /// Writes all bytes. Does not flush the writer.
    ///
    /// With feature `tokio`. After [`poll_budget_bytes`](crate::queue::QueuePolicy::poll_budget_bytes), the method
    /// wakes the task and returns `Pending`, so that other tasks can run even if the writer is always ready.
    ///
    /// # Errors
    ///
    /// The errors of [`poll_write_some`](SegmentQueue::poll_write_some). After an error, the queue holds the bytes that
    /// the writer has not taken. `tokio::fs::File`, `BufWriter` and TLS streams take bytes before they write the bytes.
    /// After an error, these writers may lose the bytes taken.
    pub fn poll_write_to<W: AsyncWrite + Unpin + ?Sized>(
        &mut self,
        cx: &mut Context<'_>,
        io: &mut W,
    ) -> Poll<io::Result<()>> {
        self.poll_write_down_to(cx, io, 0)
    }

    /// Writes like [`poll_write_to`](SegmentQueue::poll_write_to) until the queue holds at most `most_left` bytes.
    /// Sinks use this method.
    pub fn poll_write_down_to<W: AsyncWrite + Unpin + ?Sized>(
        &mut self,
        cx: &mut Context<'_>,
        io: &mut W,
        most_left: usize,
    ) -> Poll<io::Result<()>> {
        let mut written = 0;
        while self.len() > most_left {
            if written >= self.policy.poll_budget_bytes.max(1) {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            written += ready!(self.poll_write_some(cx, Pin::new(io)))?;
        }
        Poll::Ready(Ok(()))
    }

    /// Writes all bytes, then flushes the writer.
    ///
    /// With feature `tokio`. The future can be cancelled, for example by `tokio::select!`. After a cancellation, the
    /// queue holds the bytes that were not written. More bytes can be put in, and a later call continues.
    ///
    /// # Examples
    ///
    /// A task takes messages even if the socket is full. One call sends all messages that have arrived:
    ///
    /// ```
    /// use tokio::io::AsyncWrite;
    /// use tokio::sync::mpsc::Receiver;
    /// use vectored::SegmentQueue;
    ///
    /// async fn send_all(
    ///     mut socket: impl AsyncWrite + Unpin,
    ///     mut messages: Receiver<Vec<u8>>,
    /// ) -> std::io::Result<()> {
    ///     let mut queue = SegmentQueue::new();
    ///     loop {
    ///         tokio::select! {
    ///             biased; // messages first
    ///             message = messages.recv(), if !queue.is_full() => match message {
    ///                 Some(message) => queue.push(message),
    ///                 None => break,
    ///             },
    ///             sent = queue.drain_to(&mut socket), if !queue.is_empty() => sent?,
    ///         }
    ///     }
    ///     queue.drain_to(&mut socket).await
    /// }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// # let (sender, receiver) = tokio::sync::mpsc::channel(10);
    /// # for message in ["one ", "two"] {
    /// #     sender.send(message.into()).await.expect("there is room");
    /// # }
    /// # drop(sender);
    /// # let mut received = Vec::new();
    /// # send_all(&mut received, receiver).await?;
    /// # assert_eq!(received, b"one two");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn drain_to<W: AsyncWrite + Unpin + ?Sized>(&mut self, io: &mut W) -> io::Result<()> {
        poll_fn(|cx| self.poll_write_to(cx, io)).await?;
        poll_fn(|cx| Pin::new(&mut *io).poll_flush(cx)).await
    }

    /// Passes the next bytes to `call` in one slice. The bytes of several segments are copied together.
    fn with_joined<R>(&self, call: impl FnOnce(&[u8]) -> R) -> R {
        let head = self.segments().next().unwrap_or_default();
        let bytes = self.joined_bytes(head.len());
        if bytes <= head.len() {
            return call(&head[..bytes]);
        }
        // In a destructor of another thread-local variable, `JOINED` may already be destroyed. The buffer is then new.
        let mut joined = JOINED.try_with(Cell::take).unwrap_or_default();
        joined.clear();
        joined.reserve(bytes);
        for segment in self.segments() {
            let here = segment.len().min(bytes - joined.len());
            joined.extend_from_slice(&segment[..here]);
            if joined.len() == bytes {
                break;
            }
        }
        let result = call(&joined);
        // The buffer is freed and not shrunk: `free_beyond` of the queue gives the reason.
        if joined.capacity() > self.policy.retained_bytes {
            joined = Vec::new();
        }
        let _gone = JOINED.try_with(|kept| kept.set(joined));
        result
    }

    /// Returns the size of the next slice for a writer that does not gather.
    ///
    /// The longest of three lengths limits the size: the first segment, `join_below_bytes`, and a record that begins
    /// here. If the writer has cut a record, the length of the record is ignored. Without this rule, each call would
    /// copy the whole rest again.
    fn joined_bytes(&self, head_bytes: usize) -> usize {
        let record_bytes = self.record_ends.whole_at(self.written).unwrap_or(0);
        let worth_joining = self.policy.join_below_bytes.max(head_bytes);
        let most = worth_joining.max(record_bytes).min(MAX_CALL_BYTES);
        let bytes = self.end_at_record(self.wanted_bytes().min(most));
        bytes.max(self.offered_bytes)
    }
}

#[cfg(test)]
pub(super) fn joined_capacity() -> usize {
    let joined = JOINED.take();
    let capacity = joined.capacity();
    JOINED.set(joined);
    capacity
}
