//! The body of the fuzz target of a queue: any operations, against the bytes that were put in.

use std::collections::VecDeque;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use vectored::SegmentQueue;
use vectored::queue::Segment;

use super::input::Input;
use crate::queue::sink::{Answer, ScriptedWriter};
use crate::queue::{Choose, any_policy, any_size, expect_bytes, put};

const MAX_STEPS: usize = 200;

/// The most bytes in a queue, so that an input takes no more than milliseconds.
const MAX_BYTES: usize = 200_000;

/// Tests a queue with any policy and any operations. The queue must hold the bytes that were put in and not yet
/// written, and calls must end at the ends of records.
pub fn queue(data: &[u8]) {
    let mut input = Input(data.iter());
    let mut queue = SegmentQueue::with_policy(any_policy(&mut input));
    let mut model = Model::default();
    let gathers = input.below(2) == 0;
    let mut writer = ScriptedWriter::new(gathers);
    for _ in 0..MAX_STEPS {
        if input.0.len() == 0 {
            break;
        }
        match input.below(16) {
            0..6 => {
                let bytes = model.next(any_size(&mut input));
                put(&mut queue, &bytes, &mut input);
            }
            6 => {
                queue.end_record();
                model.end_record();
            }
            7 => {
                let bytes = any_size(&mut input).min(queue.len());
                queue.advance(bytes);
                model.advance(bytes);
                writer.forget_offer();
            }
            8 => {
                let bytes = any_size(&mut input).min(queue.len());
                let taken = bytes::Buf::copy_to_bytes(&mut queue, bytes);
                let expected: Vec<u8> = model.bytes.range(..bytes).copied().collect();
                assert!(taken == expected, "copy_to_bytes took other bytes");
                model.advance(bytes);
                writer.forget_offer();
            }
            _ => {
                writer.script = any_script(&mut input);
                let how = input.below(3);
                poll(&mut queue, &mut writer, how);
                model.check(&mut writer, &queue);
            }
        }
        expect_bytes(&queue, model.bytes.make_contiguous());
        if model.bytes.len() > MAX_BYTES {
            queue.clear();
            model.advance(model.bytes.len());
            writer.forget_offer();
        }
    }
    let unsent: Vec<Segment> = queue.into_unsent().collect();
    assert!(unsent.iter().all(|segment| !segment.is_empty()));
    assert!(
        unsent
            .iter()
            .flat_map(|segment| segment.iter())
            .eq(&model.bytes)
    );
}

/// The bytes to be written, and the ends of records in these bytes.
#[derive(Default)]
struct Model {
    bytes: VecDeque<u8>,
    record_ends: VecDeque<usize>,
    /// The number of bytes that were put in. Neighbouring bytes have different values.
    put_bytes: usize,
    /// The number of bytes offered to a writer that was not ready, less the bytes that are gone.
    offered: usize,
}

impl Model {
    fn next(&mut self, bytes: usize) -> Vec<u8> {
        let range = self.put_bytes..self.put_bytes + bytes;
        self.put_bytes += bytes;
        let bytes: Vec<u8> = range.map(|at| (at % 251) as u8 + 1).collect();
        self.bytes.extend(&bytes);
        bytes
    }

    fn end_record(&mut self) {
        let end = self.bytes.len();
        if end > 0 && self.record_ends.back() != Some(&end) {
            self.record_ends.push_back(end);
        }
    }

    fn advance(&mut self, bytes: usize) {
        self.bytes.drain(..bytes);
        self.offered = if self.bytes.is_empty() { 0 } else { self.offered.saturating_sub(bytes) };
        while self.record_ends.front().is_some_and(|end| *end <= bytes) {
            self.record_ends.pop_front();
        }
        self.record_ends.iter_mut().for_each(|end| *end -= bytes);
    }

