//! Stack frames (`-k`), which follow a call, one in each line.

/// The frame in a line such as ` > /usr/bin/cat(main+0x10) [0x2345]`.
pub fn frame(line: &[u8]) -> Option<&[u8]> {
    let frame = line.strip_prefix(b" >")?.trim_ascii();
    (!frame.is_empty()).then_some(frame)
}

/// Whether a frame is in the C library, the loader or the vDSO. These make calls on behalf of their callers.
pub fn is_of_c_library(frame: &[u8]) -> bool {
    let object = frame.split(|byte| *byte == b'(').next().unwrap_or_default();
    let name = object
        .rsplit(|byte| *byte == b'/')
        .next()
        .unwrap_or_default();
    let begins = |start: &&[u8]| name.starts_with(start);
    [
        b"libc.so".as_slice(),
        b"libc-2",
        b"libc.musl",
        b"libpthread",
        b"ld-",
        b"[vdso]",
    ]
    .iter()
    .any(begins)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_the_c_library_are_recognised() {
        let is_library = |line: &str| frame(line.as_bytes()).map(is_of_c_library);
        let libc = " > /usr/lib/x86_64-linux-gnu/libc.so.6(write+0x14) [0xf7aa4]";
        assert_eq!(is_library(libc), Some(true));
        assert_eq!(
            is_library(" > /lib/ld-linux-x86-64.so.2() [0x1ab70]"),
            Some(true)
        );
        assert_eq!(
            is_library(" > /usr/bin/cat(main+0x10) [0x2345]"),
            Some(false)
        );
        assert_eq!(
            is_library(" > /usr/lib/libcurl.so.4() [0x2345]"),
            Some(false)
        );
        assert_eq!(
            is_library(" > unexpected_backtracing_error [0x1]"),
            Some(false)
        );
        assert_eq!(is_library(" >"), None);
    }
}
