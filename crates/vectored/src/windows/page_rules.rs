//! The conditions of `WriteFileGather` and `ReadFileScatter` on a list, and the sizes of their calls.

use std::io;
use std::ops::Deref;

/// The most pages of one call: 64 MiB with pages of 4096 bytes. The kernel locks all pages of a call in memory.
const MAX_CALL_PAGES: usize = 16 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PageRules {
    /// The size of a memory page: a power of two.
    pub(crate) page_bytes: usize,
    /// The sector size of the volume: a power of two, at most a page.
    pub(crate) sector_bytes: usize,
}

impl PageRules {
    /// Checks a list for a write to `offset` ([`IoSlice`](io::IoSlice)) or a read from `offset`
    /// ([`IoSliceMut`](io::IoSliceMut)). Empty segments may be anywhere in the list.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) with a message that names the first fault. The offset and the
    /// length of the last segment must be multiples of the sector. Each segment must begin at a page. Each segment
    /// except the last must have whole pages.
    pub(crate) fn check<S: Deref<Target = [u8]>>(
        &self,
        segments: &[S],
        offset: u64,
    ) -> io::Result<()> {
        if offset % self.sector_bytes as u64 != 0 {
            let what = format!("offset {offset}");
            return Err(refused(&what, self.sector_bytes, "a sector of the volume"));
        }
        let last = segments.iter().rposition(|segment| !segment.is_empty());
        let (Some(last), page) = (last, self.page_bytes) else {
            return Ok(());
        };
        for (index, segment) in segments.iter().enumerate() {
            let (address, bytes) = (segment.as_ptr().addr(), segment.len());
            let length = format!("the length of segment {index}, {bytes},");
            if bytes > 0 && address % page != 0 {
                let what = format!("the address of segment {index}, {address:#x},");
                return Err(refused(&what, page, "a page of memory"));
            }
            if index < last && bytes % page != 0 {
                let why = "a page: only the last segment may be shorter";
                return Err(refused(&length, page, why));
            }
            if index == last && bytes % self.sector_bytes != 0 {
                return Err(refused(
                    &length,
                    self.sector_bytes,
                    "a sector of the volume",
                ));
            }
        }
        Ok(())
    }
}

fn refused(what: &str, unit: usize, name: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("{what} is not a multiple of {unit} bytes, {name}"),
    )
}

/// Returns the number of bytes of the next call of a list with `left` bytes: whole pages, or all that is left.
pub(crate) fn next_call_bytes(left: u64, page_bytes: usize) -> usize {
    left.min((MAX_CALL_PAGES * page_bytes) as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transfer::aligned_buffer::AlignedBuffer;
    use proptest::prelude::*;
    use std::io::{IoSlice, IoSliceMut};

    const RULES: PageRules = PageRules {
        page_bytes: 4096,
        sector_bytes: 512,
    };

    proptest! {
        #[test]
        fn a_list_is_accepted_if_every_page_can_be_an_element(
            places in prop::collection::vec(
                (prop_oneof![4 => Just(0_usize), 1 => 0..4096_usize],
                 prop_oneof![2 => Just(4096_usize), 1 => Just(8192), 1 => Just(0), 1 => Just(512), 1 => 0..3000_usize]),
                0..6),
            offset in prop_oneof![3 => Just(1024_u64), 1 => 0..5000_u64],
        ) {
            let memory: Vec<_> =
                places.iter().map(|_| AlignedBuffer::zeroed(3 * 4096, 4096)).collect();
            let segments: Vec<_> = memory
                .iter()
                .zip(&places)
                .map(|(memory, &(from, bytes))| IoSlice::new(&memory[from..from + bytes]))
                .collect();
            // The model ignores empty segments. Each segment begins at a page, and all segments except the last have
            // whole pages.
            let filled: Vec<_> = places.iter().filter(|place| place.1 > 0).collect();
            let are_pages = filled.iter().all(|place| place.0 == 0)
                && filled.iter().rev().skip(1).all(|place| place.1 % 4096 == 0);
            let bytes: usize = filled.iter().map(|place| place.1).sum();
            let expected = are_pages && bytes.is_multiple_of(512) && offset % 512 == 0;
            let checked = RULES.check(&segments, offset);
            prop_assert_eq!(checked.is_ok(), expected, "{:?}", checked);
        }
    }

    #[test]
    fn the_error_names_the_segment_and_the_condition() {
        let memory = AlignedBuffer::zeroed(4 * 4096, 4096);
        let message = |list: &[(usize, usize)], offset| {
            let slice = |&(from, bytes): &(usize, usize)| IoSlice::new(&memory[from..from + bytes]);
            let segments: Vec<_> = list.iter().map(slice).collect();
            let error = RULES.check(&segments, offset).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
            error.to_string()
        };
        assert_eq!(
            message(&[(0, 4096)], 1000),
            "offset 1000 is not a multiple of 512 bytes, a sector of the volume"
        );
        let address = message(&[(0, 4096), (4096 + 512, 4096)], 0);
        assert!(
            address.starts_with("the address of segment 1, 0x"),
            "{address}"
        );
        assert!(
            address.ends_with("is not a multiple of 4096 bytes, a page of memory"),
            "{address}"
        );
        assert_eq!(
            message(&[(0, 4096), (4096, 1000), (8192, 0)], 0),
            "the length of segment 1, 1000, is not a multiple of 512 bytes, a sector of the volume"
        );
        assert_eq!(
            message(&[(0, 512), (4096, 4096)], 0),
            "the length of segment 0, 512, is not a multiple of 4096 bytes, a page: only the last segment may be shorter"
        );
        let mut page = AlignedBuffer::zeroed(4096, 4096);
        let error = RULES.check(&[IoSliceMut::new(&mut page[1..513])], 0);
        assert!(error.is_err());
    }

    #[test]
    fn a_long_list_takes_calls_of_64_mib() {
        let mut left = (200 << 20) + 512;
        let mut calls = Vec::new();
        while left > 0 {
            let bytes = next_call_bytes(left, 4096);
            calls.push(bytes.div_ceil(4096));
            left -= bytes as u64;
        }
        assert_eq!(calls, [16_384, 16_384, 16_384, 2048 + 1]);
    }
}
