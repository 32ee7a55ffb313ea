//! The end of a call's line: its result and duration.

use memchr::memrchr;

use crate::call::arguments::Arguments;
use crate::counts::SkipReason;
use crate::text::numbers::{leading, leading_any, seconds_ns};

/// The longest duration between `<` and `>`, in bytes: any seconds whose ns fit 64 bits, a point, nine digits.
const MAX_DURATION_BYTES: usize = 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tail {
    /// The position of the equals sign in the last ` = `. The result follows, unless the result is a path that contains
    /// ` = `.
    pub(crate) equals: usize,
    pub(crate) end: usize,
    /// Duration (`-T`), in ns.
    pub(crate) took_ns: Option<u64>,
}

impl Tail {
    pub(crate) fn read(call: &[u8]) -> Option<Self> {
        let (end, took_ns) = duration(call).unzip();
        let end = end.unwrap_or(call.len());
        let mut before = end;
        loop {
            let equals = memrchr(b'=', &call[..before])?;
            if call[..equals].ends_with(b" ") && call.get(equals + 1) == Some(&b' ') {
                return Some(Self {
                    equals,
                    end,
                    took_ns,
                });
            }
            before = equals;
        }
    }
}

/// Reads a result: `5`, `0x8402 (flags O_RDWR)`, `-1 EAGAIN (…)`, `?`, `? ERESTARTSYS (…)`. The inner error is the name
/// of the error, or `?` if the call never returned.
pub(crate) fn outcome(result: &[u8]) -> Result<Result<u64, &[u8]>, SkipReason> {
    match result.first() {
        Some(b'?') => Ok(Err(error_name(&result[1..]))),
        Some(b'-') => {
            let (_, digits) = leading(&result[1..])?;
            Ok(Err(error_name(&result[1 + digits..])))
        }
        _ => Ok(Ok(leading_any(result)?.0)),
    }
}

/// Whether a call succeeded: the result is a number that is not negative.
pub(crate) fn is_success(result: &[u8]) -> bool {
    result.first().is_some_and(u8::is_ascii_digit)
}

/// The thread that a call returned, by the number in strace's PID namespace.
pub(crate) fn thread(result: &[u8]) -> Result<u32, SkipReason> {
    let mut returned = Arguments::new(result);
    let mut thread = returned.number()?;
    returned.annotation()?;
    // In `2 /* 12345 in strace's PID NS */`, the first number is of the caller's namespace.
    if returned.eat(b" /* ") {
        thread = returned.number()?;
    }
    u32::try_from(thread).map_err(|_| SkipReason::Overflow)
}

/// The name in ` ERESTARTSYS (To be restarted)`.
fn error_name(text: &[u8]) -> &[u8] {
    let name = text.trim_ascii_start();
    let length = name.iter().take_while(|byte| byte.is_ascii_alphanumeric());
    match length.count() {
        0 => b"?",
        length => &name[..length],
    }
}

/// The position of the blank before the duration at the end of a call, and the duration in ns.
fn duration(call: &[u8]) -> Option<(usize, u64)> {
    let inner = call.strip_suffix(b">")?;
    let from = inner.len().saturating_sub(MAX_DURATION_BYTES);
    let start = from + memrchr(b'<', &inner[from..])?;
    // No blank lies between a returned descriptor and its path.
    if start == 0 || call[start - 1] != b' ' {
        return None;
    }
    let text = &inner[start + 1..];
    let (took_ns, bytes) = seconds_ns(text).ok()?;
    (bytes == text.len()).then_some((start - 1, took_ns))
}
