//! The output of the command for bpftrace in docs/advise.md: `24914663653123,12,12,+,1,1,7f00,64,0,0,0,cat|` when a call
//! begins, and `24914663660123,12,12,-,1,100,cat|` when it returns, with the path of `openat` at the end.

use super::arguments::push_string;
use super::perf_script::number;
use super::{Record, raw};

/// The length at which bpftrace 0.17 cuts strings. A longer path is not known.
const CUT_BYTES: usize = 63;

/// Reads a line.
pub(super) fn read(line: &[u8]) -> Option<Option<Record<'_>>> {
    let is_notice = [&b"Attaching "[..], b"Attached "]
        .iter()
        .any(|notice| line.starts_with(notice));
    if line.is_empty() || is_notice {
        return Some(None);
    }
    let bar = memchr::memchr(b'|', line)?;
    let mut words = line[..bar].splitn(6, |byte| *byte == b',');
    let mut next = || words.next();
    let at_ns = number(next()?, 10)?;
    let _process: u32 = number(next()?, 10)?;
    let thread = number(next()?, 10)?;
    let begins = match next()? {
        b"+" => true,
        b"-" => false,
        _ => return None,
    };
    let call = number(next()?, 10);
    let mut rest = next()?.splitn(if begins { 7 } else { 2 }, |byte| *byte == b',');
    let mut values = [0; 6];
    let mut result = None;
    if begins {
        for value in &mut values {
            *value = number(rest.next()?, 16)?;
        }
    } else {
        result = Some(number(rest.next()?, 10)?);
    }
    let who = (rest.next()?, thread, at_ns);
    let mut record = raw(who, call?, begins.then_some(values), result)?;
    let path = &line[bar + 1..];
    if begins && record.name == b"clone3" {
        // In place of the last argument.
        record.arguments = Some(format!("{{flags={:#x}}}, 88", values[5]).into_bytes());
    } else if !begins && (1..CUT_BYTES).contains(&path.len()) {
        let mut shown = Vec::new();
        push_string(&mut shown, &[b"\"", path, b"\""].concat());
        record.arguments = Some(shown);
    }
    Some(Some(record))
}
