//! Comparison of a file with what was written to it.

use std::fs::File;
#[cfg(target_os = "linux")]
use std::io::{self, Read, Seek};

#[cfg(target_os = "linux")]
use crate::measure::Pattern;
use crate::measure::{Batch, MeasureError, Mismatch, compare_file};

pub fn check_repeated(
    file: &File,
    image: &[u8],
    calls: u32,
    (technique, experiment): (&str, &str),
) -> Result<(), MeasureError> {
    let batch = Batch::new(calls, image.len() as u64);
    let outcome = file.metadata().map_err(Mismatch::from);
    let outcome = outcome.and_then(|of| compare_file(file, 0..of.len(), image, batch));
    outcome.map_err(|mismatch| wrong(mismatch, technique, experiment))
}

#[cfg(target_os = "linux")]
pub fn arrived(mut file: &File, pattern: Pattern) -> io::Result<(u64, Option<u64>)> {
    let (mut piece, mut expected) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    let (mut bytes, mut difference) = (0, None);
    file.rewind()?;
    loop {
        // A read that fills nothing must not pass with the bytes of the previous piece.
        piece.fill(0xa5);
        let count = file.read(&mut piece)?;
        if count == 0 {
            return Ok((bytes, difference));
        }
        pattern.fill(bytes, &mut expected[..count]);
        let mut pairs = std::iter::zip(&piece[..count], &expected);
        let differs = pairs.position(|(there, sent)| there != sent);
        difference = difference.or(differs.map(|at| bytes + at as u64));
        bytes += count as u64;
    }
}

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
