//! SHA-256, by FIPS 180-4: the sums of sha256sum(1).

/// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
fn round_constants() -> [u32; 64] {
    let is_prime = |n: &u32| {
        (2..*n)
            .take_while(|d| d * d <= *n)
            .all(|d| !n.is_multiple_of(d))
    };
    let mut primes = (2_u32..).filter(is_prime);
    let mut next = || f64::from(primes.next().expect("primes do not end"));
    [(); 64].map(|()| (next().cbrt().fract() * 2_f64.powi(32)) as u32)
}

/// A SHA-256 sum of bytes that come in parts.
#[derive(Clone, Debug)]
pub struct Digest {
    state: [u32; 8],
    round: [u32; 64],
    /// Bytes that do not fill a block yet.
    rest: Vec<u8>,
    bytes: u64,
}

impl Default for Digest {
    fn default() -> Self {
        let state = [
            0x6a09_e667,
            0xbb67_ae85,
            0x3c6e_f372,
            0xa54f_f53a,
            0x510e_527f,
            0x9b05_688c,
            0x1f83_d9ab,
            0x5be0_cd19,
        ];
        Digest {
            state,
            round: round_constants(),
            rest: Vec::new(),
            bytes: 0,
        }
    }
}

impl Digest {
    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.rest.extend_from_slice(bytes);
        let whole = self.rest.len() / 64 * 64;
        for block in self.rest[..whole].chunks_exact(64) {
            compress(&mut self.state, &self.round, block);
        }
        self.rest.drain(..whole);
    }

    /// The sum of all bytes, in hexadecimal digits.
    pub fn finish(mut self) -> String {
        let bits = self.bytes * 8;
        let zeros = (119 - self.rest.len()) % 64;
        let mut end = vec![0x80];
        end.resize(1 + zeros, 0);
        end.extend(bits.to_be_bytes());
        self.update(&end);
        self.state
            .iter()
            .map(|word| format!("{word:08x}"))
            .collect()
    }
}

fn compress(state: &mut [u32; 8], round: &[u32; 64], block: &[u8]) {
    let mut schedule = [0_u32; 64];
    for (word, bytes) in schedule.iter_mut().zip(block.chunks_exact(4)) {
        *word = u32::from_be_bytes(bytes.try_into().expect("four bytes"));
    }
    for t in 16..64 {
        let (early, late) = (schedule[t - 15], schedule[t - 2]);
        let early = early.rotate_right(7) ^ early.rotate_right(18) ^ (early >> 3);
        let late = late.rotate_right(17) ^ late.rotate_right(19) ^ (late >> 10);
        let sum = schedule[t - 16].wrapping_add(early);
        schedule[t] = sum.wrapping_add(schedule[t - 7]).wrapping_add(late);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for (constant, word) in round.iter().zip(&schedule) {
        let choice = (e & f) ^ (!e & g);
        let big_e = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let first = h.wrapping_add(big_e).wrapping_add(choice);
        let first = first.wrapping_add(*constant).wrapping_add(*word);
        let majority = (a & b) ^ (a & c) ^ (b & c);
        let big_a = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        (h, g, f, e) = (g, f, e, d.wrapping_add(first));
        (d, c, b, a) = (c, b, a, first.wrapping_add(big_a.wrapping_add(majority)));
    }
    for (word, add) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *word = word.wrapping_add(add);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_equal_those_of_the_standard() {
        let sum = |parts: &[&[u8]]| {
            let mut digest = Digest::default();
            parts.iter().for_each(|part| digest.update(part));
            digest.finish()
        };
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(sum(&[]), empty);
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sum(&[b"a", b"", b"bc"]), abc);
        let million = [b'a'; 1000];
        let of_million = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
        assert_eq!(sum(&[&million[..]; 1000]), of_million);
        // The end fills the last block, and begins another one.
        let of_55 = "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318";
        assert_eq!(sum(&[&[b'a'; 55]]), of_55);
        let of_56 = "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a";
        assert_eq!(sum(&[&[b'a'; 56]]), of_56);
    }
}
