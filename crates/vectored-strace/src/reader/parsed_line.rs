//! A line whose arguments are not read yet, and its conversion to an event.
//!
//! A [`ParsedLine`] has positions in the buffer instead of references.

use crate::call::body::Body;
use crate::call::call_prefix::{CallPrefix, FirstArgument};
use crate::call::call_result::Tail;
use crate::call::calls;
use crate::call::names::ArgumentShape;
use crate::call::names::Syscall;
use crate::call::transfers::{Segments, asked_and_offset};
use crate::counts::Counts;
use crate::event::{Action, Descriptor, Direction, Event, Transfer};

/// A line that was split into its parts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ParsedLine {
    /// Its number in the file, from 1.
    pub(crate) number: u64,
    /// Its thread.
    pub(crate) thread: u32,
    /// When the call began, in ns.
    pub(crate) began_ns: Option<u64>,
    /// Resolution of that time, in ns.
    pub(crate) clock_ns: u64,
    /// The kind of event.
    pub(crate) kind: LineKind,
}

/// The kind of event in a line.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum LineKind {
    /// No event.
    #[default]
    Nothing,
    /// A call.
    Call(CallPrefix, Tail),
    /// A transfer whose arguments were read already.
    Plain(PlainTransfer),
    /// A line that could not be read.
    Unread,
    /// The name of a thread (`-Y`), which is the whole text.
    Named,
    /// A signal.
    Signal {
        /// Length of its name, at the beginning of the text.
        name_bytes: usize,
    },
    /// The end of a thread.
    Exit {
        /// Length of the word at the beginning of the text: `exited`, `killed`.
        name_bytes: usize,
        /// Whether its process ended.
        process_ended: bool,
    },
}

/// A transfer of one buffer with or without an offset: `write(3</tmp/x>, "a"..., 100) = 100`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlainTransfer {
    name_bytes: usize,
    direction: Direction,
    number: i32,
    /// Positions in the text of what `-y` shows.
    leads_to: Option<(usize, usize)>,
    asked_bytes: u64,
    moved_bytes: u64,
    offset: Option<u64>,
    took_ns: Option<u64>,
}

impl PlainTransfer {
    /// Reads a call; `None` unless it is a successful transfer of one buffer with a short result.
    #[inline]
    pub(crate) fn of(text: &[u8], prefix: CallPrefix, tail: Tail) -> Option<Self> {
        let Syscall::Transfer(ArgumentShape::Plain { positional }, direction) = prefix.name else {
            return None;
        };
        let FirstArgument::Descriptor {
            number,
            bytes,
            leads_to: (start, end),
        } = prefix.first
        else {
            return None;
        };
        let moved_bytes = tail.value?;
        let arguments = prefix.name_bytes + 1;
        if text.get(arguments + usize::from(bytes)) != Some(&b',') {
            return None;
        }
        let (asked_bytes, offset) =
            asked_and_offset(Body::of(text, prefix, tail), positional).ok()?;
        let leads_to = (arguments + usize::from(start), arguments + usize::from(end));
        Some(Self {
            name_bytes: prefix.name_bytes,
            direction,
            number,
            leads_to: (end > 0).then_some(leads_to),
            asked_bytes,
            moved_bytes,
            offset,
            took_ns: tail.took_ns,
        })
    }

    #[inline]
    fn transfer<'a>(&'a self, text: &'a [u8]) -> Transfer<'a> {
        let leads_to = self.leads_to.and_then(|(start, end)| text.get(start..end));
        let descriptor = Descriptor {
            number: self.number,
            leads_to,
        };
        let (asked, moved) = (&self.asked_bytes, self.moved_bytes);
        Transfer::plain(self.direction, descriptor, asked, moved, self.offset)
    }
}

/// The event of a line, if it has one. Arguments that cannot be read are counted.
#[inline]
pub(crate) fn read_event<'a>(
    line: &'a ParsedLine,
    text: &'a [u8],
    site: Option<&'a [u8]>,
    segments: &'a mut Segments,
    counts: &mut Counts,
) -> Option<Event<'a>> {
    let mut took_ns = None;
    let (name_bytes, action) = match &line.kind {
        LineKind::Nothing => return None,
        LineKind::Plain(plain) => {
            counts.paths |= plain.leads_to.is_some();
            return Some(Event {
                thread: line.thread,
                began_ns: line.began_ns,
                clock_ns: line.clock_ns,
                took_ns: plain.took_ns,
                name: &text[..plain.name_bytes],
                action: Action::Transfer(plain.transfer(text)),
                site,
            });
        }
        &LineKind::Call(prefix, tail) => {
            took_ns = tail.took_ns;
            let read = calls::call(Body::of(text, prefix, tail), segments);
            if let Some(reason) = read.missing {
                counts.skip(reason, line.number);
            }
            counts.paths |= has_path(&read.action);
            (prefix.name_bytes, read.action)
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
        thread: line.thread,
        began_ns: line.began_ns,
        clock_ns: line.clock_ns,
        took_ns,
        name: &text[..name_bytes],
        action,
        site,
    })
}

/// Whether a call shows what its descriptor leads to (`-y`).
fn has_path(action: &Action) -> bool {
    match action {
        Action::Transfer(transfer) => transfer.descriptor.leads_to.is_some(),
        Action::Open { descriptor, .. } => descriptor.leads_to.is_some(),
        Action::Close { leads_to, .. } => leads_to.is_some(),
        _ => false,
    }
}
