//! The checksum of the bytes of a batch. Pure.

/// Bytes that one step takes.
const BLOCK: usize = 32;

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// A checksum of 64 bits, which finds errors but is no proof against a forger. Each lane maps its value to another
/// one by a function that can be inverted, so a change of any one byte always changes it.
#[derive(Clone, Debug)]
pub(crate) struct Checksum {
    lanes: [u64; 4],
    /// The beginning of the next block.
    begun: [u8; BLOCK],
    begun_bytes: usize,
    bytes: u64,
}

impl Checksum {
    pub fn new() -> Self {
        Checksum {
            lanes: [1, 2, 3, 4],
            begun: [0; BLOCK],
            begun_bytes: 0,
            bytes: 0,
        }
    }

    /// Takes the next bytes.
    pub fn add(&mut self, mut bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        if self.begun_bytes > 0 {
            let count = bytes.len().min(BLOCK - self.begun_bytes);
            let (now, rest) = bytes.split_at(count);
            self.begun[self.begun_bytes..self.begun_bytes + count].copy_from_slice(now);
            self.begun_bytes += count;
            bytes = rest;
            if self.begun_bytes < BLOCK {
                return;
            }
            let block = self.begun;
            mix(&mut self.lanes, &block);
            self.begun_bytes = 0;
        }
        let (blocks, rest) = bytes.as_chunks::<BLOCK>();
        for block in blocks {
            mix(&mut self.lanes, block);
        }
        self.begun[..rest.len()].copy_from_slice(rest);
        self.begun_bytes = rest.len();
    }

    /// The checksum of all bytes up to now.
    pub fn value(&self) -> u64 {
        let mut lanes = self.lanes;
        let mut last = [0; BLOCK];
        last[..self.begun_bytes].copy_from_slice(&self.begun[..self.begun_bytes]);
        mix(&mut lanes, &last);
        let mut value = self.bytes.wrapping_mul(FACTOR);
        for lane in lanes {
            value = step(value, lane);
        }
        value ^ (value >> 32)
    }
}

fn mix(lanes: &mut [u64; 4], block: &[u8; BLOCK]) {
    let (words, _) = block.as_chunks::<8>();
    for (lane, word) in std::iter::zip(lanes, words) {
        *lane = step(*lane, u64::from_le_bytes(*word));
    }
}

/// For a given word it can be inverted in the value, and for a given value in the word.
fn step(value: u64, word: u64) -> u64 {
    let mixed = (value.rotate_left(29) ^ word).wrapping_mul(FACTOR);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn whole(bytes: &[u8]) -> u64 {
        let mut sum = Checksum::new();
        sum.add(bytes);
        sum.value()
    }

    proptest! {
        #[test]
        fn pieces_have_the_checksum_of_the_whole(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..100), 0..20),
        ) {
            let mut sum = Checksum::new();
            pieces.iter().for_each(|piece| sum.add(piece));
            prop_assert_eq!(sum.value(), whole(&pieces.concat()));
        }

        #[test]
        fn a_change_of_any_byte_is_found(
            mut bytes in prop::collection::vec(any::<u8>(), 1..300),
            at: prop::sample::Index,
            by in 1_u8..,
        ) {
            let before = whole(&bytes);
            let at = at.index(bytes.len());
            bytes[at] ^= by;
            prop_assert_ne!(whole(&bytes), before);
        }

        #[test]
        fn added_zeros_and_exchanged_bytes_are_found(
            bytes in prop::collection::vec(any::<u8>(), 2..300),
            (a, b) in any::<(prop::sample::Index, prop::sample::Index)>(),
        ) {
            prop_assert_ne!(whole(&[&bytes[..], &[0]].concat()), whole(&bytes));
            let (a, b) = (a.index(bytes.len()), b.index(bytes.len()));
            let mut exchanged = bytes.clone();
            exchanged.swap(a, b);
            prop_assert_eq!(whole(&exchanged) == whole(&bytes), exchanged == bytes);
        }
    }
}
