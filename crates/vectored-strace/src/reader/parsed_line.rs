//! What is known of an event before its arguments are read, and how it then becomes one.
//!
//! A head is plain, so that it can be handed to another thread with its text.

use crate::call::call_prefix::{Beginning, First};
use crate::call::call_result::Tail;
use crate::call::calls;
use crate::call::names::Name;
use crate::call::names::Shape;
use crate::call::transfers::{Body, Segments, asked_and_offset};
use crate::counts::Counts;
use crate::event::{Action, Descriptor, Direction, Event, Transfer};

/// What the next event is about.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Head {
    /// The line where it began.
    pub(crate) number: u64,
    /// Its thread.
    pub(crate) thread: u32,
    /// When it began, in ns.
    pub(crate) began_ns: Option<u64>,
    /// How exact that is, in ns.
    pub(crate) clock_ns: u64,
    /// What it is.
    pub(crate) kind: Kind,
}

/// What an event is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Kind {
    /// There is none.
    #[default]
    Nothing,
    /// A call.
    Call(Beginning, Tail),
    /// A call whose arguments were read already.
    Plain(Plain),
    /// A call that made a thread, which was told when the thread was seen.
    Told(Beginning, Tail),
    /// The name of a thread, which is the whole text.
    Named,
    /// A signal, whose name has so many bytes.
    Signal(usize),
    /// The end of a thread.
    Exit {
        /// How many bytes are its name.
        name_bytes: usize,
        /// With its process.
        process_ended: bool,
    },
}

/// `write(3</tmp/x>, "a"..., 100) = 100`, with or without an offset: what most logs are full of, and
/// where few numbers tell all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain {
    name_bytes: usize,
    direction: Direction,
    number: i32,
    /// Where in the text what `-y` shows is.
    leads_to: Option<(usize, usize)>,
    asked_bytes: u64,
    moved_bytes: u64,
    offset: Option<u64>,
    took_ns: Option<u64>,
}

impl Plain {
    /// Of a call that is one; whatever is unusual about it, it then is none.
    #[inline]
    pub(crate) fn of(text: &[u8], beginning: Beginning, tail: Tail) -> Option<Self> {
        let Name::Transfer(Shape::Plain { positional }, direction) = beginning.name else {
            return None;
        };
        let First::Descriptor {
            number,
            bytes,
            leads_to: (start, end),
        } = beginning.first
        else {
            return None;
        };
        let moved_bytes = tail.value?;
        let arguments = beginning.name_bytes + 1;
        if text.get(arguments + usize::from(bytes)) != Some(&b',') {
            return None;
        }
        let (asked_bytes, offset) =
            asked_and_offset(body(text, beginning, tail), positional).ok()?;
        let leads_to = (arguments + usize::from(start), arguments + usize::from(end));
        Some(Self {
            name_bytes: beginning.name_bytes,
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

/// The event of a head, if there is one. What cannot be read is counted.
#[inline]
pub(crate) fn read_event<'a>(
    head: &'a Head,
    text: &'a [u8],
    site: Option<&'a [u8]>,
    segments: &'a mut Segments,
    counts: &mut Counts,
) -> Option<Event<'a>> {
    let mut took_ns = None;
    let (name_bytes, action) = match &head.kind {
        Kind::Nothing => return None,
        Kind::Plain(plain) => {
            counts.paths |= plain.leads_to.is_some();
            return Some(Event {
                thread: head.thread,
                began_ns: head.began_ns,
                clock_ns: head.clock_ns,
                took_ns: plain.took_ns,
                name: &text[..plain.name_bytes],
                action: Action::Transfer(plain.transfer(text)),
                site,
            });
        }
        &Kind::Call(beginning, tail) => {
            took_ns = tail.took_ns;
            let read = calls::call(body(text, beginning, tail), segments);
            if let Some(reason) = read.missing {
                counts.skip(reason, head.number);
            }
            counts.paths |= has_path(&read.action);
            (beginning.name_bytes, read.action)
        }
        Kind::Told(beginning, tail) => {
            took_ns = tail.took_ns;
            (beginning.name_bytes, Action::Other { descriptor: None })
        }
        Kind::Named => (0, Action::Name { program: text }),
        &Kind::Signal(name_bytes) => (name_bytes, Action::Signal),
        &Kind::Exit {
            name_bytes,
            process_ended,
        } => (name_bytes, Action::Exit { process_ended }),
    };
    Some(Event {
        thread: head.thread,
        began_ns: head.began_ns,
        clock_ns: head.clock_ns,
        took_ns,
        name: &text[..name_bytes],
        action,
        site,
    })
}

/// What stands between a call's opening bracket and its duration.
#[inline]
pub(crate) fn body(call: &[u8], beginning: Beginning, tail: Tail) -> Body<'_> {
    let start = beginning.name_bytes + 1;
    Body {
        beginning,
        text: &call[start..tail.end],
        equals: tail.equals - start,
        value: tail.value,
    }
}

/// Whether a call told what its descriptor leads to.
fn has_path(action: &Action) -> bool {
    match action {
        Action::Transfer(transfer) => transfer.descriptor.leads_to.is_some(),
        Action::Open { descriptor, .. } => descriptor.leads_to.is_some(),
        Action::Close { leads_to, .. } => leads_to.is_some(),
        _ => false,
    }
}
