//! A line whose arguments are not read yet.

use crate::call::call_result::Tail;
use crate::call::names::CallName;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Origin {
    pub(crate) number: u64,
    pub(crate) thread: u32,
    pub(crate) began_ns: Option<u64>,
    pub(crate) clock_ns: u64,
}

/// A line after its prefix: positions in the buffer.
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
    /// The name of a thread (`-Y`), which is the whole text.
    Named,
    Signal {
        /// Length of the signal's name, at the beginning of the text.
        name_bytes: usize,
    },
    Exit {
        /// Length of the word at the beginning of the text: `exited`, `killed`.
        name_bytes: usize,
        process_ended: bool,
    },
}
