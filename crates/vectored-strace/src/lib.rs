//! Parses the logs of [strace(1)](https://strace.io): system calls, with their descriptors, bytes and times, as
//! [`Event`]s.
//!
//! - [`read_logs`] reads files: plain or compressed, one per program (`strace -f`) or one per thread (`strace -ff`).
//! - [`Rewritten`] makes lines of strace from the lines of `perf trace`, `perf script` and bpftrace.
//! - [`Reader`] parses one log from anything that implements [`Read`](std::io::Read), one event at a time.
//!
//! Only the command `vectored` uses the public items of this crate; names say what most of them are.
//!
//! The arguments of a call are read if the call moves bytes; opens, duplicates, closes, syncs or maps descriptors; or
//! creates, waits for or ends processes. Any other call is an [`Action::Other`](event::Action::Other) with its name.
//!
//! The only errors are errors of input and output. No content of a log is an error: if a line cannot be used, it is
//! counted by reason in [`Counts`] and reported as [`Action::Unread`](event::Action::Unread). So is a call whose
//! arguments cannot be read.
//!
//! # Limits
//!
//! Any input is read in bounded memory:
//!
//! - A line may have 16 MiB. The buffer of a reader starts with 256 KiB and grows with the longest line; the readers of
//!   a log in parts start with 32 MiB together, at least 4 KiB each.
//! - Up to 65,536 calls, and up to 64 MiB of their text, may be unfinished at once.
//! - Thread numbers go to 2²² (the kernel's `PID_MAX_LIMIT`), other numbers to 2⁶⁴ − 1.
//! - [`Action::Name`](event::Action::Name) is reported for up to 65,536 threads.
//! - All parts of a log are open at once; `ulimit -n` limits their number.

#![allow(missing_docs)]

mod call;
mod counts;
mod error;
pub mod event;
mod files;
mod foreign;
mod line;
mod reader;
mod text;

pub use counts::{Counts, Skipped};
pub use error::LogError;
pub use event::Event;
pub use files::read_logs;
pub use foreign::{Rewritten, numbers as x86_64};
pub use line::stack::{frame, is_of_c_library};
pub use reader::Reader;
pub use text::escapes::escaped;

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
