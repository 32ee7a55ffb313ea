//! Staging buffers, for techniques that copy.

/// Staging buffers, and the buffers with which bytes are read back, begin at multiples of this many bytes, unless they are
/// moved on purpose. The buffers of [`vectored::Gather`] have the same alignment.
pub(crate) const STAGING_ALIGNMENT: usize = 4096;

/// An allocation whose last bytes are the buffer.
#[derive(Debug, Default)]
pub(crate) struct Staging {
    memory: Vec<u8>,
    begin: usize,
}

impl Staging {
    /// Makes the buffer `total_bytes` bytes long. The buffer begins `start_bytes` after a multiple of
    /// [`STAGING_ALIGNMENT`], so the buffer is aligned for direct I/O if `start_bytes` is.
    pub fn prepare(&mut self, start_bytes: usize, total_bytes: usize) {
        let most_bytes = STAGING_ALIGNMENT + start_bytes + total_bytes;
        // The allocation keeps its bytes; if it is long enough, it also keeps its place.
        self.memory
            .reserve(most_bytes.saturating_sub(self.memory.len()));
        let to_page = self.memory.as_ptr().addr().wrapping_neg() % STAGING_ALIGNMENT;
        self.begin = to_page + start_bytes;
        self.memory.resize(self.begin + total_bytes, 0);
    }

    pub fn buffer(&mut self) -> &mut [u8] {
        &mut self.memory[self.begin..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_begins_at_the_wanted_distance_from_a_page_and_ends_with_the_memory() {
        let mut staging = Staging::default();
        for (start_bytes, total_bytes) in [(0, 10), (512, 5000), (16, 1), (9000, 70_000), (8, 3)] {
            staging.prepare(start_bytes, total_bytes);
            let buffer = staging.buffer();
            let address = buffer.as_ptr().addr();
            assert_eq!(address % STAGING_ALIGNMENT, start_bytes % STAGING_ALIGNMENT);
            assert_eq!(buffer.len(), total_bytes);
        }
    }
}
