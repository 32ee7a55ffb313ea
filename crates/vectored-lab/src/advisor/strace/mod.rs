//! From the text of strace(1) to events.
//!
//! - [`Reader`]: one log, an event at a time.
//! - [`read_logs`]: files of logs, compressed or in parts (`-ff`).
//!
//! How it goes within: `lines` finds lines, `line` reads what stands before a call (its thread, its
//! time, which `threads` and `clock` follow), `unfinished` joins calls that are in two lines,
//! `stack` reads `-k`, `beginnings` the name and the first argument, `outcome` the result from the
//! end. That makes a `head`, which `ahead` hands in a `batch` to the thread that follows; there `calls`
//! reads what the call did, with `names`, `transfers` and `descriptors` for the two large families, and
//! `arguments` and `numbers` below.
//!
//! In a log of `-xx`, `hex` puts characters for their hexadecimal escapes before a line is read.
//!
//! Most lines have one shape: such a line is `usual`, read as a whole, and its few numbers go to the
//! batch without its text; whoever `follow`s may have a shorter way for it. The same line is read the
//! other way, too, wherever it is alone, and says the same there.
//!
//! The format is that of strace 4.5 to 6.x; what older versions wrote differently is named where it
//! is read.

mod ahead;
mod arguments;
mod batch;
mod beginnings;
mod calls;
mod clock;
mod counts;
mod descriptors;
mod follow;
mod head;
mod hex;
mod input;
mod line;
mod lines;
mod logs;
mod names;
mod numbers;
mod outcome;
mod reader;
mod stack;
mod threads;
mod transfers;
mod unfinished;
mod usual;

pub use counts::Counts;
pub use logs::{Item, LogError, read_logs};
pub use reader::{ReadOptions, Reader};
