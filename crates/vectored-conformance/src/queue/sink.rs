//! A writer without a descriptor, for the asynchronous functions of a queue.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use tokio::io::AsyncWrite;
use vectored::SegmentQueue;
use vectored::queue::QueuePolicy;

use super::strict::Strict;

/// The answer of a [`ScriptedWriter`].
#[derive(Clone, Copy, Debug)]
pub enum Answer {
    /// Takes this many bytes, or all if there are fewer.
    Take(usize),
    /// Is not ready. Wakes the task at once.
    Pending,
    Fail,
    /// Reports one byte more than the call offered, and takes nothing.
    Overreport,
}

/// A writer that answers by a script, keeps the bytes that it takes, and checks every call. After the end of the
/// script, the writer takes everything.
///
/// A writer that does not gather is as strict as OpenSSL: after `Pending`, the next call has to begin with the same
/// bytes, and must not be shorter.
#[derive(Debug)]
pub struct ScriptedWriter {
    pub script: VecDeque<Answer>,
    pub gathers: bool,
    pub taken: Vec<u8>,
    /// The length and the answer of each call. A test may empty this list.
    pub calls: Vec<(usize, Answer)>,
    /// The bytes of the last call, if its answer was `Pending`.
    offered: Vec<u8>,
}

impl ScriptedWriter {
    pub fn new(gathers: bool) -> ScriptedWriter {
        ScriptedWriter {
            script: VecDeque::new(),
            gathers,
            taken: Vec::new(),
            calls: Vec::new(),
            offered: Vec::new(),
        }
    }

    /// Notes that the queue dropped offered bytes, as a user of a queue may decide.
    pub fn forget_offer(&mut self) {
        self.offered.clear();
    }

    fn call(&mut self, cx: &Context<'_>, slices: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        write_another_queue();
        assert!(!slices.is_empty(), "a call without a slice");
        assert!(
            slices.len() <= vectored::limits::iov_max(),
            "too many slices"
        );
        let is_some = |slice: &IoSlice<'_>| !slice.is_empty();
        assert!(slices.iter().all(is_some), "an empty slice");
        let bytes: Vec<u8> = slices.iter().flat_map(|slice| slice.to_vec()).collect();
        assert!(bytes.starts_with(&self.offered), "a bad write retry");
        self.offered.clear();
        let answer = self.script.pop_front();
        let answer = answer.unwrap_or(Answer::Take(usize::MAX));
        self.calls.push((bytes.len(), answer));
        match answer {
            Answer::Take(most) => {
                let taken = most.min(bytes.len());
                self.taken.extend_from_slice(&bytes[..taken]);
                Poll::Ready(Ok(taken))
            }
            Answer::Pending => {
                self.offered = bytes;
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Answer::Fail => Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
            Answer::Overreport => Poll::Ready(Ok(bytes.len() + 1)),
        }
    }
}

/// Writes another queue within a write, as a TLS stream may do. Both queues use the same memory of the thread.
fn write_another_queue() {
    let mut policy = QueuePolicy::default();
    policy.copy_below_bytes = 0;
    let mut queue = SegmentQueue::with_policy(policy);
    for size in [3, 300, 20] {
        queue.push(vec![0xee; size]);
    }
    let cx = &mut Context::from_waker(Waker::noop());
    let polled = queue.poll_write_to(cx, &mut Strict::new(Vec::new()));
    assert!(matches!(polled, Poll::Ready(Ok(()))));
}

impl AsyncWrite for ScriptedWriter {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.call(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        assert!(self.gathers, "a list for a writer that does not gather");
        self.call(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.gathers
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
