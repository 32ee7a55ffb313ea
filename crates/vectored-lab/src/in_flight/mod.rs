//! Lists of segments moved with several transfers in flight on one descriptor, by the asynchronous interfaces of Linux.
//!
//! | | [`RingQueue`] | [`AioQueue`] |
//! |---|---|---|
//! | interface | io_uring, by [`vectored::uring::Ring`] | Linux native AIO: `io_submit`, `io_getevents` |
//! | a file without `O_DIRECT` | asynchronous | `io_submit` moves the bytes before it returns |
//! | a pipe, socket or character device | asynchronous | `io_submit` moves the bytes before it returns, if the driver has `read_iter` or `write_iter`; otherwise `EINVAL` |
//!
//! The buffers are borrowed. [`ListQueue::write`] and [`ListQueue::read`] return, or unwind, only when the kernel has ended
//! every transfer. So no buffer is copied, and none is allocated.
//!
//! # Examples
//!
//! Four lists into a file, at most two at a time:
//!
//! ```
//! use std::io::{Read, Seek};
//! use std::os::fd::AsFd;
//! use vectored_lab::in_flight::{Place, WriteList, queue_of};
//! use vectored_lab::model::Technique;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut queue = match queue_of(Technique::IoUring, 2) {
//!     Ok(queue) => queue,
//!     Err(unavailable) => return Ok(eprintln!("{unavailable}")),
//! };
//! # let path = std::env::temp_dir().join(format!("in-flight-{}", std::process::id()));
//! let mut file = std::fs::File::options().read(true).write(true).create_new(true).open(&path)?;
//! # std::fs::remove_file(&path)?;
//! let list: [&[u8]; 2] = [b"header ", b"payload\n"];
//! queue.write(file.as_fd(), Place::Offset(0), 4, &mut |_| WriteList::Slices(&list), &mut |_| ())?;
//! let mut text = String::new();
//! file.read_to_string(&mut text)?;
//! assert_eq!(text, "header payload\n".repeat(4));
//! # Ok(())
//! # }
//! ```

#[cfg(target_os = "linux")]
mod engine;
mod error;
mod list;
#[cfg(windows)]
pub(crate) mod pages;
mod place;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
mod unavailable;

use std::io;

use vectored::BorrowedDescriptor;

use crate::model::Technique;
use crate::platform::lacks;

pub use error::ListError;
pub use list::{ReadList, WriteList};
pub use place::{Event, Place};
#[cfg(target_os = "linux")]
pub use sys::AioQueue;
#[cfg(all(
    target_os = "linux",
    target_pointer_width = "64",
    target_endian = "little"
))]
pub use sys::RingQueue;

/// A queue of transfers that the kernel makes while the program goes on.
///
/// A transfer moves all its bytes, as [`vectored::write_all_vectored`] does: calls that move a part only are followed by
/// further calls, and a call takes at most [`vectored::iov_max`] segments and about 2 GiB. `EINTR` is retried, and so is a
/// refusal of the queue itself for lack of memory.
///
/// A forked child cannot use a queue of its parent, whose memory it shares with the kernel: `write` and `read` return an
/// error there.
pub trait ListQueue {
    /// The most lists in flight.
    fn depth(&self) -> u32;

    /// Writes `count` lists. `list` gives that of a number, which counts from 0; it is called in order.
    ///
    /// At most [`depth`](ListQueue::depth) lists are in flight. When one has ended, the next one begins. `on_event` is
    /// called when a list begins and when it has ended.
    ///
    /// # Errors
    ///
    /// The first error, in the order of the lists. All lists before it have been written whole, and of it the first
    /// bytes that [`ListError::transferred`] counts. Lists after it, of which fewer than the depth had begun, may have
    /// been written whole, in part, or not at all. An error is [`WouldBlock`](io::ErrorKind::WouldBlock) if the descriptor
    /// is non-blocking and full, [`WriteZero`](io::ErrorKind::WriteZero) if a call moved nothing, and otherwise that of the
    /// kernel. `EINVAL` of [`AioQueue`] usually means that the driver of the descriptor does not offer that interface.
    ///
    /// # Panics
    ///
    /// If `list` or `on_event` does; when all transfers have ended.
    ///
    /// # Aborts
    ///
    /// If a system call that waits for transfers fails, the process is aborted: the kernel may still use the buffers.
    fn write<'b>(
        &mut self,
        fd: BorrowedDescriptor<'b>,
        place: Place,
        count: u64,
        list: &mut dyn FnMut(u64) -> WriteList<'b>,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<(), ListError>;

    /// Reads `count` lists. The first of them goes into `lists[0]`, the second one into `lists[1]`, and so on; after the
    /// last one, each goes into the list that has been without a transfer for the longest time.
    ///
    /// So at most `lists.len()` are in flight, or [`depth`](ListQueue::depth), if that is less.
    ///
    /// # Errors
    ///
    /// As [`write`](ListQueue::write), with reads for writes. [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) if the file
    /// or stream ends within a list.
    ///
    /// # Panics
    ///
    /// If `on_event` does; if `lists` is empty and `count` is not 0.
    ///
    /// # Aborts
    ///
    /// As `write`.
    fn read(
        &mut self,
        fd: BorrowedDescriptor<'_>,
        place: Place,
        count: u64,
        lists: &mut [ReadList<'_, '_>],
        on_event: &mut dyn FnMut(Event),
    ) -> Result<(), ListError>;
}

/// A queue of an asynchronous technique that has up to `depth` lists in flight.
///
/// # Errors
///
/// If this system has none, or the kernel gives none: a sandbox or an administrator forbids it, the kernel lacks it or lacks
/// memory, or the depth is 0 or too large. The message names the remedy.
pub fn queue_of(technique: Technique, depth: u32) -> io::Result<Box<dyn ListQueue>> {
    #[cfg(not(target_os = "linux"))]
    let _ = depth;
    match technique {
        #[cfg(all(
            target_os = "linux",
            target_pointer_width = "64",
            target_endian = "little"
        ))]
        Technique::IoUring => Ok(Box::new(RingQueue::new(depth)?)),
        #[cfg(target_os = "linux")]
        Technique::LinuxAio => Ok(Box::new(AioQueue::new(depth)?)),
        other => Err(lacks(other.name())),
    }
}
