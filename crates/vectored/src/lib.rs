//! Gather writes and scatter reads that are complete and correct: all of many buffers, through one
//! file descriptor.
//!
//! `writev(2)` sends several buffers in one system call, but by itself it is half a tool. It may
//! stop in the middle of a buffer; it refuses more than `IOV_MAX` buffers; it moves no more than
//! about 2 GiB; it can be interrupted; and below a few hundred bytes a buffer it is slower than
//! copying the buffers together. This crate takes care of the first four, and chooses by a
//! [`CostModel`] for the last.
//!
//! # Start here
//!
//! | the program | function |
//! |---|---|
//! | writes lists to a blocking file, pipe or stream socket | [`Gather::write_all`]; keep the [`Gather`] |
//! | the same, with large segments or only once | [`write_all_vectored`] |
//! | writes a record or message that must be one system call | [`write_once`] |
//! | writes to a non-blocking descriptor | [`write_from`] or [`Gather::write_from`], with a [`SegmentCursor`]; [an example with poll(2)](write_from#examples), and `examples/poll_server.rs` with a queue for each connection |
//! | writes many short slices, and a long one now and then | [`GatherWriter`] |
//! | writes to a `Stdout`, a `Box<dyn Write>` or a TLS stream, which do not gather | [`GatherWriter::copying`] |
//! | writes what a `bytes::Buf` holds (feature `bytes`) | `Gather::write_buf` if it can be cloned; `BufSender` |
//! | writes at an offset of a file | [`Gather::write_all_at`], [`write_all_vectored_at`] |
//! | needs the data on storage | [`write_all_vectored_with`] and [`WriteFlags`] |
//! | writes with `O_DIRECT` | [`write_all_direct_at`], [`DirectAlignment`], [`AlignedBuffer`] |
//! | fills a list from a file, pipe or stream socket | [`read_exact_vectored`]; [`Scatter::read_exact`] if segments are short |
//! | fills as much of a list as there is | [`read_up_to_eof_vectored`], [`Scatter::read_up_to_eof`] |
//! | reads from a non-blocking descriptor | [`read_into`], with a [`SegmentCursor`] |
//! | reads many records, header and payload apart | [`ScatterReader`] |
//! | makes the system calls itself | [`SegmentCursor`]: the position in a list from which a transfer goes on |
//!
//! The functions named `…_vectored` and `write_from` reference every segment where it lies. A [`Gather`] copies
//! runs of small segments into a buffer of its own and references the large ones, in the same system call; a
//! [`Scatter`] does the same for reads. Both choose by a [`CostModel`]. [`Gathers`] is the trait of the
//! descriptors and streams that really gather.
//!
//! A *segment* is one contiguous buffer of a list: one [`IoSlice`](std::io::IoSlice), one `iovec`.
//! The caller's list is never changed. Empty segments are allowed everywhere and never reach the
//! kernel.
//!
//! A descriptor is anything that has one ([`AsFd`](std::os::fd::AsFd)), usually by reference:
//! `&file`. What owns its descriptor and is handed over by value is closed at the end of the call.
//! What a [`Stdout`](std::io::Stdout) holds in its buffer is overtaken: flush it first. A
//! [`Stderr`](std::io::Stderr) has no buffer, so `io::stderr()` needs no flush; its lock is not taken, so hold a
//! [`StderrLock`](std::io::StderrLock) if other threads print in between. Behind a [`GatherWriter`] put
//! `GatherWriter::new(stderr.as_fd())`, or [`copying`](GatherWriter::copying) for the calls of a `BufWriter`.
//!
//! # Examples
//!
//! ```
//! use std::io::IoSlice;
//! use vectored::Gather;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let body = vec![b'x'; 10_000];
//! let segments = [
//!     IoSlice::new(b"HTTP/1.1 200 OK\r\n"),
//!     IoSlice::new(b"Content-Length: 10000\r\n"),
//!     IoSlice::new(b"\r\n"),
//!     IoSlice::new(&body),
//! ];
//!
//! // Keep the `Gather`: it owns the working memory, and a second list needs no allocation.
//! let mut gather = Gather::default();
//! let file = std::fs::File::create("/dev/null")?;
//! match gather.write_all(&file, &segments) {
//!     Ok(bytes) => assert_eq!(bytes, 10_042),
//!     // An error never hides how far the list had come.
//!     Err(error) => eprintln!("{} bytes went, then: {}", error.transferred(), error.io_error()),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # What is promised, and what is not
//!
//! The bytes arrive in the order of the list, each once. A list that needs several system calls
//! (more than `IOV_MAX` entries, more bytes than the kernel moves at once, a short write) is not
//! atomic: other writers to the same file or pipe may come between two calls.
//!
//! # Signals, timeouts and full descriptors
//!
//! - **`EINTR`** is always retried: a call that a signal interrupts has moved nothing. So a signal handler
//!   cannot end a transfer. A call that is interrupted after some bytes is a short one, and the transfer goes on.
//! - **A non-blocking descriptor that is full** (or, for reads, empty) is the error
//!   [`WouldBlock`](std::io::ErrorKind::WouldBlock), and [`transferred`](TransferError::transferred) counts the
//!   bytes that went. No byte of the list is held back: the caller has the list, the cursor says what is left of
//!   it, and [`write_from`] goes on when the descriptor is ready.
//! - **`SO_SNDTIMEO` and `SO_RCVTIMEO`** (as set by `set_write_timeout` and `set_read_timeout` of a stream) look
//!   the same: `WouldBlock` with a count. Each system call has the whole timeout, so a list that takes several
//!   calls may take longer.
//! - **`SIGPIPE`**: functions that take a descriptor ([`AsFd`](std::os::fd::AsFd)) call write(2) and writev(2), also
//!   if it is a `TcpStream` or `UnixStream`. If the reader is gone, these raise the signal, which ends the process
//!   unless it is ignored, as a Rust program does from its start. [`Gathers`] of those two types, and so
//!   [`GatherWriter`], raises none.
//! - **A cursor at the end of its list** is a success: [`write_from`] returns `Ok(0)` without a system call.
//! - **A segment in a mapped file** that another process truncates: a referenced segment is read by the kernel,
//!   which answers `EFAULT`. Of the bytes before it those have gone that
//!   [`transferred`](TransferError::transferred) counts: on a file all, on a pipe or socket perhaps none. A copied
//!   one ([`Gather`], [`GatherWriter`], and the copy for a file that refuses lists) is read by this process, which
//!   gets the signal `SIGBUS`. For reads into such a segment it is the same. To survive it use
//!   [`write_all_vectored`], or a `Gather` with [`staging_bytes`](CostModel::staging_bytes) 0.
//!
//! # Secrets
//!
//! What is copied stays in memory: the staging buffers of [`Gather`], [`GatherWriter`], [`Scatter`],
//! [`ScatterReader`] and `BufSender`, and the copy for a file that refuses lists, are not wiped, neither after a
//! transfer nor when they are freed. [`write_all_vectored`] and [`read_exact_vectored`] copy nothing but for such a
//! file, [`write_once`] nothing at all.
//!
//! # Files that refuse vectored calls
//!
//! Some file systems and drivers know plain calls alone, and answer `EOPNOTSUPP`, `ENOSYS` or
//! `EINVAL` to a list. The functions for whole lists then copy what they gave that call, up to
//! 256 KiB, and make the plain call; its answer counts. It is not made for one small segment alone,
//! since `EINVAL` may as well mean the bytes (a value for a file of sysfs, say), and a part of a value
//! is another value. (One of more than 256 KiB does go in parts.) So an invalid value is offered
//! twice. There is no such call on a socket, nor on a file that is open with `O_DIRECT`, where the
//! error is the answer.
//!
//! If bytes went by the plain call, the refusal is remembered: `EINVAL` for the rest of the transfer, since it
//! may mean the list at hand; `EOPNOTSUPP` and `ENOSYS` for that file (`st_dev`, `st_ino`, and the device of a
//! special file) for the life of the process. While any is remembered, each list costs an fstat(2) and a fcntl(2)
//! more wherever it goes. Anonymous inodes (eventfd(2), timerfd, signalfd, inotify and others) share one device
//! and mostly one inode: nothing is remembered of them, so that the same list gives the same calls whatever
//! another descriptor refused.
//!
//! A driver that knows plain calls alone need not refuse a list: Linux hands it each segment by itself,
//! and nothing tells. Two segments of 8 bytes to an event counter (eventfd(2)) are two values; if the
//! second is refused, the first has gone. Segments that touch in memory are one entry to the kernel (coalesced),
//! and so one value to such a driver. If it answers `EINVAL`, the list is tried again as it was, each segment by
//! itself; if it takes them as one value, they are one. A [`Gather`] copies short segments together, which are
//! one value then. What such a driver must get in one piece belongs in one segment, for [`write_once`] as well,
//! which never coalesces.
//!
//! [`write_once`] promises one call and fails, and [`ScatterReader`] passes on what its reader
//! answers.
//!
//! # Messages
//!
//! On a descriptor that keeps messages apart, each call is a message of its own. The functions for
//! streams ([`write_all_vectored`], [`write_from`], [`write_all_vectored_with`] and those of
//! [`Gather`], and `BufSender`) therefore refuse a
//! socket of any type but `SOCK_STREAM` (datagram, `SOCK_SEQPACKET`, raw) with
//! [`InvalidInput`](std::io::ErrorKind::InvalidInput) before any byte, where the list is not
//! exactly one message:
//!
//! - it does not go out whole in one call (more than [`iov_max`] entries, more than
//!   [`MAX_CALL_BYTES`], a [`Gather`]'s staging buffer that is full);
//! - it holds no bytes: an empty message is a message, which skipping it would lose;
//! - a [`SegmentCursor`] says that a part of it, but not all, has gone already.
//!
//! Send messages with [`write_once`], and an empty one with send(2): `write_once` makes no call for it. A list that
//! does go out whole in one call is one message, and goes: to find out the type of a socket is a system call of its own (`getsockopt(SO_TYPE)`: 120 ns
//! on a file and 350 on a socket, where a `pwritev` of 20 bytes to a file took 800), which is not made
//! for a list that cannot go wrong. Should the one call be short after all, the rest is refused, and
//! the error says how much had gone. A pipe in packet mode (`O_DIRECT`, pipe(2), since Linux 3.4) is
//! not a socket and is not recognized: there, too, each call is a packet, or several where it
//! exceeds `PIPE_BUF`.
//!
//! The functions that read a stream into a list ([`read_exact_vectored`],
//! [`read_up_to_eof_vectored`], [`read_into`], those of [`Scatter`], [`read_exact_uninit`] and
//! [`read_up_to_eof_uninit`]) refuse such sockets whatever the list is, with
//! [`InvalidInput`](std::io::ErrorKind::InvalidInput) before any byte. A message longer than the list
//! would lose its tail, and no call that reads would tell; shorter ones would be joined; an empty one
//! would look like the end of the file. Receive each message with recvmsg(2). They have to ask first,
//! once a list. A list of 16 and 1000 bytes took 1.25 times as long from a file and 1.27 from a pipe
//! (90 to 150 ns more), 1.46 from a Unix and 1.43 from a TCP socket (200 to 310); one of 16 bytes and
//! 16 KiB 1.06 to 1.15 times. Lists without bytes and reads at an offset ask nothing.
//!
//! [`ScatterReader`] takes any reader, which it cannot ask;
//! [`refusing_messages`](ScatterReader::refusing_messages) asks once for all that is read.
//!
//! # Features
//!
//! - `bytes`, not on by default: `BufSender` writes from any
//!   [`bytes::Buf`](https://docs.rs/bytes/1/bytes/trait.Buf.html), a `Chain` included, and
//!   `Gather::write_buf` from one that can be cloned, in spite of a `chunks_vectored` that may skip
//!   data. A list of `Bytes` needs neither: an `IoSlice` can be made of each.
//! - `serde`, not on by default: a [`CostModel`] can be saved and loaded.
//!
//! The crate is for Unix. It writes to no descriptor but the one it is handed.

