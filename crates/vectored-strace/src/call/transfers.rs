//! Calls that move bytes: reads their arguments into a [`Transfer`].

use crate::call::arguments::Arguments;
use crate::call::body::Body;
use crate::call::call_result::{Outcome, outcome};
use crate::call::names::ArgumentShape;
use crate::counts::SkipReason;
use crate::event::{Direction, Form, Transfer};
use crate::text::numbers::{leading, trailing};

/// Memory for the lengths of the segments of a transfer, in bytes.
pub(crate) type Segments = Vec<u64>;

/// Reads a transfer. The lengths of its segments are stored in `segments`.
pub(crate) fn transfer<'a>(
    shape: ArgumentShape,
    direction: Direction,
    body: Body<'a>,
    segments: &'a mut Segments,
) -> Result<Transfer<'a>, SkipReason> {
    segments.clear();
    let result = match outcome(body.result())? {
        Outcome::Value(value) => Ok(value),
        Outcome::Error(name) => Err(name),
    };
    let mut arguments = body.arguments();
    let descriptor = arguments.descriptor()?;
    arguments.comma()?;
    let mut transfer = Transfer {
        form: Form::Opaque,
        segment_bytes: None,
        asked_bytes: None,
        result,
        ..Transfer::new(direction, descriptor, &[])
    };
    if let ArgumentShape::Plain { positional } = shape {
        plain(&mut transfer, positional, body, segments)?;
    } else {
        with_parts(&mut transfer, shape, body.arguments().parts()?.0, segments)?;
    }
    if transfer.form != Form::Opaque && transfer.asked_bytes.is_some() {
        transfer.segment_bytes = Some(segments.as_slice());
    }
    Ok(transfer)
}

fn with_parts<'a>(
    transfer: &mut Transfer<'a>,
    shape: ArgumentShape,
    parts: [&'a [u8]; 6],
    segments: &mut Segments,
) -> Result<(), SkipReason> {
    let number = |place: usize| Arguments::new(parts[place]).number();
    match shape {
        ArgumentShape::Plain { .. } => {}
        // `sendto(3, "abc"..., 100, MSG_NOSIGNAL, NULL, 0)`. `send` has no address.
        ArgumentShape::Message => {
            message_flags(transfer, parts[3]);
            transfer.addressed = parts[4].starts_with(b"{");
            one_segment(transfer, number(2)?, segments);
        }
        // `writev(3, [{iov_base="abc"..., iov_len=100}], 1)`, with an offset, and with flags.
        ArgumentShape::List { positional } => {
            if positional {
                // -1 is the descriptor's own offset (`preadv2`); other negative offsets are refused.
                let is_own = parts[3].starts_with(b"-");
                transfer.offset = if is_own { None } else { Some(number(3)?) };
                call_flags(transfer, parts[4]);
            }
            let whole = read_list(parts[1], segments)?;
            fill_list(transfer, whole, number(2)?, segments)?;
        }
        // `sendmsg(3, {msg_name=NULL, …, msg_iov=[…], msg_iovlen=2, …}, MSG_MORE)`.
        ArgumentShape::MessageList => {
            message_flags(transfer, parts[2]);
            transfer.form = Form::List;
            // An address instead of a structure: the call failed before it was filled in.
            if parts[1].starts_with(b"{") {
                message_header(transfer, parts[1], segments)?;
            }
        }
        // `sendmmsg(3, [{msg_hdr={…}, msg_len=8}, …], 2, 0) = 2`: it returns messages, not bytes.
        ArgumentShape::Messages => {
            number(2)?;
            if let Ok(moved) = transfer.result {
                let lengths = lengths_of_messages(parts[1])?;
                let moved = usize::try_from(moved).map_err(|_| SkipReason::Overflow)?;
                let lengths = lengths.get(..moved).ok_or(SkipReason::ListCut)?;
                transfer.result = Ok(sum(lengths.iter())?);
            }
        }
        // `sendfile(1, 3, NULL, 100)` and similar calls that move bytes from one descriptor to another.
        ArgumentShape::Between { from, to, count } => {
            transfer.descriptor = Arguments::new(parts[to]).descriptor()?;
            transfer.from = Some(Arguments::new(parts[from]).descriptor()?);
            transfer.asked_bytes = Some(number(count)?);
        }
        // `vmsplice(4, [{iov_base="abc", iov_len=3}], 1, 0)`: opaque, since it moves pages instead of copying bytes.
        ArgumentShape::Mapped => {
            let whole = read_list(parts[1], segments)?;
            fill_list(transfer, whole, number(2)?, segments)?;
            transfer.form = Form::Opaque;
        }
    }
    Ok(())
}

/// `read(3, "abc"..., 100)`.
fn plain(
    transfer: &mut Transfer,
    positional: bool,
    body: Body,
    segments: &mut Segments,
) -> Result<(), SkipReason> {
    // The search begins at the end, because the string may be long.
    let mut rest = body.arguments_text()?;
    if positional {
        let (number, start) = trailing(rest)?;
        let before = &rest[..start];
        // The kernel refuses a negative offset.
        let before = match before.strip_suffix(b"-") {
            Some(before) => before,
            None => {
                transfer.offset = Some(number);
                before
            }
        };
        rest = before.strip_suffix(b", ").ok_or(SkipReason::Unreadable)?;
    }
    let (asked, start) = match trailing(rest) {
        Ok(found) => found,
        // The program wrote to the terminal that strace writes to: `write(2, "c", 1c) = 1`.
        Err(_) if !positional => {
            let start = memchr::memrchr(b' ', rest).map_or(0, |blank| blank + 1);
            (leading(&rest[start..])?.0, start)
        }
        Err(reason) => return Err(reason),
    };
    if !rest[..start].ends_with(b", ") {
        return Err(SkipReason::Unreadable);
    }
    one_segment(transfer, asked, segments);
    Ok(())
}

