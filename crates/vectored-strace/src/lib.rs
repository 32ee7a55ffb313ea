//! Parses the logs of [strace(1)](https://strace.io): system calls, with their descriptors, bytes and times, as
//! [`Event`]s.
//!
//! - [`read_logs`] reads files: plain or compressed, one per program (`strace -f`) or one per thread (`strace -ff`).
//! - [`Rewritten`] makes lines of strace from the lines of `perf trace`, `perf script` and bpftrace, as far as they go.
//! - [`Reader`] parses one log from anything that implements [`Read`](std::io::Read), one event at a time.
//!
//! # Example
//!
//! Bytes written to each file, from the text of a log:
//!
//! ```
//! use std::collections::BTreeMap;
//! use vectored_strace::Reader;
//! use vectored_strace::event::{Action, Direction};
//!
//! let log = br#"7 1795312736.000001 openat(AT_FDCWD, "/tmp/log", O_WRONLY|O_CREAT, 0666) = 3</tmp/log> <0.000012>
//! 7 1795312736.000101 write(3</tmp/log>, "head"..., 4) = 4 <0.000008>
//! 7 1795312736.000201 writev(3</tmp/log>, [{iov_base="a"..., iov_len=10}, {iov_base="b"..., iov_len=20}], 2) = 30 <0.000009>
//! 7 1795312736.000301 close(3</tmp/log>) = 0 <0.000004>
//! this line is not of strace
//! "#;
//!
//! let mut written = BTreeMap::new();
//! let mut reader = Reader::new(&log[..]);
//! while let Some(event) = reader.next()? {
//!     if let Action::Transfer(transfer) = &event.action
//!         && transfer.direction == Direction::Write
//!         && let (Some(path), Ok(bytes)) = (transfer.descriptor.leads_to, transfer.result)
//!     {
//!         *written.entry(String::from_utf8_lossy(path).into_owned()).or_insert(0) += bytes;
//!     }
//! }
//! assert_eq!(written, BTreeMap::from([("/tmp/log".to_owned(), 34)]));
//!
//! let counts = reader.counts();
//! assert_eq!((counts.lines, counts.calls), (5, 4));
//! let skipped = &counts.skipped()[0];
//! assert_eq!((&*skipped.reason, skipped.lines, skipped.first_line), ("not a line of strace", 1, 5));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # Supported logs
//!
//! Logs of strace 5.0 to 6.x, written with or without any of these options:
//!
//! | option | effect on events |
//! |---|---|
//! | `-f`, `-ff` | [`Event::thread`]; with `-ff`, `PREFIX.12` and `PREFIX.34` are parts of one log |
//! | `-t`, `-tt`, `-ttt`, `-r` | [`Event::began_ns`] and [`Event::clock_ns`] |
//! | `-T` | [`Event::took_ns`] |
//! | `-y`, `-yy` | [`Descriptor::leads_to`](event::Descriptor::leads_to) |
//! | `-Y` | [`Action::Name`](event::Action::Name) |
//! | `-k` | [`Event::site`] |
//! | `-v`, `-s` | whether [`Transfer::segment_bytes`](event::Transfer::segment_bytes) is complete; contents are not read |
//! | `-x`, `-xx`, `-i`, `-n`, `-C`, `-e write=…`, `--secontext` | none |
//!
//! `strace -f -s1 -v -yy -ttt -T -o FILE COMMAND` records everything that events can hold except call sites, in a small
//! log.
//!
//! Arguments are read of calls that move bytes and of calls that open, duplicate, close, sync or map descriptors, or
//! that create, wait for or end processes. Any other call is an [`Action::Other`](event::Action::Other) with its name.
//!
//! # Not supported
//!
//! - The tables of `strace -c` and `perf trace -s` alone are refused with a [`LogError`].
//! - Flags of `open` as bare numbers (`-X raw`), which differ between machines: see
//!   [`OpenFlags::unread`](event::OpenFlags::unread).
//! - Names of arguments (`-N`): such a call is an [`Action::Unread`](event::Action::Unread).
//! - The contents of buffers, and the arguments of calls not named above.
//!
//! # Errors
//!
//! Only input and output fail. No content of a log is an error: a line that cannot be used is counted by reason in
//! [`Counts`] and reported as [`Action::Unread`](event::Action::Unread), as is a call whose arguments cannot be read.
//! A log that ends in the middle of a line sets [`Counts::truncated`].
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
//!
//! # Structure
//!
//! ```text
//! files    opens logs, decompresses, and merges parts
//! foreign  rewrites logs of other programs as lines of strace
//! reader   joins calls that span two lines, assigns threads and times, and makes events
//! call     reads names, arguments and results of calls
//! line     finds lines; reads the thread and time before a call, and the stack after it
//! text     reads numbers and hexadecimal escapes
//! ```
//!

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
pub use files::{Item, read_logs};
pub use foreign::{Rewritten, numbers as x86_64};
pub use line::stack::{frame, is_of_c_library};
pub use reader::{ReadOptions, Reader};
pub use text::escapes::escaped;

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
