//! A line whose arguments are not read yet, and its conversion to an event.

use crate::call::call_result::Tail;
use crate::call::names::CallName;
use crate::call::transfers::Segments;
use crate::counts::Counts;
use crate::event::{Action, Event};

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

/// The event of a line, if it has one. Arguments that cannot be read are counted.
#[inline]
pub(crate) fn read_event<'a>(
    line: &'a Line,
    text: &'a [u8],
    site: Option<&'a [u8]>,
    segments: &'a mut Segments,
    counts: &mut Counts,
) -> Option<Event<'a>> {
    let mut took_ns = None;
    let (name_bytes, action) = match &line.kind {
        LineKind::Nothing => return None,
        &LineKind::Call(name, tail) => {
            took_ns = tail.took_ns;
            let (action, missing) = name.action(text, tail, segments);
            if let Some(reason) = missing {
                counts.skip(reason, line.origin.number);
            }
            (name.bytes, action)
        }
        LineKind::Unread => (0, Action::Unread { descriptor: None }),
        LineKind::Named => (0, Action::Name { program: text }),
        &LineKind::Signal { name_bytes } => (name_bytes, Action::Signal),
        &LineKind::Exit {
            name_bytes,
            process_ended,
        } => (name_bytes, Action::Exit { process_ended }),
    };
    Some(Event {
        thread: line.origin.thread,
        began_ns: line.origin.began_ns,
        clock_ns: line.origin.clock_ns,
        took_ns,
        delayed_ns: 0,
        name: &text[..name_bytes],
        action,
        site,
    })
}