    /// Checks the calls that a writer got, and removes the bytes that the writer took.
    fn check(&mut self, writer: &mut ScriptedWriter, queue: &SegmentQueue) {
        for (given, answer) in writer.calls.drain(..) {
            assert!(given >= self.offered, "fewer bytes than were offered");
            let ends_there = given == self.bytes.len() || self.record_ends.contains(&given);
            let first = self.record_ends.front();
            let cuts = !ends_there && given > self.offered && first.is_some_and(|end| *end < given);
            assert!(!cuts, "a call of {given} bytes cuts a record");
            let chunk = queue.policy().chunk_bytes;
            // A call with several whole records is no longer than a chunk.
            let has_several = first.is_some_and(|end| *end < given);
            assert!(
                !has_several || given <= chunk.max(self.offered),
                "a call of {given} bytes with several records, and a chunk of {chunk}"
            );
            match answer {
                Answer::Take(most) => {
                    let taken = most.min(given);
                    self.advance(taken);
                    // A writer that took bytes does not expect the remaining bytes again.
                    if taken > 0 {
                        self.offered = 0;
                    }
                }
                Answer::Pending => self.offered = given,
                Answer::Fail | Answer::Overreport => {}
            }
        }
        let taken = std::mem::take(&mut writer.taken);
        let first = self.put_bytes - self.bytes.len() - taken.len();
        let expected = (first..first + taken.len()).map(|at| (at % 251) as u8 + 1);
        assert!(taken.into_iter().eq(expected), "other bytes were written");
    }
}

fn any_script(input: &mut Input<'_>) -> VecDeque<Answer> {
    let answer = |input: &mut Input<'_>| match input.below(8) {
        0 | 1 => Answer::Pending,
        2 => Answer::Fail,
        3 => Answer::Overreport,
        4 => Answer::Take(usize::MAX),
        _ => Answer::Take(any_size(input)),
    };
    (0..input.below(6)).map(|_| answer(input)).collect()
}

#[derive(Default)]
struct WakeCounter(AtomicUsize);

impl Wake for WakeCounter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Polls one operation once, and drops it. The result of the operation is the last answer of the writer, unless the budget
/// of a poll was spent: then the task is woken.
fn poll(queue: &mut SegmentQueue, writer: &mut ScriptedWriter, how: usize) {
    let wakes = Arc::new(WakeCounter::default());
    let waker = Waker::from(Arc::clone(&wakes));
    let cx = &mut Context::from_waker(&waker);
    let before = queue.len();
    let polled = match how {
        0 => {
            let polled = queue.poll_write_some(cx, Pin::new(&mut *writer));
            if let Poll::Ready(Ok(bytes)) = polled {
                assert_eq!(bytes, before - queue.len());
                assert_eq!(bytes == 0, before == 0);
            }
            polled.map(|result| result.map(|_| ()))
        }
        1 => queue.poll_write_to(cx, writer),
        _ => pin!(queue.drain_to(writer)).poll(cx),
    };
    let budget = queue.policy().poll_budget_bytes.max(1);
    let mut taken = 0;
    for (given, answer) in &writer.calls {
        assert!(taken < budget, "a call beyond the budget");
        if let Answer::Take(most) = answer {
            taken += most.min(given);
        }
    }
    let woken = wakes.0.load(Ordering::SeqCst);
    match (polled, writer.calls.last().map(|call| call.1)) {
        (Poll::Ready(Ok(())), _) => {
            assert!(how == 0 || queue.is_empty(), "the queue was not written");
            assert_eq!(woken, 0, "a task that is done is woken");
        }
        (Poll::Pending, answer) => {
            let waits = matches!(answer, Some(Answer::Pending));
            assert!(waits || taken >= budget, "it waits for nothing");
            assert_eq!(woken, 1, "nobody polls it again, or twice");
        }
        (Poll::Ready(Err(error)), answer) => {
            let expected = match answer {
                Some(Answer::Fail) => io::ErrorKind::ConnectionReset,
                Some(Answer::Overreport) => io::ErrorKind::InvalidData,
                Some(Answer::Take(0)) => io::ErrorKind::WriteZero,
                _ => panic!("{error}, though the answer was {answer:?}"),
            };
            assert_eq!(error.kind(), expected);
        }
    }
}
