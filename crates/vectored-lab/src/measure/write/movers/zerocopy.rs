//! `sendmsg` with `MSG_ZEROCOPY`, and what sends without a copy have in common.

use std::io::{self, IoSlice};
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fstat};
use rustix::io::Errno;

use crate::measure::sampling::clock::Clock;
use crate::measure::sampling::lists::Lists;
use crate::measure::sampling::sampler::Timing;
use crate::measure::write::mover::{Mover, Timed};
use crate::measure::write::movers::array::{Gathering, WithArray};
use crate::model::ZerocopyCounts;
use crate::stats::Latencies;
use crate::sys::zerocopy::{enable, next_done, send};

/// Time without a notification after which a peer counts as stuck.
const PATIENCE: Duration = Duration::from_secs(5);

/// The same for a descriptor that does not block: its bytes do not fit into the buffers of the connection.
const SHORT_PATIENCE: Duration = Duration::from_millis(50);

/// How long a peer may leave a notification out.
pub(crate) fn patience_of(fd: BorrowedFd<'_>) -> io::Result<Duration> {
    Ok(match fcntl_getfl(fd)?.contains(OFlags::NONBLOCK) {
        false => PATIENCE,
        true => SHORT_PATIENCE,
    })
}

/// A technique that sends without a copy, and of which the kernel notifies.
pub trait Notifying: Gathering {
    /// Prepares for calls on a socket. Not timed.
    fn begin(&mut self, fd: BorrowedFd<'_>) -> io::Result<()>;

    /// Waits for all notifications: the kernel may read the segments until then. Not timed.
    fn end(&mut self, fd: BorrowedFd<'_>) -> io::Result<()>;

    /// The notifications since the last call.
    fn take_counts(&mut self) -> ZerocopyCounts;
}

/// Sends a list without a copy. Notifications that are there are taken in each call, and waited for after the last
/// one, outside of the timed region: they wait for the acknowledgements of the peer.
pub struct WithNotifications<G> {
    array: WithArray<G>,
}

impl<G: Notifying> WithNotifications<G> {
    pub fn new(gathering: G) -> Self {
        WithNotifications {
            array: WithArray::new(gathering),
        }
    }

    fn within<T>(
        &mut self,
        fd: BorrowedFd<'_>,
        send: impl FnOnce(&mut WithArray<G>) -> io::Result<T>,
    ) -> io::Result<T> {
        self.array.gathering.begin(fd)?;
        let sent = send(&mut self.array)?;
        self.array.gathering.end(fd)?;
        Ok(sent)
    }
}

impl<G: Notifying> Mover for WithNotifications<G> {
    fn prepare(&mut self, segments: &[&[u8]], start_bytes: usize) {
        self.array.prepare(segments, start_bytes);
    }

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        self.within(fd, |array| array.call(fd, segments))
    }

    fn sample(
        &mut self,
        fd: BorrowedFd<'_>,
        lists: &Lists<'_>,
        batch: Timed,
        clock: &dyn Clock,
    ) -> io::Result<Timing> {
        self.within(fd, |array| array.sample(fd, lists, batch, clock))
    }

    fn latencies(
        &mut self,
        fd: BorrowedFd<'_>,
        lists: &Lists<'_>,
        batch: Timed,
        clock: &dyn Clock,
        latencies: &mut Latencies,
    ) -> io::Result<()> {
        self.within(fd, |array| {
            array.latencies(fd, lists, batch, clock, latencies)
        })
    }

    fn take_zerocopy(&mut self) -> Option<ZerocopyCounts> {
        Some(self.array.gathering.take_counts())
    }
}

/// `sendmsg` with `MSG_ZEROCOPY`.
#[derive(Default)]
pub struct Zerocopy {
    iov_max: usize,
    /// The inode of the socket that is sent to.
    socket: Option<u64>,
    /// Sends to it without a notification.
    outstanding: u64,
    counts: ZerocopyCounts,
}

impl Zerocopy {
    /// Takes the notifications that are there.
    fn reap(&mut self, fd: BorrowedFd<'_>) -> io::Result<()> {
        while self.outstanding > 0
            && let Some(done) = next_done(fd)?
        {
            self.outstanding = self.outstanding.saturating_sub(done.sends);
            self.counts.sends += done.sends;
            self.counts.copied += if done.copied { done.sends } else { 0 };
        }
        Ok(())
    }

