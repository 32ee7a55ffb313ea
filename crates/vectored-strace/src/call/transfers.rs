//! Calls that move bytes: reads their arguments into a [`Transfer`].

use crate::call::arguments::Arguments;
use crate::call::body::Body;
use crate::call::call_result::outcome;
use crate::counts::SkipReason;
use crate::event::{Direction, Form, Transfer};
use crate::text::numbers::{leading, trailing};

#[derive(Clone, Copy, Debug)]
pub(crate) enum ArgumentShape {
    /// `read(fd, buffer, count)`; if `positional`, an offset follows.
    Plain { positional: bool },
    /// `sendto(fd, buffer, count, flags, …)`.
    Message,
    /// `readv(fd, list, count)`; if `positional`, an offset follows, and then perhaps flags.
    List { positional: bool },
    /// `sendmsg(fd, header, flags)`.
    MessageList,
    /// `sendmmsg(fd, messages, count, flags)`.
    Messages,
    /// `sendfile(to, from, offset, count)`. The fields are the places of the descriptors and of the count.
    Between {
        from: usize,
        to: usize,
        count: usize,
    },
    /// `vmsplice(to, list, count, flags)`.
    Mapped,
}

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
    let mut arguments = body.arguments();
    let descriptor = arguments.descriptor()?;
    arguments.comma()?;
    let mut transfer = Transfer {
        form: Form::Opaque,
        segment_bytes: None,
        asked_bytes: None,
        result: outcome(body.result())?,
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
            read_flags(transfer, parts[3]);
            transfer.addressed = parts[4].starts_with(b"{");
            one_segment(transfer, number(2)?, segments);
        }
        // `writev(3, [{iov_base="abc"..., iov_len=100}], 1)`, also with an offset and flags. `vmsplice(4, […], 1, 0)`
        // is opaque, since it moves pages instead of copying bytes.
        ArgumentShape::List { .. } | ArgumentShape::Mapped => {
            if matches!(shape, ArgumentShape::List { positional: true }) {
                // With -1, `preadv2` uses the descriptor's offset. Other negative offsets are refused.
                let is_own = parts[3].starts_with(b"-");
                transfer.offset = if is_own { None } else { Some(number(3)?) };
                read_flags(transfer, parts[4]);
            }
            let is_whole = read_list(parts[1], b"iov_len=", segments)?;
            fill_list(transfer, is_whole, number(2)?, segments)?;
            if matches!(shape, ArgumentShape::Mapped) {
                transfer.form = Form::Opaque;
            }
        }
        // `sendmsg(3, {msg_name=NULL, …, msg_iov=[…], msg_iovlen=2, …}, MSG_MORE)`.
        ArgumentShape::MessageList => {
            read_flags(transfer, parts[2]);
            transfer.form = Form::List;
            // An address instead of a structure shows that the call failed before the kernel filled in the structure.
            if parts[1].starts_with(b"{") {
                message_header(transfer, parts[1], segments)?;
            }
        }
        // `sendmmsg(3, [{msg_hdr={…}, msg_len=8}, …], 2, 0) = 2`. The result is the number of messages, not of bytes.
        ArgumentShape::Messages => {
            number(2)?;
            if let Ok(moved) = transfer.result {
                read_list(parts[1], b"msg_len=", segments)?;
                let moved = usize::try_from(moved).map_err(|_| SkipReason::Overflow)?;
                let lengths = segments.get(..moved).ok_or(SkipReason::ListCut)?;
                transfer.result = Ok(sum(lengths.iter())?);
            }
        }
        // `sendfile(1, 3, NULL, 100)` and similar calls that move bytes from one descriptor to another.
        ArgumentShape::Between { from, to, count } => {
            transfer.descriptor = Arguments::new(parts[to]).descriptor()?;
            transfer.from = Some(Arguments::new(parts[from]).descriptor()?);
            transfer.asked_bytes = Some(number(count)?);
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
        // The program wrote to the terminal to which strace writes: `write(2, "c", 1c) = 1`.
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
    let (mut is_whole, mut count) = (false, 0);
    let mut fields = Arguments::new(text);
    fields.expect(b"{")?;
    read_fields(&mut fields, |field| {
        if let Some(list) = field.strip_prefix(b"msg_iov=") {
            is_whole = read_list(list, b"iov_len=", segments)?;
        } else if let Some(length) = field.strip_prefix(b"msg_iovlen=") {
            count = Arguments::new(length).number()?;
        } else {
            let named = field.strip_prefix(b"msg_name=");
            let controls = field.strip_prefix(b"msg_controllen=");
            transfer.addressed |= named.is_some_and(|name| name != b"NULL")
                || controls.is_some_and(|length| length != b"0");
        }
        Ok(())
    })?;
    fill_list(transfer, is_whole, count, segments)
}

fn one_segment(transfer: &mut Transfer, asked: u64, segments: &mut Segments) {
    transfer.form = Form::Plain;
    transfer.asked_bytes = Some(asked);
    segments.push(asked);
}

fn fill_list(
    transfer: &mut Transfer,
    is_whole: bool,
    count: u64,
    segments: &[u64],
) -> Result<(), SkipReason> {
    transfer.form = Form::List;
    if is_whole {
        if segments.len() as u64 != count {
            return Err(SkipReason::Unreadable);
        }
        transfer.asked_bytes = Some(sum(segments.iter())?);
    }
    Ok(())
}

/// The reason why the list of segments of a transfer is unknown.
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

/// Reads the field `name` of each structure in a list, such as `[{iov_base="abc"..., iov_len=100}, …]`. Returns whether
/// the list is whole: strace may cut a list, or write only its address.
fn read_list(list: &[u8], name: &[u8], values: &mut Vec<u64>) -> Result<bool, SkipReason> {
    values.clear();
    let mut arguments = Arguments::new(list);
    if !arguments.eat(b"[") {
        return Ok(false);
    }
    while arguments.eat(b"{") {
        read_fields(&mut arguments, |field| {
            if let Some(value) = field.strip_prefix(name) {
                values.push(Arguments::new(value).number()?);
            }
            Ok(())
        })?;
        if arguments.eat(b"]") {
            return Ok(true);
        }
        arguments.comma()?;
    }
    Ok(arguments.eat(b"]"))
}

/// Reads the fields of a structure, after its opening bracket.
fn read_fields<'a>(
    arguments: &mut Arguments<'a>,
    mut take: impl FnMut(&'a [u8]) -> Result<(), SkipReason>,
) -> Result<(), SkipReason> {
    loop {
        take(arguments.any()?)?;
        if arguments.eat(b"}") {
            return Ok(());
        }
        arguments.comma()?;
    }
}

fn sum<'a>(mut lengths: impl Iterator<Item = &'a u64>) -> Result<u64, SkipReason> {
    lengths
        .try_fold(0_u64, |sum, length| sum.checked_add(*length))
        .ok_or(SkipReason::Overflow)
}

/// Reads the flags of a transfer. Unknown flags count as special.
fn read_flags(transfer: &mut Transfer, flags: &[u8]) {
    for flag in flags.split(|byte| *byte == b'|') {
        match flag {
            b"" | b"0" | b"RWF_HIPRI" | b"RWF_NOWAIT" => (),
            b"MSG_NOSIGNAL" | b"MSG_DONTWAIT" | b"MSG_WAITALL" | b"MSG_CMSG_CLOEXEC" => (),
            b"MSG_MORE" => transfer.more = true,
            _ => {
                transfer.sync |= matches!(flag, b"RWF_DSYNC" | b"RWF_SYNC");
                transfer.special = true;
            }
        }
    }
}
