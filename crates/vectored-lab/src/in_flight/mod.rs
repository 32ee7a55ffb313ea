//! Lists of segments moved with several transfers in flight on one descriptor, by the asynchronous interfaces of Linux.
//!
//! | | [`IoUring`](Interface::IoUring) | [`LinuxAio`](Interface::LinuxAio) | [`PosixAio`](Interface::PosixAio) |
//! |---|---|---|---|
//! | system calls | `io_uring_enter` | `io_submit`, `io_getevents` | `lio_listio`, `aio_suspend` of the C library, which calls `pread` and `pwrite` in threads |
//! | a list is | one entry, `READV` or `WRITEV` | one control block, `IOCB_CMD_PREADV` or `IOCB_CMD_PWRITEV` | a control block for each segment, since it has no vectors |
//! | a file without `O_DIRECT` | asynchronous | `io_submit` moves the bytes before it returns | asynchronous; glibc makes the calls of one file one after another |
//! | a pipe, socket or character device | asynchronous | `io_submit` moves the bytes before it returns, if the driver has `read_iter` or `write_iter`; otherwise `EINVAL` | one segment at a time |
//! | a FIFO of a file system, open with `O_NONBLOCK` | `EOPNOTSUPP`, since Linux 6.18 has no `RWF_NOWAIT` for it | `EAGAIN` if it is full or empty | `EAGAIN` if it is full or empty |
//!
//! The buffers are borrowed. [`InFlight::write`] and [`InFlight::read`] return, or unwind, only when the kernel has ended
//! every transfer. So no buffer is copied, and none is allocated.
//!
//! # Examples
//!
//! Four lists into a file, at most two at a time:
//!
//! ```
//! use std::io::{Read, Seek};
//! use std::os::fd::AsFd;
//! use vectored_lab::in_flight::{InFlight, Interface, Place, WriteList};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut in_flight = match InFlight::new(Interface::IoUring, 2) {
//!     Ok(in_flight) => in_flight,
//!     Err(unavailable) => return Ok(eprintln!("{unavailable}")),
//! };
//! # let path = std::env::temp_dir().join(format!("in-flight-{}", std::process::id()));
//! let mut file = std::fs::File::options().read(true).write(true).create_new(true).open(&path)?;
//! # std::fs::remove_file(&path)?;
//! let list: [&[u8]; 2] = [b"header ", b"payload\n"];
//! in_flight.write(file.as_fd(), Place::Offset(0), 4, &mut |_| WriteList::Slices(&list), &mut |_| ())?;
//! let mut text = String::new();
//! file.read_to_string(&mut text)?;
//! assert_eq!(text, "header payload\n".repeat(4));
//! # Ok(())
//! # }
//! ```

#[cfg(unix)]
mod engine;
mod error;
mod interface;
mod list;
#[cfg(windows)]
mod no_queue;
#[cfg(not(all(
    target_os = "linux",
    target_pointer_width = "64",
    target_endian = "little"
)))]
mod no_zerocopy;
mod notices;
#[cfg(windows)]
pub(crate) mod pages;
mod place;
#[cfg(unix)]
mod queue;
#[cfg(unix)]
mod sys;

pub use error::{ListError, Unavailable};
pub use interface::Interface;
pub use list::{ReadList, WriteList};
#[cfg(windows)]
pub use no_queue::InFlight;
#[cfg(not(all(
    target_os = "linux",
    target_pointer_width = "64",
    target_endian = "little"
)))]
pub use no_zerocopy::ZerocopyRing;
pub use notices::ZerocopyNotices;
pub use place::{Event, Place};
#[cfg(unix)]
pub use queue::InFlight;
#[cfg(all(
    target_os = "linux",
    target_pointer_width = "64",
    target_endian = "little"
))]
pub use sys::ZerocopyRing;
