//! Gather writes and scatter reads that are complete and correct: all of many buffers, through one
//! file descriptor, handle or socket.
//!
//! `writev(2)` sends several buffers in one system call, but a program that calls it must handle five cases:
//!
//! - it may stop in the middle of a buffer;
//! - it refuses more than `IOV_MAX` buffers;
//! - it moves no more than about 2 GiB;
//! - a signal may interrupt it;
//! - with less than a few hundred bytes a buffer, it is slower than copying the buffers together.
//!
//! This crate handles the first four, and decides by a [`CostModel`] when to copy.
//!
//! # Start here
//!
//! | task | function |
//! |---|---|
//! | write lists to a blocking file, pipe or stream socket | [`Gather::write_all`]; keep the [`Gather`] for further lists |
//! | the same with large segments only, or only once | [`write_all_vectored`] |
//! | write a record or message that must be one system call | [`write_once`] |
//! | write to a non-blocking descriptor | [`resume_write`] or [`Gather::resume_write`], with a [`SegmentCursor`]; [an example with poll(2)](resume_write#examples), and `examples/poll_server.rs` with a queue for each connection |
//! | join the messages of a connection or the records of a log into few calls, blocking, non-blocking or asynchronous | [`SegmentQueue`]; `docs/queue.md` of the repository shows how a server goes over to it from a `BytesMut`, and `examples/` has a RESP server, a write-ahead log, a log of several processes and framed messages |
//! | write many short slices, and sometimes a long one | [`GatherWriter`] |
//! | write to a `Stdout`, a `Box<dyn Write>` or a TLS stream, which do not gather | [`GatherWriter::copying`] |
//! | write a `bytes::Buf` (feature `bytes`) | `BufSender` |
//! | write at an offset of a file | [`Gather::write_all_at`], [`write_all_vectored_at`](positional::write_all_vectored_at) |
//! | write durably, so that the data is on storage (Unix) | `write_all_vectored_with` and `WriteFlags` |
//! | write with `O_DIRECT` | [`write_all_direct_at`](direct::write_all_direct_at), [`DirectAlignment`](direct::DirectAlignment), [`AlignedBuffer`](direct::AlignedBuffer) |
//! | have many transfers in flight in one thread (feature `uring`, Linux) | `uring::Ring` |
//! | write and read lists of pages past the cache, on Windows | `windows::write_file_gather`, `windows::CompletionPort` |
//! | fill a list from a file, pipe or stream socket | [`read_exact_vectored`], or [`Scatter::read_exact`] if segments are short |
//! | fill a list up to the end of the file | [`read_up_to_eof_vectored`], [`Scatter::read_up_to_eof`] |
//! | read from a non-blocking descriptor | [`resume_read`], with a [`SegmentCursor`] |
//! | read many records, header and payload into separate buffers | [`ScatterReader`] |
//! | make the system calls yourself | [`SegmentCursor`]: a position in a list, and the entries of the next call |
//!
//! The functions named `…_vectored` and `resume_write` reference every segment in place. A [`Gather`] copies
//! runs of small segments into a staging buffer and references the large ones, in the same system call; a
//! [`Scatter`] does the same for reads. Both decide by a [`CostModel`]. [`VectoredWrite`](buffered::VectoredWrite) is the trait of the
//! descriptors and streams that write a whole list in one call.
//!
//! A *segment* is one contiguous buffer of a list: one [`IoSlice`](std::io::IoSlice), one `iovec`.
//! The caller's list is never changed. Empty segments are allowed everywhere and never reach the
//! kernel.
//!
//! The functions take any type that has a descriptor ([`AsDescriptor`]: on Unix every type with `AsFd`), usually by
//! reference: `&file`. If a `File` or another owner is passed by value, its descriptor is closed at the end of the call.
//! These functions bypass the buffer of [`Stdout`](std::io::Stdout): flush it first. A
//! [`Stderr`](std::io::Stderr) has no buffer, so `io::stderr()` needs no flush. The functions do not take its
//! lock: hold a [`StderrLock`](std::io::StderrLock) if other threads print at the same time. To buffer standard
//! error, use `GatherWriter::new(stderr.as_fd())`, or [`copying`](GatherWriter::copying) to make the calls of a
//! `BufWriter`.
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
//! // Keep the `Gather`: it owns the working memory, so a second list needs no allocation.
//! let mut gather = Gather::default();
//! let file = std::fs::File::create("/dev/null")?;
//! match gather.write_all(&file, &segments) {
//!     Ok(bytes) => assert_eq!(bytes, 10_042),
//!     // Every error counts the bytes of the list that were written before it.
//!     Err(error) => eprintln!("{} bytes written, then: {}", error.transferred(), error.io_error()),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Guarantees
//!
//! The bytes arrive in the order of the list, each once. A list that needs several system calls
//! (more than `IOV_MAX` entries, more bytes than the kernel moves at once, a short write) is not
//! atomic: another writer to the same file or pipe may write between two calls.
//!
//! # Signals, timeouts and full descriptors
//!
//! - **`EINTR`** is always retried: an interrupted call has moved nothing. So a signal handler
//!   cannot end a transfer, except through [`interruptible`](bindings::interruptible). If a signal interrupts a call that has moved some bytes, the call is short, and the
//!   transfer continues.
//! - **A full non-blocking descriptor** (or, for reads, an empty one) is the error
//!   [`WouldBlock`](std::io::ErrorKind::WouldBlock), and [`transferred`](TransferError::transferred) counts the
//!   bytes moved before it. No byte is held back: the caller has the list, the cursor points to the rest of
//!   it, and [`resume_write`] resumes there when the descriptor is ready.
//! - **`SO_SNDTIMEO` and `SO_RCVTIMEO`** (as set by `set_write_timeout` and `set_read_timeout` of a stream) have
//!   the same result: `WouldBlock` with a count. Each system call has the whole timeout, so a list that takes several
//!   calls may take longer.
//! - **`SIGPIPE`**: functions that take a descriptor ([`AsDescriptor`]) call write(2) and writev(2), even for a
//!   `TcpStream` or `UnixStream`. If the reader is gone, these calls raise the signal, which ends the process
//!   unless it is ignored. (A Rust program ignores it from its start.) [`VectoredWrite`](buffered::VectoredWrite) for those two types, and so
//!   [`GatherWriter`], raises no signal.
//! - **A cursor at the end of its list** is no error: [`resume_write`] returns `Ok(0)` without a system call.
//! - **A segment in a mapped file that another process truncates**: if the segment is referenced, the kernel
//!   reads it, and the call fails with `EFAULT`. [`transferred`](TransferError::transferred) counts the bytes
//!   moved before that: on a file all bytes before the truncated part, on a pipe or socket possibly none. If
//!   the segment is copied ([`Gather`], [`GatherWriter`], and the copy for a file that refuses lists), this
//!   process reads it and receives the signal `SIGBUS`. The same holds for reads into such a segment. To avoid
//!   the signal, use [`write_all_vectored`], or a `Gather` with [`staging_bytes`](CostModel::staging_bytes) 0.
//!
//! # Secrets
//!
//! Copied bytes stay in memory. The staging buffers of [`Gather`], [`GatherWriter`], [`Scatter`],
//! [`ScatterReader`] and `BufSender`, and the copy for a file that refuses lists, are not wiped, neither after a
//! transfer nor when they are freed. [`write_all_vectored`] and [`read_exact_vectored`] copy only for a file that
//! refuses lists; [`write_once`] copies nothing.
//!
//! # Files that refuse vectored calls
//!
//! Some file systems and drivers support plain calls only, and answer `EOPNOTSUPP`, `ENOSYS` or `EINVAL` to a
//! list. The functions for whole lists then copy up to 256 KiB of the refused call into one buffer and make a
//! plain call. The result of that call counts.
//!
//! `EINVAL` may also mean that the bytes are invalid, for example the value for a file of sysfs. A part of a
//! value must not be written, since it is another value. So no plain call is made for a single segment of up to
//! 256 KiB. An invalid value in a list of several segments is passed on twice and refused twice. A segment of
//! more than 256 KiB is sent in parts. No plain call is made on a socket, nor on a file that is open with
//! `O_DIRECT`: the function returns the error.
//!
//! If the plain call moves bytes, the refusal is remembered. `EINVAL` is remembered for the rest of the
//! transfer, since its cause may be this list. `EOPNOTSUPP` and `ENOSYS` are remembered for that file
//! (`st_dev`, `st_ino`, and the device of a special file) for the life of the process. While any refusal is
//! remembered, each list to any descriptor costs one more fstat(2) and fcntl(2). Nothing is remembered for
//! anonymous inodes (eventfd(2), timerfd, signalfd, inotify and others), which share one device and usually one
//! inode. So a refusal by one of them does not change the calls on another.
//!
//! A driver that supports plain calls only may also accept a list: Linux hands it each segment by itself, and
//! reports no error. Two segments of 8 bytes to an event counter (eventfd(2)) are two values; if the second is
//! refused, the first has been written. Segments that lie one directly after another in memory are coalesced
//! into one entry, so such a driver takes them as one value. If it refuses that entry with `EINVAL`, the list
//! is tried again with each segment as an entry of its own. A [`Gather`] copies short segments together, which
//! also makes them one value. Bytes that such a driver must get in one call belong in one segment. That holds
//! for [`write_once`] too, which never coalesces.
//!
//! [`write_once`] makes one call at most and returns its error, and [`ScatterReader`] returns the error of its reader.
//!
//! # Messages
//!
//! On a socket that keeps messages apart (one that is not a stream), each call is a message of its own. The
//! functions that write streams ([`write_all_vectored`], [`resume_write`], `write_all_vectored_with` and those
//! of [`Gather`], and `BufSender`) therefore refuse a socket of any type but `SOCK_STREAM` (datagram,
//! `SOCK_SEQPACKET`, raw) with [`InvalidInput`](std::io::ErrorKind::InvalidInput) before any byte, if the list
//! is not exactly one message:
//!
//! - one call cannot take the whole list (it has more than [`iov_max`](limits::iov_max) entries or more than
//!   [`MAX_CALL_BYTES`](limits::MAX_CALL_BYTES), or it overfills the staging buffer of a [`Gather`]);
//! - the list holds no bytes: an empty message is a message, and skipping it would lose it;
//! - a [`SegmentCursor`] inside the list says that a part of it was sent before.
//!
//! Send messages with [`write_once`], and an empty one with send(2), since `write_once` makes no call for it.
//!
//! A list that one call takes is one message, and is sent without asking for the socket's type. Asking is a
//! system call of its own (`getsockopt(SO_TYPE)`), which took 120 ns on a file and 350 ns on a socket, where a
//! `pwritev` of 20 bytes to a file took 800 ns. If the one call is short after all, the rest is refused, and
//! the error counts the bytes sent. A pipe in packet mode (`O_DIRECT`, pipe(2), since Linux 3.4) is not a
//! socket and is not recognized. There, too, each call is a packet, or several if it exceeds `PIPE_BUF`.
//!
//! The functions that read a stream into a list ([`read_exact_vectored`], [`read_up_to_eof_vectored`],
//! [`resume_read`], those of [`Scatter`], [`read_exact_uninit`](uninit::read_exact_uninit) and [`read_up_to_eof_uninit`](uninit::read_up_to_eof_uninit)) refuse such a
//! socket for every list, with [`InvalidInput`](std::io::ErrorKind::InvalidInput) before any byte. The end of a
//! message that is longer than the list would be lost, which no read call reports. Shorter messages would be
//! joined. An empty one would look like the end of the file. Receive each message with recvmsg(2).
//!
//! These functions must ask for the type once for each list. A list of two segments, of 16 and 1000 bytes, then
//! took 1.25 times as long from a file and 1.27 times from a pipe (90 to 150 ns more), 1.46 times from a Unix
//! socket and 1.43 times from a TCP socket (200 to 310 ns more). A list of 16 bytes and 16 KiB took 1.06 to
//! 1.15 times as long. Lists without bytes and reads at an offset do not ask.
//!
//! [`ScatterReader`] takes any reader, and cannot ask whether that is a socket.
//! [`refusing_messages`](ScatterReader::refusing_messages) asks once, before any read.
//!
//! # Features
//!
//! - `bytes`, off by default: `BufSender` writes any
//!   [`bytes::Buf`](https://docs.rs/bytes/1/bytes/trait.Buf.html), including a `Chain`. It is correct even if
//!   `chunks_vectored` of that buffer skips data. A list of `Bytes` does not need it: make an `IoSlice` of each `Bytes`.
//! - `serde`, off by default: a [`CostModel`] can be saved and loaded.
//! - `tokio`, off by default: a [`SegmentQueue`] writes itself to an `AsyncWrite`.
//! - `uring`, off by default: the module `uring`, on Linux. Its `Ring` has many transfers in flight.
//!
//! It writes to no descriptor but the one that the caller passes, except in [`CostModel::calibrate`], which opens
//! descriptors of its own.
//!
//! # Windows
//!
//! The functions and their guarantees are the same. What differs is the calls:
//!
//! - **Sockets** take lists, by `WSASend` and `WSARecv` of at most [`iov_max`](limits::iov_max) buffers (1024: Windows documents no limit).
//!   A full or empty non-blocking socket is [`WouldBlock`](std::io::ErrorKind::WouldBlock). A timeout of a socket is
//!   [`TimedOut`](std::io::ErrorKind::TimedOut).
//! - **Handles** (files, pipes, consoles, pipes of child processes) take one buffer a call. A call gets the start of a list
//!   that is one piece of memory, if that is all of the list or at least 64 KiB; otherwise up to 64 KiB of whole segments,
//!   copied into memory that is allocated for the call. [`write_once`] copies all of a record, and has no limit for pipes.
//! - **At an offset** the position of a handle moves to the end of the call. Offsets have 64 bits. A file that is open for
//!   appending is appended to, whatever the offset is.
//! - **Files opened with `FILE_FLAG_NO_BUFFERING`** take aligned lists: [`DirectAlignment::of`](direct::DirectAlignment::of) has the sector of the
//!   volume. Handles that are open for overlapped calls work, too; a call waits for its end by an event of its thread.
//!   The module `windows` has `WriteFileGather` and `ReadFileScatter`, also through a completion port.
//! - **Not there**: the flags of `pwritev2(2)` (`WriteFlags`, `OnRefusal`, `write_all_vectored_with`), the module `uring`,
//!   `SIGPIPE` and `EINTR`, Unix sockets. [`CostModel::calibrate`] measures files, TCP and `NUL`. Pipes that are
//!   non-blocking (`PIPE_NOWAIT`) are not supported: a full one is [`WriteZero`](std::io::ErrorKind::WriteZero).
//! - The copy loops in assembly are for Unix. The default cost models were measured on Linux.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod bindings;
pub mod buffered;
mod calibrate;
pub mod cost;
mod cursor;
mod descriptor;
mod error;
mod gather;
mod interruption;
pub mod queue;
mod read;
mod runs;
mod sys;
#[cfg(test)]
mod testing;
mod transfer;
#[cfg(all(
    feature = "uring",
    target_os = "linux",
    target_pointer_width = "64",
    target_endian = "little"
))]
pub mod uring;
#[cfg(any(windows, test))]
pub mod windows;
mod write;

