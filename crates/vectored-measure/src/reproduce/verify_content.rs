//! Comparison of a file with the bytes that were written to it.

use vectored_machine::platform::fd::BorrowedFd;
use vectored_machine::platform::plain_calls::pread;

#[cfg(unix)]
use crate::measure::Pattern;
use crate::measure::{Batch, ByteComparison, MeasureError, Mismatch};

const PIECE_BYTES: usize = 1 << 16;

/// Checks that a file contains exactly `image`, repeated `calls` times.
pub fn check_repeated(
    fd: BorrowedFd<'_>,
    image: &[u8],
    calls: u32,
    technique: &str,
    experiment: &str,
) -> Result<(), MeasureError> {
    let batch = Batch::new(calls, image.len() as u64);
    let mut comparison = ByteComparison::new(Some(image), batch);
    let mut piece = vec![0; PIECE_BYTES];
    let mut at = 0;
    let mut outcome = || -> Result<(), Mismatch> {
        loop {
            // A read that fills nothing must not pass with the bytes of the previous piece.
            piece.fill(0xa5);
            let count = pread(fd, &mut piece, at)?;
            if count == 0 {
                return Ok(());
            }
            comparison.take(&piece[..count])?;
            at += count as u64;
        }
    };
    let outcome = outcome().and_then(|()| comparison.end());
    outcome.map_err(|mismatch| wrong(mismatch, technique, experiment))
}

/// Converts a mismatch to an error.
pub fn wrong(mismatch: Mismatch, technique: &str, experiment: &str) -> MeasureError {
    match mismatch {
        Mismatch::Io(error) => {
            MeasureError::io(format!("cannot read back the bytes that {technique} wrote"))(error)
        }
        Mismatch::Bytes(difference) => MeasureError::WrongBytes {
            contender: technique.to_owned(),
            cell: experiment.to_owned(),
            difference,
        },
        Mismatch::NotCold => MeasureError::WrongBytes {
            contender: technique.to_owned(),
            cell: experiment.to_owned(),
            difference: "its pages were in the page cache".to_owned(),
        },
    }
}

/// Compares a stream, in pieces of any length, with a pattern.
#[cfg(unix)]
pub struct PatternCheck {
    pattern: Pattern,
    expected: Vec<u8>,
    position: u64,
    difference: Option<u64>,
}

#[cfg(unix)]
impl PatternCheck {
    /// A comparison from position 0 of the pattern.
    pub fn new(pattern: Pattern) -> Self {
        PatternCheck {
            pattern,
            expected: Vec::new(),
            position: 0,
            difference: None,
        }
    }

    /// Compares the next piece.
    pub fn take(&mut self, piece: &[u8]) {
        self.expected.resize(piece.len(), 0);
        self.pattern.fill(self.position, &mut self.expected);
        if self.difference.is_none() && self.expected != piece {
            let equal = std::iter::zip(&self.expected, piece).take_while(|(a, b)| a == b);
            self.difference = Some(self.position + equal.count() as u64);
        }
        self.position += piece.len() as u64;
    }

    /// Number of bytes that came.
    pub fn arrived_bytes(&self) -> u64 {
        self.position
    }

    /// Checks that exactly `bytes` bytes came and were right.
    pub fn end(&self, bytes: u64) -> Result<(), Mismatch> {
        match self.difference {
            Some(at) => Err(Mismatch::Bytes(format!("byte {at} differs"))),
            None if self.position != bytes => Err(Mismatch::Bytes(format!(
                "{} bytes arrived, but {bytes} were sent",
                self.position
            ))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;

    use super::*;

    fn check(content: &[u8]) -> Result<(), String> {
        let directory = std::env::temp_dir();
        let file = vectored_machine::platform::files::unnamed_file(
            &directory,
            rustix::fs::OFlags::empty(),
        );
        let mut file = std::fs::File::from(file.unwrap());
        file.write_all(content).unwrap();
        let outcome = check_repeated(file.as_fd(), b"abc", 2, "writev", "test");
        outcome.map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_is_compared_to_its_last_byte() {
        assert_eq!(check(b"abcabc"), Ok(()));
        assert!(
            check(b"abcabd")
                .unwrap_err()
                .contains("byte 2 of 3 differs in call 1")
        );
        assert!(
            check(b"abcab")
                .unwrap_err()
                .contains("5 bytes arrived, but 6 were sent")
        );
        assert!(
            check(b"abcabca")
                .unwrap_err()
                .contains("7 bytes arrived, but 6 were sent")
        );
    }

    #[test]
    fn a_pattern_is_compared_in_any_pieces() {
        let pattern = Pattern::new(3);
        let mut all = vec![0; 100];
        pattern.fill(0, &mut all);
        let taken = |bytes: &[u8], cut: usize| {
            let mut check = PatternCheck::new(pattern);
            check.take(&bytes[..cut]);
            check.take(&bytes[cut..]);
            check.end(100).is_ok()
        };
        assert!(taken(&all, 33));
        assert!(!taken(&all[..99], 33));
        all[70] ^= 1;
        assert!(!taken(&all, 33));
    }
}
