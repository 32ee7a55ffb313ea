//! The families of `read` and `write`: from their arguments to a [`Transfer`].

use crate::call::arguments::Arguments;
use crate::call::call_prefix::Beginning;
use crate::call::call_result::{Outcome, outcome};
use crate::call::names::Shape;
use crate::counts::Reason;
use crate::event::{Descriptor, Direction, Form, Transfer};
use crate::text::numbers::{leading, trailing};

/// What follows the arguments of a call, and room for the lengths of its segments.
pub(crate) type Segments = Vec<u64>;

/// A call as it stands in the log, from after its opening bracket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body<'a> {
    /// How the call begins.
    pub(crate) beginning: Beginning,
    /// To the end of the result.
    pub(crate) text: &'a [u8],
    /// Where the last ` = ` is in it.
    pub(crate) equals: usize,
    /// The result, where it is a number and nothing else.
    pub(crate) value: Option<u64>,
}

impl<'a> Body<'a> {
    /// The result, by the last ` = `: right wherever the result is no path.
    pub(crate) fn result(&self) -> &'a [u8] {
        self.text.get(self.equals + 2..).unwrap_or_default()
    }

    /// All from after the opening bracket, one after the other.
    #[inline]
    pub(crate) fn arguments(&self) -> Arguments<'a> {
        self.beginning.arguments(self.text)
    }

    /// The arguments, found from the end likewise.
    #[inline]
    fn arguments_alone(&self) -> Result<&'a [u8], Reason> {
        let before = self.text.get(..self.equals).ok_or(Reason::Unreadable)?;
        // Mostly there is one blank before the result, and none within the bracket.
        if let [arguments @ .., last, b')', b' '] = before
            && !last.is_ascii_whitespace()
        {
            return Ok(&before[..arguments.len() + 1]);
        }
        let arguments = before.trim_ascii_end().strip_suffix(b")");
        Ok(arguments.ok_or(Reason::Unreadable)?.trim_ascii_end())
    }
}

/// Reads a transfer. `segments` takes the lengths of its segments.
pub(crate) fn transfer<'a>(
    shape: Shape,
    direction: Direction,
    body: Body<'a>,
    segments: &'a mut Segments,
) -> Result<Transfer<'a>, Reason> {
    segments.clear();
    let result = match body.value {
        Some(value) => Ok(value),
        None => match outcome(body.result())? {
            Outcome::Value(value) => Ok(value),
            Outcome::Error(name) => Err(name),
        },
    };
    let mut arguments = body.arguments();
    let descriptor = arguments.descriptor()?;
    arguments.comma()?;
    let mut transfer = Transfer {
        direction,
        descriptor,
        from: None,
        form: Form::Opaque,
        segment_bytes: None,
        segment_count: 1,
        asked_bytes: None,
        result,
        offset: None,
        special: false,
        more: false,
        sync: false,
        addressed: false,
    };
    match shape {
        Shape::Plain { positional } => plain(&mut transfer, positional, body, segments)?,
        Shape::Message => message(&mut transfer, arguments, segments)?,
        Shape::List { positional } => list(&mut transfer, positional, arguments, segments)?,
        Shape::MessageList => message_list(&mut transfer, arguments, segments)?,
        Shape::Messages => messages(&mut transfer, arguments)?,
        Shape::FromSecond | Shape::ToThird | Shape::ToSecond => {
            between(&mut transfer, shape, arguments)?;
        }
        Shape::Mapped => mapped(&mut transfer, arguments, segments)?,
    }
    if transfer.form != Form::Opaque && transfer.asked_bytes.is_some() {
        transfer.segment_bytes = Some(segments.as_slice());
    }
    Ok(transfer)
}

/// `read(3, "abc"..., 100)`.
fn plain(
    transfer: &mut Transfer,
    positional: bool,
    body: Body,
    segments: &mut Segments,
) -> Result<(), Reason> {
    let asked;
    (asked, transfer.offset) = asked_and_offset(body, positional)?;
    one_segment(transfer, asked, segments);
    Ok(())
}

/// What a plain call asked for, and where: the numbers are read from the end, since a string may be
/// long.
#[inline]
pub(crate) fn asked_and_offset(body: Body, positional: bool) -> Result<(u64, Option<u64>), Reason> {
    let mut rest = body.arguments_alone()?;
    let mut offset = None;
    if positional {
        let (number, start) = trailing(rest)?;
        let before = &rest[..start];
        // A negative offset is refused by the kernel.
        let before = match before.strip_suffix(b"-") {
            Some(before) => before,
            None => {
                offset = Some(number);
                before
            }
        };
        rest = before.strip_suffix(b", ").ok_or(Reason::Unreadable)?;
    }
    let (asked, start) = trailing(rest)?;
    if !rest[..start].ends_with(b", ") {
        return Err(Reason::Unreadable);
    }
    Ok((asked, offset))
}

