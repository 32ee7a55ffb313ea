//! The comparison of the bytes that arrived.

/// The first difference in words; `None` if there is none.
pub fn difference(expected: &[u8], delivered: &[u8]) -> Option<String> {
    if expected == delivered {
        return None;
    }
    let same = std::iter::zip(expected, delivered).take_while(|(one, other)| one == other);
    Some(format!(
        "delivered {} bytes instead of {}; they differ from byte {} on",
        delivered.len(),
        expected.len(),
        same.count()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_difference_is_found() {
        assert_eq!(difference(b"abc", b"abc"), None);
        for (delivered, needle) in [
            (&b"abx"[..], "from byte 2 on"),
            (b"ab", "delivered 2 bytes instead of 3"),
            (b"abcd", "from byte 3 on"),
        ] {
            let found = difference(b"abc", delivered).unwrap();
            assert!(found.contains(needle), "{found}");
        }
    }
}
