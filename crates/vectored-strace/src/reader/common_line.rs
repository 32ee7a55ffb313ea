//! Lines of the common form, `9658  1795312736.006254 write(3</tmp/x>, "a"..., 9) = 9 <0.000012>`.
//!
//! With `-f -ttt -T` most lines have this form. Their parts are read here by code that knows no other. A line that
//! differs in any part is read by [`Reader::advance`](crate::Reader), with the same result.

use crate::call::body::Body;
use crate::call::call_prefix::{CallPrefix, CommonForm, FirstArgument};
use crate::call::call_result::Tail;
use crate::call::names::Syscall;
use crate::call::transfers::asked_and_offset;
use crate::event::{Action, Descriptor, Event, Transfer};
use crate::line::line_prefix::MAX_THREAD;
use crate::text::numbers::{
    eight_digits, leading, leading_short_number, six_digits_between, trailing_short_number,
};

const SECOND_NS: u64 = 1_000_000_000;

/// Resolution of the times, in ns.
pub(crate) const CLOCK_NS: u64 = 1000;

/// The prefix of a line of common form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CommonPrefix {
    pub(crate) thread: u32,
    pub(crate) began_ns: u64,
    /// Position of the call.
    pub(crate) end: usize,
}

/// The digits of the whole seconds of the previous line and their value: consecutive lines usually share them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SecondsCache {
    digits: [u8; 10],
    ns: u64,
}

impl Default for SecondsCache {
    fn default() -> Self {
        Self {
            digits: *b"0000000000",
            ns: 0,
        }
    }
}

impl CommonPrefix {
    /// Reads `9658  1795312736.006254 `, where the thread is padded to five bytes.
    #[inline]
    pub(crate) fn of(line: &[u8], seconds: &mut SecondsCache) -> Option<Self> {
        let word = *line.first_chunk()?;
        let (thread, digits) = leading_short_number(word)?;
        let time = digits.max(5) + 1;
        // The bytes from the last digit to the time must be blanks.
        let padding = (u64::MAX << (8 * digits)) & (u64::MAX >> (64 - 8 * time));
        let differences = u64::from_le_bytes(word) ^ u64::from_le_bytes([b' '; 8]);
        if differences & padding != 0 || thread > u64::from(MAX_THREAD) {
            return None;
        }
        let time_text: &[u8; 18] = line.get(time..)?.first_chunk()?;
        let (whole, fraction) = time_text.split_first_chunk()?;
        if *whole != seconds.digits {
            *seconds = SecondsCache::of(*whole)?;
        }
        let micros = six_digits_between(b'.', *fraction.first_chunk()?, b' ')?;
        Some(Self {
            thread: thread as u32,
            began_ns: seconds.ns + micros * 1000,
            end: time + time_text.len(),
        })
    }
}

impl SecondsCache {
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

/// A call of common form. Its prefix is stored once for all calls of the batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommonCall {
    pub(crate) thread: u32,
    /// Index of its prefix in the batch.
    pub(crate) prefix_index: u32,
    pub(crate) began_ns: u64,
    pub(crate) took_ns: u64,
    asked_bytes: u64,
    moved_bytes: u64,
    offset: Option<u64>,
}

/// The numbers in the arguments and result of a call of common form.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Amounts {
    asked_bytes: u64,
    moved_bytes: u64,
    offset: Option<u64>,
}

impl Amounts {
    /// Reads the numbers of a call, whose text goes to the end of its line.
    #[inline]
    pub(crate) fn of(
        call: &[u8],
        prefix: CallPrefix,
        form: CommonForm,
        tail: Tail,
    ) -> Option<Self> {
        let CommonForm::Transfer { positional } = form else {
            return Some(Self::default());
        };
        let moved_bytes = tail.value?;
        if let Some(asked_bytes) = last_short_number(call, tail).filter(|_| !positional) {
            return Some(Self {
                asked_bytes,
                moved_bytes,
                offset: None,
            });
        }
        let body = Body::of(call, prefix, tail);
        let (asked_bytes, offset) = asked_and_offset(body, positional).ok()?;
        Some(Self {
            asked_bytes,
            moved_bytes,
            offset,
        })
    }
}

/// The last of several arguments if it is a short number, as the count of most transfers is.
#[inline(always)]
fn last_short_number(call: &[u8], tail: Tail) -> Option<u64> {
    let arguments = call.get(..tail.equals)?.strip_suffix(b") ")?;
    let (number, digits) = trailing_short_number(arguments)?;
    // The comma rules out the only argument: a call's name has none.
    arguments[..arguments.len() - digits]
        .ends_with(b", ")
        .then_some(number)
}

impl CommonCall {
    #[inline]
    pub(crate) fn new(
        start: CommonPrefix,
        prefix_index: u32,
        took_ns: u64,
        amounts: Amounts,
    ) -> Self {
        Self {
            thread: start.thread,
            prefix_index,
            began_ns: start.began_ns,
            took_ns,
            asked_bytes: amounts.asked_bytes,
            moved_bytes: amounts.moved_bytes,
            offset: amounts.offset,
        }
    }

    /// The event of a transfer with this prefix and prefix text; `None` for any other call.
    #[inline(always)]
    pub(crate) fn transfer<'a>(&'a self, prefix: CallPrefix, text: &'a [u8]) -> Option<Event<'a>> {
        let Syscall::Transfer(_, direction) = prefix.name else {
            return None;
        };
        let descriptor = descriptor(prefix, text)?;
        let (asked, moved) = (&self.asked_bytes, self.moved_bytes);
        let transfer = Transfer::plain(direction, descriptor, asked, moved, self.offset);
        Some(self.event(prefix, text, Action::Transfer(transfer)))
    }

    /// The event of any other call with this prefix and prefix text.
    pub(crate) fn other<'a>(&'a self, prefix: CallPrefix, text: &'a [u8]) -> Event<'a> {
        let descriptor = descriptor(prefix, text);
        self.event(prefix, text, Action::Other { descriptor })
    }

    #[inline(always)]
    fn event<'a>(&self, prefix: CallPrefix, text: &'a [u8], action: Action<'a>) -> Event<'a> {
        Event {
            thread: self.thread,
            began_ns: Some(self.began_ns),
            clock_ns: CLOCK_NS,
            took_ns: Some(self.took_ns),
            name: text.get(..prefix.name_bytes).unwrap_or_default(),
            action,
            site: None,
        }
    }
}

/// The descriptor that is the first argument of a call.
#[inline(always)]
fn descriptor(prefix: CallPrefix, text: &[u8]) -> Option<Descriptor<'_>> {
    let FirstArgument::Descriptor {
        number,
        leads_to: (start, end),
        ..
    } = prefix.first
    else {
        return None;
    };
    let arguments = text.get(prefix.name_bytes + 1..).unwrap_or_default();
    let leads_to = match end {
        0 => None,
        _ => arguments.get(usize::from(start)..usize::from(end)),
    };
    Some(Descriptor { number, leads_to })
}
