//! What is to be known of a list before it goes as it is.
//!
//! Of long lists it is looked up by registers of 32 bytes, two segments each: at a sink that takes 2 ns a
//! segment, one by one they took 1.1 ns more, and so they take 0.3.
//!
//! # Safety
//!
//! `unsafe` for reading a list as the numbers that it is made of, by instructions that not every processor
//! has.
#![allow(unsafe_code)]

use std::io::IoSlice;

/// Shorter lists are looked at one by one, and those that are too long for any call.
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
const SEGMENTS_FOR_AVX2: std::ops::RangeInclusive<usize> = 16..=1 << 14;

/// A list of which each segment is longer than was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListScan {
    pub(crate) bytes: usize,
    /// False if no segment begins where the one before it ends.
    pub(crate) may_adjoin: bool,
}

/// Looks at a list; `None` if a segment has no more than `small_bytes`, or all together more than a number
/// holds.
#[inline(always)]
pub(crate) fn scan_few(segments: &[IoSlice<'_>], small_bytes: usize) -> Option<ListScan> {
    let nothing = ListScan {
        bytes: 0,
        may_adjoin: false,
    };
    scan_from(nothing, std::ptr::null(), segments, small_bytes)
}

/// The same, for lists that are likely long.
#[inline(never)]
pub(crate) fn scan_many(segments: &[IoSlice<'_>], small_bytes: usize) -> Option<ListScan> {
    #[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
    if SEGMENTS_FOR_AVX2.contains(&segments.len()) && is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the instructions, and the list is no longer.
        return unsafe { avx2::scan(segments, small_bytes) };
    }
    scan_few(segments, small_bytes)
}

/// Looks at the segments behind those that were seen, of which the last one ends at `end`.
#[inline(always)]
fn scan_from(
    seen: ListScan,
    mut end: *const u8,
    segments: &[IoSlice<'_>],
    small_bytes: usize,
) -> Option<ListScan> {
    let ListScan {
        mut bytes,
        mut may_adjoin,
    } = seen;
    for segment in segments {
        if segment.len() <= small_bytes {
            return None;
        }
        may_adjoin |= std::ptr::eq(segment.as_ptr(), end);
        end = segment.as_ptr_range().end;
        bytes = bytes.checked_add(segment.len())?;
    }
    Some(ListScan { bytes, may_adjoin })
}

#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
mod avx2 {
    use std::arch::x86_64::{
        __m256i, _mm256_add_epi64, _mm256_and_si256, _mm256_castsi256_pd, _mm256_cmpeq_epi64,
        _mm256_extract_epi64, _mm256_loadu_si256, _mm256_movemask_pd, _mm256_or_si256,
        _mm256_set1_epi64x, _mm256_setzero_si256, _mm256_shuffle_epi32, _mm256_sub_epi64,
    };
    use std::io::IoSlice;

    use super::{ListScan, scan_few, scan_from};

    /// So many segments are looked at before it is asked what was seen.
    const AT_ONCE: usize = 8;
    /// As many a register holds.
    const A_REGISTER: usize = 2;

    /// Of 2^14 segments of so many bytes the sum is not too large, and no memory has more.
    const MAX_BYTES: usize = 1 << 48;

    /// Of the two addresses and the two lengths in a register, the addresses; and the lengths.
    const ADDRESSES: i32 = 0b0101;
    const LENGTHS: i32 = 0b1010;

    /// Looks at a list.
    ///
    /// # Safety
    ///
    /// The processor has AVX2, and the list no more than 2^14 segments.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn scan(segments: &[IoSlice<'_>], small_bytes: usize) -> Option<ListScan> {
        // Lengths are no more than `isize::MAX`: as long as what is subtracted is, too, the sign tells which
        // one is larger.
        let small = _mm256_set1_epi64x(small_bytes.min(MAX_BYTES) as i64);
        let (mut sums, mut bits) = (_mm256_setzero_si256(), _mm256_setzero_si256());
        let mut touching = _mm256_setzero_si256();
        let mut begin = 0;
        // Each is compared with the one behind it.
        while segments.len() - begin > AT_ONCE {
            let mut longer = _mm256_set1_epi64x(-1);
            for pair in 0..AT_ONCE / A_REGISTER {
                // SAFETY: an `IoSlice` has the layout of an `iovec`, as its documentation says: an address,
                // and the length behind it. What is read are two of them from the first or the second of a
                // pair on: the ninth is there, too.
                let (these, next) = unsafe {
                    let first = segments.as_ptr().add(begin + A_REGISTER * pair);
                    (
                        _mm256_loadu_si256(first.cast::<__m256i>()),
                        _mm256_loadu_si256(first.add(1).cast::<__m256i>()),
                    )
                };
                let swapped = _mm256_shuffle_epi32::<0b01_00_11_10>(these);
                let ends = _mm256_add_epi64(these, swapped);
                touching = _mm256_or_si256(touching, _mm256_cmpeq_epi64(ends, next));
                sums = _mm256_add_epi64(sums, these);
                bits = _mm256_or_si256(bits, these);
                longer = _mm256_and_si256(longer, _mm256_sub_epi64(small, these));
            }
            if signs(longer) & LENGTHS != LENGTHS {
                // One of these is small, or the border too high for this.
                scan_few(&segments[begin..], small_bytes)?;
                return scan_few(segments, small_bytes);
            }
            begin += AT_ONCE;
        }
        if (length(bits, 0) | length(bits, 1)) > MAX_BYTES {
            return scan_few(segments, small_bytes);
        }
        let bytes = length(sums, 0) + length(sums, 1);
        let touching = signs(touching) & ADDRESSES != 0;
        let seen = ListScan {
            bytes,
            may_adjoin: touching,
        };
        // That the first of these does not touch what is before it was seen above.
        scan_from(seen, std::ptr::null(), &segments[begin..], small_bytes)
    }

    /// A bit for each of the four numbers.
    #[target_feature(enable = "avx2")]
    fn signs(numbers: __m256i) -> i32 {
        _mm256_movemask_pd(_mm256_castsi256_pd(numbers))
    }

    /// One of the two lengths.
    #[target_feature(enable = "avx2")]
    fn length(numbers: __m256i, which: usize) -> usize {
        match which {
            0 => _mm256_extract_epi64::<1>(numbers) as usize,
            _ => _mm256_extract_epi64::<3>(numbers) as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_seen_is_what_is_there(
            places in prop::collection::vec((0..4_usize, 1..9_usize, 0..9_usize), 0..60),
            small_bytes in 0..3_usize,
        ) {
            let data = vec![0; 1000];
            let mut segments = Vec::new();
            let mut at = 0;
            for (gap, len, rare) in places {
                at += if rare == 0 { 0 } else { gap + 1 };
                // Mostly longer than small ones.
                let len = if rare == 1 { len } else { len + 2 };
                segments.push(IoSlice::new(&data[at..at + len]));
                at += len;
            }
            let is_small = segments.iter().any(|segment| segment.len() <= small_bytes);
            let touches = |pair: &[IoSlice<'_>]| pair[0].as_ptr_range().end == pair[1].as_ptr();
            let expected = (!is_small).then(|| ListScan {
                bytes: segments.iter().map(|segment| segment.len()).sum(),
                may_adjoin: segments.windows(2).any(touches),
            });
            prop_assert_eq!(scan_few(&segments, small_bytes), expected);
            prop_assert_eq!(scan_many(&segments, small_bytes), expected);
        }
    }

    #[test]
    fn one_that_is_not_as_the_others_is_seen_wherever_it_is() {
        let data = vec![0; 4000];
        let all: Vec<_> = (0..40)
            .map(|i| IoSlice::new(&data[100 * i..][..50]))
            .collect();
        let whole = ListScan {
            bytes: 40 * 50,
            may_adjoin: false,
        };
        assert_eq!(scan_many(&all, 49), Some(whole));
        assert_eq!(scan_many(&all, 50), None);
        assert_eq!(scan_many(&all, usize::MAX), None);
        for index in 0..40 {
            let mut one = all.clone();
            one[index] = IoSlice::new(&data[100 * index..][..20]);
            assert_eq!(scan_many(&one, 20), None, "{index}");
            let seen = scan_many(&one, 19).unwrap();
            assert_eq!(
                (seen.bytes, seen.may_adjoin),
                (40 * 50 - 30, false),
                "{index}"
            );
            if index < 39 {
                one[index] = IoSlice::new(&data[100 * index..][..100]);
                let seen = scan_many(&one, 19).unwrap();
                assert_eq!(
                    (seen.bytes, seen.may_adjoin),
                    (40 * 50 + 50, true),
                    "{index}"
                );
            }
        }
    }
}
