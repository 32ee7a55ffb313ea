//! The operations of io_uring.

use std::io;

#[cfg(all(
    target_os = "linux",
    target_pointer_width = "64",
    target_endian = "little"
))]
use io_uring::{IoUring, Probe, opcode};

/// io_uring operations that transfer several buffers, or could replace such a
/// transfer.
#[cfg(all(
    target_os = "linux",
    target_pointer_width = "64",
    target_endian = "little"
))]
const OPERATIONS: [(&str, u8); 13] = [
    ("READ", opcode::Read::CODE),
    ("WRITE", opcode::Write::CODE),
    ("READV", opcode::Readv::CODE),
    ("WRITEV", opcode::Writev::CODE),
    ("READ_FIXED", opcode::ReadFixed::CODE),
    ("WRITE_FIXED", opcode::WriteFixed::CODE),
    ("READV_FIXED", opcode::ReadvFixed::CODE),
    ("WRITEV_FIXED", opcode::WritevFixed::CODE),
    ("SENDMSG", opcode::SendMsg::CODE),
    ("RECVMSG", opcode::RecvMsg::CODE),
    ("SEND_ZC", opcode::SendZc::CODE),
    ("SENDMSG_ZC", opcode::SendMsgZc::CODE),
    ("SPLICE", opcode::Splice::CODE),
];

/// Creates a ring, and asks which of the operations that transfer several buffers it has. The outer error is an error of
/// creating the ring, the inner one an error of `IORING_REGISTER_PROBE`.
#[cfg(all(
    target_os = "linux",
    target_pointer_width = "64",
    target_endian = "little"
))]
pub(crate) fn operations() -> io::Result<io::Result<Vec<(String, bool)>>> {
    let ring = IoUring::new(8)?;
    let mut probe = Probe::new();
    Ok(ring.submitter().register_probe(&mut probe).map(|()| {
        OPERATIONS
            .map(|(name, code)| (name.to_owned(), probe.is_supported(code)))
            .into()
    }))
}

/// Answers like a kernel without io_uring: this system, or this build for another processor, has none.
#[cfg(not(all(
    target_os = "linux",
    target_pointer_width = "64",
    target_endian = "little"
)))]
pub(crate) fn operations() -> io::Result<io::Result<Vec<(String, bool)>>> {
    Err(rustix::io::Errno::NOSYS.into())
}
