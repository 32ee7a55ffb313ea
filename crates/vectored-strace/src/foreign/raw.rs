//! Logs of `raw_syscalls`, which have numbers alone. Of `perf script`:
//! `cat 12 [000] 24914.663653: raw_syscalls:sys_enter: NR 1 (1, 7f00, 64, 0, 0, 0)`, and `sys_exit: NR 1 = 100`.
//!
//! Of the command for bpftrace in docs/advise.md: `24914663653123,12,12,+,1,1,7f00,64,0,0,0,cat|` when a call begins, and
//! `24914663660123,12,12,-,1,100,cat|` when it returns, with the path of `openat` at the end.

use memchr::memmem;

use super::arguments::{of_numbers, of_result, push_string};
use super::{Record, numbers, seconds};

/// The length at which bpftrace 0.17 cuts strings. A longer path is not known.
const CUT_BYTES: usize = 63;

/// The name of a thread, its number, and the time.
type Who<'a> = (&'a [u8], u32, u64);

/// Reads a line of `perf script`.
pub(super) fn perf_script(line: &[u8]) -> Option<Option<Record<'_>>> {
    let is_frame = line.starts_with(b"\t")
        || memmem::find(line, b": PERF_RECORD_")
            .is_some_and(|at| !line[at..].starts_with(b": PERF_RECORD_LOST"));
    if is_frame || line.is_empty() || line.starts_with(b"#") {
        return Some(None);
    }
    let event = memmem::find(line, b"raw_syscalls:sys_e")?;
    let head = line[..event].trim_ascii().strip_suffix(b":")?;
    let (head, at) = last_word(head)?;
    let (before, last) = last_word(head)?;
    let (program, thread) =
        if last.starts_with(b"[") { last_word(before)? } else { (before, last) };
    // `12/13`: the process and the thread.
    let thread = thread.rsplit(|byte| *byte == b'/').next()?;
    let who = (program.trim_ascii(), number(thread, 10)?, seconds(at)?);
    let rest = &line[event + b"raw_syscalls:sys_e".len()..];
    if let Some(rest) = rest.strip_prefix(b"nter: NR ") {
        let (call, values) = rest.split_at(memmem::find(rest, b" (")?);
        let values = values[2..].trim_ascii_end().strip_suffix(b")")?;
        return Some(Some(begun(who, number(call, 10)?, &values_of(values)?)));
    }
    let rest = rest.strip_prefix(b"xit: NR ")?;
    let (call, result) = rest.split_at(memmem::find(rest, b" = ")?);
    let result = number(result[3..].trim_ascii(), 10)?;
    // `rt_sigreturn` returns without its number.
    Some(number(call, 10).and_then(|call| returned(who, call, result)))
}

/// Reads a line of bpftrace.
pub(super) fn bpftrace(line: &[u8]) -> Option<Option<Record<'_>>> {
    let is_notice = line.starts_with(b"Attaching ") || line.starts_with(b"Attached ");
    if line.is_empty() || is_notice {
        return Some(None);
    }
    let bar = memchr::memchr(b'|', line)?;
    let (head, path) = (&line[..bar], &line[bar + 1..]);
    let mut words = head.splitn(6, |byte| *byte == b',');
    let mut next = || words.next();
    let at_ns = number(next()?, 10)?;
    let _process: u32 = number(next()?, 10)?;
    let thread = number(next()?, 10)?;
    let (kind, call, rest) = (next()?, number(next()?, 10)?, next()?);
    match kind {
        b"+" => {
            let comma = memchr::memchr_iter(b',', rest).nth(5)?;
            let values = values_of(&rest[..comma])?;
            let mut record = begun((&rest[comma + 1..], thread, at_ns), call, &values);
            if record.name == b"clone3" {
                // In place of the last argument.
                record.arguments = Some(format!("{{flags={:#x}}}, 88", values[5]).into_bytes());
            }
            Some(Some(record))
        }
        b"-" => {
            let comma = memchr::memchr(b',', rest)?;
            let result = number(&rest[..comma], 10)?;
            let mut record = returned((&rest[comma + 1..], thread, at_ns), call, result)?;
            if (1..CUT_BYTES).contains(&path.len()) {
                let mut shown = Vec::new();
                push_string(&mut shown, &[b"\"", path, b"\""].concat());
                record.arguments = Some(shown);
            }
            Some(Some(record))
        }
        _ => None,
    }
}

/// The begin of a call.
fn begun<'a>(who: Who<'a>, number: u16, values: &[u64; 6]) -> Record<'a> {
    let name = numbers::name_of(number).as_bytes();
    let mut arguments = Vec::new();
    of_numbers(&mut arguments, name, values, &[], b"");
    // These calls do not return, or return with the registers of what the signal interrupted.
    let result = match name {
        b"rt_sigreturn" => Some(b"0".to_vec()),
        b"exit" | b"exit_group" => Some(b"?".to_vec()),
        _ => None,
    };
    record(who, name, Some(arguments), result)
}

/// The end of a call.
fn returned<'a>(who: Who<'a>, number: u16, result: i64) -> Option<Record<'a>> {
    let name = numbers::name_of(number).as_bytes();
    (name != b"rt_sigreturn").then(|| record(who, name, None, Some(of_result(result))))
}

fn record<'a>(
    (program, thread, at_ns): Who<'a>,
    name: &'static [u8],
    arguments: Option<Vec<u8>>,
    result: Option<Vec<u8>>,
) -> Record<'a> {
    Record {
        program,
        thread: Some(thread),
        at_ns: Some(at_ns),
        name,
        arguments,
        result,
        took_ns: None,
    }
}

/// The arguments in hexadecimal.
fn values_of(text: &[u8]) -> Option<[u64; 6]> {
    let mut values = [0; 6];
    for (value, text) in values.iter_mut().zip(text.split(|byte| *byte == b',')) {
        *value = number(text.trim_ascii(), 16)?;
    }
    Some(values)
}

/// The text before the last word, and that word.
fn last_word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.trim_ascii_end();
    let at = memchr::memrchr(b' ', text)?;
    Some((&text[..at], &text[at + 1..]))
}

/// A number of any width and base.
fn number<N: TryFrom<i128>>(text: &[u8], base: u32) -> Option<N> {
    let text = str::from_utf8(text).ok()?;
    i128::from_str_radix(text, base).ok()?.try_into().ok()
}