/// `sendto(3, "abc"..., 100, MSG_NOSIGNAL, NULL, 0)`; `send` ends before the address.
fn message(
    transfer: &mut Transfer,
    mut arguments: Arguments,
    segments: &mut Segments,
) -> Result<(), Reason> {
    arguments.any()?;
    arguments.comma()?;
    let asked = arguments.number()?;
    arguments.comma()?;
    message_flags(transfer, arguments.any()?);
    if arguments.comma().is_ok() {
        transfer.addressed = arguments.rest().starts_with(b"{");
    }
    one_segment(transfer, asked, segments);
    Ok(())
}

/// `writev(3, [{iov_base="abc"..., iov_len=100}], 1)`, with an offset, and with flags.
fn list(
    transfer: &mut Transfer,
    positional: bool,
    mut arguments: Arguments,
    segments: &mut Segments,
) -> Result<(), Reason> {
    let whole = read_list(&mut arguments, segments)?;
    arguments.comma()?;
    let count = arguments.number()?;
    if positional {
        arguments.comma()?;
        // -1 means the descriptor's own offset (`preadv2`), or is refused.
        if !arguments.eat(b"-") {
            transfer.offset = Some(arguments.number()?);
        } else {
            arguments.number()?;
        }
        if arguments.comma().is_ok() {
            call_flags(transfer, arguments.any()?);
        }
    }
    fill_list(transfer, whole, count, segments)
}

/// `sendmsg(3, {msg_name=NULL, …, msg_iov=[…], msg_iovlen=2, …}, MSG_MORE)`.
fn message_list(
    transfer: &mut Transfer,
    mut arguments: Arguments,
    segments: &mut Segments,
) -> Result<(), Reason> {
    transfer.form = Form::List;
    if !arguments.eat(b"{") {
        // A pointer: the call failed before it was filled in.
        arguments.any()?;
        transfer.segment_count = 0;
        arguments.comma()?;
        message_flags(transfer, arguments.any()?);
        return Ok(());
    }
    let mut whole = Listed::Unknown;
    let mut count = 0;
    loop {
        if arguments.eat(b"msg_iov=") {
            whole = read_list(&mut arguments, segments)?;
        } else if arguments.eat(b"msg_iovlen=") {
            count = arguments.number()?;
        } else {
            // Before 4.14 the list and its count had no such names: `msg_iov(2)=[…]`.
            if arguments.eat(b"msg_iov(") {
                count = arguments.number()?;
                arguments.expect(b")=")?;
                whole = read_list(&mut arguments, segments)?;
            } else {
                let field = arguments.any()?;
                let named = field.strip_prefix(b"msg_name=");
                let controls = field.strip_prefix(b"msg_controllen=");
                transfer.addressed |= named.is_some_and(|name| name != b"NULL")
                    || controls.is_some_and(|length| length != b"0");
            }
        }
        if arguments.eat(b"}") {
            break;
        }
        arguments.comma()?;
    }
    arguments.comma()?;
    message_flags(transfer, arguments.any()?);
    fill_list(transfer, whole, count, segments)
}

/// `sendmmsg(3, [{msg_hdr={…}, msg_len=8}, …], 2, 0) = 2`: it returns messages, not bytes.
fn messages(transfer: &mut Transfer, mut arguments: Arguments) -> Result<(), Reason> {
    let list = arguments.any()?;
    arguments.comma()?;
    transfer.segment_count = arguments.number()?;
    if let Ok(moved) = transfer.result {
        let lengths = lengths_of_messages(list)?;
        let moved = usize::try_from(moved).map_err(|_| Reason::Overflow)?;
        let lengths = lengths.get(..moved).ok_or(Reason::ListCut)?;
        transfer.result = Ok(sum(lengths.iter())?);
    }
    Ok(())
}

/// `sendfile(1, 3, NULL, 100)` and its like: from one descriptor to another.
fn between<'a>(
    transfer: &mut Transfer<'a>,
    shape: Shape,
    mut arguments: Arguments<'a>,
) -> Result<(), Reason> {
    transfer.direction = Direction::Write;
    if shape == Shape::ToThird {
        arguments.any()?;
        arguments.comma()?;
    }
    let second: Descriptor<'a> = arguments.descriptor()?;
    if shape == Shape::FromSecond {
        transfer.from = Some(second);
    } else {
        transfer.from = Some(std::mem::replace(&mut transfer.descriptor, second));
    }
    if shape != Shape::ToSecond {
        arguments.comma()?;
        arguments.any()?;
    }
    arguments.comma()?;
    transfer.asked_bytes = Some(arguments.number()?);
    Ok(())
}

