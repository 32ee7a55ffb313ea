//! The bytes that a read source delivers.

/// Pseudo-random bytes that are a function of their position. The start
/// of a read determines its bytes. Two positions
/// have the same eight bytes only by chance.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    seed: u64,
    is_text: bool,
}

impl Pattern {
    pub fn new(seed: u64) -> Self {
        Pattern {
            seed,
            is_text: false,
        }
    }

    /// Lines of ASCII, of 64 bytes on average: programs that read line by line, or decode UTF-8, can copy them.
    #[cfg(any(target_os = "linux", test))]
    pub fn text(seed: u64) -> Self {
        Pattern {
            seed,
            is_text: true,
        }
    }

    pub fn fill(&self, position: u64, bytes: &mut [u8]) {
        let skipped = (position % 8) as usize;
        let (head, rest) = bytes.split_at_mut(bytes.len().min((8 - skipped) % 8));
        let word = self.word(position / 8);
        head.copy_from_slice(&word[skipped..skipped + head.len()]);
        let first = position.div_ceil(8);
        for (index, chunk) in (first..).zip(rest.chunks_mut(8)) {
            chunk.copy_from_slice(&self.word(index)[..chunk.len()]);
        }
        if self.is_text {
            for byte in bytes {
                *byte = if *byte < 4 { b'\n' } else { b' ' + (*byte & 0x3f) };
            }
        }
    }

    /// SplitMix64 (Steele, Lea and Flood 2014).
    fn word(&self, index: u64) -> [u8; 8] {
        let state = index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut z = self.seed.wrapping_add(state);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)).to_le_bytes()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_bytes_do_not_depend_on_where_filling_began(
            seed: u64,
            position in 0..1_u64 << 40,
            length in 0..100_usize,
            cut in 0..100_usize,
            is_text: bool,
        ) {
            let pattern = if is_text { Pattern::text(seed) } else { Pattern::new(seed) };
            let mut whole = vec![0; length];
            pattern.fill(position, &mut whole);
            let (head, tail) = whole.split_at(cut.min(length));
            let mut again = vec![0; head.len()];
            pattern.fill(position, &mut again);
            prop_assert_eq!(head, again);
            let mut again = vec![0; tail.len()];
            pattern.fill(position + head.len() as u64, &mut again);
            prop_assert_eq!(tail, again);
        }
    }
}
