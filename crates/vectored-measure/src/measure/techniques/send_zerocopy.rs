//! `sendmsg` with `MSG_ZEROCOPY`, and its notifications.

use std::io::{self, IoSlice};
use std::os::fd::BorrowedFd;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_getfl, fstat};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use vectored_report::words;
use vectored_results::model::{Target, ZerocopyCounts};

use crate::measure::sampler::interface::Timing;
use crate::measure::sampler::lists::Lists;
use crate::measure::sampler::meter::{Meter, Timed};
use crate::measure::techniques::Technique;
use crate::measure::techniques::gathering::{Gathering, WithArray};
use crate::measure::techniques::write_mover::Mover;
use crate::sys::zerocopy::{enable, next_done, send};

pub const SEND_ZEROCOPY: Technique = Technique {
    about: "MSG_ZEROCOPY; TCP",
    refuses: |conditions| {
        if !matches!(conditions.target, Target::Tcp | Target::Remote) {
            Some("is for TCP connections only")
        } else if conditions.writers.is_some() {
            Some("counts its notifications for one writer only: omit --writers")
        } else {
            None
        }
    },
    // A notification for each call.
    cost_ns: |costs| costs.referenced_ns + costs.call_ns,
    write: Some(|_| Box::new(SendZerocopy::new())),
    ..Technique::named("send-zerocopy")
};

/// Time without a notification after which a peer counts as stuck.
const PATIENCE: Duration = Duration::from_secs(5);

/// A shorter time for a descriptor that does not block: its bytes do not fit into the buffers of the connection.
const SHORT_PATIENCE: Duration = Duration::from_millis(50);

/// How long a peer may leave a notification out.
fn patience_of(fd: BorrowedFd<'_>) -> io::Result<Duration> {
    Ok(if fcntl_getfl(fd)?.contains(OFlags::NONBLOCK) {
        SHORT_PATIENCE
    } else {
        PATIENCE
    })
}

/// Interval at which a wait looks whether it takes too long.
const TICK: Duration = Duration::from_millis(10);

/// Sends by `sendmsg` with `MSG_ZEROCOPY`. Takes the notifications that are there in each call.
#[derive(Default)]
struct ZerocopySends {
    iov_max: usize,
    /// The inode of the socket that is sent to.
    socket: Option<u64>,
    /// Sends to it that the kernel has not notified yet.
    outstanding: u64,
    counts: ZerocopyCounts,
}

impl ZerocopySends {
    /// Prepares for calls on a socket. One that was prepared before may have notifications left, after a failed call.
    fn begin(&mut self, fd: BorrowedFd<'_>) -> io::Result<()> {
        let socket = fstat(fd)?.st_ino;
        if self.socket != Some(socket) {
            enable(fd)?;
            (self.socket, self.outstanding) = (Some(socket), 0);
        }
        Ok(())
    }