/// `{msg_name=NULL, …, msg_iov=[…], msg_iovlen=2, …}`.
fn message_header(
    transfer: &mut Transfer,
    text: &[u8],
    segments: &mut Segments,
) -> Result<(), SkipReason> {
    let mut fields = Arguments::new(text);
    fields.expect(b"{")?;
    let mut whole = Listed::Unknown;
    let mut count = 0;
    loop {
        let field = fields.any()?;
        if let Some(list) = field.strip_prefix(b"msg_iov=") {
            whole = read_list(list, segments)?;
        } else if let Some(length) = field.strip_prefix(b"msg_iovlen=") {
            count = Arguments::new(length).number()?;
        } else {
            let named = field.strip_prefix(b"msg_name=");
            let controls = field.strip_prefix(b"msg_controllen=");
            transfer.addressed |= named.is_some_and(|name| name != b"NULL")
                || controls.is_some_and(|length| length != b"0");
        }
        if fields.eat(b"}") {
            return fill_list(transfer, whole, count, segments);
        }
        fields.comma()?;
    }
}

fn one_segment(transfer: &mut Transfer, asked: u64, segments: &mut Segments) {
    transfer.form = Form::Plain;
    transfer.asked_bytes = Some(asked);
    segments.push(asked);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listed {
    Whole,
    /// The first segments of the list; `...]` follows.
    Cut,
    /// Only the address of the list.
    Unknown,
}

fn fill_list(
    transfer: &mut Transfer,
    listed: Listed,
    count: u64,
    segments: &[u64],
) -> Result<(), SkipReason> {
    transfer.form = Form::List;
    if listed == Listed::Whole {
        if segments.len() as u64 != count {
            return Err(SkipReason::Unreadable);
        }
        transfer.asked_bytes = Some(sum(segments.iter())?);
    }
    Ok(())
}

/// Why the list of segments of a transfer is not known.
pub(crate) fn lack_of_list(transfer: &Transfer, body: &[u8]) -> Option<SkipReason> {
    if transfer.form != Form::List || transfer.segment_bytes.is_some() {
        return None;
    }
    let is_cut = memchr::memmem::find(body, b", ...]").is_some();
    let is_address = transfer.result.is_ok() && !body.contains(&b'[');
    is_cut
        .then_some(SkipReason::ListCut)
        .or(is_address.then_some(SkipReason::NotShown))
}

/// Reads `[{iov_base="abc"..., iov_len=100}, …]`.
fn read_list(list: &[u8], segments: &mut Segments) -> Result<Listed, SkipReason> {
    segments.clear();
    let mut arguments = Arguments::new(list);
    if !arguments.eat(b"[") {
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
            // `..., 0x7ffd1000]`: the rest of the list is not in memory that the program can access.
            return Ok(Listed::Unknown);
        }
        arguments.expect(b"iov_base=")?;
        if arguments.rest().starts_with(b"\"") {
            arguments.string()?;
        } else {
            arguments.any()?;
        }
        arguments.expect(b", iov_len=")?;
        segments.push(arguments.number()?);
        arguments.expect(b"}")?;
        if arguments.eat(b"]") {
            return Ok(Listed::Whole);
        }
        arguments.expect(b", ")?;
    }
}

/// The `msg_len` of each message of `sendmmsg` and `recvmmsg`.
fn lengths_of_messages(list: &[u8]) -> Result<Vec<u64>, SkipReason> {
    let mut lengths = Vec::new();
    let mut arguments = Arguments::new(list);
    if !arguments.eat(b"[") || arguments.eat(b"]") {
        return Ok(lengths);
    }
    loop {
        if !arguments.eat(b"{") {
            // The list was cut: `...`.
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

fn sum<'a>(mut lengths: impl Iterator<Item = &'a u64>) -> Result<u64, SkipReason> {
    lengths
        .try_fold(0_u64, |sum, length| sum.checked_add(*length))
        .ok_or(SkipReason::Overflow)
}

/// Reads the flags of `send` and `recv`. Unknown flags count as special.
fn message_flags(transfer: &mut Transfer, flags: &[u8]) {
    for flag in flags.split(|byte| *byte == b'|') {
        match flag {
            b"0" | b"MSG_NOSIGNAL" | b"MSG_DONTWAIT" | b"MSG_WAITALL" | b"MSG_CMSG_CLOEXEC" => (),
            b"MSG_MORE" => transfer.more = true,
            _ => transfer.special = true,
        }
    }
}

/// Reads the flags of `pwritev2` and `preadv2`. Unknown flags count as special.
fn call_flags(transfer: &mut Transfer, flags: &[u8]) {
    for flag in flags.split(|byte| *byte == b'|') {
        match flag {
            b"" | b"0" | b"RWF_HIPRI" | b"RWF_NOWAIT" => (),
            b"RWF_DSYNC" | b"RWF_SYNC" => {
                transfer.sync = true;
                transfer.special = true;
            }
            _ => transfer.special = true,
        }
    }
}
