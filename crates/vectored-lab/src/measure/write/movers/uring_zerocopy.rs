//! `IORING_OP_SENDMSG_ZC` of io_uring, and its notifications.

use std::io::{self, IoSlice};
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::fs::{OFlags, fcntl_getfl};

use crate::in_flight::ZerocopyRing;
use crate::measure::write::movers::zerocopy::Notifying;
use crate::model::ZerocopyCounts;

/// Sends by io_uring without a copy. A call submits one send and waits for its completion, which is there when the bytes
/// are in the socket. Notifications that are there are taken with it.
#[derive(Default)]
pub struct UringZerocopy {
    ring: Option<ZerocopyRing>,
    is_non_blocking: bool,
}

impl UringZerocopy {
    fn ring(&mut self) -> &mut ZerocopyRing {
        self.ring.as_mut().expect("made in `begin`")
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

    fn send(&mut self, fd: BorrowedFd<'_>, iovecs: &[IoSlice<'_>]) -> io::Result<usize> {
        let is_non_blocking = self.is_non_blocking;
        match self.ring().send(fd, iovecs, is_non_blocking) {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                let why = "the kernel refuses IORING_OP_SENDMSG_ZC with IORING_SEND_ZC_REPORT_USAGE, which Linux 6.2 \
                           has; omit uring-send-zerocopy from --technique";
                Err(io::Error::new(io::ErrorKind::Unsupported, why))
            }
            outcome => outcome,
        }
    }

    fn outstanding(&self) -> u64 {
        self.ring.as_ref().map_or(0, ZerocopyRing::outstanding)
    }

    fn wait(&mut self, _fd: BorrowedFd<'_>, patience: Duration) -> io::Result<()> {
        self.ring().wait(patience)
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
    fn a_send_that_failed_is_neither_outstanding_nor_counted() {
        let (writer, reader) = tcp_pair().unwrap();
        rustix::io::ioctl_fionbio(&writer, true).unwrap();
        let bytes = vec![7; 1 << 16];
        let mut ring = ZerocopyRing::new().unwrap();
        let (mut sends, mut sent) = (0, 0);
        let error = loop {
            match ring.send(writer.as_fd(), &[IoSlice::new(&bytes)], true) {
                Ok(count) => (sends, sent) = (sends + 1, sent + count),
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        let mut arrived = vec![0; sent];
        File::from(reader).read_exact(&mut arrived).unwrap();
        while ring.outstanding() > 0 {
            ring.wait(Duration::from_secs(1)).unwrap();
        }
        assert_eq!(ring.take_notices().sends, sends);
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
