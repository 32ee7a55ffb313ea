//! Lists of segments moved with several transfers in flight on one descriptor, by the asynchronous interfaces of Linux.
//!
//! | | [`RingQueue`] | [`AioQueue`] |
//! |---|---|---|
//! | interface | io_uring, by [`vectored::uring::Ring`] | Linux native AIO: `io_submit`, `io_getevents` |
//! | a file without `O_DIRECT` | asynchronous | `io_submit` moves the bytes before it returns |
//! | a pipe, socket or character device | asynchronous | `io_submit` moves the bytes before it returns, if the driver has `read_iter` or `write_iter`; otherwise `EINVAL` |
//!
//! The buffers are borrowed. [`ListQueue::write`] and [`ListQueue::read`] return, or unwind, only when the kernel has ended
//! every transfer. So no buffer is copied, and none is allocated. [`move_by_ring`], which a [`RingQueue`] calls, also moves
//! what a program owns.
//!
//! # Examples
//!
//! Four lists into a file, at most two at a time:
//!
//! ```
//! use std::io::{Read, Seek};
//! use std::os::fd::AsFd;
//! use vectored_measure::in_flight::{AioQueue, ListQueue, Place};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut queue = match AioQueue::with_depth(2) {
//!     Ok(queue) => queue,
//!     Err(unavailable) => return Ok(eprintln!("{unavailable}")),
//! };
//! # let path = std::env::temp_dir().join(format!("in-flight-{}", std::process::id()));
//! let mut file = std::fs::File::options().read(true).write(true).create_new(true).open(&path)?;
//! # std::fs::remove_file(&path)?;
//! let list: [&[u8]; 2] = [b"header ", b"payload\n"];
//! queue.write(file.as_fd(), Place::Offset(0), 4, &mut |_| &list, &mut |_| ())?;
//! let mut text = String::new();
//! file.read_to_string(&mut text)?;
//! assert_eq!(text, "header payload\n".repeat(4));
//! # Ok(())
//! # }
//! ```

#[cfg(target_os = "linux")]
mod engine;
mod error;
#[cfg(target_os = "linux")]
mod list_queue;
#[cfg(windows)]
pub(crate) mod pages;
mod place;
#[cfg(target_os = "linux")]
mod refusals;
#[cfg(all(
    target_os = "linux",
    target_pointer_width = "64",
    target_endian = "little"
))]
mod ring;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
mod unavailable;

pub use error::ListError;
#[cfg(target_os = "linux")]
pub use list_queue::{ListQueue, ReadList, WriteList};
pub use place::{Event, Place};
#[cfg(all(
    target_os = "linux",
    target_pointer_width = "64",
    target_endian = "little"
))]
pub use ring::{RingList, move_by_ring, uncopied_queue};
#[cfg(target_os = "linux")]
pub use sys::AioQueue;
#[cfg(all(
    target_os = "linux",
    target_pointer_width = "64",
    target_endian = "little"
))]
pub use sys::RingQueue;
