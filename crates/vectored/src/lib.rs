//! Gather writes that are complete and correct: all of many buffers, through one file descriptor.
//!
//! `writev(2)` sends several buffers in one system call, but by itself it is half a tool. It may
//! stop in the middle of a buffer; it refuses more than `IOV_MAX` buffers; it moves no more than
//! about 2 GiB; it can be interrupted; and below a few hundred bytes a buffer it is slower than
//! copying the buffers together. This crate takes care of the first four, and chooses by a
//! [`CostModel`] for the last.
//!
//! - [`write_all_vectored`] writes a whole list, referencing every segment where it lies.
//! - [`Gather`] writes a whole list and chooses: it copies runs of small segments into a buffer of
//!   its own and references the large ones, in the same system call.
//! - [`read_exact_vectored`] fills a whole list, [`read_up_to_eof_vectored`] as much of it as there
//!   is, [`read_into`] goes on where a non-blocking descriptor had no more.
//! - [`Scatter`] does the same and chooses, as [`Gather`] does for writes.
//! - [`ScatterReader`] reads records from a stream, header and payload into separate buffers, and
//!   reads ahead.
//! - [`SegmentCursor`] is the position in a list that both are built on, for callers who make the
//!   system calls themselves.
//!
//! A *segment* is one contiguous buffer of a list: one [`IoSlice`](std::io::IoSlice), one `iovec`.
//! The caller's list is never changed. Empty segments are allowed everywhere and never reach the
//! kernel.
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
//! atomic: other writers to the same file or pipe may come between two calls. For that reason
//! these functions are meant for byte streams. On a descriptor that keeps message boundaries (a
//! datagram or `SOCK_SEQPACKET` socket) each call would be a message of its own.
//!
//! The crate is for Unix. It writes to no descriptor but the one it is handed.

mod copy;
mod cost;
mod cursor;
mod error;
mod gather;
mod plan;
mod read;
mod read_plan;
mod receive;
mod scatter;
mod scatter_reader;
mod sys;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod testing_read;
mod transfer;
mod uninit;
mod write;

pub use cost::{CostModel, TargetKind};
pub use cursor::SegmentCursor;
pub use error::TransferError;
pub use gather::Gather;
pub use read::{
    read_exact_vectored, read_exact_vectored_at, read_into, read_up_to_eof_vectored,
    read_up_to_eof_vectored_at,
};
pub use scatter::Scatter;
pub use scatter_reader::ScatterReader;
pub use sys::limits::{Limits, MAX_CALL_BYTES, iov_max};
pub use uninit::{read_exact_uninit, read_up_to_eof_uninit};
pub use write::write_all_vectored;
