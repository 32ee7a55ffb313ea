//! Escapes of paths, as strace prints them.

/// A path as strace prints it: `\n`, `\"`, `\303`.
pub fn escaped(path: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(path.len());
    for (at, &byte) in path.iter().enumerate() {
        let letter = b"\n\t\r\x0b\x0c".iter().position(|known| *known == byte);
        match (byte, letter) {
            (b'"' | b'\\', _) => text.extend([b'\\', byte]),
            (_, Some(letter)) => text.extend([b'\\', b"ntrvf"[letter]]),
            (b' '..=b'~', _) => text.push(byte),
            _ => {
                let is_before_digit = path.get(at + 1).is_some_and(u8::is_ascii_digit);
                let digits =
                    if is_before_digit { format!("\\{byte:03o}") } else { format!("\\{byte:o}") };
                text.extend_from_slice(digits.as_bytes());
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn what_is_not_printable_is_escaped() {
        let shown = br#"a \"\\\n\t\r\v\f\1\0012\303"#;
        assert_eq!(escaped(b"a \"\\\n\t\r\x0b\x0c\x01\x012\xc3"), shown);
    }
}