#[doc(inline)]
pub use buffered::{GatherWriter, ScatterReader};
#[doc(inline)]
pub use cost::{CostModel, TargetKind};
pub use cursor::SegmentCursor;
pub use descriptor::AsDescriptor;
pub use error::TransferError;
pub use gather::Gather;
#[doc(inline)]
pub use queue::{Segment, SegmentQueue};
pub use read::all::{read_exact_vectored, read_up_to_eof_vectored, resume_read};
pub use read::scatter::Scatter;
pub use write::all::{resume_write, write_all_vectored};
pub use write::once::write_once;

/// Lists at an offset of a file: its position is neither used nor moved.
///
/// [`Gather::write_all_at`] and [`Scatter::read_exact_at`] also copy short segments.
pub mod positional {
    pub use crate::read::all::{read_exact_vectored_at, read_up_to_eof_vectored_at};
    pub use crate::write::positional::write_all_vectored_at;
}

/// The limits of one system call, for programs that make the calls themselves by a [`SegmentCursor`].
pub mod limits {
    pub use crate::sys::limits::{Limits, MAX_CALL_BYTES, iov_max};
}

/// Writes with the flags of `pwritev2(2)`, durable ones for example. On Unix.
#[cfg(unix)]
pub mod flags {
    pub use crate::write::flags::{OnRefusal, WriteFlags, write_all_vectored_with};
}

/// Writes past the page cache (`O_DIRECT`), with a check of alignment.
pub mod direct {
    pub use crate::transfer::aligned_buffer::AlignedBuffer;
    pub use crate::write::direct::{DirectAlignment, write_all_direct_at};
}

/// Reads into memory that is not initialized.
pub mod uninit {
    pub use crate::read::uninit::{read_exact_uninit, read_up_to_eof_uninit};
}