/// `vmsplice(4, [{iov_base="abc", iov_len=3}], 1, 0)`: pages change hands, so nothing is merged.
fn mapped(
    transfer: &mut Transfer,
    mut arguments: Arguments,
    segments: &mut Segments,
) -> Result<(), Reason> {
    let whole = read_list(&mut arguments, segments)?;
    arguments.comma()?;
    let count = arguments.number()?;
    fill_list(transfer, whole, count, segments)?;
    transfer.form = Form::Opaque;
    Ok(())
}

fn one_segment(transfer: &mut Transfer, asked: u64, segments: &mut Segments) {
    transfer.form = Form::Plain;
    transfer.asked_bytes = Some(asked);
    segments.push(asked);
}

/// What of a list stands in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listed {
    /// All.
    Whole,
    /// Some: `...]`.
    Cut,
    /// Only its address.
    Unknown,
}

fn fill_list(
    transfer: &mut Transfer,
    listed: Listed,
    count: u64,
    segments: &[u64],
) -> Result<(), Reason> {
    transfer.form = Form::List;
    transfer.segment_count = count;
    if listed == Listed::Whole {
        if segments.len() as u64 != count {
            return Err(Reason::Unreadable);
        }
        transfer.asked_bytes = Some(sum(segments.iter())?);
    }
    Ok(())
}

/// Whether strace cut the list of a transfer.
pub(crate) fn is_cut(transfer: &Transfer, body: &[u8]) -> bool {
    transfer.form == Form::List
        && transfer.segment_bytes.is_none()
        && memchr::memmem::find(body, b", ...]").is_some()
}

/// `[{iov_base="abc"..., iov_len=100}, …]`, before 4.14 `[{"abc"..., 100}, …]`.
fn read_list(arguments: &mut Arguments, segments: &mut Segments) -> Result<Listed, Reason> {
    segments.clear();
    if !arguments.eat(b"[") {
        arguments.any()?;
        return Ok(Listed::Unknown);
    }
    if arguments.eat(b"]") {
        return Ok(Listed::Whole);
    }
    loop {
        if arguments.eat(b"...") {
            arguments.expect(b"]")?;
            return Ok(Listed::Cut);
        }
        if !arguments.eat(b"{") {
            // `..., 0x7ffd1000]`: where the list is no memory of the program any more.
            arguments.any()?;
            arguments.expect(b"]")?;
            return Ok(Listed::Unknown);
        }
        arguments.eat(b"iov_base=");
        if arguments.rest().starts_with(b"\"") {
            arguments.string()?;
        } else {
            arguments.any()?;
        }
        arguments.expect(b", ")?;
        arguments.eat(b"iov_len=");
        segments.push(arguments.number()?);
        arguments.expect(b"}")?;
        if arguments.eat(b"]") {
            return Ok(Listed::Whole);
        }
        arguments.expect(b", ")?;
    }
}

/// The `msg_len` of each message of `sendmmsg` and `recvmmsg`.
fn lengths_of_messages(list: &[u8]) -> Result<Vec<u64>, Reason> {
    let mut lengths = Vec::new();
    let mut arguments = Arguments::new(list);
    if !arguments.eat(b"[") || arguments.eat(b"]") {
        return Ok(lengths);
    }
    loop {
        if !arguments.eat(b"{") {
            // `...`
            return Ok(lengths);
        }
        loop {
            let field = arguments.any()?;
            if let Some(length) = field.strip_prefix(b"msg_len=") {
                lengths.push(leading(length)?.0);
            }
            if arguments.eat(b"}") {
                break;
            }
            arguments.comma()?;
        }
        if arguments.eat(b"]") {
            return Ok(lengths);
        }
        arguments.comma()?;
    }
}

fn sum<'a>(mut lengths: impl Iterator<Item = &'a u64>) -> Result<u64, Reason> {
    lengths
        .try_fold(0_u64, |sum, length| sum.checked_add(*length))
        .ok_or(Reason::Overflow)
}

/// Flags of `send` and `recv`. What is not known is special.
fn message_flags(transfer: &mut Transfer, flags: &[u8]) {
    for flag in flags.split(|byte| *byte == b'|') {
        match flag {
            b"0" | b"MSG_NOSIGNAL" | b"MSG_DONTWAIT" | b"MSG_WAITALL" | b"MSG_CMSG_CLOEXEC" => (),
            b"MSG_MORE" => transfer.more = true,
            _ => transfer.special = true,
        }
    }
}

/// Flags of `pwritev2` and `preadv2`. What is not known is special.
fn call_flags(transfer: &mut Transfer, flags: &[u8]) {
    for flag in flags.split(|byte| *byte == b'|') {
        match flag {
            b"0" | b"RWF_HIPRI" | b"RWF_NOWAIT" => (),
            b"RWF_DSYNC" | b"RWF_SYNC" => {
                transfer.sync = true;
                transfer.special = true;
            }
            _ => transfer.special = true,
        }
    }
}
