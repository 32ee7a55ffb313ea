//! Writes and reads lists of buffers: every byte, in order, through one file descriptor, handle or socket.
//!
//! `writev(2)` sends several buffers in one system call. A program that calls `writev(2)` must handle five cases:
//!
//! - the call may stop in the middle of a buffer;
//! - the call refuses more than `IOV_MAX` buffers;
//! - the call moves no more than about 2 GiB;
//! - a signal may interrupt the call;
//! - if buffers have less than a few hundred bytes, the call is slower than copying the buffers together.
//!
//! This crate handles all five cases. A [`CostModel`] decides when copying is faster. A *segment* is one buffer
//! of a list: one [`IoSlice`](std::io::IoSlice), one `iovec`.
//!
//! # A record to a file
//!
//! ```
//! use std::fs::File;
//! use std::io::IoSlice;
//! use vectored::Gather;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let path = std::env::temp_dir().join(format!("vectored-first-page-{}", std::process::id()));
//! let body = vec![b'x'; 10_000];
//! let record = [IoSlice::new(b"length: 10000\r\n"), IoSlice::new(b"\r\n"), IoSlice::new(&body)];
//!
//! let file = File::create(&path)?;
//! // Keep the `Gather`: it owns the working memory, so a second list allocates nothing.
//! let mut gather = Gather::new();
//! match gather.write_all(&file, &record) {
//!     Ok(bytes) => assert_eq!(bytes, 10_017),
//!     // The error has the number of bytes that were written before.
//!     Err(error) => eprintln!("{} bytes written, then: {}", error.transferred(), error.io_error()),
//! }
//! # std::fs::remove_file(&path)?;
//! # Ok(())
//! # }
//! ```
//!
//! # A log of several processes
//!
//! ```
//! use std::fs::OpenOptions;
//! use std::io::IoSlice;
//! use vectored::write_once;
//!
//! # fn main() -> std::io::Result<()> {
//! # let path = std::env::temp_dir().join(format!("vectored-first-page-log-{}", std::process::id()));
//! let log = OpenOptions::new().append(true).create(true).open(&path)?;
//! // One system call: no other process can write between the parts. If a full disk cuts the line, that is an error.
//! write_once(&log, &["12:00:01 ", "started", "\n"].map(|part| IoSlice::new(part.as_bytes())))?;
//! # assert_eq!(std::fs::read(&path)?, b"12:00:01 started\n");
//! # std::fs::remove_file(&path)
//! # }
//! ```
//!
//! # The answers of a connection
//!
//! ```
//! use vectored::SegmentQueue;
//!
//! # fn main() -> std::io::Result<()> {
//! # let (reader, socket) = std::io::pipe()?;
//! let mut queue = SegmentQueue::new();
//! for answer in ["short".to_owned(), "long".repeat(10_000)] {
//!     queue.put_slice(format!("${}\r\n", answer.len()).as_bytes());
//!     queue.push(answer); // owned: copied if it is short, kept if it is long; `put_slice` copies a borrowed one
//!     queue.put_slice(b"\r\n");
//! }
//! # let reader = std::thread::spawn(|| std::io::read_to_string(reader));
//! queue.write_to(&socket)?; // once, for all answers
//! # drop(socket);
//! # assert_eq!(reader.join().unwrap()?.len(), 4 + 5 + 2 + 8 + 40_000 + 2);
//! # Ok(())
//! # }
//! ```
//!
//! # A non-blocking loop
//!
//! ```
//! use std::io::{ErrorKind, IoSlice};
//! use vectored::{SegmentCursor, resume_write};
//!
//! # #[cfg(unix)]
//! # fn main() -> std::io::Result<()> {
//! # use std::io::Read;
//! # let (socket, mut peer) = std::os::unix::net::UnixStream::pair()?;
//! # socket.set_nonblocking(true)?;
//! # let mut wait_until_writable = || peer.read(&mut [0; 100_000]).map(drop);
//! let pages = vec![[b'x'; 4096]; 1000];
//! let list: Vec<_> = pages.iter().map(|page| IoSlice::new(page)).collect();
//!
//! let mut cursor = SegmentCursor::new(); // the position in the list
//! loop {
//!     match resume_write(&socket, &list, &mut cursor) {
//!         Ok(_) => break,
//!         // Wait by poll(2), like the example `poll_server`, or by the program's event loop.
//!         Err(error) if error.kind() == ErrorKind::WouldBlock => wait_until_writable()?,
//!         Err(error) => return Err(error.into()),
//!     }
//! }
//! # assert!(cursor.is_at_end(&list));
//! # Ok(())
//! # }
//! # #[cfg(not(unix))]
//! # fn main() {}
//! ```
//!
//! # Headers and payloads, read
//!
//! ```
//! use std::io::{ErrorKind, IoSliceMut};
//! use vectored::ScatterReader;
//!
//! # fn main() -> std::io::Result<()> {
//! # let source = &b"\0\0\0\x05hello\0\0\0\x02so"[..];
//! # let mut payloads: Vec<Vec<u8>> = Vec::new();
//! let mut reader = ScatterReader::new(source); // reads ahead; a long payload is read directly
//! let mut header = [0; 4];
//! loop {
//!     match reader.read_exact_vectored(&mut [IoSliceMut::new(&mut header)]) {
//!         Ok(_) => {}
//!         // The stream ends between two records.
//!         Err(error) if error.kind() == ErrorKind::UnexpectedEof && error.transferred() == 0 => break,
//!         Err(error) => return Err(error.into()),
//!     }
//!     let bytes = u32::from_be_bytes(header) as usize;
//!     if bytes > 1 << 20 {
//!         return Err(ErrorKind::InvalidData.into()); // before memory is allocated for what a peer asks
//!     }
//!     let mut payload = vec![0; bytes];
//!     reader.read_exact_vectored(&mut [IoSliceMut::new(&mut payload)])?;
//! #   payloads.push(payload);
//! }
//! # assert_eq!(payloads, [&b"hello"[..], b"so"]);
//! # Ok(())
//! # }
//! ```
//!
//! # What to use when
//!
//! | task | use |
//! |---|---|
//! | write lists to a file, a pipe or a stream socket | [`Gather::write_all`] |
//! | write a list of long segments, or only one list | [`write_all`] |
//! | write a record or a message in one system call: what one call cannot take is refused before any byte, and a full disk can still cut the record | [`write_once`] |
//! | write to a non-blocking descriptor | [`resume_write`], [`Gather::resume_write`] |
//! | join the messages of a connection or a log into few calls | [`SegmentQueue`]: `write_to`; non-blocking `write_some`; to a socket of tokio `drain_to` (feature `tokio`) |
//! | write many short slices, and sometimes a long one | [`GatherWriter`]; to a `Stdout`, a `Box<dyn Write>` or a TLS stream [`GatherWriter::copying`] |
//! | fill a list | [`read_exact`], or [`Scatter`] if segments are short |
//! | fill a list up to the end of the file | [`read_up_to_eof`], [`Scatter::read_up_to_eof`] |
//! | read from a non-blocking descriptor | [`resume_read`], [`Scatter::resume_read`] |
//! | read many records, header and payload apart | [`ScatterReader`] |
//! | write or read at an offset of a file | [`files::write_all_at`], [`files::read_exact_at`], [`Gather::write_all_at`], [`Scatter::read_exact_at`] |
//! | copy from one descriptor to another, as fast as the two kinds allow | [`copy()`]; with a limit, progress or a technique [`copy::Options`] |
//! | write durably | `files::write_all_with(…, WriteFlags::DSYNC, …)`, or `File::sync_data` afterwards |
//! | write past the page cache | [`files::write_all_at`] of [`files::AlignedBuffer`]s, as [`files::DirectAlignment`] says |
//! | write a `bytes::Buf` (feature `bytes`) | `SegmentQueue::push_buf` |
//! | have many transfers in flight | `uring` (feature `uring`, Linux) |
//! | tune what is copied | [`CostModel`] with [`cost::TargetKind`]; of a queue [`queue::QueuePolicy`] |
//! | load the costs of a type of machine from a saved result (feature `load`) | `CostModel::load` |
//! | make the calls yourself | [`SegmentCursor`], [`limits`] |
//!
//! Frames for `tokio_util::codec` are in the crate `vectored-codec`.
//!
//! # What holds everywhere
//!
//! - The bytes arrive in the order of the list, and each byte arrives only once. The caller's list is never
//!   changed. Empty segments are allowed and never reach the kernel.
//! - A list that takes several calls is not atomic: another writer may write between two calls.
//! - A [`TransferError`] counts the bytes that were moved before the error. The page of [`TransferError`]
//!   documents signals, timeouts and full descriptors.
//! - Counts of whole lists are `u64`, because a list may contain a segment many times. Counts of one call are
//!   `usize`. In a function that returns an `io::Result`, write `Ok(write_all(&file, &list)?)`.
//! - After [`WouldBlock`](std::io::ErrorKind::WouldBlock), a second `write_all` would begin at the start of the
//!   list: use `resume_write` on non-blocking descriptors.
//! - A [`Gather`] and a [`Scatter`] are for one thread at a time: make one for each thread, or use a `Mutex`.
//! - The functions take any type that has a descriptor ([`AsDescriptor`]), usually by reference: `&file`. If the
//!   owner of a descriptor is passed by value, the descriptor is closed at the end of the call.
//! - A function and a method with the same effect have the same name. The suffix `_at` means an offset. The
//!   buffered types have [`ScatterReader::read_exact_vectored`] and [`GatherWriter::write_all_vectored`] for
//!   lists, because `read_exact` and `write_all` of the standard library take one buffer.
//! - The functions write only to the descriptor that the caller passes. [`CostModel::calibrate`] opens other
//!   descriptors.
//!
//! [Messages](write_once#messages), [files that refuse lists](write_all#files-that-refuse-lists),
//! [secrets](Gather#secrets) and [Windows](AsDescriptor#windows) are documented on other pages.
//!
//! # Features
//!
//! No feature is enabled by default.
//!
//! - `bytes`: a [`SegmentQueue`] takes any [`bytes::Buf`](https://docs.rs/bytes/1/bytes/trait.Buf.html), and
//!   implements `Buf`.
//! - `serde`: a [`CostModel`] can be saved and loaded.
//! - `tokio`: a [`SegmentQueue`] writes itself to an `AsyncWrite`.
//! - `uring`: the module `uring`, on Linux.
//!
//! # What may change
//!
//! The oldest supported compiler is Rust 1.85 on every system. Examples that call `std::io::pipe` need 1.87. A minor
//! version may need a newer compiler.
//!
//! A minor version may add functions, methods, variants and fields. Every enum and every struct with public
//! fields is `#[non_exhaustive]`, with these exceptions, which are final: [`Limits`](limits::Limits),
//! [`ChunkPolicy`](cost::ChunkPolicy), [`Observation`](cost::Observation) and
//! [`DirectAlignment`](files::DirectAlignment). On Windows [`BorrowedDescriptor`](bindings::BorrowedDescriptor)
//! is a final enum. All other structs have private fields.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod bindings;
pub mod buffered;
mod calibrate;
pub mod copy;
pub mod cost;
mod cursor;
mod descriptor;
mod error;
mod gather;
mod interruption;
mod plan;
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
pub use copy::copy;
#[doc(inline)]
pub use cost::CostModel;
pub use cursor::SegmentCursor;
pub use descriptor::AsDescriptor;
pub use error::TransferError;
pub use gather::Gather;
#[doc(inline)]
pub use queue::SegmentQueue;
pub use read::all::{read_exact, read_up_to_eof, resume_read};
pub use read::scatter::Scatter;
pub use write::all::{resume_write, write_all};
pub use write::once::write_once;

/// Functions for files: transfers at an offset, durable writes, and transfers past the page cache.
///
/// - A transfer at an offset does not use or move the position of the file. [`Gather::write_all_at`] and
///   [`Scatter::read_exact_at`] also copy short segments.
/// - `write_all_with` passes the flags of `pwritev2(2)` (Unix).
/// - [`DirectAlignment`](files::DirectAlignment) has the alignment that `O_DIRECT` demands.
pub mod files {
    pub use crate::read::all::{read_exact_at, read_up_to_eof_at};
    pub use crate::transfer::aligned_buffer::{AlignedBuffer, DirectAlignment};
    #[cfg(unix)]
    pub use crate::write::flags::{OnRefusal, WriteFlags, write_all_with};
    pub use crate::write::positional::write_all_at;
}

/// The limits of one system call, for programs that make the calls themselves by a [`SegmentCursor`].
pub mod limits {
    pub use crate::sys::limits::{Limits, MAX_CALL_BYTES, iov_max};
}
