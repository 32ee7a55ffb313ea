//! Comparison of the bytes that arrived with the bytes that were sent.

use std::fs::File;
use std::io::ErrorKind;
use std::ops::Range;

use vectored::files::AlignedBuffer;
use vectored_machine::platform::plain_calls::FileExt;

use crate::measure::sampler::STAGING_ALIGNMENT;
use crate::measure::targets::end::{Batch, Mismatch, POISON};

/// Compares a stream of bytes with a repeated image, piece by piece. Without an image, counts the bytes.
pub(crate) struct ByteComparison<'a> {
    image: Option<&'a [u8]>,
    batch: Batch,
    arrived_bytes: u64,
}

impl<'a> ByteComparison<'a> {
    pub fn new(image: Option<&'a [u8]>, batch: Batch) -> Self {
        ByteComparison {
            image,
            batch,
            arrived_bytes: 0,
        }
    }

    pub fn take(&mut self, mut piece: &[u8]) -> Result<(), Mismatch> {
        let Some(image) = self.image else {
            self.arrived_bytes += piece.len() as u64;
            return Ok(());
        };
        while !piece.is_empty() {
            if self.arrived_bytes == self.batch.bytes() {
                let with_surplus = self.arrived_bytes + piece.len() as u64;
                return Err(Mismatch::wrong_count(with_surplus, self.batch.bytes()));
            }
            let at = (self.arrived_bytes % image.len() as u64) as usize;
            let length = piece.len().min(image.len() - at);
            let (head, rest) = piece.split_at(length);
            if head != &image[at..at + length] {
                let within = std::iter::zip(head, &image[at..])
                    .take_while(|(got, sent)| got == sent)
                    .count();
                let position = self.arrived_bytes + within as u64;
                let call_bytes = self.batch.call_bytes;
                return Err(Mismatch::Bytes(format!(
                    "byte {} of {call_bytes} differs in call {}",
                    position % call_bytes,
                    position / call_bytes
                )));
            }
            self.arrived_bytes += length as u64;
            piece = rest;
        }
        Ok(())
    }

    /// Ends the comparison. Fails if the number of bytes that arrived is not the number of bytes of the batch.
    pub fn end(self) -> Result<(), Mismatch> {
        if self.arrived_bytes != self.batch.bytes() {
            let sent = self.batch.bytes();
            return Err(Mismatch::wrong_count(self.arrived_bytes, sent));
        }
        Ok(())
    }
}

/// Compares a range of a file with a repeated image. The transfers of the file may bypass the page cache.
pub(crate) fn compare_file(
    file: &File,
    range: Range<u64>,
    image: &[u8],
    batch: Batch,
) -> Result<(), Mismatch> {
    let mut comparison = ByteComparison::new(Some(image), batch);
    let mut piece = AlignedBuffer::zeroed(1 << 16, STAGING_ALIGNMENT);
    let mut at = range.start;
    while at < range.end {
        // A read that fills nothing must not pass with the bytes of the previous piece.
        piece.fill(POISON);
        let wanted = (range.end - at).min(piece.len() as u64) as usize;
        match file.read_at(&mut piece[..wanted], at) {
            Ok(0) => break,
            Ok(count) => {
                comparison.take(&piece[..count])?;
                at += count as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    comparison.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BATCH: Batch = Batch {
        calls: 2,
        call_bytes: 4,
    };

    fn compare(pieces: &[&[u8]]) -> Result<(), String> {
        let mut comparison = ByteComparison::new(Some(b"abcd"), BATCH);
        pieces
            .iter()
            .try_for_each(|piece| comparison.take(piece))
            .and_then(|()| comparison.end())
            .map_err(|mismatch| match mismatch {
                Mismatch::Bytes(text) => text,
                other => format!("{other:?}"),
            })
    }

    #[test]
    fn equal_bytes_in_any_pieces_pass() {
        assert_eq!(compare(&[b"abcdabcd"]), Ok(()));
        assert_eq!(compare(&[b"a", b"bcdab", b"", b"cd"]), Ok(()));
    }

    #[test]
    fn missing_surplus_and_wrong_bytes_are_reported() {
        let missing = "7 bytes arrived, but 8 were sent";
        assert_eq!(compare(&[b"abcdabc"]), Err(missing.to_owned()));
        let surplus = "9 bytes arrived, but 8 were sent";
        assert_eq!(compare(&[b"abcdabcd", b"a"]), Err(surplus.to_owned()));
        let swapped = "byte 1 of 4 differs in call 1";
        assert_eq!(compare(&[b"abcdacbd"]), Err(swapped.to_owned()));
    }

    #[test]
    fn without_an_image_only_the_number_counts() {
        let count = |piece: &[u8]| {
            let mut comparison = ByteComparison::new(None, BATCH);
            comparison.take(piece).and_then(|()| comparison.end())
        };
        assert!(count(b"abcdacbd").is_ok());
        assert!(count(b"abcdabc").is_err() && count(b"abcdabcda").is_err());
    }
}
