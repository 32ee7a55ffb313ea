//! What most lines of a log are, `9658  1795312736.006254 write(3</tmp/x>, "a"..., 9) = 9 <0.000012>`,
//! as `-f -ttt -T` makes them: read at once, where each part has the form that it mostly has. Whatever
//! is unusual about a line, it is none of these, and is read as any line can be.

use crate::call::call_prefix::{Beginning, First, Manner};
use crate::call::call_result::Tail;
use crate::call::names::Name;
use crate::call::transfers::asked_and_offset;
use crate::event::{Action, Descriptor, Event, Transfer};
use crate::line::line_prefix::LARGEST_THREAD;
use crate::reader::parsed_line::body;
use crate::text::numbers::{
    eight_digits, few_digits, few_digits_first, leading, six_digits_between,
};

const SECOND_NS: u64 = 1_000_000_000;

/// How exact the times are.
pub(crate) const CLOCK_NS: u64 = 1000;

/// What stands before a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) thread: u32,
    pub(crate) began_ns: u64,
    /// Where the call begins.
    pub(crate) call: usize,
}

/// The whole seconds of the line before, which mostly are those of the next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seconds {
    digits: [u8; 10],
    ns: u64,
}

impl Default for Seconds {
    fn default() -> Self {
        Self {
            digits: *b"0000000000",
            ns: 0,
        }
    }
}

impl Start {
    /// `9658  1795312736.006254 `: the thread is padded to five bytes.
    #[inline]
    pub(crate) fn of(line: &[u8], seconds: &mut Seconds) -> Option<Self> {
        let word = *line.first_chunk()?;
        let (thread, digits) = few_digits_first(word)?;
        let time = digits.max(5) + 1;
        let padding = (u64::MAX << (8 * digits)) & (u64::MAX >> (64 - 8 * time));
        let others = u64::from_le_bytes(word) ^ u64::from_le_bytes([b' '; 8]);
        if others & padding != 0 || thread > u64::from(LARGEST_THREAD) {
            return None;
        }
        let time_text: &[u8; 18] = line.get(time..)?.first_chunk()?;
        let (whole, fraction) = time_text.split_first_chunk()?;
        if *whole != seconds.digits {
            *seconds = Seconds::of(*whole)?;
        }
        let micros = six_digits_between(b'.', *fraction.first_chunk()?, b' ')?;
        Some(Self {
            thread: thread as u32,
            began_ns: seconds.ns + micros * 1000,
            call: time + time_text.len(),
        })
    }
}

impl Seconds {
    #[cold]
    fn of(digits: [u8; 10]) -> Option<Self> {
        eight_digits(*digits.first_chunk()?)?;
        let (seconds, length) = leading(&digits).ok()?;
        (length == digits.len()).then_some(Self {
            digits,
            ns: seconds * SECOND_NS,
        })
    }
}

/// A usual call of which few numbers tell all. How it begins is told once for all of its batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usual {
    pub(crate) thread: u32,
    /// The place of its beginning.
    pub(crate) beginning: u32,
    pub(crate) began_ns: u64,
    pub(crate) took_ns: u64,
    asked_bytes: u64,
    moved_bytes: u64,
    offset: Option<u64>,
}

/// What the arguments of a usual call tell.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Amounts {
    asked_bytes: u64,
    moved_bytes: u64,
    offset: Option<u64>,
}

impl Amounts {
    /// `call` goes to the end of its line.
    #[inline]
    pub(crate) fn of(
        call: &[u8],
        beginning: Beginning,
        manner: Manner,
        tail: Tail,
    ) -> Option<Self> {
        let Manner::Transfer { positional } = manner else {
            return Some(Self::default());
        };
        let moved_bytes = tail.value?;
        if let Some(asked_bytes) = last_of_few_digits(call, tail).filter(|_| !positional) {
            return Some(Self {
                asked_bytes,
                moved_bytes,
                offset: None,
            });
        }
        let body = body(call, beginning, tail);
        let (asked_bytes, offset) = asked_and_offset(body, positional).ok()?;
        Some(Self {
            asked_bytes,
            moved_bytes,
            offset,
        })
    }
}

/// The last argument, after another, where it is a number of few digits: what most calls asked for,
/// found quickly.
#[inline(always)]
fn last_of_few_digits(call: &[u8], tail: Tail) -> Option<u64> {
    let arguments = call.get(..tail.equals)?.strip_suffix(b") ")?;
    let (number, digits) = few_digits(arguments)?;
    // A name has no comma in it.
    arguments[..arguments.len() - digits]
        .ends_with(b", ")
        .then_some(number)
}

impl Usual {
    #[inline]
    pub(crate) fn new(start: Start, beginning: u32, took_ns: u64, amounts: Amounts) -> Self {
        Self {
            thread: start.thread,
            beginning,
            began_ns: start.began_ns,
            took_ns,
            asked_bytes: amounts.asked_bytes,
            moved_bytes: amounts.moved_bytes,
            offset: amounts.offset,
        }
    }

    /// The event of a call that begins with `text` and moved bytes; `None` of any other.
    #[inline(always)]
    pub(crate) fn transfer<'a>(
        &'a self,
        beginning: Beginning,
        text: &'a [u8],
    ) -> Option<Event<'a>> {
        let Name::Transfer(_, direction) = beginning.name else {
            return None;
        };
        let descriptor = descriptor(beginning, text)?;
        let (asked, moved) = (&self.asked_bytes, self.moved_bytes);
        let transfer = Transfer::plain(direction, descriptor, asked, moved, self.offset);
        Some(self.event(beginning, text, Action::Transfer(transfer)))
    }

    /// The event of any other call that begins with `text`.
    pub(crate) fn other<'a>(&'a self, beginning: Beginning, text: &'a [u8]) -> Event<'a> {
        let descriptor = descriptor(beginning, text);
        self.event(beginning, text, Action::Other { descriptor })
    }

    #[inline(always)]
    fn event<'a>(&self, beginning: Beginning, text: &'a [u8], action: Action<'a>) -> Event<'a> {
        Event {
            thread: self.thread,
            began_ns: Some(self.began_ns),
            clock_ns: CLOCK_NS,
            took_ns: Some(self.took_ns),
            name: text.get(..beginning.name_bytes).unwrap_or_default(),
            action,
            site: None,
        }
    }
}

/// The descriptor that a call begins with.
#[inline(always)]
fn descriptor(beginning: Beginning, text: &[u8]) -> Option<Descriptor<'_>> {
    let First::Descriptor {
        number,
        leads_to: (start, end),
        ..
    } = beginning.first
    else {
        return None;
    };
    let arguments = text.get(beginning.name_bytes + 1..).unwrap_or_default();
    let leads_to = match end {
        0 => None,
        _ => arguments.get(usize::from(start)..usize::from(end)),
    };
    Some(Descriptor { number, leads_to })
}
