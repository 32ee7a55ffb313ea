//! Decides which segments a [`CostModel`] copies.

use crate::cost::CostModel;
use crate::cost::page_alignment::{PAGE_BYTES, fits_pages};
use crate::cost::prediction::LARGE_SEGMENT_BYTES;
use crate::cost::thresholds::{CopyThresholds, Measured, interpolate};

impl CostModel {
    /// The longest segment that is copied in a list of `segment_count` segments, in bytes.
    ///
    /// For a list of `n = segment_count` equal segments of this length, copying and referencing take the same
    /// time. Copying a segment saves the cost of its `iovec`, and 1/n of the costs of the list:
    ///
    /// ```text
    /// saved    = large_segment_ns − copy_segment_ns
    ///            + (gather_call_ns + (iovec_step_ns if n > 8)) / n
    /// cached   = saved / copy_byte_ns
    /// uncached = saved / (copy_byte_uncached_ns + call_ns / staging_bytes)
    ///
    /// copy_below_bytes = max(min(cached, staging_bytes / n), uncached)
    /// ```
    ///
    /// If the result is less than 256 bytes, the length is computed again with `segment_ns` instead of
    /// `large_segment_ns`. The second result is limited to 256 bytes.
    ///
    /// The limit `cached` applies if all segments fit the staging buffer. The limit `uncached` applies if the
    /// segments do not fit.
    ///
    /// Measured [thresholds](CostModel::copy_thresholds) replace this formula:
    ///
    /// - At a count with a measured threshold, the length is that threshold.
    /// - Between two measured counts, the length is interpolated linearly in `log(bytes)` over `log(count)`.
    /// - Above the last measured count, if the last measured count is less than 1000, the formula is multiplied
    ///   by a factor. The factor makes the formula equal to the last threshold at the last measured count. The
    ///   length is at most the last threshold.
    /// - Above 1000 segments, if the count 1000 is measured, the length is the threshold at 1000 in two cases.
    ///   The list fits the staging buffer, or 1000 segments of this length fill half of the buffer. In all other
    ///   cases, the length is the larger of `staging_bytes / n` and `uncached`, and at most the threshold at
    ///   1000.
    ///
    /// The length is 0 for fewer than two segments, because a single segment needs no copying. The length is
    /// never above `staging_bytes`. With a negative cost or a NaN, the length is an arbitrary value within these
    /// limits.
    ///
    /// # Examples
    ///
    /// ```
    /// use vectored::CostModel;
    ///
    /// let model = CostModel::default();
    /// assert_eq!(model.copy_below_bytes(1), 0);
    /// assert_eq!(model.copy_below_bytes(2), 2700); // (26 − 2 + 60 / 2) / 0.02
    /// assert_eq!(model.copy_below_bytes(16), 1481); // (26 − 2 + (60 + 30) / 16) / 0.02
    /// assert_eq!(model.copy_below_bytes(1000), 585); // (26 − 2 + …) / (0.04 + 300 / 262,144)
    /// ```
    #[must_use]
    pub fn copy_below_bytes(&self, segment_count: usize) -> usize {
        if segment_count < 2 {
            return 0;
        }
        let threshold = match self.copy_thresholds.around(segment_count) {
            (Some(below), Some(above)) => interpolate(below, above, segment_count),
            (Some(last), None) => self.threshold_above(last, segment_count),
            (None, _) => self.computed_threshold(segment_count),
        };
        threshold.min(self.staging_bytes)
    }

    /// Whether a list of `segment_count` segments of `segment_bytes` each is copied.
    ///
    /// Segments whose length divides a page or is a multiple of a page have a lower threshold than
    /// [`copy_below_bytes`](CostModel::copy_below_bytes). Referencing such segments costs `page_end_ns` less at
    /// the end of each page:
    ///
    /// ```text
    /// copied if segment_bytes · copy_byte_ns + min(segment_bytes ÷ 4096, 1) · page_end_ns
    ///           ≤ copy_below_bytes · copy_byte_ns
    /// ```
    ///
    /// [`Gather`](crate::Gather) uses this rule if the first two segments of a list have the same length, and
    /// this length is at least 512 bytes. For any other list, `Gather` uses `copy_below_bytes` alone.
    #[must_use]
    pub fn copies(&self, segment_count: usize, segment_bytes: usize) -> bool {
        segment_count > 1 && self.copies_up_to(self.copy_below_bytes(segment_count), segment_bytes)
    }

    pub(crate) fn copies_up_to(&self, copy_below_bytes: usize, segment_bytes: usize) -> bool {
        if segment_bytes > copy_below_bytes || !fits_pages(segment_bytes) {
            return segment_bytes <= copy_below_bytes;
        }
        let page_ends = (segment_bytes as f64 / PAGE_BYTES as f64).min(1.0);
        let left = (copy_below_bytes - segment_bytes) as f64;
        // If a cost is NaN, the comparison is false, and the segment is copied.
        let spares_more = page_ends * self.page_end_ns > left * self.copy_byte_ns;
        !spares_more
    }