mod buffered;
#[cfg(feature = "bytes")]
mod bytes_buf;
mod calibrate;
mod cost;
mod cursor;
mod error;
mod gather;
mod read;
mod sys;
#[cfg(test)]
mod testing;
mod transfer;
mod write;

pub use buffered::gather_writer::GatherWriter;
pub use buffered::into_inner_error::{IntoInnerError, WriterPanicked};
pub use buffered::scatter_reader::ScatterReader;
#[cfg(feature = "bytes")]
pub use bytes_buf::sender::BufSender;
pub use calibrate::channel::CalibrationTarget;
pub use cost::chunking::ChunkPolicy;
pub use cost::fit::Observation;
pub use cost::thresholds::{CopyThresholds, UnknownSegmentCount};
pub use cost::{CostModel, TargetKind};
pub use cursor::SegmentCursor;
pub use error::TransferError;
pub use gather::Gather;
pub use gather::gathers::Gathers;
pub use read::all::{
    read_exact_vectored, read_exact_vectored_at, read_into, read_up_to_eof_vectored,
    read_up_to_eof_vectored_at,
};
pub use read::scatter::Scatter;
pub use read::uninit::{read_exact_uninit, read_up_to_eof_uninit};
pub use sys::limits::{Limits, MAX_CALL_BYTES, iov_max};
pub use transfer::aligned_buffer::AlignedBuffer;
pub use write::all::{write_all_vectored, write_from};
pub use write::direct::{DirectAlignment, write_all_direct_at};
pub use write::flags::{OnRefusal, WriteFlags, write_all_vectored_with};
pub use write::once::write_once;
pub use write::positional::write_all_vectored_at;
