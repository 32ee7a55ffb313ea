//! A line whose arguments are not yet read.

use crate::call::call_result::Tail;
use crate::call::names::CallName;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Origin {
    pub(crate) number: u64,
    pub(crate) thread: u32,
    pub(crate) began_ns: Option<u64>,
    pub(crate) clock_ns: u64,
}

/// A line without its prefix, as positions in the buffer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Line {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) origin: Origin,
    pub(crate) kind: LineKind,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum LineKind {
    #[default]
    Nothing,
    Call(CallName, Tail),
    Unread,
    /// The text is the name of a thread (`-Y`).
    Named,
    Signal {
        /// The length of the signal's name, which begins the text.
        name_bytes: usize,
    },
    Exit {
        /// The length of the word that begins the text: `exited`, `killed`.
        name_bytes: usize,
        process_ended: bool,
    },
}