    fn threshold_above(&self, last: Measured, segment_count: usize) -> usize {
        let staged = |count: usize| last.bytes.saturating_mul(count);
        if last.count < CopyThresholds::MEASURED[CopyThresholds::MEASURED.len() - 1] {
            let computed = |count| self.computed_threshold(count).max(1) as f64;
            let scaled = last.bytes as f64 * computed(segment_count) / computed(last.count);
            return last.bytes.min(scaled.round() as usize);
        }
        if segment_count == last.count
            || staged(segment_count) <= self.staging_bytes
            || staged(last.count) >= self.staging_bytes / 2
        {
            return last.bytes;
        }
        let fitting = self.staging_bytes / segment_count;
        // For an infinite list, the formula gives `uncached`.
        last.bytes
            .min(fitting.max(self.computed_threshold(usize::MAX)))
    }

    fn computed_threshold(&self, segment_count: usize) -> usize {
        let large = self.break_even_bytes(segment_count, self.large_segment_ns);
        let threshold = if large >= LARGE_SEGMENT_BYTES as f64 {
            large
        } else {
            let small = self.break_even_bytes(segment_count, self.segment_ns);
            small.min(LARGE_SEGMENT_BYTES as f64)
        };
        // `as` rounds down, and converts a negative number or a NaN to 0.
        threshold as usize
    }

    fn break_even_bytes(&self, segment_count: usize, segment_ns: f64) -> f64 {
        let n = segment_count as f64;
        let staging = self.staging_bytes as f64;
        let once = self.gather_call_ns + self.iovec_step_ns_of(segment_count);
        let saved = segment_ns - self.copy_segment_ns + once / n;
        let cached = saved / self.copy_byte_ns;
        let uncached = saved / (self.copy_byte_uncached_ns + self.call_ns / staging);
        cached.min(staging / n).max(uncached)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::TargetKind;

    const KINDS: [TargetKind; 4] = [
        TargetKind::File,
        TargetKind::Pipe,
        TargetKind::Unix,
        TargetKind::Other,
    ];

    #[test]
    fn the_defaults_copy_up_to_these_lengths() {
        let of = |kind| {
            [2, 8, 16, 1000].map(|count| CostModel::for_target(kind).copy_below_bytes(count))
        };
        let expected = [
            [4208, 2645, 2776, 1177],
            [3933, 2183, 1975, 648],
            [3425, 1925, 1737, 614],
            [2700, 1575, 1481, 585],
        ];
        assert_eq!(KINDS.map(of), expected);
    }

    #[test]
    fn lists_that_are_copied_at_the_cached_cost_fit_the_staging_buffer() {
        for kind in KINDS {
            let model = CostModel::for_target(kind);
            for count in 2..10_000 {
                let threshold = model.copy_below_bytes(count);
                let fits = threshold * count <= model.staging_bytes;
                let uncached = model.break_even_bytes(count, model.large_segment_ns);
                assert!(fits || threshold as f64 <= uncached, "{count}: {threshold}");
            }
            assert!(model.copy_below_bytes(100_000) * 100_000 > model.staging_bytes);
        }
    }

    #[test]
    fn at_the_threshold_copying_and_referencing_cost_the_same() {
        let model = CostModel::default();
        for count in [2, 8, 9, 64, 128] {
            let bytes = (count * model.copy_below_bytes(count)) as u64;
            let saved = model.writev_ns(count, bytes) - model.copy_then_write_ns(count, bytes);
            // The threshold is rounded down by less than one byte. So copying saves at most the cost of one byte
            // in each segment.
            let byte = count as f64 * model.copy_byte_ns;
            assert!((-0.001..=byte).contains(&saved), "{count}: {saved}");
        }
    }

    #[test]
    fn lists_that_fit_pages_are_copied_if_that_is_cheaper() {
        let model = CostModel {
            page_end_ns: 45.0,
            ..CostModel::default()
        };
        let (mut copied, mut referenced) = (0, 0);
        for count in [2, 3, 8, 9, 64, 100] {
            for bytes in [16, 256, 512, 1024, 2048, 4096] {
                // The page end of the last segment saves no time. The threshold ignores this difference.
                let all = (count * bytes) as u64;
                let saved = model.writev_ns(count, all) - model.copy_then_write_ns(count, all);
                let is_clear = saved.abs() > model.page_end_ns;
                if is_clear && count * bytes <= model.staging_bytes {
                    assert_eq!(model.copies(count, bytes), saved > 0.0, "{count} × {bytes}");
                    copied += usize::from(saved > 0.0);
                    referenced += usize::from(saved < 0.0);
                }
            }
        }
        assert!(copied > 5 && referenced > 5);
    }

    #[test]
    fn a_threshold_below_256_bytes_is_computed_for_small_segments() {
        let model = CostModel {
            copy_byte_ns: 0.1,
            copy_byte_uncached_ns: 0.2,
            gather_call_ns: 0.0,
            large_segment_ns: 20.0,
            segment_ns: 12.0,
            iovec_step_ns: 0.0,
            ..CostModel::default()
        };
        // With `large_segment_ns`, the threshold would be 180 bytes.
        assert_eq!(model.copy_below_bytes(4), 100);
        let step = CostModel {
            segment_ns: 100.0,
            ..model
        };
        assert_eq!(step.copy_below_bytes(4), 256);
    }
}
