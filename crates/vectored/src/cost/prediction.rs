//! Predicts the time of a list by a [`CostModel`].

use crate::cost::CostModel;
use crate::cost::page_alignment::page_ends;

/// The number of `iovec`s that Linux keeps on its stack: `UIO_FASTIOV` in `include/uapi/linux/uio.h`.
const FAST_IOVECS: usize = 8;

/// A segment of this length or longer costs `large_segment_ns`.
pub(crate) const LARGE_SEGMENT_BYTES: usize = 256;

impl CostModel {
    /// The predicted time of a `write(2)` of `bytes` contiguous bytes, in ns.
    #[must_use]
    pub fn write_ns(&self, bytes: u64) -> f64 {
        self.call_ns + bytes as f64 * self.byte_ns
    }

    /// The predicted time of a `writev(2)` of `segment_count` equal segments with a sum of `bytes` bytes, in ns.
    #[must_use]
    pub fn writev_ns(&self, segment_count: usize, bytes: u64) -> f64 {
        let is_large = bytes >= (segment_count as u64).saturating_mul(LARGE_SEGMENT_BYTES as u64);
        let segment_ns = if is_large { self.large_segment_ns } else { self.segment_ns };
        let once = self.gather_call_ns + self.iovec_step_ns_of(segment_count);
        let spared = page_ends(segment_count, bytes) as f64 * self.page_end_ns;
        let listed = once + segment_count as f64 * segment_ns - spared;
        self.write_ns(bytes) + listed.max(0.0)
    }

    /// The predicted time of copying `segment_count` segments into one buffer, and of writing the buffer by
    /// `write(2)`, in ns. The segments have `bytes` bytes together.
    #[must_use]
    pub fn copy_then_write_ns(&self, segment_count: usize, bytes: u64) -> f64 {
        let byte_ns = if bytes > self.staging_bytes as u64 {
            self.copy_byte_uncached_ns
        } else {
            self.copy_byte_ns
        };
        let copied = segment_count as f64 * self.copy_segment_ns + bytes as f64 * byte_ns;
        self.write_ns(bytes) + copied
    }

    pub(super) fn iovec_step_ns_of(&self, segment_count: usize) -> f64 {
        if has_iovec_step(segment_count) { self.iovec_step_ns } else { 0.0 }
    }
}

pub(crate) fn has_iovec_step(segment_count: usize) -> bool {
    segment_count > FAST_IOVECS
}
