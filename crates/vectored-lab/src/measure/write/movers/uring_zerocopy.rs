//! `IORING_OP_SENDMSG_ZC` of io_uring, and the notifications of it.

use std::io::{self, IoSlice};
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use rustix::fs::{OFlags, fcntl_getfl};

use crate::in_flight::ZerocopyRing;
use crate::measure::write::movers::array::Gathering;
use crate::measure::write::movers::zerocopy::{Notifying, patience_of};
use crate::model::ZerocopyCounts;

/// Sends a list by io_uring without a copy. A call submits one send and waits for its completion, which is there when the
/// bytes are in the socket. Notifications that are there are taken with it.
#[derive(Default)]
pub struct UringZerocopy {
    iov_max: usize,
    ring: Option<ZerocopyRing>,
    is_non_blocking: bool,
}

impl UringZerocopy {
    fn ring(&mut self) -> &mut ZerocopyRing {
        self.ring.as_mut().expect("made in `begin`")
    }

    /// Sends one call's entries, and after a short call the rest.
    #[inline(never)]
    fn send_all(&mut self, fd: BorrowedFd<'_>, iovecs: &[IoSlice<'_>]) -> io::Result<()> {
        let is_non_blocking = self.is_non_blocking;
        let sent = loop {
            let ring = self.ring();
            match ring.send(fd, iovecs, is_non_blocking) {
                Ok(sent) => break sent,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Too many notifications are outstanding.
                Err(error)
                    if error.raw_os_error() == Some(libc::ENOBUFS) && ring.outstanding() > 0 =>
                {
                    ring.wait(patience_of(fd)?)?;
                }
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                    let why = "the kernel refuses IORING_OP_SENDMSG_ZC with IORING_SEND_ZC_REPORT_USAGE, which Linux 6.2 \
                               has; omit uring-send-zerocopy from --technique";
                    return Err(io::Error::new(io::ErrorKind::Unsupported, why));
                }
                Err(error) => return Err(error),
            }
        };
        if sent == iovecs.iter().map(|segment| segment.len()).sum::<usize>() {
            return Ok(());
        }
        let mut rest = iovecs.to_vec();
        let mut rest = &mut rest[..];
        IoSlice::advance_slices(&mut rest, sent);
        self.send_all(fd, rest)
    }
}

impl Gathering for UringZerocopy {
    fn prepare(&mut self, _segments: &[&[u8]]) {
        self.iov_max = vectored::iov_max();
    }

    fn send(&mut self, fd: BorrowedFd<'_>, iovecs: &[IoSlice<'_>]) -> io::Result<()> {
        let mut calls = iovecs.chunks(self.iov_max);
        calls.try_for_each(|chunk| self.send_all(fd, chunk))
    }
}

impl Notifying for UringZerocopy {
    fn begin(&mut self, fd: BorrowedFd<'_>) -> io::Result<()> {
        self.is_non_blocking = fcntl_getfl(fd)?.contains(OFlags::NONBLOCK);
        if self.ring.is_none() {
            self.ring = Some(ZerocopyRing::new()?);
        }
        Ok(())
    }

    /// The kernel may read the segments until all notifications are there.
    fn end(&mut self, fd: BorrowedFd<'_>) -> io::Result<()> {
        const TICK: Duration = Duration::from_millis(10);
        let patience = patience_of(fd)?;
        let (mut began, mut before) = (Instant::now(), u64::MAX);
        loop {
            let ring = self.ring();
            let left = ring.outstanding();
            if left == 0 {
                return Ok(());
            }
            if left < before {
                (began, before) = (Instant::now(), left);
            } else if began.elapsed() > patience {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            ring.wait(TICK)?;
        }
    }

    fn take_counts(&mut self) -> ZerocopyCounts {
        let notices = self.ring.as_mut().map(ZerocopyRing::take_notices);
        let notices = notices.unwrap_or_default();
        ZerocopyCounts {
            sends: notices.sends,
            copied: notices.copied,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::AsFd;

    use super::*;
    use crate::measure::targets::{tcp_pair, unix_pair};
    use crate::measure::write::mover::Mover;
    use crate::measure::write::movers::zerocopy::WithNotifications;

    fn mover() -> WithNotifications<UringZerocopy> {
        WithNotifications::new(UringZerocopy::default())
    }

    #[test]
    fn loopback_copies_every_send_of_the_ring_after_all() {
        let (writer, reader) = tcp_pair().unwrap();
        let mut reader = File::from(reader);
        let segments: Vec<Vec<u8>> = (0..1500_u32).map(|n| n.to_le_bytes().repeat(2)).collect();
        let list: Vec<&[u8]> = segments.iter().map(Vec::as_slice).collect();
        let mut mover = mover();
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
    fn a_ring_does_not_wait_for_a_full_connection_that_does_not_block() {
        let (writer, _reader) = tcp_pair().unwrap();
        rustix::io::ioctl_fionbio(&writer, true).unwrap();
        let bytes = vec![7; 1 << 20];
        let mut mover = mover();
        mover.prepare(&[&bytes], 0);
        let mut calls = std::iter::repeat_with(|| mover.call(writer.as_fd(), &[&bytes]));
        let error = calls.find_map(Result::err).unwrap();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn a_ring_refuses_a_socket_of_another_kind() {
        let (writer, _reader) = unix_pair().unwrap();
        let mut mover = mover();
        mover.prepare(&[b"x"], 0);
        let error = mover.call(writer.as_fd(), &[b"x"]).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EOPNOTSUPP), "{error}");
    }
}
