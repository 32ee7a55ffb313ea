//! Paths as strace prints them.

/// A path as strace prints it: `\n`, `\"`, `\303`.
pub fn escaped(path: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(path.len());
    let mut bytes = path.iter().peekable();
    while let Some(&byte) = bytes.next() {
        let letter = match byte {
            b'"' | b'\\' => byte,
            b'\n' => b'n',
            b'\t' => b't',
            b'\r' => b'r',
            0x0b => b'v',
            0x0c => b'f',
            b' '..=b'~' => {
                text.push(byte);
                continue;
            }
            _ => {
                let is_before_digit = bytes.peek().is_some_and(|next| next.is_ascii_digit());
                let digits =
                    if is_before_digit { format!("\\{byte:03o}") } else { format!("\\{byte:o}") };
                text.extend_from_slice(digits.as_bytes());
                continue;
            }
        };
        text.extend_from_slice(&[b'\\', letter]);
    }
    text
}
