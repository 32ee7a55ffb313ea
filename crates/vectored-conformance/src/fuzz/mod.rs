//! The bodies of the fuzz targets. The input decides on a list, and on the results of the calls that move it.
//!
//! The bodies are here and not in `fuzz/`, so that ordinary tests can run the seeds without a fuzzer.

mod input;
mod queue;

use std::os::fd::AsFd;

use vectored::limits::Limits;
use vectored::{Gather, SegmentCursor};

use crate::fuzz::input::Input;
use crate::model::{list, payload};
use crate::read_ways::{buffered, scattered};
use crate::source::{Feed, Source};
use crate::target::Target;
use crate::way::Way;
use crate::write_ways::whole_list;

pub use queue::queue;

/// Tests the plan of reads through [`Scatter`](vectored::Scatter) with any model, and
/// [`ScatterReader`](vectored::ScatterReader) with any buffer.
///
/// The list is read from a pipe. Whenever the pipe is empty, a next piece of any size is written to it. The pipe may
/// end before the list is full.
pub fn read_plan(data: &[u8]) {
    let mut input = Input(data.iter());
    let capacity = input.byte() * 16;
    let held = input.byte();
    let pieces: Vec<usize> = (0..1 + input.byte() % 5)
        .map(|_| 1 + input.byte() * 17)
        .collect();
    let sizes = input.sizes();
    let total: usize = sizes.iter().sum();
    // The content has between 0 and 1.5 times the bytes of the list.
    let content = payload(&[total * held / 170]).concat();
    // Pieces of single bytes would take too long with a long list.
    let least = content.len() / 500;
    let pieces: Vec<usize> = pieces.iter().map(|&piece| piece.max(least)).collect();
    let feed = Feed::new(content, &pieces);

    // Each pair has the properties of a way, and the function.
    let exact = || Way::new("a plan", || buffered(0));
    let ways = [
        (exact(), scattered(input.cost_model())),
        (exact().that_reads_ahead(), buffered(capacity)),
    ];
    for (way, mut read_fn) in ways {
        let source = Source::non_blocking_pipe(feed.clone()).expect("a pipe can be made");
        let arrival = source.fill(&way, &mut read_fn, &sizes);
        let arrival = arrival.expect("a pipe can be fed");
        assert!(arrival.ended_well(&way), "{:?}", arrival.error);
        assert_eq!(arrival.lost(&way), 0, "the bytes are not those of the pipe");
    }
}

/// Tests the cursor with any list, any limits and any short calls.
pub fn cursor(data: &[u8]) {
    let mut input = Input(data.iter());
    let limits = Limits {
        segments: input.byte() + 1,
        bytes: input.byte() * 16 + 1,
    };
    let data = payload(&input.sizes());
    let segments = list(&data);
    let model = data.concat();
    // The end of each segment, in bytes from the start of the list.
    let mut end = 0;
    let ends = data.iter().map(|segment| {
        end += segment.len();
        end
    });
    let ends: Vec<usize> = ends.collect();
    let place = |bytes: usize| {
        let segment = ends.partition_point(|&end| end <= bytes);
        let start = segment.checked_sub(1).map_or(0, |before| ends[before]);
        SegmentCursor::at(segment, bytes - start)
    };
    let mut moved = Vec::with_capacity(model.len());
    let mut cursor = SegmentCursor::new();
    let mut scratch = Vec::new();
    for step in 0.. {
        assert_eq!(cursor.is_at_end(&segments), moved.len() == model.len());
        // The checks walk along the list. For a long list, only some steps are checked.
        if segments.len() < 128 || step % 64 == 0 || moved.len() == model.len() {
            let remaining = (model.len() - moved.len()) as u64;
            assert_eq!(cursor.remaining_bytes(&segments), remaining);
            let mut at_once = SegmentCursor::new();
            at_once.advance(&segments, moved.len());
            assert_eq!(at_once, place(moved.len()));
        }
        let batch = cursor.batch(&segments, limits, &mut scratch);
        if batch.is_empty() {
            break;
        }
        assert!(batch.iter().all(|slice| !slice.is_empty()));
        let bytes: usize = batch.iter().map(|slice| slice.len()).sum();
        assert!(batch.len() <= limits.segments && bytes <= limits.bytes);
        // Zero stands for a call that takes everything.
        let went = match input.byte() {
            0 => bytes,
            limit => limit.min(bytes),
        };
        let all_moved = moved.len() + went;
        for slice in batch {
            let here = slice.len().min(all_moved - moved.len());
            moved.extend_from_slice(&slice[..here]);
        }
        cursor.advance(&segments, went);
        assert_eq!(cursor, place(all_moved));
    }
    assert!(moved == model, "the bytes are not those of the list");
}

/// Tests the plan of writes through [`Gather`] with any lists and any model. The target is a pipe of one page.
/// Whenever the pipe is full, it is emptied.
pub fn plan(data: &[u8]) {
    let mut input = Input(data.iter());
    let mut gather = Gather::with_model(input.cost_model());
    let mut write_fn = whole_list(move |fd, list| gather.write_all(fd.as_fd(), list).into());
    // Several lists: no byte of a list may appear in the next list.
    for _ in 0..1 + input.byte() % 3 {
        let data = payload(&input.sizes());
        let target = Target::non_blocking_pipe().expect("a pipe can be made");
        let delivery = target.deliver(&mut write_fn, &list(&data));
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
