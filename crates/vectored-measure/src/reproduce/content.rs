//! Comparison of a file with what was written to it.

use std::io;

use vectored_machine::platform::fd::BorrowedFd;
use vectored_machine::platform::plain_calls::pread;

#[cfg(target_os = "linux")]
use crate::measure::Pattern;
use crate::measure::{Batch, ByteComparison, MeasureError, Mismatch};

const PIECE_BYTES: usize = 1 << 16;

/// Reads a whole file in pieces.
fn read_all<E: From<io::Error>>(
    fd: BorrowedFd<'_>,
    mut take: impl FnMut(u64, &[u8]) -> Result<(), E>,
) -> Result<u64, E> {
    let mut piece = vec![0; PIECE_BYTES];
    let mut position = 0;
    loop {
        // A read that fills nothing must not pass with the bytes of the previous piece.
        piece.fill(0xa5);
        match pread(fd, &mut piece, position).map_err(io::Error::from)? {
            0 => return Ok(position),
            count => {
                take(position, &piece[..count])?;
                position += count as u64;
            }
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
    let mut comparison = ByteComparison::new(Some(image), Batch::new(calls, image.len() as u64));
    let outcome = read_all(fd, |_, piece| comparison.take(piece));
    let outcome = outcome.and_then(|_| comparison.end());
    outcome.map_err(|mismatch| wrong(mismatch, technique, experiment))
}

/// What arrived of a copy: the number of bytes, and the first that differs.
#[cfg(target_os = "linux")]
pub struct Arrived {
    pub bytes: u64,
    pub difference: Option<u64>,
}

/// Compares a file with a pattern.
#[cfg(target_os = "linux")]
pub fn arrived(fd: BorrowedFd<'_>, pattern: Pattern) -> io::Result<Arrived> {
    let (mut difference, mut expected) = (None, vec![0; PIECE_BYTES]);
    let bytes = read_all(fd, |position, piece| {
        let expected = &mut expected[..piece.len()];
        pattern.fill(position, expected);
        let differs = std::iter::zip(piece, &*expected).position(|(there, sent)| there != sent);
        difference = difference.or(differs.map(|at| position + at as u64));
        io::Result::Ok(())
    })?;
    Ok(Arrived { bytes, difference })
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
