//! A stream that is written as OpenSSL writes TLS.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::AsyncWrite;

/// The longest record of TLS, in bytes.
pub const RECORD_BYTES: usize = 16 << 10;

/// A writer that does not gather, and takes up to [`RECORD_BYTES`] a call. Like OpenSSL, the writer fails after
/// `Pending` unless the next call begins with the same bytes and is no shorter.
///
/// The inner writer is flushed before each write, as OpenSSL sends a record before it takes the next record. So if
/// the inner writer is a TLS stream, each call becomes one record.
#[derive(Debug)]
pub struct Strict<W> {
    inner: W,
    /// The bytes of the last call, if its answer was `Pending`.
    offered: Vec<u8>,
    pendings: usize,
}

impl<W> Strict<W> {
    pub fn new(inner: W) -> Strict<W> {
        Strict {
            inner,
            offered: Vec::new(),
            pendings: 0,
        }
    }

    /// The number of calls that were answered `Pending`.
    pub fn pendings(&self) -> usize {
        self.pendings
    }
}

impl<W: AsyncWrite + Unpin> Strict<W> {
    fn poll_record(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(Pin::new(&mut self.inner).poll_flush(cx))?;
        let record = &bytes[..bytes.len().min(RECORD_BYTES)];
        Pin::new(&mut self.inner).poll_write(cx, record)
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for Strict<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if !bytes.starts_with(&self.offered) {
            return Poll::Ready(Err(io::Error::other("a bad write retry")));
        }
        let polled = self.as_mut().poll_record(cx, bytes);
        self.offered.clear();
        if polled.is_pending() {
            self.offered.extend_from_slice(bytes);
            self.pendings += 1;
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
