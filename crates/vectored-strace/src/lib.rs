//! Reads the logs of strace(1), and of `strace -ff`, and gives their system calls as [`Event`]s: which
//! descriptor, how many bytes, when, and how it ended.
//!
//! - [`Reader`]: one log, an event at a time.
//! - [`read_logs`]: files of logs, compressed or in parts (`-ff`); [`read_logs_to`] the same for an [`EventSink`].
//!
//! ```
//! use vectored_strace::Reader;
//! use vectored_strace::event::Action;
//!
//! let log = b"7 write(3</tmp/log>, \"a\", 1) = 1\n7 close(3</tmp/log>) = 0\n";
//! let mut reader = Reader::new(&log[..]);
//! let event = reader.next()?.unwrap();
//! let Action::Transfer(transfer) = &event.action else { panic!() };
//! assert_eq!((event.name, transfer.result), (&b"write"[..], Ok(1)));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Calls that move bytes, and calls that open, duplicate or close descriptors, have their arguments read; of
//! all others the name is given. `-f`, `-ff`, `-t`, `-tt`, `-ttt`, `-r`, `-T`, `-y`, `-yy`, `-k`, `-v` and `-xx` are
//! known; what a log lacks is in [`Counts`].
//!
//! # How it is made
//!
//! `line_reader` finds lines, `line_prefix` reads what stands before a call (its thread, its time, which
//! `threads` and `clock` follow), `unfinished` joins calls that are in two lines, `stack` reads `-k`,
//! `call_prefix` the name and the first argument, `call_result` the result from the end. That makes a
//! `parsed_line`, which `pipeline` hands in a `batch` to the thread of the sink; there `calls` reads what the
//! call did, with `names`, `transfers` and `descriptors` for the two large families, and `arguments` and
//! `numbers` below. In a log of `-xx`, `hex` decodes a line before it is read.
//!
//! Most lines have one form: such a line is a `common_line`, read as a whole, and its few numbers go to the batch
//! without its text. It means the same as when it is read the long way; a test holds the two together.
//!
//! The format is that of strace 4.5 to 6.x; what older versions wrote differently is named where it is read.

mod call;
mod counts;
pub mod event;
mod event_sink;
mod files;
mod item;
mod line;
mod reader;
mod text;

pub use counts::{Counts, Skipped};
pub use event::Event;
pub use event_sink::EventSink;
pub use files::{read_logs, read_logs_to};
pub use item::{Item, LogError};
pub use reader::{ReadOptions, Reader};
