//! The bytes that are moved: the segments, and an image with the same bytes contiguous. The floor writes the image, and
//! proofs compare bytes with the image.

use fastrand::Rng;
use vectored::files::AlignedBuffer;
use vectored_report::sort;
use vectored_results::model::Layout;

/// Segments start at multiples of this, like allocations of `malloc`.
pub(crate) const ALIGNMENT: usize = 16;

/// Maximum gap between scattered segments, in units of their alignment. The minimum is 1, so scattered segments are never
/// adjacent.
const WIDEST_GAP: usize = 4;

/// The start of all buffers varies within this range from round to round. This
/// varies the alignment and also the pages: the physical memory behind a page
/// can make calls a quarter slower for as long as the page is used.
pub(crate) const START_RANGE: usize = 256 << 10;

/// Segments get new bytes in one of this many rounds: filling megabytes takes as long as sending them.
const REFILL_EVERY: u32 = 4;

/// Lists longer than this change their place only when they get new bytes: such lists lie in so many pages that one slow
/// page hardly matters.
const LONG_BYTES: usize = 256 << 10;

#[derive(Debug)]
pub struct Payload {
    sizes: Vec<usize>,
    layout: Layout,
    arena: AlignedBuffer,
    offsets: Vec<usize>,
    image: AlignedBuffer,
    image_start: usize,
    rounds: u32,
    total_bytes: usize,
    /// The segments, and the image, begin at multiples of this.
    alignment: usize,
    rng: Rng,
}

impl Payload {
    /// Lays out segments of these sizes that begin at multiples of `alignment`, a power of two of at least [`ALIGNMENT`].
    /// Adjacent segments begin at such multiples only if their sizes are also multiples of `alignment`.
    pub fn new(sizes: &[usize], layout: Layout, alignment: usize, seed: u64) -> Self {
        let total_bytes = sizes.iter().sum();
        let mut payload = Payload {
            sizes: sizes.to_vec(),
            layout,
            arena: AlignedBuffer::zeroed(
                widest_extent(sizes, layout, alignment) + START_RANGE,
                alignment,
            ),
            offsets: vec![0; sizes.len()],
            image: AlignedBuffer::zeroed(total_bytes + START_RANGE, alignment),
            image_start: 0,
            rounds: 0,
            total_bytes,
            alignment,
            rng: Rng::with_seed(seed),
        };
        payload.lay_out();
        payload
    }

    /// Moves every segment to another place. In one of [`REFILL_EVERY`] rounds, every segment gets new random bytes, so
    /// that a stale copy of any part is noticed: [`Payload::mark`] changes only the head of a segment.
    pub fn lay_out(&mut self) {
        let is_refilled = self.rounds.is_multiple_of(REFILL_EVERY);
        self.rounds = self.rounds.wrapping_add(1);
        if !is_refilled && self.total_bytes > LONG_BYTES {
            return;
        }
        let alignment = self.alignment;
        let start = aligned_start(&mut self.rng, alignment);
        let Payload { sizes, layout, .. } = self;
        let places = (sizes.as_slice(), *layout, alignment);
        place(places, start, &mut self.rng, &mut self.offsets);
        let before = self.image_start..self.image_start + self.total_bytes;
        self.image_start = aligned_start(&mut self.rng, alignment);
        self.image.copy_within(before, self.image_start);
        if is_refilled {
            let image = self.image_start..self.image_start + self.total_bytes;
            self.rng.fill(&mut self.image[image]);
        }
        let mut at = self.image_start;
        for (&bytes, &offset) in std::iter::zip(&self.sizes, &self.offsets) {
            self.arena[offset..offset + bytes].copy_from_slice(&self.image[at..at + bytes]);
            at += bytes;
        }
    }

    /// Stamps the head of every segment with a value derived from `mark`, so that bytes of another technique or round
    /// cannot pass for the present bytes.
    pub fn mark(&mut self, mark: u64) {
        let mut at = self.image_start;
        let segments = std::iter::zip(&self.sizes, &self.offsets);
        for ((&bytes, &offset), stamp) in segments.zip(stamps(mark)) {
            let head = &stamp[..bytes.min(stamp.len())];
            self.arena[offset..offset + head.len()].copy_from_slice(head);
            self.image[at..at + head.len()].copy_from_slice(head);
            at += bytes;
        }
    }

    pub fn segments(&self) -> Vec<&[u8]> {
        std::iter::zip(&self.sizes, &self.offsets)
            .map(|(&bytes, &offset)| &self.arena[offset..offset + bytes])
            .collect()
    }

    /// The segments, in order, as buffers to read into.
    pub fn segments_mut(&mut self) -> Vec<&mut [u8]> {
        let mut by_place: Vec<usize> = (0..self.sizes.len()).collect();
        sort::sort_by_key(&mut by_place, |&index| self.offsets[index]);
        let mut segments: Vec<&mut [u8]> = self.sizes.iter().map(|_| &mut [][..]).collect();
        let mut rest = &mut self.arena[..];
        let mut passed = 0;
        for index in by_place {
            let (offset, bytes) = (self.offsets[index], self.sizes[index]);
            let (segment, behind) = rest[offset - passed..].split_at_mut(bytes);
            segments[index] = segment;
            rest = behind;
            passed = offset + bytes;
        }
        segments
    }

    pub fn image_mut(&mut self) -> &mut [u8] {
        &mut self.image[self.image_start..self.image_start + self.total_bytes]
    }

    pub fn image(&self) -> &[u8] {
        &self.image[self.image_start..self.image_start + self.total_bytes]
    }
}

