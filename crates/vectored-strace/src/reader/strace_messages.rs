//! Lines that have no call but are part of a log: messages of strace, dumps, stray stack frames, tables of `-C`.

/// Whether a line is a stack frame, a dump of data (`-e write=1`), or a message of strace about itself.
pub(crate) fn is_other_output(text: &[u8]) -> bool {
    match text.first() {
        Some(b' ') => text.starts_with(b" >") || text.starts_with(b" | "),
        Some(b's') => text.starts_with(b"strace: "),
        Some(b'[') => text.starts_with(b"[ Process PID="),
        _ => false,
    }
}

/// The thread in `strace: Process 12 attached`.
pub(crate) fn attached_thread(text: &[u8]) -> Option<u32> {
    let thread = text.strip_prefix(b"strace: Process ")?;
    let thread = thread.strip_suffix(b" attached")?;
    str::from_utf8(thread).ok()?.parse().ok()
}

/// Whether a line may be of the table of `-C`: `  0.00    0.000000           0         4           openat`.
pub(crate) fn is_of_summary(text: &[u8]) -> bool {
    let begins = text.trim_ascii_start().first();
    begins.is_none_or(|byte| byte.is_ascii_digit() || *byte == b'-') && !text.contains(&b'(')
}
