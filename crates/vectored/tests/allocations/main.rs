//! Tests that a queue in a steady state allocates no memory. The test is a separate program, because the allocator of
//! the program counts allocations.
//!
//! The test is only for Unix: on Windows, each write of a list to a handle allocates memory for a copy.
#![cfg(unix)]

mod sys;

use std::io::Read;
use std::sync::Arc;

use vectored::SegmentQueue;

use crate::sys::allocations;

/// The number of messages of a turn. A pipe or socket holds a whole turn, so one thread can write and read the turn.
const MESSAGES: usize = 5;
const BODY_BYTES: usize = 5_000;
const TURN_BYTES: usize = MESSAGES * (HEAD.len() + BODY_BYTES);
const HEAD: &[u8] = &[1; 100];

fn put_messages(queue: &mut SegmentQueue, body: &Arc<[u8]>) {
    for _ in 0..MESSAGES {
        queue.put_slice(HEAD);
        queue.push(Arc::clone(body));
        queue.end_record();
    }
}

/// The first turns allocate the memory. Only the later turns are counted.
fn expect_no_allocations(mut turn: impl FnMut()) {
    (0..10).for_each(|_| turn());
    let before = allocations();
    (0..100).for_each(|_| turn());
    assert_eq!(allocations() - before, 0, "allocations in 100 turns");
}

#[test]
fn the_counter_counts() {
    let before = allocations();
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(allocations() - before, 1);
}

#[test]
fn blocking_writes_of_a_queue_allocate_nothing_in_a_steady_state() {
    let (mut reader, writer) = std::io::pipe().unwrap();
    let mut queue = SegmentQueue::new();
    let body: Arc<[u8]> = vec![2; BODY_BYTES].into();
    let mut read = vec![0; TURN_BYTES];
    expect_no_allocations(|| {
        put_messages(&mut queue, &body);
        queue.write_some(&writer).unwrap();
        queue.write_to(&writer).unwrap();
        reader.read_exact(&mut read).unwrap();
    });
}

#[cfg(all(feature = "tokio", unix))]
mod tokio_forms {
    use std::io;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use tokio::io::{AsyncReadExt, AsyncWrite};
    use tokio::net::UnixStream;
    use tokio::runtime::Builder;

    use super::*;

    /// This writer does not gather.
    struct Plain(UnixStream);

    impl AsyncWrite for Plain {
        fn poll_write(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            Pin::new(&mut self.0).poll_write(cx, bytes)
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    fn check<W: AsyncWrite + Unpin>(as_writer: impl FnOnce(UnixStream) -> W) {
        let runtime = Builder::new_current_thread().enable_io().build().unwrap();
        let (writer, mut reader) = {
            let _entered = runtime.enter();
            UnixStream::pair().unwrap()
        };
        let mut writer = as_writer(writer);
        let mut queue = SegmentQueue::new();
        let body: Arc<[u8]> = vec![2; BODY_BYTES].into();
        let mut read = vec![0; TURN_BYTES];
        expect_no_allocations(|| {
            runtime.block_on(async {
                put_messages(&mut queue, &body);
                queue.drain_to(&mut writer).await.unwrap();
                reader.read_exact(&mut read).await.unwrap();
            });
        });
    }

    #[test]
    fn draining_to_a_socket_allocates_nothing_in_a_steady_state() {
        check(|writer| writer);
    }

    #[test]
    fn draining_to_a_writer_that_does_not_gather_allocates_nothing_in_a_steady_state() {
        check(Plain);
    }
}
