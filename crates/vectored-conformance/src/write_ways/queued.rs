//! Lists through a [`SegmentQueue`].

use std::io::IoSlice;

use fastrand::Rng;
use vectored::bindings::BorrowedDescriptor;
use vectored::queue::QueuePolicy;
use vectored::{SegmentCursor, SegmentQueue};

use crate::outcome::Outcome;
use crate::queue::{any_policy, any_size, put};
use crate::way::WriteFn;

/// The most bytes that are copied out of the caller's list for one segment of a queue. A list of the tests may have
/// more bytes than there is memory.
const MAX_PIECE_BYTES: usize = 1 << 20;

/// Writes a queue until it is empty or an error comes.
type Drain = fn(&mut SegmentQueue, BorrowedDescriptor<'_>) -> Outcome;

pub(super) fn write_to(queue: &mut SegmentQueue, fd: BorrowedDescriptor<'_>) -> Outcome {
    queue.write_to(fd).into()
}

pub(super) fn write_some(queue: &mut SegmentQueue, fd: BorrowedDescriptor<'_>) -> Outcome {
    let mut transferred = 0;
    loop {
        let part = Outcome::from(queue.write_some(fd));
        transferred += part.transferred;
        if part.error.is_some() || queue.is_empty() {
            return Outcome {
                transferred,
                ..part
            };
        }
    }
}

/// Pushes a list into a queue of this policy until the queue is full, drains the queue, and repeats both until the
/// list is written. After an error the queue keeps its bytes, and the next call writes them.
pub(super) fn filled_and_drained(policy: QueuePolicy, drain: Drain) -> WriteFn {
    let mut queue = SegmentQueue::with_policy(policy);
    Box::new(move |fd, segments, cursor| {
        let mut transfer = Transfer::resume(&mut queue, segments, cursor);
        loop {
            while !transfer.queue.is_full() && transfer.is_put() < segments.len() {
                let piece = transfer.next_piece(MAX_PIECE_BYTES);
                transfer.queue.push(piece.to_vec());
            }
            let result = drain(transfer.queue, fd);
            if let Some(outcome) = transfer.after(result) {
                return outcome;
            }
        }
    })
}

/// Puts a list into a queue of any policy, by any function of the queue, and writes the queue in between.
pub(super) fn at_random() -> WriteFn {
    let mut rng = Rng::with_seed(20);
    let mut queue = SegmentQueue::new();
    Box::new(move |fd, segments, cursor| {
        if *cursor == SegmentCursor::new() {
            queue = SegmentQueue::with_policy(any_policy(&mut rng));
        }
        let mut transfer = Transfer::resume(&mut queue, segments, cursor);
        loop {
            let is_put = transfer.is_put() == segments.len();
            let result = match rng.u32(..10) {
                0..6 if !is_put => {
                    let most = if rng.bool() { MAX_PIECE_BYTES } else { 1 + any_size(&mut rng) };
                    let piece = transfer.next_piece(most);
                    put(transfer.queue, piece, &mut rng);
                    continue;
                }
                6 => {
                    transfer.queue.end_record();
                    continue;
                }
                8 => transfer.queue.write_some(fd).into(),
                _ => write_to(transfer.queue, fd),
            };
            if let Some(outcome) = transfer.after(result) {
                return outcome;
            }
        }
    })
}

struct Transfer<'t> {
    queue: &'t mut SegmentQueue,
    segments: &'t [IoSlice<'t>],
    /// The bytes before this position were written.
    written: &'t mut SegmentCursor,
    transferred: u64,
    /// The bytes before this position were put into the queue.
    put: SegmentCursor,
}

impl<'t> Transfer<'t> {
    fn resume(
        queue: &'t mut SegmentQueue,
        segments: &'t [IoSlice<'t>],
        written: &'t mut SegmentCursor,
    ) -> Transfer<'t> {
        if *written == SegmentCursor::new() {
            // The queue may still hold bytes of an earlier list whose write failed.
            queue.clear();
        }
        let mut put = *written;
        put.advance(segments, queue.len());
        Transfer {
            queue,
            segments,
            written,
            transferred: 0,
            put,
        }
    }

    fn is_put(&self) -> usize {
        self.put.segment()
    }

    /// The next bytes of the list: at most `most`, from one segment.
    fn next_piece(&mut self, most: usize) -> &'t [u8] {
        let segment = &self.segments[self.put.segment()][self.put.offset()..];
        let piece = &segment[..segment.len().min(most)];
        self.put.advance(self.segments, piece.len());
        piece
    }

    /// Counts what was written. Returns the outcome at the end of the list and after an error.
    fn after(&mut self, part: Outcome) -> Option<Outcome> {
        self.transferred += part.transferred;
        self.written
            .advance(self.segments, part.transferred as usize);
        let unwritten = self.written.remaining_bytes(self.segments);
        let unput = self.put.remaining_bytes(self.segments);
        assert_eq!(
            unwritten - unput,
            self.queue.len() as u64,
            "the queue does not hold the bytes that were not written"
        );
        let is_over = part.error.is_some() || unwritten == 0;
        is_over.then_some(Outcome {
            transferred: self.transferred,
            ..part
        })
    }
}
