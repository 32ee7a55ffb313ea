//! Staging buffers, for techniques that copy.

/// Staging buffers, and the buffers with which bytes are read back, begin at multiples of this many bytes, unless
/// they are moved on purpose. So do the buffers of [`vectored::Gather`].
pub(crate) const STAGING_ALIGNMENT: usize = 4096;

/// Prepares `memory` for a buffer of `total_bytes` bytes at its end, and returns where the buffer begins: `start_bytes`
/// after a multiple of [`STAGING_ALIGNMENT`]. So the buffer is aligned for direct I/O if `start_bytes` is.
pub(crate) fn prepare_staging(
    memory: &mut Vec<u8>,
    start_bytes: usize,
    total_bytes: usize,
) -> usize {
    let most_bytes = STAGING_ALIGNMENT + start_bytes + total_bytes;
    // `memory` keeps its bytes, and its place if it is long enough.
    memory.reserve(most_bytes.saturating_sub(memory.len()));
    let begin = memory.as_ptr().addr().wrapping_neg() % STAGING_ALIGNMENT + start_bytes;
    memory.resize(begin + total_bytes, 0);
    begin
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_begins_at_the_wanted_distance_from_a_page_and_ends_with_the_memory() {
        let mut memory = Vec::new();
        for (start_bytes, total_bytes) in [(0, 10), (512, 5000), (16, 1), (9000, 70_000), (8, 3)] {
            let begin = prepare_staging(&mut memory, start_bytes, total_bytes);
            let address = memory[begin..].as_ptr().addr();
            assert_eq!(address % STAGING_ALIGNMENT, start_bytes % STAGING_ALIGNMENT);
            assert_eq!(memory.len() - begin, total_bytes);
        }
    }
}
