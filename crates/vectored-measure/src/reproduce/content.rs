//! Comparison of what arrived with what was sent.

use vectored_machine::platform::fd::BorrowedFd;
use vectored_machine::platform::plain_calls::pread;

#[cfg(target_os = "linux")]
use crate::measure::Pattern;
use crate::measure::{MeasureError, Mismatch};

const PIECE_BYTES: usize = 1 << 16;

/// The bytes that are expected.
pub enum Expected<'a> {
    /// An image, again and again.
    Repeated(&'a [u8]),
    #[cfg(target_os = "linux")]
    Pattern(Pattern),
}

impl Expected<'_> {
    fn fill(&self, position: u64, bytes: &mut [u8]) {
        match self {
            Expected::Repeated(image) => {
                let mut from = (position % image.len() as u64) as usize;
                let mut rest = bytes;
                while !rest.is_empty() {
                    let length = rest.len().min(image.len() - from);
                    let (head, tail) = rest.split_at_mut(length);
                    head.copy_from_slice(&image[from..from + length]);
                    (rest, from) = (tail, 0);
                }
            }
            #[cfg(target_os = "linux")]
            Expected::Pattern(pattern) => pattern.fill(position, bytes),
        }
    }
}

/// Compares a stream, in pieces of any length.
pub struct ContentCheck<'a> {
    expected: Expected<'a>,
    piece: Vec<u8>,
    position: u64,
    difference: Option<u64>,
}

impl<'a> ContentCheck<'a> {
    /// A comparison from the first byte on.
    pub fn new(expected: Expected<'a>) -> Self {
        ContentCheck {
            expected,
            piece: Vec::new(),
            position: 0,
            difference: None,
        }
    }

    /// Compares a whole file.
    pub fn of_file(expected: Expected<'a>, fd: BorrowedFd<'_>) -> Result<Self, Mismatch> {
        let mut check = ContentCheck::new(expected);
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            // A read that fills nothing must not pass with the bytes of the previous piece.
            piece.fill(0xa5);
            match pread(fd, &mut piece, check.position)? {
                0 => return Ok(check),
                count => check.take(&piece[..count]),
            }
        }
    }

    /// Compares the next piece.
    pub fn take(&mut self, piece: &[u8]) {
        self.piece.resize(piece.len(), 0);
        self.expected.fill(self.position, &mut self.piece);
        if self.difference.is_none() && self.piece != piece {
            let equal = std::iter::zip(&self.piece, piece).take_while(|(a, b)| a == b);
            self.difference = Some(self.position + equal.count() as u64);
        }
        self.position += piece.len() as u64;
    }

    /// Number of bytes that came.
    #[cfg(target_os = "linux")]
    pub fn arrived_bytes(&self) -> u64 {
        self.position
    }

    /// Checks that exactly `bytes` bytes came and were right.
    pub fn end(&self, bytes: u64) -> Result<(), Mismatch> {
        match self.difference.filter(|at| *at < bytes) {
            Some(at) => Err(Mismatch::Bytes(format!("byte {at} differs"))),
            None if self.position != bytes => Err(Mismatch::wrong_count(self.position, bytes)),
            None => Ok(()),
        }
    }
}

/// Checks that a file contains exactly `image`, repeated `calls` times.
pub fn check_repeated(
    fd: BorrowedFd<'_>,
    image: &[u8],
    calls: u32,
    (technique, experiment): (&str, &str),
) -> Result<(), MeasureError> {
    let check = ContentCheck::of_file(Expected::Repeated(image), fd);
    let outcome = check.and_then(|check| check.end(image.len() as u64 * u64::from(calls)));
    outcome.map_err(|mismatch| wrong(mismatch, technique, experiment))
}

/// Converts a mismatch to an error.
pub fn wrong(mismatch: Mismatch, technique: &str, experiment: &str) -> MeasureError {
    let difference = match mismatch {
        Mismatch::Io(error) => {
            let what = format!("cannot read back the bytes that {technique} wrote");
            return MeasureError::io(what)(error);
        }
        Mismatch::Bytes(difference) => difference,
        Mismatch::NotCold => "its pages were in the page cache".to_owned(),
    };
    MeasureError::WrongBytes {
        contender: technique.to_owned(),
        cell: experiment.to_owned(),
        difference,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_compared_to_its_last_byte_in_any_pieces() {
        let check = |content: &[u8], cut: usize| {
            let mut check = ContentCheck::new(Expected::Repeated(b"abc"));
            check.take(&content[..cut]);
            check.take(&content[cut..]);
            check.end(6).map_err(|mismatch| format!("{mismatch:?}"))
        };
        for cut in 0..6 {
            assert_eq!(check(b"abcabc", cut), Ok(()));
        }
        for (content, told) in [
            (&b"abcabd"[..], "byte 5 differs"),
            (b"abxabd", "byte 2 differs"),
            (b"abcab", "5 bytes arrived, but 6 were sent"),
            (b"abcabca", "7 bytes arrived, but 6 were sent"),
            (b"abcabcx", "7 bytes arrived, but 6 were sent"),
        ] {
            assert!(check(content, 4).unwrap_err().contains(told), "{told}");
        }
    }
}
