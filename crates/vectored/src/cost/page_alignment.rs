//! Finds segments that end at the end of a page of the target.

/// The page of the page cache, of a pipe and of a socket's buffer. On systems with larger pages, fewer segments end
/// with a page, so the fitted [`page_end_ns`](crate::CostModel::page_end_ns) is smaller.
pub(crate) const PAGE_BYTES: u64 = 4096;

/// If consecutive segments have this length, each page ends at a segment end or lies in one segment.
#[inline]
pub(crate) fn fits_pages(segment_bytes: usize) -> bool {
    let page_bytes = PAGE_BYTES as usize;
    // The divisors of a page are powers of two, and the check for a power of two needs no division.
    let divides_a_page = segment_bytes.is_power_of_two() && segment_bytes <= page_bytes;
    segment_bytes > 0 && (divides_a_page || segment_bytes % page_bytes == 0)
}

/// The number of segments that end at a page end. All segments have the same length, and the list begins with a
/// page. The last segment does not count. 0 if `bytes` is not a multiple of `segment_count`.
pub(crate) fn page_ends(segment_count: usize, bytes: u64) -> u64 {
    let count = segment_count as u64;
    if count == 0 || bytes == 0 || bytes % count != 0 {
        return 0;
    }
    let segment_bytes = bytes / count;
    // A segment and a page first end together at the least common multiple of their lengths.
    let segments = PAGE_BYTES / greatest_common_divisor(segment_bytes, PAGE_BYTES);
    (count - 1) / segments
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counted_one_by_one(segment_count: u64, segment_bytes: u64) -> u64 {
        let ends = (1..segment_count).map(|index| index * segment_bytes);
        ends.filter(|end| *end % PAGE_BYTES == 0).count() as u64
    }

    proptest! {
        #[test]
        fn page_ends_are_as_many_as_a_simple_count_finds(
            count in 1_u64..2000,
            bytes in prop_oneof![1_u64..20_000, (0_u32..15).prop_map(|digits| 1 << digits)],
        ) {
            let ends = page_ends(count as usize, count * bytes);
            prop_assert_eq!(ends, counted_one_by_one(count, bytes));
        }

        #[test]
        fn lengths_that_fit_pages_never_lie_across_a_page_end(bytes in prop_oneof![1_u64..20_000, 1_u64..3]) {
            let across = (0..PAGE_BYTES).any(|index| {
                let (from, to) = (index * bytes, (index + 1) * bytes);
                let next_end = (from / PAGE_BYTES + 1) * PAGE_BYTES;
                next_end < to && (from % PAGE_BYTES != 0 || to % PAGE_BYTES != 0)
            });
            prop_assert_eq!(fits_pages(bytes as usize), !across);
        }
    }

    #[test]
    fn lists_without_equal_segments_have_no_page_ends() {
        assert_eq!(page_ends(0, 0), 0);
        assert_eq!(page_ends(3, 0), 0);
        assert_eq!(page_ends(3, 8192 * 3 + 1), 0);
        let most = usize::MAX as u64;
        assert_eq!(page_ends(usize::MAX, most), (most - 1) / PAGE_BYTES);
    }
}
