//! Which segments a [`CostModel`] copies.

use crate::cost::CostModel;
use crate::cost::page_alignment::{PAGE_BYTES, fits_pages};
use crate::cost::prediction::LARGE_SEGMENT_BYTES;
use crate::cost::thresholds::{Measured, between};

impl CostModel {
    /// The longest segment that is worth copying in a list of `segment_count` segments, in bytes.
    ///
    /// It is the size at which a list of so many equal segments costs the same both ways. A segment
    /// that is copied saves what it would cost as an `iovec`, and its share of what the call pays
    /// once:
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
    /// Where that is less than 256 bytes, `segment_ns` takes the place of `large_segment_ns`, and the
    /// border is 256 bytes at most.
    ///
    /// So segments are copied at the price of the cache as long as all of them fit the staging
    /// buffer. A list that does not fit it goes out in several calls, and pays for the larger memory
    /// and the further calls: there the border is the lower one, `uncached`, and segments between the
    /// two are referenced.
    ///
    /// [Thresholds](CostModel::copy_thresholds) that were measured take the place of this:
    ///
    /// - at a count at which one was, it is that one;
    /// - between two such counts it is interpolated, `log(bytes)` by `log(count)`;
    /// - beyond the last of them, a border of `b` bytes at `m` segments, it is `b` if `n` segments of `b` bytes fit the
    ///   staging buffer. It is also `b` if `m · b ≥ staging_bytes / 2`: `b` then holds for calls that stage much, and a
    ///   longer list takes several of these. Otherwise it is `staging_bytes / n`, at least `uncached` and at most `b`.
    ///
    /// It is 0 for fewer than two segments, where there is nothing to merge, and never above
    /// `staging_bytes`. With numbers that make no sense (negative, not a number) it is some value in
    /// that range.
    ///
    /// # Examples
    ///
    /// ```
    /// use vectored::CostModel;
    ///
    /// let model = CostModel::default();
    /// assert_eq!(model.copy_below_bytes(1), 0);
    /// assert_eq!(model.copy_below_bytes(2), 1600); // (20 − 2 + 60 / 2) / 0.03
    /// assert_eq!(model.copy_below_bytes(16), 808); // (20 − 2 + (60 + 40) / 16) / 0.03
    /// assert_eq!(model.copy_below_bytes(1000), 262); // 262,144 / 1000: all that fits is copied
    /// assert_eq!(model.copy_below_bytes(3000), 222); // (20 − 2 + …) / (0.08 + 300 / 262,144)
    /// ```
    #[must_use]
    pub fn copy_below_bytes(&self, segment_count: usize) -> usize {
        if segment_count < 2 {
            return 0;
        }
        let border = match self.copy_thresholds.around(segment_count) {
            (Some(below), Some(above)) => between(below, above, segment_count),
            (Some(last), None) => self.border_beyond(last, segment_count),
            (None, _) => self.border_by_numbers(segment_count),
        };
        border.min(self.staging_bytes)
    }

    /// Whether a list of `segment_count` segments of `segment_bytes` each is worth copying.
    ///
    /// As [`copy_below_bytes`](CostModel::copy_below_bytes) has it, but for segments that divide a
    /// page, or that pages divide: each of them that ends where a page does spares referencing
    /// `page_end_ns`, and so the border of such lists is lower:
    ///
    /// ```text
    /// copied if segment_bytes · copy_byte_ns + min(segment_bytes ÷ 4096, 1) · page_end_ns
    ///           ≤ copy_below_bytes · copy_byte_ns
    /// ```
    ///
    /// [`Gather`](crate::Gather) takes a list for one of these if its first two segments are equally
    /// long, and of 512 bytes or more: for shorter ones it goes by `copy_below_bytes` alone.
    ///
    /// # Examples
    ///
    /// ```
    /// use vectored::{CostModel, TargetKind};
    ///
    /// let model = CostModel { page_end_ns: 40.0, ..CostModel::default() };
    /// assert_eq!(model.copy_below_bytes(4), 1100);
    /// assert!(model.copies(4, 1000));
    /// assert!(!model.copies(4, 1024)); // four of them fill a page
    /// assert!(model.copies(4, 1048));
    /// ```
    #[must_use]
    pub fn copies(&self, segment_count: usize, segment_bytes: usize) -> bool {
        segment_count > 1 && self.copies_up_to(self.copy_below_bytes(segment_count), segment_bytes)
    }

    /// The same, where the border for that count is known.
    pub(crate) fn copies_up_to(&self, copy_below_bytes: usize, segment_bytes: usize) -> bool {
        if segment_bytes > copy_below_bytes || !fits_pages(segment_bytes) {
            return segment_bytes <= copy_below_bytes;
        }
        let page_ends = (segment_bytes as f64 / PAGE_BYTES as f64).min(1.0);
        let left = (copy_below_bytes - segment_bytes) as f64;
        // Numbers that make no sense decide nothing.
        let spares_more = page_ends * self.page_end_ns > left * self.copy_byte_ns;
        !spares_more
    }

