//! Logs of `raw_syscalls`, as `perf script` writes them. They have only numbers:
//! `cat 12 [000] 24914.663653: raw_syscalls:sys_enter: NR 1 (1, 7f00, 64, 0, 0, 0)`, and `sys_exit: NR 1 = 100`. The
//! command for bpftrace in docs/advise.md adds the flags of `clone3` and the path of `openat`:
//! `sys_exit: NR 257 = 3 0 /tmp/x`.

use memchr::memmem;

use super::arguments::{of_numbers, of_result};
use super::{Record, numbers, seconds};
use crate::text::escapes::escaped;

/// The length at which bpftrace 0.17 cuts strings. A path of this length may be cut, so it counts as unknown.
const CUT_BYTES: usize = 63;

pub(super) fn read(line: &[u8]) -> Option<Option<Record<'_>>> {
    let is_frame = line.starts_with(b"\t")
        || memmem::find(line, b": PERF_RECORD_")
            .is_some_and(|at| !line[at..].starts_with(b": PERF_RECORD_LOST"));
    if is_frame || line.is_empty() || line.starts_with(b"#") {
        return Some(None);
    }
    let (head, event) = split(line, b"raw_syscalls:sys_e")?;
    let (head, at) = last_word(head.trim_ascii().strip_suffix(b":")?)?;
    let (before, last) = last_word(head)?;
    let (program, thread) =
        if last.starts_with(b"[") { last_word(before)? } else { (before, last) };
    // The form is `12/13`: the process and the thread.
    let thread = thread.rsplit(|byte| *byte == b'/').next()?;
    let mut record = Record {
        program: program.trim_ascii(),
        thread: Some(number(thread, 10)?),
        at_ns: Some(seconds(at)?),
        ..Record::default()
    };
    if let Some(event) = event.strip_prefix(b"nter: NR ") {
        let (call, values) = split(event, b" (")?;
        let values = values.trim_ascii_end().strip_suffix(b")")?;
        record.name = numbers::name_of(number(call, 10)?).as_bytes();
        let arguments = record.arguments.insert(Vec::new());
        of_numbers(arguments, record.name, &values_of(values)?, &[], b"");
        // These calls do not return, or they return with the registers of the code that a signal interrupted.
        record.result = match record.name {
            b"rt_sigreturn" => Some(b"0".to_vec()),
            b"exit" | b"exit_group" => Some(b"?".to_vec()),
            _ => None,
        };
        return Some(Some(record));
    }
    let (call, result) = split(event.strip_prefix(b"xit: NR ")?, b" = ")?;
    let (result, memory) = split(result, b" ").unwrap_or((result, b""));
    record.result = Some(of_result(number(result.trim_ascii(), 10)?));
    // `rt_sigreturn` returns without its number.
    record.name = number(call, 10).map_or("", numbers::name_of).as_bytes();
    if let Some((flags, path)) = split(memory, b" ") {
        record.arguments = match record.name {
            b"clone3" => Some([b"{flags=0x", flags, b"}, 88"].concat()),
            b"openat" if (1..CUT_BYTES).contains(&path.len()) => {
                Some([b"\"", &escaped(path)[..], b"\""].concat())
            }
            _ => None,
        };
    }
    Some(Some(record).filter(|record| ![&b""[..], b"rt_sigreturn"].contains(&record.name)))
}

fn values_of(text: &[u8]) -> Option<[u64; 6]> {
    let mut values = [0; 6];
    for (value, text) in values.iter_mut().zip(text.split(|byte| *byte == b',')) {
        *value = number(text.trim_ascii(), 16)?;
    }
    Some(values)
}

fn split<'t>(text: &'t [u8], separator: &[u8]) -> Option<(&'t [u8], &'t [u8])> {
    let at = memmem::find(text, separator)?;
    Some((&text[..at], &text[at + separator.len()..]))
}

fn last_word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.trim_ascii_end();
    let at = memchr::memrchr(b' ', text)?;
    Some((&text[..at], &text[at + 1..]))
}

/// Reads a number of any width in the given base.
fn number<N: TryFrom<i128>>(text: &[u8], base: u32) -> Option<N> {
    let text = str::from_utf8(text).ok()?;
    i128::from_str_radix(text, base).ok()?.try_into().ok()
}
