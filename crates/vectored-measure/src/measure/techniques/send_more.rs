//! One `send` per segment, with `MSG_MORE`.

use std::io;

use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use vectored_machine::platform::calls::send_more;
use vectored_machine::platform::fd::BorrowedFd;

use crate::measure::techniques::Technique;
use crate::measure::techniques::write_mover::Mover;

pub const SEND_MORE: Technique = Technique {
    about: "send with MSG_MORE; sockets only",
    refuses: |conditions| (!conditions.target.is_socket()).then_some("is for sockets only"),
    cost_ns: |costs| costs.each_ns,
    write: Some(|_| Box::new(SendMore)),
    ..Technique::named("send-more")
};

/// One `send` per segment, with `MSG_MORE` on all but the last: TCP then waits
/// for more bytes before it sends a packet (`tcp(7)`). Unix sockets accept the
/// flag and ignore it.
struct SendMore;

impl Mover for SendMore {
    fn prepare(&mut self, _segments: &[&[u8]], _start_bytes: usize) {}

    fn call(&mut self, fd: BorrowedFd<'_>, segments: &[&[u8]]) -> io::Result<()> {
        let Some((last, before)) = segments.split_last() else {
            return Ok(());
        };
        let more = send_more()?;
        for segment in before {
            send_all(fd, segment, more)?;
        }
        send_all(fd, last, SendFlags::empty())
    }
}

/// One `send`; after a short one, further calls for the rest.
#[inline(never)]
fn send_all(fd: BorrowedFd<'_>, mut bytes: &[u8], flags: SendFlags) -> io::Result<()> {
    loop {
        match send(fd, bytes, flags) {
            Ok(sent) if sent == bytes.len() => return Ok(()),
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(sent) => bytes = &bytes[sent..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