    /// Waits for a notification.
    fn wait(&mut self, fd: BorrowedFd<'_>) -> io::Result<()> {
        let patience = patience_of(fd)?;
        let (before, began) = (self.outstanding, Instant::now());
        loop {
            self.reap(fd)?;
            if self.outstanding < before || self.outstanding == 0 {
                return Ok(());
            }
            if began.elapsed() > patience {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            // The error queue is reported as an error condition, which is always waited for.
            let mut polled = [PollFd::from_borrowed_fd(fd, PollFlags::empty())];
            let tick = Timespec {
                tv_sec: 0,
                tv_nsec: 10_000_000,
            };
            match poll(&mut polled, Some(&tick)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Sends one call's entries, and after a short call the rest.
    #[inline(never)]
    fn send_all(&mut self, fd: BorrowedFd<'_>, iovecs: &[IoSlice<'_>]) -> io::Result<()> {
        let sent = loop {
            match send(fd, iovecs) {
                Ok(sent) => break sent,
                Err(Errno::INTR) => {}
                // Too many notifications are outstanding (`net.core.optmem_max`).
                Err(Errno::NOBUFS) if self.outstanding > 0 => self.wait(fd)?,
                Err(error) => return Err(error.into()),
            }
        };
        self.outstanding += 1;
        self.reap(fd)?;
        if sent == iovecs.iter().map(|segment| segment.len()).sum::<usize>() {
            return Ok(());
        }
        let mut rest = iovecs.to_vec();
        let mut rest = &mut rest[..];
        IoSlice::advance_slices(&mut rest, sent);
        self.send_all(fd, rest)
    }
}

impl Gathering for Zerocopy {
    fn prepare(&mut self, _segments: &[&[u8]]) {
        self.iov_max = vectored::iov_max();
    }

    fn send(&mut self, fd: BorrowedFd<'_>, iovecs: &[IoSlice<'_>]) -> io::Result<()> {
        let mut calls = iovecs.chunks(self.iov_max);
        calls.try_for_each(|chunk| self.send_all(fd, chunk))
    }
}

impl Notifying for Zerocopy {
    /// One that was prepared before may have notifications left, after a failed call.
    fn begin(&mut self, fd: BorrowedFd<'_>) -> io::Result<()> {
        let socket = fstat(fd)?.st_ino;
        if self.socket != Some(socket) {
            enable(fd)?;
            (self.socket, self.outstanding) = (Some(socket), 0);
        }
        Ok(())
    }

    fn end(&mut self, fd: BorrowedFd<'_>) -> io::Result<()> {
        while self.outstanding > 0 {
            self.wait(fd)?;
        }
        Ok(())
    }

    fn take_counts(&mut self) -> ZerocopyCounts {
        std::mem::take(&mut self.counts)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::AsFd;

    use super::*;
    use crate::measure::targets::{tcp_pair, unix_pair};

    #[test]
    fn loopback_copies_every_send_after_all() {
        let (writer, reader) = tcp_pair().unwrap();
        let mut reader = File::from(reader);
        let segments: Vec<Vec<u8>> = (0..1500_u32).map(|n| n.to_le_bytes().repeat(2)).collect();
        let list: Vec<&[u8]> = segments.iter().map(Vec::as_slice).collect();
        let mut mover = WithNotifications::new(Zerocopy::default());
        mover.prepare(&list, 0);
        let mut arrived = vec![0; 12_000];
        for _ in 0..5 {
            mover.call(writer.as_fd(), &list).unwrap();
            reader.read_exact(&mut arrived).unwrap();
            assert_eq!(arrived, segments.concat());
        }
        let counts = mover.take_zerocopy().unwrap();
        // A list of more segments than a call takes is sent by two calls.
        assert!(counts.sends >= 10, "{counts:?}");
        assert_eq!(counts.copied, counts.sends);
        assert_eq!(mover.take_zerocopy(), Some(ZerocopyCounts::default()));
    }

    #[test]
    fn a_connection_whose_buffers_are_full_does_not_fit() {
        let (writer, _reader) = tcp_pair().unwrap();
        rustix::io::ioctl_fionbio(&writer, true).unwrap();
        let bytes = vec![7; 1 << 20];
        let mut mover = WithNotifications::new(Zerocopy::default());
        mover.prepare(&[&bytes], 0);
        let mut calls = std::iter::repeat_with(|| mover.call(writer.as_fd(), &[&bytes]));
        let error = calls.find_map(Result::err).unwrap();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn a_socket_of_another_kind_is_refused() {
        let (writer, _reader) = unix_pair().unwrap();
        let error = WithNotifications::new(Zerocopy::default())
            .call(writer.as_fd(), &[b"x"])
            .unwrap_err();
        // ENOTSUPP, which has no name outside of the kernel, or EOPNOTSUPP.
        assert!(
            matches!(error.raw_os_error(), Some(524 | libc::EOPNOTSUPP)),
            "{error}"
        );
    }
}
