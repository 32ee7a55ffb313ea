//! A queue that is written to the sockets and pipes of tokio, by operations that are dropped half-way.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::Poll;

use fastrand::Rng;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::runtime::{Builder, Runtime};
use tokio::task::yield_now;
use vectored::SegmentQueue;

use super::strict::Strict;
use super::{any_policy, any_size, expect_bytes, put};
use crate::host::shrink_pipe;
use crate::model::bytes_lost;
use crate::outcome::Counts;

/// The runtime for [`connection`], of one thread.
pub fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_io().build()
}

/// Makes a connection, and writes a queue by operations that are dropped at random points. Puts more bytes into the
/// queue in between, and compares the bytes at the reader. Sometimes the reader closes before the end.
///
/// Returns the kind of the connection, and the counts.
pub fn connection(rng: &mut Rng, runtime: &Runtime) -> io::Result<(&'static str, Counts)> {
    runtime.block_on(async {
        Ok(match rng.u32(..5) {
            0 => {
                let (writer, reader) = UnixStream::pair()?;
                ("a Unix stream", talk(rng, writer, reader, true).await)
            }
            1 => {
                let listener = TcpListener::bind("127.0.0.1:0").await?;
                let writer = TcpStream::connect(listener.local_addr()?).await?;
                let (reader, _) = listener.accept().await?;
                ("a TCP stream", talk(rng, writer, reader, true).await)
            }
            2 => {
                let (writer, reader) = pipe::pipe()?;
                shrink_pipe(&writer)?;
                ("a pipe", talk(rng, writer, reader, true).await)
            }
            3 => {
                let (writer, reader) = tokio::io::duplex(1 + any_size(rng));
                ("memory", talk(rng, writer, reader, true).await)
            }
            _ => {
                let (inner, reader) = UnixStream::pair()?;
                let writer = Strict::new(inner);
                ("a strict stream", talk(rng, writer, reader, false).await)
            }
        })
    })
}

async fn talk<W, R>(rng: &mut Rng, mut writer: W, reader: R, may_be_buf: bool) -> Counts
where
    W: AsyncWrite + Unpin,
    R: AsyncRead + Unpin + Send + 'static,
{
    let mut counts = Counts::default();
    let mut queue = SegmentQueue::with_policy(any_policy(rng));
    let mut model = Vec::new();
    let breaks_after = match rng.u32(..6) {
        0 => rng.usize(..50_000),
        _ => usize::MAX,
    };
    let received = tokio::spawn(read(reader, breaks_after, Rng::with_seed(rng.u64(..))));
    let steps = rng.usize(1..80);
    for _ in 0..steps {
        let most_polls = rng.u32(1..5);
        let written = match rng.u32(..12) {
            0..6 => {
                let from = model.len();
                let bytes = match rng.u32(..20) {
                    0 => rng.usize(..300_000),
                    _ => any_size(rng),
                };
                model.extend((from..from + bytes).map(|at| (at % 251) as u8 + 1));
                put(&mut queue, &model[from..], rng);
                continue;
            }
            6 => {
                queue.end_record();
                continue;
            }
            7 => {
                yield_now().await;
                continue;
            }
            8 => polled(queue.drain_to(&mut writer), most_polls).await,
            9 => {
                let write = poll_fn(|cx| queue.poll_write_to(cx, &mut writer));
                polled(write, most_polls).await
            }
            10 if may_be_buf => {
                let written = polled(writer.write_buf(&mut queue), most_polls).await;
                written.map(|result| result.map(|_| ()))
            }
            _ => {
                let write = poll_fn(|cx| queue.poll_write_some(cx, Pin::new(&mut writer)));
                let written = polled(write, most_polls).await;
                written.map(|result| result.map(|_| ()))
            }
        };
        expect_bytes(&queue, &model[model.len() - queue.len()..]);
        match written {
            Some(Ok(())) => {}
            None => counts.faults += 1,
            Some(Err(_)) => break,
        }
    }
    let error = queue.drain_to(&mut writer).await.err();
    drop(writer);
    let received = received.await.expect("the reader does not panic");
    counts.arrived = received.len() as u64;
    let written = model.len() - queue.len();
    let (expected, miscounted) = match &error {
        None => (&model[..], 0),
        // The bytes that were on their way when the reader closed were written, but were not read.
        Some(_) => (
            &model[..received.len().min(model.len())],
            received.len().saturating_sub(written) as u64,
        ),
    };
    // The reader may have closed after the last byte was written.
    let expected = &expected[..expected.len().min(breaks_after)];
    counts.lost = bytes_lost(expected, &received) + miscounted;
    if error.is_some() {
        counts.faults += 1;
        // Only a reader that closes may make a write fail.
        counts.lost += u64::from(breaks_after == usize::MAX);
    }
    counts
}

/// Polls a future up to `most` times, then drops the future. Returns the result if the future was ready.
pub async fn polled<T>(future: impl Future<Output = T>, most: u32) -> Option<T> {
    let mut future = pin!(future);
    let mut polls = 0;
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(result) => Poll::Ready(Some(result)),
        Poll::Pending => {
            polls += 1;
            if polls < most { Poll::Pending } else { Poll::Ready(None) }
        }
    })
    .await
}

/// Reads to the end, or until `most` bytes have come. The pieces have any size, and other tasks run between them.
async fn read(mut reader: impl AsyncRead + Unpin, most: usize, mut rng: Rng) -> Vec<u8> {
    let mut all = Vec::new();
    let mut piece = vec![0; 20_000];
    while all.len() < most {
        for _ in 0..rng.u32(..4) {
            yield_now().await;
        }
        let room = (1 + any_size(&mut rng)).min(most - all.len());
        match reader.read(&mut piece[..room]).await {
            Ok(0) => break,
            Ok(bytes) => all.extend_from_slice(&piece[..bytes]),
            Err(error) => panic!("the reader failed: {error}"),
        }
    }
    all
}
