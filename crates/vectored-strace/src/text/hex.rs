//! Logs of `-xx`, which have each byte of a string or path as an escape such as `\x41`.

/// Decodes hexadecimal escapes in place and returns the new length.
///
/// Escapes of control characters and of `"`, `\`, `<` and `>` stay, since these characters end strings or paths.
pub(crate) fn decode(text: &mut [u8]) -> usize {
    let mut from = 0;
    let mut to = 0;
    while from < text.len() {
        let (byte, length) = match text[from..] {
            [b'\\', b'x', high, low, ..] => match plain(high, low) {
                Some(byte) => (byte, 4),
                None => (b'\\', 1),
            },
            // An escaped backslash begins no escape: `\\x41` is a backslash and three characters.
            [b'\\', after, ..] => {
                text[to] = b'\\';
                to += 1;
                from += 1;
                (after, 1)
            }
            [byte, ..] => (byte, 1),
            [] => break,
        };
        text[to] = byte;
        to += 1;
        from += length;
    }
    to
}

/// The character with these two hexadecimal digits, if it may be decoded.
fn plain(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| (byte as char).to_digit(16);
    let byte = u8::try_from(digit(high)? * 16 + digit(low)?).ok()?;
    let is_plain = matches!(byte, b' '..=b'~') && !b"\"\\<>".contains(&byte);
    is_plain.then_some(byte)
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let mut bytes = text.as_bytes().to_vec();
        let length = decode(&mut bytes);
        assert_eq!(str::from_utf8(&bytes[..length]).unwrap(), expected);
    }

    #[test]
    fn plain_characters_are_decoded_and_delimiters_stay_escaped() {
        check(r"3<\x2f\x74>", "3</t>");
        check(
            r#""\x22\x5c\x3c\x3e\x00\xff""#,
            r#""\x22\x5c\x3c\x3e\x00\xff""#,
        );
        check(r#""\\x41\n\x41""#, r#""\\x41\nA""#);
        check(r"\x4", r"\x4");
        check(r"\xzz\", r"\xzz\");
    }
}
