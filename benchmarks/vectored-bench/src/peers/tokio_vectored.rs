//! `tokio_util::io::write_all_vectored`.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::time::Duration;

use rustix::fs::{FileType, OFlags};
use rustix::net::AddressFamily;
use rustix::net::sockopt::socket_domain;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::net::unix::pipe::Sender;
use tokio::net::{TcpStream, UnixStream};
use tokio::runtime::Runtime;
use vectored_machine::Clock;
use vectored_measure::measure::{Lists, Mover, Timed, Timing};

use super::peer::ONE_CALL;
use super::std_vectored::recycled;

/// The time after which a write that nobody reads is taken to be blocked.
const PATIENCE: Duration = Duration::from_millis(50);

/// `tokio` on a runtime of one thread. All calls of a sample are in one task, as in a program that is asynchronous anyway.
/// Files are `tokio::fs::File`, which hands each write to a thread; `flush` waits for the write.
pub struct TokioUtil {
    runtime: Rc<Runtime>,
}

impl TokioUtil {
    pub fn new(runtime: Rc<Runtime>) -> Self {
        TokioUtil { runtime }
    }
}

impl Mover for TokioUtil {
    fn prepare(&mut self, _segments: &[&[u8]], _start_bytes: usize) {}

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        struct NoClock;
        impl Clock for NoClock {
            fn now_ns(&self) -> u64 {
                0
            }

            fn thread_cpu_ns(&self) -> u64 {
                0
            }
        }
        self.sample(fd, &Lists::one(segments.to_vec()), ONE_CALL, &NoClock)?;
        Ok(())
    }

    fn sample(
        &mut self,
        fd: BorrowedFd<'_>,
        lists: &Lists<'_>,
        batch: Timed,
        clock: &dyn Clock,
    ) -> io::Result<Timing> {
        if batch.fsync {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let flags = rustix::fs::fcntl_getfl(fd)?;
        let sample = Sample {
            lists,
            batch,
            clock,
            is_read_from: !flags.contains(OFlags::NONBLOCK),
        };
        let fd_here = fd.try_clone_to_owned()?;
        let outcome = self.runtime.block_on(write_to(fd_here, sample));
        // The flags belong to the open file description, which other techniques write to as well.
        rustix::fs::fcntl_setfl(fd, flags)?;
        outcome
    }
}

/// The calls to time.
struct Sample<'s> {
    lists: &'s Lists<'s>,
    batch: Timed,
    clock: &'s dyn Clock,
    /// Whether a thread reads meanwhile.
    is_read_from: bool,
}

/// Times the calls of the tokio writer for this kind of descriptor.
async fn write_to(fd: OwnedFd, sample: Sample<'_>) -> io::Result<Timing> {
    let kind = FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode);
    if matches!(kind, FileType::Fifo | FileType::Socket) {
        rustix::io::ioctl_fionbio(fd.as_fd(), true)?;
    }
    match kind {
        FileType::Fifo => sample.of(Sender::from_owned_fd(fd)?).await,
        FileType::Socket if socket_domain(&fd)? == AddressFamily::UNIX => {
            let stream = std::os::unix::net::UnixStream::from(fd);
            sample.of(UnixStream::from_std(stream)?).await
        }
        FileType::Socket => sample.of(TcpStream::from_std(fd.into())?).await,
        _ => sample.of(tokio::fs::File::from_std(fd.into())).await,
    }
}

impl Sample<'_> {
    async fn of(self, mut writer: impl AsyncWrite + Unpin) -> io::Result<Timing> {
        let is_read_from = self.is_read_from;
        let timed = time(&mut writer, self);
        if is_read_from {
            timed.await
        } else {
            match tokio::time::timeout(PATIENCE, timed).await {
                Ok(outcome) => outcome,
                Err(_) => Err(io::ErrorKind::WouldBlock.into()),
            }
        }
    }
}

/// The asynchronous form of the timing loop of `vectored_measure`.
async fn time(writer: &mut (impl AsyncWrite + Unpin), sample: Sample<'_>) -> io::Result<Timing> {
    let Sample {
        lists,
        batch,
        clock,
        ..
    } = sample;
    let mut slices = Vec::with_capacity(lists.first().len());
    let mut turns = lists.in_turn();
    let cpu_ns = clock.thread_cpu_ns();
    if batch.untimed_first {
        send(writer, &mut slices, turns.next()).await?;
    }
    let began_ns = clock.now_ns();
    for _ in 0..batch.calls {
        send(writer, &mut slices, turns.next()).await?;
    }
    let ended_ns = clock.now_ns();
    let cpu_ns = clock.thread_cpu_ns() - cpu_ns;
    Ok(Timing {
        elapsed_ns: ended_ns - began_ns,
        cpu_ns: cpu_ns * u64::from(batch.calls) / u64::from(batch.all_calls()),
    })
}

async fn send(
    writer: &mut (impl AsyncWrite + Unpin),
    spare: &mut Vec<IoSlice<'static>>,
    segments: &[&[u8]],
) -> io::Result<()> {
    let mut slices = recycled(std::mem::take(spare));
    slices.extend(segments.iter().map(|segment| IoSlice::new(segment)));
    let outcome = tokio_util::io::write_all_vectored(&mut *writer, &mut slices).await;
    *spare = recycled(slices);
    outcome?;
    writer.flush().await
}
