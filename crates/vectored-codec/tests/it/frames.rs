//! Frames that `tokio_util::codec` reads.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures_util::{Sink, SinkExt, StreamExt};
use proptest::prelude::*;
use tokio::io::{AsyncWrite, DuplexStream, duplex};
use tokio_util::codec::{FramedRead, LengthDelimitedCodec};
use vectored::SegmentQueue;
use vectored::queue::QueuePolicy;
use vectored_codec::{FramedQueue, LengthDelimitedEncoder, QueueEncoder, TokioEncoder};

/// Segments of these sizes. The bytes of a segment show its place in the list.
fn payload(sizes: &[usize]) -> Vec<Vec<u8>> {
    let mut bytes = (1..=251u8).cycle();
    sizes
        .iter()
        .map(|&size| bytes.by_ref().take(size).collect())
        .collect()
}

fn any_policy() -> impl Strategy<Value = QueuePolicy> {
    let size = || prop_oneof![Just(0_usize), 1..30_000_usize, Just(usize::MAX)];
    (size(), size(), size(), size()).prop_map(|(copy, limit, chunk, budget)| {
        let mut policy = QueuePolicy::default();
        policy.copy_below_bytes = copy;
        policy.limit_bytes = limit;
        policy.chunk_bytes = chunk.max(16);
        policy.poll_budget_bytes = budget;
        policy
    })
}

/// Sends frames, flushes after some of them, and returns the frames that `FramedRead` reads.
async fn sent_and_read<E: QueueEncoder<Bytes, Error = io::Error>>(
    mut frames: FramedQueue<DuplexStream, E>,
    reader: DuplexStream,
    messages: &[Bytes],
    flush_after: &[bool],
) -> Vec<Bytes> {
    let send = async {
        for (message, flushes) in messages.iter().zip(flush_after.iter().cycle()) {
            frames.feed(message.clone()).await?;
            if *flushes {
                frames.flush().await?;
                assert!(frames.queue().is_empty());
            }
        }
        frames.close().await
    };
    let read = FramedRead::new(reader, LengthDelimitedCodec::new());
    let read = read
        .map(|frame| frame.unwrap().freeze())
        .collect::<Vec<_>>();
    let (sent, read) = tokio::join!(send, read);
    sent.unwrap();
    read
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn frames_of_any_size_are_read_by_tokio_util_as_they_were_sent(
        sizes in prop::collection::vec(prop_oneof![0..300_usize, 0..20_000_usize], 0..30),
        flush_after in prop::collection::vec(any::<bool>(), 1..5),
        policy in any_policy(),
        capacity in 16..40_000_usize,
        is_of_tokio_util in any::<bool>(),
    ) {
        let messages: Vec<Bytes> = payload(&sizes).into_iter().map(Bytes::from).collect();
        let (writer, reader) = duplex(capacity);
        let queue = SegmentQueue::with_policy(policy);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let read = runtime.block_on(async {
            if is_of_tokio_util {
                let encoder = TokioEncoder::new(LengthDelimitedCodec::new());
                let frames = FramedQueue::with_queue(writer, encoder, queue);
                sent_and_read(frames, reader, &messages, &flush_after).await
            } else {
                let encoder = LengthDelimitedEncoder::new();
                let frames = FramedQueue::with_queue(writer, encoder, queue);
                sent_and_read(frames, reader, &messages, &flush_after).await
            }
        });
        assert_eq!(read, messages);
    }
}

/// A writer that takes a number of bytes, then is not ready, and counts its calls.
#[derive(Default)]
struct Takes {
    bytes: usize,
    writes: usize,
    flushes: usize,
    shutdowns: usize,
}

impl AsyncWrite for Takes {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.writes += 1;
        let taken = self.bytes.min(bytes.len());
        self.bytes -= taken;
        match taken {
            0 => Poll::Pending,
            taken => Poll::Ready(Ok(taken)),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.flushes += 1;
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.shutdowns += 1;
        Poll::Ready(Ok(()))
    }
}

