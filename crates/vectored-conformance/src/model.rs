//! The naive model: the bytes of all segments in a row.

use std::io::IoSlice;

/// Buffers of these sizes. Their bytes run from 1 to 251, so they never agree with a file's zeros,
/// nor with themselves shifted by less than that.
#[must_use]
pub fn payload(sizes: &[usize]) -> Vec<Vec<u8>> {
    let mut bytes = (1..=251u8).cycle();
    sizes
        .iter()
        .map(|&size| bytes.by_ref().take(size).collect())
        .collect()
}

/// The list of these buffers.
#[must_use]
pub fn list(data: &[Vec<u8>]) -> Vec<IoSlice<'_>> {
    data.iter().map(|bytes| IoSlice::new(bytes)).collect()
}

/// Sizes on both sides of every border of the default cost model, with empties among them.
#[must_use]
pub fn mixed_sizes(count: usize) -> Vec<usize> {
    let sizes = [7, 0, 100, 4096, 12, 13, 14, 0, 0, 900, 1, 2000, 300, 600, 5];
    (0..count)
        .map(|i| sizes[(i + i / 40) % sizes.len()])
        .collect()
}

/// How many bytes of `received` are not what `expected` has there, missing and surplus ones
/// included.
#[must_use]
pub fn bytes_lost(expected: &[u8], received: &[u8]) -> u64 {
    if expected == received {
        return 0;
    }
    let pairs = expected.iter().zip(received);
    let wrong = pairs.filter(|(expected, received)| expected != received);
    (wrong.count() + expected.len().abs_diff(received.len())) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_a_wrong_and_a_surplus_byte_are_lost_bytes() {
        assert_eq!(bytes_lost(b"abc", b"abc"), 0);
        assert_eq!(bytes_lost(b"abc", b"ab"), 1);
        assert_eq!(bytes_lost(b"abc", b"axc"), 1);
        assert_eq!(bytes_lost(b"abc", b"abcd"), 1);
        // What follows a lost byte is in the wrong place, too.
        assert_eq!(bytes_lost(b"abcd", b"acd"), 3);
    }
}
