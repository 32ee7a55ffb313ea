//! What the fuzz targets run: any bytes become a list and what befalls it.
//!
//! They are here and not in `fuzz/` so that the seeds run with the other tests, without a fuzzer.

use std::os::fd::AsFd;

use vectored::{CostModel, Gather, Limits, SegmentCursor};

use crate::model::{list, payload};
use crate::target::Target;
use crate::ways::whole_list;

/// Bytes that run out into zeros.
struct Input<'a>(std::slice::Iter<'a, u8>);

impl Input<'_> {
    fn byte(&mut self) -> usize {
        usize::from(*self.0.next().unwrap_or(&0))
    }

    /// Sizes around every border, empties among them.
    fn sizes(&mut self) -> Vec<usize> {
        // The high bit of the count makes a list beyond IOV_MAX of it.
        let count = self.byte();
        let mut sizes: Vec<usize> = (0..count & 0x7f)
            .map(|_| match self.byte() {
                small @ 0..=199 => small,
                large => (large - 199) * 100,
            })
            .collect();
        if count & 0x80 != 0 {
            let period = sizes.clone();
            let long = period.iter().map(|&size| size % 8).cycle();
            sizes.extend(long.take(2100));
        }
        sizes
    }
}

/// The cursor: any list, any limits, any short calls; every byte once, in order.
///
/// # Panics
///
/// If the cursor errs.
pub fn cursor(data: &[u8]) {
    let mut input = Input(data.iter());
    let limits = Limits {
        segments: input.byte() + 1,
        bytes: input.byte() * 16 + 1,
    };
    let data = payload(&input.sizes());
    let segments = list(&data);
    let model = data.concat();
    let mut moved = Vec::new();
    let mut cursor = SegmentCursor::new();
    let mut scratch = Vec::new();
    loop {
        assert_eq!(
            cursor.remaining_bytes(&segments),
            (model.len() - moved.len()) as u64
        );
        assert_eq!(cursor.is_at_end(&segments), moved.len() == model.len());
        let batch = cursor.batch(&segments, limits, &mut scratch);
        if batch.is_empty() {
            break;
        }
        assert!(batch.iter().all(|slice| !slice.is_empty()));
        let bytes: Vec<u8> = batch.iter().flat_map(|slice| slice.to_vec()).collect();
        assert!(batch.len() <= limits.segments && bytes.len() <= limits.bytes);
        // A zero is a call that took everything.
        let went = match input.byte() {
            0 => bytes.len(),
            most => most.min(bytes.len()),
        };
        moved.extend_from_slice(&bytes[..went]);
        cursor.advance(&segments, went);
        let mut at_once = SegmentCursor::new();
        at_once.advance(&segments, moved.len());
        assert_eq!(cursor, at_once);
    }
    assert!(moved == model, "the bytes are not those of the list");
}

/// The plan, through [`Gather`]: any lists by any model, into a pipe of one page that is emptied
/// whenever it is full.
///
/// # Panics
///
/// If a byte is lost, out of order or not counted.
pub fn plan(data: &[u8]) {
    let mut input = Input(data.iter());
    let model = CostModel {
        segment_ns: input.byte() as f64,
        copy_segment_ns: input.byte() as f64 / 8.0,
        copy_byte_ns: input.byte() as f64 / 64.0,
        staging_bytes: input.byte() * 64,
        ..CostModel::default()
    };
    let mut gather = Gather::new(model);
    let mut mover = whole_list(move |fd, list| gather.write_all(fd.as_fd(), list).into());
    // Several lists: nothing of one may come through into the next.
    for _ in 0..1 + input.byte() % 3 {
        let data = payload(&input.sizes());
        let target = Target::non_blocking_pipe().expect("a pipe can be made");
        let delivery = target.deliver(&mut mover, &list(&data));
        let delivery = delivery.expect("a pipe can be emptied");
        let expected = data.concat();
        assert!(delivery.error.is_none(), "{:?}", delivery.error);
        assert_eq!(delivery.reported, expected.len() as u64);
        assert!(
            delivery.received == expected,
            "the bytes are not those of the list"
        );
    }
}