fn is_ready(poll: Poll<io::Result<()>>) -> bool {
    match poll {
        Poll::Ready(result) => result.map(|()| true).unwrap(),
        Poll::Pending => false,
    }
}

#[test]
fn a_sink_takes_frames_until_its_queue_is_full_and_writes_none_before() {
    let cx = &mut Context::from_waker(Waker::noop());
    let mut policy = QueuePolicy::default();
    policy.limit_bytes = 100_000;
    let queue = SegmentQueue::with_policy(policy);
    let encoder = LengthDelimitedEncoder::new();
    let mut frames = FramedQueue::with_queue(Takes::default(), encoder, queue);
    for _ in 0..100 {
        assert!(is_ready(Pin::new(&mut frames).poll_ready(cx)));
        let frame = Bytes::from(vec![1; 996]);
        Pin::new(&mut frames).start_send(frame).unwrap();
    }
    assert_eq!(frames.get_ref().writes, 0, "written before it was full");
    assert!(
        !is_ready(Pin::new(&mut frames).poll_ready(cx)),
        "it is full"
    );
    frames.get_mut().bytes = 1;
    assert!(is_ready(Pin::new(&mut frames).poll_ready(cx)));
    assert_eq!(frames.queue().len(), 99_999);
    assert_eq!(frames.get_ref().flushes, 0, "flushed, though not asked to");
}

#[test]
fn a_flush_flushes_the_writer_and_a_close_shuts_it_down_when_all_is_written() {
    let cx = &mut Context::from_waker(Waker::noop());
    let mut frames = FramedQueue::new(Takes::default(), LengthDelimitedEncoder::new());
    let frame = Bytes::from(vec![1; 96]);
    Pin::new(&mut frames).start_send(frame).unwrap();
    frames.get_mut().bytes = 99;
    assert!(!is_ready(Pin::new(&mut frames).poll_close(cx)));
    assert_eq!(
        (frames.get_ref().flushes, frames.get_ref().shutdowns),
        (0, 0)
    );
    frames.get_mut().bytes = 1;
    assert!(is_ready(Pin::new(&mut frames).poll_flush(cx)));
    assert_eq!(
        (frames.get_ref().flushes, frames.get_ref().shutdowns),
        (1, 0)
    );
    assert!(is_ready(Pin::new(&mut frames).poll_close(cx)));
    assert_eq!(
        (frames.get_ref().flushes, frames.get_ref().shutdowns),
        (2, 1)
    );
}

#[test]
fn a_frame_that_is_too_long_is_an_error_and_the_sink_takes_further_frames() {
    let encoder = LengthDelimitedEncoder::new().max_frame_bytes(10);
    let mut frames = FramedQueue::new(Takes::default(), encoder);
    for (bytes, fits) in [(10, true), (11, false), (0, true)] {
        let frame = Bytes::from(vec![1; bytes]);
        let sent = Pin::new(&mut frames).start_send(frame);
        assert_eq!(sent.is_ok(), fits);
        if let Err(error) = sent {
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
            assert!(error.to_string().contains("11 bytes"), "{error}");
        }
    }
    assert_eq!(frames.into_parts().2.len(), 4 + 10 + 4);
}

/// An encoder that puts a part of a frame into the buffer before it fails.
struct FailsLate;

impl tokio_util::codec::Encoder<&'static str> for FailsLate {
    type Error = io::Error;

    fn encode(&mut self, item: &'static str, buffer: &mut bytes::BytesMut) -> io::Result<()> {
        buffer.extend_from_slice(item.as_bytes());
        match item {
            "bad" => Err(io::ErrorKind::InvalidInput.into()),
            _ => Ok(()),
        }
    }
}

#[test]
fn what_an_encoder_of_tokio_util_leaves_when_it_fails_is_not_sent() {
    let mut queue = SegmentQueue::new();
    let mut encoder = TokioEncoder::new(FailsLate);
    for item in ["one ", "bad", "two"] {
        assert_eq!(encoder.encode(item, &mut queue).is_ok(), item != "bad");
    }
    assert_eq!(queue.segments().collect::<Vec<_>>().concat(), b"one two");
}
