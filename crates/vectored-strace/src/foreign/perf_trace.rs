//! `perf trace`: `   0.123 ( 0.005 ms): cat/12 write(fd: 1</tmp/x>, buf: 0x7f00, count: 100)      = 100`.
//!
//! If another thread has a line during a call, the call has two lines. The first line ends in ` ...`. The second line
//! has ` ... [continued]: write())` in place of the call. Arguments that are 0 are left out.

use memchr::memmem;

use super::{Record, arguments, seconds};
use crate::call::names::name_bytes;
use crate::text::numbers::leading;

pub(super) fn read(line: &[u8]) -> Option<Option<Record<'_>>> {
    let line = line.trim_ascii();
    if line.is_empty() {
        return Some(None);
    }
    let (at, rest) = line.split_at(line.iter().position(|byte| *byte == b' ')?);
    let at_ns = if at == b"?" { None } else { Some(milliseconds(at)?) };
    let rest = rest.trim_ascii_start();
    let has_took = rest.starts_with(b"(");
    let (took, rest) = match rest.strip_prefix(b"(") {
        Some(rest) => rest.split_at(memmem::find(rest, b"):")?),
        None => (&b""[..], rest),
    };
    let took = took.trim_ascii().strip_suffix(b"ms").unwrap_or_default();
    let rest = rest.strip_prefix(b"):").unwrap_or(rest).trim_ascii_start();
    let (program, thread, call) = thread_of(rest);
    // If a line has neither a duration nor a thread, it may be a line of `strace -r`.
    (has_took || thread.is_some()).then_some(())?;
    let mut record = Record {
        program,
        thread,
        at_ns,
        took_ns: milliseconds(took.trim_ascii()),
        ..Record::default()
    };
    let call = call.trim_ascii_start();
    let rest = call.strip_prefix(b"... [continued]: ");
    let (name, text) = rest
        .unwrap_or(call)
        .split_at(name_bytes(rest.unwrap_or(call)));
    record.name = name;
    if rest.is_some() {
        let result = text.strip_prefix(b"())")?.trim_ascii_start();
        record.result = Some(result_of(result.strip_prefix(b"=")?.trim_ascii()));
        return Some(Some(record));
    }
    let text = text.strip_prefix(b"(")?;
    let text = match text.strip_suffix(b" ...") {
        Some(text) => text,
        None => {
            let equals = memmem::rfind(text, b" = ")
                .or_else(|| text.strip_suffix(b" =").map(<[u8]>::len))?;
            record.result = Some(result_of(text[equals + 2..].trim_ascii()));
            &text[..equals]
        }
    };
    let text = text.trim_ascii_end().strip_suffix(b")")?;
    record.arguments = Some(arguments::of_names(name, text));
    Some(Some(record))
}

/// Splits `cat/12 write(…` into the name of the thread, its number, and the call. If a log has a single thread, its
/// lines have neither name nor number.
fn thread_of(text: &[u8]) -> (&[u8], Option<u32>, &[u8]) {
    let slashes = memchr::memchr_iter(b'/', text).map(|at| (at, at + 1));
    for (end, start) in slashes.chain([(0, 0)]) {
        let Ok((thread, digits)) = leading(&text[start..]) else {
            continue;
        };
        let call = &text[start + digits..];
        let is_call =
            |call: &[u8]| call.get(name_bytes(call)) == Some(&b'(') || call.starts_with(b" ... [");
        if let (Some(call), Ok(thread)) = (
            call.strip_prefix(b" ").filter(|call| is_call(call)),
            u32::try_from(thread),
        ) {
            return (&text[..end], Some(thread), call);
        }
    }
    (b"", None, text)
}

/// Reads a result: `16004 (python3)`, `-1 ENOENT (No such file or directory)`, `0 (Timeout)`.
fn result_of(text: &[u8]) -> Vec<u8> {
    if text.starts_with(b"-") {
        return text.to_vec();
    }
    let end = memchr::memchr(b' ', text).unwrap_or(text.len());
    text[..end].to_vec()
}

fn milliseconds(text: &[u8]) -> Option<u64> {
    seconds(text).map(|ns| ns / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_any_name() {
        for row in [
            "cat/12 write(fd: 1) => cat 12 write(fd: 1)",
            "kworker/u8:1/7 close() => kworker/u8:1 7 close()",
            "(sd-pam)/7  ... [continued]: read()) => (sd-pam) 7  ... [continued]: read())",
            "12 write(fd: 1</a/3 b>) =>  12 write(fd: 1</a/3 b>)",
            "write(fd: 1</a/3 b>) =>  - write(fd: 1</a/3 b>)",
        ] {
            let (text, expected) = row.split_once(" => ").unwrap();
            let (program, thread, call) = thread_of(text.as_bytes());
            let [program, call] = [program, call].map(|text| str::from_utf8(text).unwrap());
            let thread = thread.map_or("-".to_owned(), |thread| thread.to_string());
            assert_eq!(format!("{program} {thread} {call}"), expected);
        }
    }
}
