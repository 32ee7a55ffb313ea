//! A list of slices by hand: what a program keeps if it calls `write_vectored` itself.

use std::io::{self, IoSlice};
use std::ops::Range;

use bytes::Bytes;

/// The most slices that a call of `writev(2)` takes.
const MAX_SLICES: usize = 1024;

/// Heads and tails in one buffer, and values that are kept.
#[derive(Debug, Default)]
pub struct List {
    copied: Vec<u8>,
    pieces: Vec<Piece>,
    /// The index of the first piece that was not written whole, and the number of its bytes that were written.
    at: (usize, usize),
}

#[derive(Debug)]
enum Piece {
    Copied(Range<usize>),
    Kept(Bytes),
}

impl List {
    /// Copies bytes into the list.
    pub fn copy(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let begin = self.copied.len();
        self.copied.extend_from_slice(bytes);
        let end = self.copied.len();
        match self.pieces.last_mut() {
            Some(Piece::Copied(range)) => range.end = end,
            _ => self.pieces.push(Piece::Copied(begin..end)),
        }
    }

    /// Keeps a value in the list.
    pub fn keep(&mut self, value: &Bytes) {
        if !value.is_empty() {
            self.pieces.push(Piece::Kept(value.clone()));
        }
    }

    /// The slices of the next call; none if all is written.
    pub fn slices(&self) -> Vec<IoSlice<'_>> {
        let (first, offset) = self.at;
        let pieces = self.pieces[first..].iter().take(MAX_SLICES);
        let mut slices: Vec<IoSlice<'_>> = pieces
            .map(|piece| {
                IoSlice::new(match piece {
                    Piece::Copied(range) => &self.copied[range.clone()],
                    Piece::Kept(value) => value,
                })
            })
            .collect();
        if let Some(slice) = slices.first_mut() {
            slice.advance(offset);
        }
        slices
    }

    /// Counts `bytes` as written, and empties the list when all are written.
    ///
    /// # Errors
    ///
    /// `WriteZero` if `bytes` is 0.
    pub fn advance(&mut self, mut bytes: usize) -> io::Result<()> {
        if bytes == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        let (mut first, mut offset) = self.at;
        while bytes > 0 {
            let left = match &self.pieces[first] {
                Piece::Copied(range) => range.len() - offset,
                Piece::Kept(value) => value.len() - offset,
            };
            if bytes < left {
                offset += bytes;
                break;
            }
            bytes -= left;
            (first, offset) = (first + 1, 0);
        }
        self.at = (first, offset);
        if first == self.pieces.len() {
            self.copied.clear();
            self.pieces.clear();
            self.at = (0, 0);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_cut_keeps_the_rest() {
        let value = Bytes::from_static(b"value");
        for step in 1..20 {
            let mut list = List::default();
            for _ in 0..2 {
                list.copy(b"a head ");
                list.keep(&value);
                list.copy(b"");
                list.copy(b"\r");
                list.copy(b"\n");
            }
            let mut written = Vec::new();
            loop {
                let all: Vec<u8> = list.slices().iter().flat_map(|one| one.to_vec()).collect();
                if all.is_empty() {
                    break;
                }
                let bytes = step.min(all.len());
                written.extend_from_slice(&all[..bytes]);
                list.advance(bytes).unwrap();
            }
            assert_eq!(written, b"a head value\r\na head value\r\n", "{step}");
        }
    }
}
