//! `MSG_ZEROCOPY`: sends whose pages the network card may read after the call, and the notifications that it has.
//! Linux's `Documentation/networking/msg_zerocopy.rst`.
//!
//! # Safety
//!
//! `unsafe` for `setsockopt`, for `recvmsg` with a control buffer, and for reading the messages in it.
#![allow(unsafe_code)]

#[cfg(target_os = "linux")]
pub use linux::{enable, next_done, send};
#[cfg(not(target_os = "linux"))]
pub use others::{enable, next_done, send};

/// A notification: that many sends are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    pub sends: u64,
    /// Whether the kernel copied the bytes after all.
    pub copied: bool,
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io::{self, IoSlice};
    use std::mem::{size_of, zeroed};
    use std::os::fd::{AsRawFd, BorrowedFd};

    use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};

    use super::Done;

    /// `SO_EE_ORIGIN_ZEROCOPY` and `SO_EE_CODE_ZEROCOPY_COPIED` of `linux/errqueue.h`.
    const ORIGIN: u8 = 5;
    const COPIED: u8 = 1;

    /// Allows `MSG_ZEROCOPY` on a socket. Since Linux 4.14.
    pub fn enable(fd: BorrowedFd<'_>) -> io::Result<()> {
        let one: libc::c_int = 1;
        // SAFETY: the kernel reads one `int` from the address of `one`, which lives until the call has returned.
        let outcome = unsafe {
            libc::setsockopt(
                fd.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_ZEROCOPY,
                (&raw const one).cast(),
                size_of::<libc::c_int>() as libc::socklen_t,
            )
        };
        match outcome {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Sends once; the send may be short. Until its notification has come, the kernel may read the pages again: if
    /// they have changed, other bytes are sent. The pages stay allocated as long as the kernel uses them.
    pub fn send(fd: BorrowedFd<'_>, iovecs: &[IoSlice<'_>]) -> rustix::io::Result<usize> {
        let flags = SendFlags::from_bits_retain(libc::MSG_ZEROCOPY as u32);
        sendmsg(fd, iovecs, &mut SendAncillaryBuffer::default(), flags)
    }

    /// Takes a notification from the error queue; `None` if there is none.
    pub fn next_done(fd: BorrowedFd<'_>) -> io::Result<Option<Done>> {
        // A control message is aligned as its head is.
        let mut control = [0_u64; 16];
        // SAFETY: all fields of `msghdr` are integers and pointers, for which zeros are valid.
        let mut message: libc::msghdr = unsafe { zeroed() };
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control) as _;
        // SAFETY: `message` has no data and one control buffer of the given length, which lives until the end of this
        // function and which nothing else uses.
        let count = unsafe {
            libc::recvmsg(
                fd.as_raw_fd(),
                &raw mut message,
                libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT,
            )
        };
        if count < 0 {
            let error = io::Error::last_os_error();
            return match error.kind() {
                io::ErrorKind::WouldBlock => Ok(None),
                _ => Err(error),
            };
        }
        // SAFETY: the kernel has set `msg_controllen` to the length of the messages in the buffer, which is what the
        // macro of libc reads.
        let mut head = unsafe { libc::CMSG_FIRSTHDR(&raw const message) };
        while !head.is_null() {
            // SAFETY: the macro has returned a whole head inside of the control buffer.
            let this = unsafe { *head };
            let is_error = (this.cmsg_level == libc::SOL_IP && this.cmsg_type == libc::IP_RECVERR)
                || (this.cmsg_level == libc::SOL_IPV6 && this.cmsg_type == libc::IPV6_RECVERR);
            // SAFETY: the length was set for the message in the buffer; with it checked, a whole `sock_extended_err` stands
            // there, and every bit pattern of it is valid.
            let error = unsafe {
                let least = libc::CMSG_LEN(size_of::<libc::sock_extended_err>() as u32) as usize;
                let data = libc::CMSG_DATA(head).cast::<libc::sock_extended_err>();
                (is_error && this.cmsg_len as usize >= least).then(|| data.read_unaligned())
            };
            if let Some(error) =
                error.filter(|error| error.ee_errno == 0 && error.ee_origin == ORIGIN)
            {
                // A range of numbers, both ends included, which wrap around.
                let sends = u64::from(error.ee_data.wrapping_sub(error.ee_info)) + 1;
                let copied = error.ee_code & COPIED != 0;
                return Ok(Some(Done { sends, copied }));
            }
            // SAFETY: `head` is a head in the control buffer of `message`.
            head = unsafe { libc::CMSG_NXTHDR(&raw const message, head) };
        }
        Err(io::Error::other(
            "the error queue of the socket holds something else than a notification",
        ))
    }
}

/// Systems without it.
#[cfg(not(target_os = "linux"))]
mod others {
    use std::io::{self, IoSlice};
    use std::os::fd::BorrowedFd;

    use rustix::io::Errno;

    use super::Done;

    /// Refuses: this system has no `MSG_ZEROCOPY`.
    pub fn enable(_fd: BorrowedFd<'_>) -> io::Result<()> {
        let why = "only Linux has MSG_ZEROCOPY; omit send-zerocopy from --technique";
        Err(io::Error::new(io::ErrorKind::Unsupported, why))
    }

    /// Refuses.
    pub fn send(_fd: BorrowedFd<'_>, _iovecs: &[IoSlice<'_>]) -> rustix::io::Result<usize> {
        Err(Errno::NOSYS)
    }

    /// Returns no notification.
    pub fn next_done(_fd: BorrowedFd<'_>) -> io::Result<Option<Done>> {
        Ok(None)
    }
}