    /// The border at a count that is not below the last one at which it was measured.
    fn border_beyond(&self, last: Measured, segment_count: usize) -> usize {
        let staged = |count: usize| last.bytes.saturating_mul(count);
        if segment_count == last.count
            || staged(segment_count) <= self.staging_bytes
            || staged(last.count) >= self.staging_bytes / 2
        {
            return last.bytes;
        }
        let fitting = self.staging_bytes / segment_count;
        // The numbers know what copying is worth that does not fit, and say so of endless lists.
        last.bytes
            .min(fitting.max(self.border_by_numbers(usize::MAX)))
    }

    /// The border that follows from the numbers.
    fn border_by_numbers(&self, segment_count: usize) -> usize {
        let large = self.border(segment_count, self.large_segment_ns);
        let border = if large >= LARGE_SEGMENT_BYTES as f64 {
            large
        } else {
            let small = self.border(segment_count, self.segment_ns);
            small.min(LARGE_SEGMENT_BYTES as f64)
        };
        // `as` rounds down, and turns what is negative or not a number into 0.
        border as usize
    }

    /// The border if each segment costs this much in `writev(2)`.
    fn border(&self, segment_count: usize, segment_ns: f64) -> f64 {
        let n = segment_count as f64;
        let staging = self.staging_bytes as f64;
        let once = self.gather_call_ns + self.step_ns(segment_count);
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
        TargetKind::Socket,
        TargetKind::Other,
    ];

    #[test]
    fn a_lone_segment_is_never_copied() {
        for kind in KINDS {
            assert_eq!(CostModel::default_for(kind).copy_below_bytes(0), 0);
            assert_eq!(CostModel::default_for(kind).copy_below_bytes(1), 0);
        }
    }

    #[test]
    fn ten_bytes_are_copied_and_4000_referenced_at_every_count() {
        for kind in KINDS {
            for count in [2, 3, 8, 9, 100, 1000, 1_000_000, usize::MAX] {
                let border = CostModel::default_for(kind).copy_below_bytes(count);
                assert!((10..4000).contains(&border), "{kind:?}, {count}: {border}");
            }
        }
    }

    #[test]
    fn what_is_copied_at_the_price_of_the_cache_fits_the_staging_buffer() {
        for kind in KINDS {
            let model = CostModel::default_for(kind);
            for count in 2..10_000 {
                let border = model.copy_below_bytes(count);
                let fits = border * count <= model.staging_bytes;
                let uncached = model.border(count, model.large_segment_ns);
                assert!(fits || border as f64 <= uncached, "{count}: {border}");
            }
            assert!(model.copy_below_bytes(100_000) * 100_000 > model.staging_bytes);
        }
    }

    #[test]
    fn at_the_border_both_ways_cost_the_same() {
        let model = CostModel::default();
        for count in [2, 8, 9, 64, 256] {
            let bytes = (count * model.copy_below_bytes(count)) as u64;
            let saved = model.writev_ns(count, bytes) - model.copy_then_write_ns(count, bytes);
            // Within the byte that the border is rounded down by.
            let byte = count as f64 * model.copy_byte_ns;
            assert!((-0.001..=byte).contains(&saved), "{count}: {saved}");
        }
    }

    #[test]
    fn lists_that_fit_pages_are_copied_where_that_is_the_cheaper_way() {
        let model = CostModel {
            page_end_ns: 45.0,
            ..CostModel::default()
        };
        let (mut copied, mut referenced) = (0, 0);
        for count in [2, 3, 8, 9, 64, 100] {
            for bytes in [16, 256, 512, 1024, 2048, 4096] {
                // The end of the last segment spares nothing, which the border leaves aside.
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
    fn a_border_among_the_small_segments_is_theirs() {
        let model = CostModel {
            copy_byte_ns: 0.1,
            copy_byte_uncached_ns: 0.2,
            gather_call_ns: 0.0,
            large_segment_ns: 20.0,
            segment_ns: 12.0,
            iovec_step_ns: 0.0,
            ..CostModel::default()
        };
        // 180 bytes by the price of a large segment, which that is not.
        assert_eq!(model.copy_below_bytes(4), 100);
        let step = CostModel {
            segment_ns: 100.0,
            ..model
        };
        assert_eq!(step.copy_below_bytes(4), 256);
    }

    #[test]
    fn numbers_without_sense_give_a_border_within_the_staging_buffer() {
        let usual = CostModel::default();
        let numbers = [
            0.0,
            -1.0,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::MAX,
        ];
        for number in numbers {
            for model in [
                CostModel {
                    call_ns: number,
                    ..usual
                },
                CostModel {
                    segment_ns: number,
                    ..usual
                },
                CostModel {
                    gather_call_ns: number,
                    large_segment_ns: number,
                    ..usual
                },
                CostModel {
                    iovec_step_ns: number,
                    ..usual
                },
                CostModel {
                    copy_segment_ns: number,
                    ..usual
                },
                CostModel {
                    copy_byte_ns: number,
                    ..usual
                },
                CostModel {
                    copy_byte_uncached_ns: number,
                    ..usual
                },
            ] {
                for count in [0, 1, 2, 9, 1000] {
                    assert!(
                        model.copy_below_bytes(count) <= model.staging_bytes,
                        "{model:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn no_staging_buffer_means_no_copying() {
        let model = CostModel {
            staging_bytes: 0,
            ..CostModel::default()
        };
        for count in [1, 2, 100, 10_000] {
            assert_eq!(model.copy_below_bytes(count), 0);
        }
    }
}
