//! `perf script` of `raw_syscalls`: `cat 12 [000] 24914.663653: raw_syscalls:sys_enter: NR 1 (1, 7f00, 64, 0, 0, 0)`.

use memchr::memmem;

use super::{Record, raw, seconds};

/// Reads a line.
pub(super) fn read(line: &[u8]) -> Option<Option<Record<'_>>> {
    let is_frame = line.starts_with(b"\t")
        || memmem::find(line, b": PERF_RECORD_")
            .is_some_and(|at| !line[at..].starts_with(b": PERF_RECORD_LOST"));
    if is_frame || line.is_empty() || line.starts_with(b"#") {
        return Some(None);
    }
    let event = memmem::find(line, b"raw_syscalls:sys_e")?;
    let head = line[..event].trim_ascii().strip_suffix(b":")?;
    let (head, at) = last_word(head)?;
    let at_ns = seconds(at)?;
    let (before, last) = last_word(head)?;
    let (program, thread) =
        if last.starts_with(b"[") { last_word(before)? } else { (before, last) };
    // `12/13`: the process and the thread.
    let thread = thread.rsplit(|byte| *byte == b'/').next()?;
    let who = (program.trim_ascii(), number(thread, 10)?, at_ns);
    let rest = &line[event + b"raw_syscalls:sys_e".len()..];
    if let Some(rest) = rest.strip_prefix(b"nter: NR ") {
        let (call, values) = rest.split_at(memmem::find(rest, b" (")?);
        let mut all = [0; 6];
        for (value, text) in all.iter_mut().zip(
            values[2..]
                .trim_ascii_end()
                .strip_suffix(b")")?
                .split(|byte| *byte == b','),
        ) {
            *value = number(text.trim_ascii(), 16)?;
        }
        return Some(raw(who, number(call, 10)?, Some(all), None));
    }
    let rest = rest.strip_prefix(b"xit: NR ")?;
    let (call, result) = rest.split_at(memmem::find(rest, b" = ")?);
    // `rt_sigreturn` returns without its number.
    let Some(call) = number(call, 10) else {
        return Some(None);
    };
    Some(raw(
        who,
        call,
        None,
        Some(number(result[3..].trim_ascii(), 10)?),
    ))
}

/// The text before the last word, and that word.
fn last_word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.trim_ascii_end();
    let at = memchr::memrchr(b' ', text)?;
    Some((&text[..at], &text[at + 1..]))
}

/// A number of any width and base.
pub(super) fn number<N: TryFrom<i128>>(text: &[u8], base: u32) -> Option<N> {
    let text = str::from_utf8(text).ok()?;
    i128::from_str_radix(text, base).ok()?.try_into().ok()
}
