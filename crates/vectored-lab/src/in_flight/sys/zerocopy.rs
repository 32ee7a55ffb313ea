//! `IORING_OP_SENDMSG_ZC`: sends by io_uring whose pages the network card may read after the call, and the notifications
//! that it has (io_uring_enter(2); since Linux 6.1, `IORING_SEND_ZC_REPORT_USAGE` since 6.2).
//!
//! # Safety
//!
//! The kernel reads the header and the array of a send until its completion, which `send` waits for before it returns; if
//! it cannot be learnt whether the send has completed, the process is aborted (`cannot_wait`). The kernel keeps the pages
//! themselves from the moment when it takes a send to its notification, so memory that is freed before that is not lost
//! to it: if its bytes change, other bytes are sent.
//!
//! A forked child does not have the mappings of the ring: `check_process` refuses it, and `drop` leaks what it has of it.

use std::io::{self, IoSlice};
use std::mem::{ManuallyDrop, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::process;
use std::thread;
use std::time::Duration;

use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode};

use crate::in_flight::notices::ZerocopyNotices;
use crate::in_flight::sys::backend::{FORKED, MAX_REFUSALS, PAUSE, cannot_wait};
use crate::in_flight::sys::io_uring::probe;

/// `IORING_SEND_ZC_REPORT_USAGE` and `IORING_NOTIF_USAGE_ZC_COPIED` of `linux/io_uring.h`.
const REPORT_USAGE: u16 = 1 << 3;
const COPIED: u32 = 1 << 31;

/// Notifications that the queue holds before the kernel keeps further ones in memory of its own.
const ENTRIES: u32 = 64;

/// A ring that sends one list at a time.
pub struct ZerocopyRing {
    /// Leaked in a forked child.
    ring: ManuallyDrop<IoUring>,
    /// The process that made it.
    process: u32,
    /// The number of the next send.
    next: u64,
    /// Sends without a notification.
    outstanding: u64,
    /// The numbers of sends that failed, and of which the kernel will notify all the same.
    failed: Vec<u64>,
    notices: ZerocopyNotices,
    /// The result of the send that has completed.
    sent: Option<i32>,
}

impl ZerocopyRing {
    /// A ring.
    ///
    /// # Errors
    ///
    /// Those of `io_uring_setup(2)` and `io_uring_enter(2)`.
    pub fn new() -> io::Result<Self> {
        // The queues of a forked child would be those of its parent.
        let mut ring = IoUring::builder().dontfork().build(ENTRIES)?;
        if !ring.params().is_feature_ext_arg() || !ring.params().is_feature_nodrop() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        probe(&mut ring)?;
        Ok(ZerocopyRing {
            ring: ManuallyDrop::new(ring),
            process: process::id(),
            next: 0,
            outstanding: 0,
            failed: Vec::new(),
            notices: ZerocopyNotices::default(),
            sent: None,
        })
    }

    /// One send, which may be short. Returns when the bytes are in the socket; the pages may be read until the
    /// notification.
    ///
    /// # Errors
    ///
    /// Those of `sendmsg(2)`; `EINVAL` if the kernel is older than Linux 6.2; `ENOMEM` if the pages of all sends without a
    /// notification exceed `RLIMIT_MEMLOCK`, unless the process has `CAP_IPC_LOCK`. In a forked child, always.
    pub fn send(
        &mut self,
        fd: BorrowedFd<'_>,
        iovecs: &[IoSlice<'_>],
        is_non_blocking: bool,
    ) -> io::Result<usize> {
        self.check_process()?;
        // SAFETY: all fields of `msghdr` are integers and pointers, for which zeros are valid.
        let mut message: libc::msghdr = unsafe { zeroed() };
        // An `IoSlice` is an `iovec`, and the kernel only reads it.
        message.msg_iov = iovecs.as_ptr().cast_mut().cast();
        message.msg_iovlen = iovecs.len() as _;
        // Otherwise io_uring waits until a non-blocking socket is ready.
        let flags = match is_non_blocking {
            true => libc::MSG_DONTWAIT as u32,
            false => 0,
        };
        let entry = opcode::SendMsgZc::new(Fd(fd.as_raw_fd()), &raw const message)
            .ioprio(REPORT_USAGE)
            .flags(flags)
            .build()
            .user_data(self.next);
        self.next += 1;
        // SAFETY: the header, the array and the descriptor live until this function returns, which is after the completion.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.expect("there is one entry at a time");
        let mut refusals = 0;
        loop {
            match self.ring.submit_and_wait(1) {
                Ok(_) => {}
                Err(error) => match error.raw_os_error() {
                    Some(libc::EINTR) => {}
                    Some(libc::EAGAIN | libc::EBUSY | libc::ENOMEM) if refusals < MAX_REFUSALS => {
                        refusals += 1;
                        thread::sleep(PAUSE);
                    }
                    _ => cannot_wait("io_uring_enter", &error),
                },
            }
            self.reap();
            match self.sent.take() {
                Some(error @ ..0) => return Err(io::Error::from_raw_os_error(-error)),
                Some(bytes) => return Ok(bytes as usize),
                None => {}
            }
        }
    }

    /// Sends of which the kernel has not notified that they are done. Without those that failed.
    pub fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// Waits for a notification for at most that time.
    ///
    /// # Errors
    ///
    /// Those of `io_uring_enter(2)`. In a forked child, always.
    pub fn wait(&mut self, patience: Duration) -> io::Result<()> {
        self.check_process()?;
        if self.outstanding == 0 {
            return Ok(());
        }
        let time = Timespec::from(patience);
        let args = SubmitArgs::new().timespec(&time);
        match self.ring.submitter().submit_with_args(1, &args) {
            Err(error) if !matches!(error.raw_os_error(), Some(libc::ETIME | libc::EINTR)) => {
                return Err(error);
            }
            _ => self.reap(),
        }
        Ok(())
    }

    /// Hands over the notifications since the last call.
    pub fn take_notices(&mut self) -> ZerocopyNotices {
        std::mem::take(&mut self.notices)
    }

    /// Takes the completions that are there.
    fn reap(&mut self) {
        for completion in self.ring.completion() {
            let (flags, result) = (completion.flags(), completion.result());
            let number = completion.user_data();
            if !cqueue::notif(flags) {
                self.sent = Some(result);
                match cqueue::more(flags) {
                    true if result < 0 => self.failed.push(number),
                    true => self.outstanding += 1,
                    false => {}
                }
            } else if let Some(index) = self.failed.iter().position(|failed| *failed == number) {
                self.failed.swap_remove(index);
            } else {
                self.outstanding = self.outstanding.saturating_sub(1);
                self.notices.sends += 1;
                self.notices.copied += u64::from(result as u32 & COPIED != 0);
            }
        }
    }

    fn check_process(&self) -> io::Result<()> {
        match process::id() == self.process {
            true => Ok(()),
            false => Err(io::Error::other(FORKED)),
        }
    }
}

impl Drop for ZerocopyRing {
    fn drop(&mut self) {
        if process::id() == self.process {
            // SAFETY: it is not used again.
            unsafe { ManuallyDrop::drop(&mut self.ring) };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn a_ring_of_another_process_is_refused() {
        let mut ring = ZerocopyRing::new().unwrap();
        // As in a forked child. The ring is leaked.
        ring.process += 1;
        let anything = std::io::stderr();
        let sent = ring.send(anything.as_fd(), &[IoSlice::new(b"x")], false);
        let waited = ring.wait(Duration::ZERO);
        for refused in [sent.unwrap_err(), waited.unwrap_err()] {
            assert!(refused.to_string().contains("fork"), "{refused}");
        }
    }
}