    /// One send, which may be short.
    fn send_once(&mut self, fd: BorrowedFd<'_>, iovecs: &[IoSlice<'_>]) -> io::Result<usize> {
        let sent = send(fd, iovecs)?;
        self.outstanding += 1;
        self.reap(fd)?;
        Ok(sent)
    }

    /// Makes a send when the kernel has room for it.
    #[inline(never)]
    fn send_with_room(
        &mut self,
        fd: BorrowedFd<'_>,
        iovecs: &[IoSlice<'_>],
        mut send_once: impl FnMut(&mut Self) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let mut refused_since = None;
        loop {
            match send_once(self) {
                Ok(sent) => return Ok(sent),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Too many pages or notifications are outstanding.
                Err(error) if is_limit(&error) && self.outstanding > 0 => self.wait(fd)?,
                // The sends of other processes of this user also count: these may end.
                Err(error) if is_limit(&error) => {
                    let since = refused_since.get_or_insert_with(Instant::now);
                    if since.elapsed() > patience_of(fd)? {
                        return Err(beyond_limit(error, iovecs));
                    }
                    thread::sleep(TICK);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Sends one call's entries, and after a short call the rest.
    fn send_all(&mut self, fd: BorrowedFd<'_>, iovecs: &[IoSlice<'_>]) -> io::Result<()> {
        let sent = self.send_with_room(fd, iovecs, |sends| sends.send_once(fd, iovecs))?;
        if sent == bytes_of(iovecs) {
            return Ok(());
        }
        let mut rest = iovecs.to_vec();
        let mut rest = &mut rest[..];
        IoSlice::advance_slices(&mut rest, sent);
        self.send_all(fd, rest)
    }

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

    fn wait(&mut self, fd: BorrowedFd<'_>) -> io::Result<()> {
        let patience = patience_of(fd)?;
        let (before, began) = (self.outstanding, Instant::now());
        loop {
            self.reap(fd)?;
            if self.outstanding < before {
                return Ok(());
            }
            if began.elapsed() > patience {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            // The error queue is reported as an error condition, which is always waited for.
            let mut polled = [PollFd::from_borrowed_fd(fd, PollFlags::empty())];
            match poll(&mut polled, Some(&TICK.try_into().expect("a short time"))) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Gathering for ZerocopySends {
    fn prepare(&mut self, _segments: &[&[u8]]) {
        self.iov_max = vectored::limits::iov_max();
    }

    fn send(&mut self, fd: BorrowedFd<'_>, iovecs: &[IoSlice<'_>]) -> io::Result<()> {
        let mut calls = iovecs.chunks(self.iov_max);
        calls.try_for_each(|chunk| self.send_all(fd, chunk))
    }
}

fn bytes_of(iovecs: &[IoSlice<'_>]) -> usize {
    iovecs.iter().map(|segment| segment.len()).sum()
}

/// Whether a send had no room for its pages (`RLIMIT_MEMLOCK`) or its notification (`net.core.optmem_max`).
fn is_limit(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENOBUFS)
}

/// The error of a send for which there is no room even while no other one of this process is outstanding.
fn beyond_limit(error: io::Error, iovecs: &[IoSlice<'_>]) -> io::Error {
    let list = words::bytes(bytes_of(iovecs) as u64);
    let locked = getrlimit(Resource::Memlock).current.map(|limit| {
        format!(
            "the kernel locks the pages of a send without a copy, here of {list}, and the limit on locked memory is {} \
             for all processes of a user: raise it with `ulimit -l`, give the program CAP_IPC_LOCK, or measure smaller \
             lists",
            words::bytes(limit)
        )
    });
    let notification =
        "the kernel has no room for the notification of a send without a copy: raise the sysctl net.core.optmem_max"
            .to_owned();
    let causes: Vec<String> = locked.into_iter().chain([notification]).collect();
    io::Error::new(error.kind(), format!("{error}: {}", causes.join("; or ")))
}

/// Sends a list without a copy. Notifications that are there are taken in each call, and waited for after the last
/// one, outside of the timed region: they wait for the acknowledgements of the peer.
struct SendZerocopy {
    array: WithArray<ZerocopySends>,
}

impl SendZerocopy {
    fn new() -> Self {
        SendZerocopy {
            array: WithArray::new(ZerocopySends::default()),
        }
    }

    fn within<T>(
        &mut self,
        fd: BorrowedFd<'_>,
        send: impl FnOnce(&mut WithArray<ZerocopySends>) -> io::Result<T>,
    ) -> io::Result<T> {
        self.array.gathering.begin(fd)?;
        let sent = send(&mut self.array)?;
        // The kernel may read the segments until then.
        while self.array.gathering.outstanding > 0 {
            self.array.gathering.wait(fd)?;
        }
        Ok(sent)
    }
}

impl Mover for SendZerocopy {
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
        meter: Meter<'_>,
    ) -> io::Result<Timing> {
        self.within(fd, |array| array.sample(fd, lists, batch, meter))
    }

    fn take_zerocopy(&mut self) -> Option<ZerocopyCounts> {
        Some(std::mem::take(&mut self.array.gathering.counts))
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::AsFd;

    use vectored_machine::platform::descriptors::{tcp_pair, unix_pair};

    use super::*;

    #[test]
    fn a_send_waits_for_memory_that_other_processes_have_locked() {
        let (writer, _reader) = tcp_pair().unwrap();
        let mut sends = ZerocopySends::default();
        let list = [IoSlice::new(b"bytes")];
        let mut refusals = 3;
        let mut send = |_: &mut ZerocopySends| match refusals {
            0 => Ok(5),
            _ => {
                refusals -= 1;
                Err(io::Error::from_raw_os_error(libc::ENOBUFS))
            }
        };
        let sent = sends.send_with_room(writer.as_fd(), &list, &mut send);
        assert_eq!((sent.unwrap(), refusals), (5, 0));
        // A send to a descriptor that does not block waits only for a short time.
        rustix::io::ioctl_fionbio(&writer, true).unwrap();
        let sent = sends.send_with_room(writer.as_fd(), &list, |_| {
            Err(io::Error::from_raw_os_error(libc::ENOBUFS))
        });
        let error = sent.unwrap_err();
        assert!(error.to_string().contains("net.core.optmem_max"), "{error}");
    }

    #[test]
    fn loopback_copies_every_send_after_all() {
        let (writer, reader) = tcp_pair().unwrap();
        let mut reader = File::from(reader);
        let segments: Vec<Vec<u8>> = (0..1500_u32).map(|n| n.to_le_bytes().repeat(2)).collect();
        let list: Vec<&[u8]> = segments.iter().map(Vec::as_slice).collect();
        let mut mover = SendZerocopy::new();
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
        let mut mover = SendZerocopy::new();
        mover.prepare(&[&bytes], 0);
        let mut calls = std::iter::repeat_with(|| mover.call(writer.as_fd(), &[&bytes]));
        let error = calls.find_map(Result::err).unwrap();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn a_socket_of_another_kind_is_refused() {
        let (writer, _reader) = unix_pair().unwrap();
        let error = SendZerocopy::new()
            .call(writer.as_fd(), &[b"x"])
            .unwrap_err();
        // ENOTSUPP, which has no name outside of the kernel, or EOPNOTSUPP.
        assert!(
            matches!(error.raw_os_error(), Some(524 | libc::EOPNOTSUPP)),
            "{error}"
        );
    }
}
