//! The ways in which an asynchronous server can send records. A record has a head, a value that the server keeps, and a tail.

use std::future::Future;
use std::io::{self, IoSlice};

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncWriteExt, BufWriter};
use tokio::net::TcpStream;
use vectored::SegmentQueue;
use vectored::queue::QueuePolicy;

use crate::programs::harness::{Client, Harness};
use crate::programs::list::List;
use crate::programs::session::Session;

/// A way to send records.
#[derive(Clone, Copy, Debug)]
pub enum Way {
    /// One `BytesMut`, and `write_all` when the request is answered.
    OneBuffer,
    /// `tokio::io::BufWriter` with this many bytes.
    BufWriter(usize),
    /// A list of slices, and `write_vectored` until all is written.
    WriteVectored,
    /// A [`SegmentQueue`] with this policy.
    Queue(QueuePolicy),
}

/// A destination of the records of a server.
pub trait Sink {
    /// The connection, to read requests from.
    fn stream(&mut self) -> &mut TcpStream;

    /// Sends a record, now or later.
    fn record(
        &mut self,
        head: &[u8],
        value: &Bytes,
        tail: &'static [u8],
    ) -> impl Future<Output = io::Result<()>>;

    /// Sends all records.
    fn flush(&mut self) -> impl Future<Output = io::Result<()>>;
}

/// A server that sends records.
pub trait Server: Clone + 'static {
    /// Answers requests until the client closes the connection.
    fn serve<S: Sink>(self, sink: S) -> impl Future<Output = io::Result<()>>;
}

impl Way {
    /// A session of `server` that sends this way.
    pub fn session(
        self,
        harness: &Harness,
        server: impl Server,
        client: impl FnOnce(Vec<std::net::TcpStream>) -> Box<dyn Client>,
    ) -> io::Result<Box<dyn Session>> {
        harness.session(move |stream| self.serve(server.clone(), stream), client)
    }

    async fn serve(self, server: impl Server, stream: TcpStream) -> io::Result<()> {
        match self {
            Way::OneBuffer => {
                let buffer = BytesMut::new();
                server.serve(OneBuffer { stream, buffer }).await
            }
            Way::BufWriter(bytes) => server.serve(BufWriter::with_capacity(bytes, stream)).await,
            Way::WriteVectored => {
                let list = List::default();
                server.serve(WriteVectored { stream, list }).await
            }
            Way::Queue(policy) => {
                let queue = SegmentQueue::with_policy(policy);
                server.serve(Queue { stream, queue }).await
            }
        }
    }
}

struct OneBuffer {
    stream: TcpStream,
    buffer: BytesMut,
}

impl Sink for OneBuffer {
    fn stream(&mut self) -> &mut TcpStream {
        &mut self.stream
    }

    async fn record(&mut self, head: &[u8], value: &Bytes, tail: &'static [u8]) -> io::Result<()> {
        self.buffer.extend_from_slice(head);
        self.buffer.extend_from_slice(value);
        self.buffer.extend_from_slice(tail);
        Ok(())
    }

    async fn flush(&mut self) -> io::Result<()> {
        self.stream.write_all(&self.buffer).await?;
        self.buffer.clear();
        Ok(())
    }
}

impl Sink for BufWriter<TcpStream> {
    fn stream(&mut self) -> &mut TcpStream {
        self.get_mut()
    }

    async fn record(&mut self, head: &[u8], value: &Bytes, tail: &'static [u8]) -> io::Result<()> {
        self.write_all(head).await?;
        self.write_all(value).await?;
        self.write_all(tail).await
    }

    async fn flush(&mut self) -> io::Result<()> {
        AsyncWriteExt::flush(self).await
    }
}

struct WriteVectored {
    stream: TcpStream,
    list: List,
}

impl Sink for WriteVectored {
    fn stream(&mut self) -> &mut TcpStream {
        &mut self.stream
    }

    async fn record(&mut self, head: &[u8], value: &Bytes, tail: &'static [u8]) -> io::Result<()> {
        self.list.copy(head);
        self.list.keep(value);
        self.list.copy(tail);
        Ok(())
    }

    async fn flush(&mut self) -> io::Result<()> {
        loop {
            let slices: Vec<IoSlice<'_>> = self.list.slices();
            if slices.is_empty() {
                return Ok(());
            }
            let bytes = self.stream.write_vectored(&slices).await?;
            self.list.advance(bytes)?;
        }
    }
}

struct Queue {
    stream: TcpStream,
    queue: SegmentQueue,
}

impl Sink for Queue {
    fn stream(&mut self) -> &mut TcpStream {
        &mut self.stream
    }

    async fn record(&mut self, head: &[u8], value: &Bytes, tail: &'static [u8]) -> io::Result<()> {
        self.queue.put_slice(head);
        self.queue.push_shared(value);
        self.queue.put_slice(tail);
        if self.queue.is_full() {
            self.flush().await?;
        }
        Ok(())
    }

    async fn flush(&mut self) -> io::Result<()> {
        self.queue.drain_to(&mut self.stream).await
    }
}
