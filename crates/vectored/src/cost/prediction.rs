//! The time that a [`CostModel`] predicts for a list.

use crate::cost::CostModel;
use crate::cost::page_alignment::page_ends;

/// Linux keeps this many `iovec`s on its stack: `UIO_FASTIOV` in `include/uapi/linux/uio.h`.
const FAST_IOVECS: usize = 8;

/// From this size on a segment is large.
pub(crate) const LARGE_SEGMENT_BYTES: usize = 256;

impl CostModel {
    /// What a list that lies in one piece of so many bytes is taken to cost, in ns.
    #[must_use]
    pub fn write_ns(&self, bytes: u64) -> f64 {
        self.call_ns + bytes as f64 * self.byte_ns
    }

    /// What a list of so many equal segments and bytes in all is taken to cost by `writev(2)`, in ns.
    ///
    /// ```
    /// use vectored::CostModel;
    ///
    /// let model = CostModel::default();
    /// let (gathered, copied) = (model.writev_ns(16, 64 << 10), model.copy_then_write_ns(16, 64 << 10));
    /// assert!(gathered < copied); // 16 segments of 4 KiB
    /// ```
    #[must_use]
    pub fn writev_ns(&self, segment_count: usize, bytes: u64) -> f64 {
        let is_large = bytes >= (segment_count as u64).saturating_mul(LARGE_SEGMENT_BYTES as u64);
        let segment_ns = match is_large {
            true => self.large_segment_ns,
            false => self.segment_ns,
        };
        let once = self.gather_call_ns + self.step_ns(segment_count);
        let spared = page_ends(segment_count, bytes) as f64 * self.page_end_ns;
        let listed = once + segment_count as f64 * segment_ns - spared;
        self.write_ns(bytes) + listed.max(0.0)
    }

    /// What a list of so many segments and bytes in all is taken to cost where all are copied into one
    /// buffer, in ns.
    #[must_use]
    pub fn copy_then_write_ns(&self, segment_count: usize, bytes: u64) -> f64 {
        let byte_ns = match bytes > self.staging_bytes as u64 {
            true => self.copy_byte_uncached_ns,
            false => self.copy_byte_ns,
        };
        let copied = segment_count as f64 * self.copy_segment_ns + bytes as f64 * byte_ns;
        self.write_ns(bytes) + copied
    }

    pub(super) fn step_ns(&self, segment_count: usize) -> f64 {
        if has_iovec_step(segment_count) {
            self.iovec_step_ns
        } else {
            0.0
        }
    }
}

/// Whether a list of so many segments pays `iovec_step_ns`.
pub(crate) fn has_iovec_step(segment_count: usize) -> bool {
    segment_count > FAST_IOVECS
}