/// A random offset below [`START_RANGE`], a multiple of `alignment`.
pub fn aligned_start(rng: &mut Rng, alignment: usize) -> usize {
    alignment * rng.usize(..START_RANGE / alignment)
}

/// The maximum number of bytes from the first segment to the end of the last.
pub(crate) fn widest_extent(sizes: &[usize], layout: Layout, alignment: usize) -> usize {
    let widest_slot = |&bytes: &usize| match layout {
        Layout::Scattered => bytes.next_multiple_of(alignment) + alignment * WIDEST_GAP,
        Layout::Adjacent => bytes,
    };
    sizes.iter().map(widest_slot).sum()
}

/// Chooses the offset of each segment, from `start` on. Scattered segments begin at multiples of an alignment, if `start`
/// is such a multiple.
pub(crate) fn place(
    (sizes, layout, alignment): (&[usize], Layout, usize),
    start: usize,
    rng: &mut Rng,
    offsets: &mut [usize],
) {
    let mut offset = start;
    match layout {
        Layout::Scattered => {
            let mut order: Vec<usize> = (0..sizes.len()).collect();
            rng.shuffle(&mut order);
            for index in order {
                offsets[index] = offset;
                let gap = alignment * rng.usize(1..=WIDEST_GAP);
                offset += sizes[index].next_multiple_of(alignment) + gap;
            }
        }
        Layout::Adjacent => {
            for (place, bytes) in std::iter::zip(offsets, sizes) {
                *place = offset;
                offset += bytes;
            }
        }
    }
}

pub(crate) fn stamps(mark: u64) -> impl Iterator<Item = [u8; 8]> {
    let mut stamp = mark;
    std::iter::repeat_with(move || {
        // A Weyl sequence, then mixed, so that neighbours differ.
        stamp = stamp.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (stamp ^ (stamp >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 32)).to_le_bytes()
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn layouts() -> impl Strategy<Value = Layout> {
        prop::sample::select(Layout::ALL.to_vec())
    }

    proptest! {
        /// The segments to read into are the same as the segments to write. Scattered segments never touch; adjacent
        /// segments touch in their order.
        #[test]
        fn segments_are_the_image_in_pieces_in_their_layout(
            sizes in prop::collection::vec(1_usize..300, 2..40),
            layout in layouts(),
            seed: u64,
            marks: Vec<u64>,
        ) {
            let mut payload = Payload::new(&sizes, layout, ALIGNMENT, seed);
            for mark in marks {
                payload.mark(mark);
                prop_assert_eq!(payload.segments().concat(), payload.image());
                payload.lay_out();
                prop_assert_eq!(payload.segments().concat(), payload.image());
            }
            let mut places: Vec<(usize, usize)> = payload
                .segments()
                .iter()
                .map(|segment| (segment.as_ptr().addr(), segment.len()))
                .collect();
            let read: Vec<(usize, usize)> = payload
                .segments_mut()
                .iter()
                .map(|segment| (segment.as_ptr().addr(), segment.len()))
                .collect();
            prop_assert_eq!(&places, &read);
            if layout == Layout::Scattered {
                places.sort_unstable();
            }
            for pair in places.windows(2) {
                let end = pair[0].0 + pair[0].1;
                let is_adjacent = end == pair[1].0;
                prop_assert!(is_adjacent == (layout == Layout::Adjacent) && end <= pair[1].0);
            }
        }

        #[test]
        fn segments_and_image_are_aligned_if_their_sizes_are(
            blocks in prop::collection::vec(1_usize..4, 1..40),
            layout in layouts(),
            alignment in prop::sample::select(vec![16_usize, 512, 4096]),
            seed: u64,
        ) {
            let sizes: Vec<usize> = blocks.iter().map(|count| count * alignment).collect();
            let mut payload = Payload::new(&sizes, layout, alignment, seed);
            for _ in 0..2 {
                payload.lay_out();
                let image = payload.image();
                for part in payload.segments().into_iter().chain([image]) {
                    prop_assert!(part.as_ptr().addr().is_multiple_of(alignment));
                }
            }
        }
    }

    #[test]
    fn every_fourth_round_brings_new_bytes_and_short_lists_move_in_each() {
        for (bytes, moves) in [(64, true), (LONG_BYTES, true), (LONG_BYTES + 1, false)] {
            let mut payload = Payload::new(&[bytes], Layout::Scattered, ALIGNMENT, 1);
            for round in 1..9 {
                let (image, start) = (payload.image().to_vec(), payload.image_start);
                payload.lay_out();
                assert_eq!(payload.image() == image, round % 4 != 0, "{bytes} {round}");
                assert_eq!(
                    payload.image_start != start,
                    moves || round % 4 == 0,
                    "{bytes} {round}"
                );
                assert_eq!(payload.segments().concat(), payload.image());
            }
        }
    }

    #[test]
    fn another_mark_changes_every_segment() {
        let mut payload = Payload::new(&[3, 8, 100, 16], Layout::Scattered, ALIGNMENT, 1);
        payload.mark(1);
        let first: Vec<Vec<u8>> = payload.segments().iter().map(|s| s.to_vec()).collect();
        payload.mark(2);
        for (before, after) in std::iter::zip(first, payload.segments()) {
            assert_ne!(before, after);
        }
    }

    #[test]
    fn the_seed_decides_places_and_bytes() {
        let laid_out = |seed| {
            let payload = Payload::new(&[64; 32], Layout::Scattered, ALIGNMENT, seed);
            (payload.offsets.clone(), payload.image().to_vec())
        };
        assert_eq!(laid_out(1), laid_out(1));
        assert_ne!(laid_out(1), laid_out(2));
    }
}
