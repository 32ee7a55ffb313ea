//! Where segments end together with pages of the target.

/// A page of the page cache, of a pipe and of a socket's buffer, in bytes. Where pages are larger,
/// segments end with them more rarely, and [`page_end_ns`](crate::CostModel::page_end_ns) is fitted to
/// be the smaller.
pub(crate) const PAGE_BYTES: u64 = 4096;

/// Whether segments of this length, one after another, end again and again where a page does and
/// never lie across that: they divide a page, or pages divide them.
#[inline]
pub(crate) fn fits_pages(segment_bytes: usize) -> bool {
    let page_bytes = PAGE_BYTES as usize;
    // What divides a page is a power of two, and to ask for that takes no division.
    let divides_a_page = segment_bytes.is_power_of_two() && segment_bytes <= page_bytes;
    segment_bytes > 0 && (divides_a_page || segment_bytes.is_multiple_of(page_bytes))
}

/// How many segments but the last end where a page does, in a list of equal segments that begins with
/// a page. 0 for segments that are not equal.
pub(crate) fn page_ends(segment_count: usize, bytes: u64) -> u64 {
    let count = segment_count as u64;
    if count == 0 || bytes == 0 || !bytes.is_multiple_of(count) {
        return 0;
    }
    let segment_bytes = bytes / count;
    // The first end of a segment and a page is their least common multiple.
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
        ends.filter(|end| end.is_multiple_of(PAGE_BYTES)).count() as u64
    }

    proptest! {
        #[test]
        fn page_ends_are_those_that_can_be_counted(
            count in 1_u64..2000,
            bytes in prop_oneof![1_u64..20_000, (0_u32..15).prop_map(|digits| 1 << digits)],
        ) {
            let ends = page_ends(count as usize, count * bytes);
            prop_assert_eq!(ends, counted_one_by_one(count, bytes));
        }

        #[test]
        fn what_fits_pages_never_lies_across_an_end(bytes in 1_u64..20_000) {
            let across = (0..PAGE_BYTES).any(|index| {
                let (from, to) = (index * bytes, (index + 1) * bytes);
                let next_end = (from / PAGE_BYTES + 1) * PAGE_BYTES;
                next_end < to && !(from.is_multiple_of(PAGE_BYTES) && to.is_multiple_of(PAGE_BYTES))
            });
            prop_assert_eq!(fits_pages(bytes as usize), !across);
        }
    }

    #[test]
    fn lists_without_equal_segments_have_no_page_ends() {
        assert_eq!(page_ends(0, 0), 0);
        assert_eq!(page_ends(3, 0), 0);
        assert_eq!(page_ends(3, 8192 * 3 + 1), 0);
        assert_eq!(page_ends(usize::MAX, u64::MAX), (u64::MAX - 1) / PAGE_BYTES);
    }
}
