//! A queue in a task of tokio, written to real streams.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use vectored::SegmentQueue;
use vectored::queue::QueuePolicy;

use crate::support::payload;

/// Messages around every threshold of the default policy, and more than a socket takes at once.
fn sizes() -> Vec<usize> {
    let mut sizes = vec![0, 1, 100, 4095, 4096, 4097, 16_384, 32_769, 3_000_000];
    sizes.extend((0..2_000).map(|i| i % 7 * 31));
    sizes.extend((0..1_100).map(|i| 4_097 + i % 5));
    sizes
}

/// Writes all messages, cancelling every second write after one poll, while the other end reads.
async fn check(mut writer: impl AsyncWrite + Unpin, reader: impl AsyncRead + Unpin) {
    let mut policy = QueuePolicy::default();
    policy.poll_budget_bytes = 100_000;
    let messages = payload(&sizes());
    let expected = messages.concat();
    let write = async {
        let mut queue = SegmentQueue::with_policy(policy);
        for (i, message) in messages.into_iter().enumerate() {
            if i % 3 == 0 {
                queue.put_slice(&message);
            } else {
                queue.push(message);
            }
            if i % 50 == 0 {
                // Polled once, then dropped.
                let drained = queue.drain_to(&mut writer);
                let _cancelled = tokio::time::timeout(Duration::ZERO, drained).await;
            }
            if i % 777 == 0 {
                queue.drain_to(&mut writer).await?;
                assert!(queue.is_empty());
            }
        }
        queue.drain_to(&mut writer).await?;
        writer.shutdown().await
    };
    let read = read_all(reader);
    let (written, read) = tokio::join!(write, read);
    written.unwrap();
    assert!(read.unwrap() == expected, "other bytes arrived");
}

async fn read_all(mut reader: impl AsyncRead + Unpin) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).await?;
    Ok(bytes)
}

async fn tcp_pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (client, server) = tokio::join!(TcpStream::connect(address), listener.accept());
    (client.unwrap(), server.unwrap().0)
}

#[tokio::test]
async fn a_queue_reaches_a_tcp_stream_though_writes_are_cancelled() {
    let (writer, reader) = tcp_pair().await;
    check(writer, reader).await;
}

#[tokio::test]
async fn a_queue_reaches_a_unix_stream_though_writes_are_cancelled() {
    let (writer, reader) = UnixStream::pair().unwrap();
    check(writer, reader).await;
}

#[tokio::test]
async fn a_queue_reaches_a_small_duplex_though_writes_are_cancelled() {
    let (writer, reader) = tokio::io::duplex(10_000);
    check(writer, reader).await;
}

#[tokio::test]
async fn a_queue_reaches_a_buffered_writer_that_is_flushed() {
    let (writer, mut reader) = tokio::io::duplex(10_000);
    let mut writer = tokio::io::BufWriter::new(writer);
    let mut queue = SegmentQueue::new();
    queue.put_slice(b"short");
    queue.drain_to(&mut writer).await.unwrap();
    let mut read = [0; 5];
    reader.read_exact(&mut read).await.unwrap();
    assert_eq!(&read, b"short");
}

#[tokio::test]
async fn a_stream_whose_reader_is_gone_is_an_error_that_leaves_the_bytes() {
    let (mut writer, reader) = UnixStream::pair().unwrap();
    drop(reader);
    let mut queue = SegmentQueue::new();
    queue.push(vec![1; 10_000]);
    let error = queue.drain_to(&mut writer).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    assert_eq!(queue.len(), 10_000);
}

#[cfg(feature = "bytes")]
#[tokio::test]
async fn tokio_utils_poll_write_buf_writes_a_queue() {
    use std::future::poll_fn;
    use std::pin::Pin;
    use tokio_util::io::poll_write_buf;

    let (mut writer, reader) = UnixStream::pair().unwrap();
    let messages = payload(&sizes());
    let expected = messages.concat();
    let write = async {
        let mut queue = SegmentQueue::new();
        messages.into_iter().for_each(|message| queue.push(message));
        while !queue.is_empty() {
            let poll = |cx: &mut std::task::Context<'_>| {
                poll_write_buf(Pin::new(&mut writer), cx, &mut queue)
            };
            assert!(poll_fn(poll).await? > 0);
        }
        writer.shutdown().await
    };
    let (written, read) = tokio::join!(write, read_all(reader));
    written.unwrap();
    assert!(read.unwrap() == expected, "other bytes arrived");
}
