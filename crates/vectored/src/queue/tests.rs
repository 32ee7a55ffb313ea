use std::cell::RefCell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};

use proptest::prelude::*;

use super::*;
use crate::cost::TargetKind;
use crate::error::TransferError;
use crate::sys::limits::Limits;
use crate::testing::{Answer, ScriptedSink, any_limits, any_script, payload};
use crate::transfer::write_loop::FnSink;

fn segment_of(kind: usize, bytes: &[u8]) -> Segment {
    match kind % 7 {
        0 => Segment::from(bytes.to_vec()),
        1 => Segment::from(Box::<[u8]>::from(bytes)),
        2 => match String::from_utf8(bytes.to_vec()) {
            Ok(text) => Segment::from(text),
            Err(error) => Segment::from(error.into_bytes()),
        },
        3 => Segment::from(Arc::<[u8]>::from(bytes)),
        4 => Segment::from(&*Box::leak(Box::<[u8]>::from(bytes))),
        5 => Segment::from_owner(RefCellOwner(RefCell::new(()), bytes.to_vec())),
        #[cfg(feature = "bytes")]
        6 => Segment::from(bytes::Bytes::copy_from_slice(bytes)),
        _ => Segment::from(bytes.to_vec()),
    }
}

/// This owner is `Send` but not `Sync`.
struct RefCellOwner(#[allow(dead_code)] RefCell<()>, Vec<u8>);

impl AsRef<[u8]> for RefCellOwner {
    fn as_ref(&self) -> &[u8] {
        &self.1
    }
}

fn any_policy() -> impl Strategy<Value = QueuePolicy> {
    let size = || prop_oneof![Just(0_usize), 1..80_usize, Just(usize::MAX)];
    let sizes = (size(), size(), size(), size(), size());
    sizes.prop_map(|(copy, join, limit, chunk, retained)| QueuePolicy {
        copy_below_bytes: copy,
        join_below_bytes: join,
        limit_bytes: limit,
        chunk_bytes: chunk,
        retained_bytes: retained,
        ..QueuePolicy::default()
    })
}

/// The bytes that are not written yet, and the positions in `bytes` at which records end.
#[derive(Default)]
struct Model {
    bytes: Vec<u8>,
    record_ends: Vec<usize>,
    /// Neighbouring bytes have different values.
    put_bytes: usize,
}

impl Model {
    fn next(&mut self, size: usize) -> Vec<u8> {
        let all = payload(&[self.put_bytes, size]);
        self.put_bytes += size;
        self.bytes.extend_from_slice(&all[1]);
        all[1].clone()
    }

    fn advance(&mut self, bytes: usize) {
        self.bytes.drain(..bytes);
        self.record_ends.retain(|end| *end > bytes);
        self.record_ends.iter_mut().for_each(|end| *end -= bytes);
    }

    /// Checks that a call may end after `bytes` bytes.
    ///
    /// - A call ends at the end of a record, at the end of the queue, or after the last record.
    /// - Only the first record of a call may be cut, and only by a limit.
    /// - A call of several records has at most `chunk_bytes`.
    fn check_end(&self, bytes: usize, is_at_limit: bool, policy: &QueuePolicy) {
        let ends_there = bytes == self.bytes.len() || self.record_ends.contains(&bytes);
        let ends_before = self.record_ends.iter().any(|end| *end < bytes);
        assert!(
            ends_there || !ends_before,
            "a call of {bytes} bytes cuts a record: {:?}",
            self.record_ends
        );
        let ends_after = self.record_ends.iter().any(|end| *end > bytes);
        assert!(
            ends_there || !ends_after || is_at_limit,
            "a call of {bytes} bytes cuts a record that it could have whole: {:?}",
            self.record_ends
        );
        assert!(
            !ends_before || bytes <= policy.chunk_bytes.max(1),
            "a call of {bytes} bytes of several records"
        );
    }
}

fn check(queue: &SegmentQueue, model: &Model) {
    assert_eq!(queue.len(), model.bytes.len());
    assert_eq!(queue.is_empty(), model.bytes.is_empty());
    assert_eq!(
        queue.is_full(),
        !model.bytes.is_empty() && model.bytes.len() >= queue.policy().limit_bytes
    );
    let segments: Vec<&[u8]> = queue.segments().collect();
    assert!(segments.iter().all(|segment| !segment.is_empty()));
    assert_eq!(segments.concat(), model.bytes);
}

fn write_all(queue: &mut SegmentQueue, model: &mut Model, script: &[Answer], limits: Limits) {
    // On every system, a call may have at least the bytes of one group of records.
    let limits = Limits {
        bytes: limits.bytes.max(queue.group_bytes()),
        ..limits
    };
    let mut sink = ScriptedSink::new(script.to_vec(), limits);
    let (expected, policy) = (model.bytes.clone(), *queue.policy());
    loop {
        let model = RefCell::new(&mut *model);
        let call = |slices: &[IoSlice<'_>]| {
            let mut model = model.borrow_mut();
            let given: usize = slices.iter().map(|slice| slice.len()).sum();
            let is_at_limit = given == limits.bytes || slices.len() == limits.segments;
            model.check_end(given, is_at_limit, &policy);
            let result = sink.call(slices);
            if let Ok(taken) = &result {
                model.advance(*taken);
            }
            result
        };
        let before = queue.len();
        let result = queue.write_all_into(limits, || Ok(()), FnSink(call));
        let after = queue.len();
        let went = result
            .as_ref()
            .map_or_else(TransferError::transferred, |sent| *sent);
        assert_eq!(went, (before - after) as u64);
        check(queue, &model.borrow());
        match result {
            Ok(_) => break,
            Err(error) => sink.check_error(&error),
        }
    }
    assert!(queue.is_empty());
    assert_eq!(sink.taken, expected);
}

/// The number of an operation, and a size in bytes.
type Step = (usize, usize);

fn run(
    queue: &mut SegmentQueue,
    (step, size): Step,
    model: &mut Model,
    script: &[Answer],
    limits: Limits,
) {
    match step {
        0..=3 => queue.put_slice(&model.next(size)),
        4..=9 => queue.push(segment_of(step + size, &model.next(size))),
        10 | 11 => {
            // The size is often the length of the longest segment that is copied.
            let size = size.min(queue.policy().copy_below_bytes.saturating_add(step - 10));
            let owner: Arc<[u8]> = Arc::from(model.next(size));
            queue.push_shared(&owner);
            let is_kept = size > queue.policy().copy_below_bytes;
            assert_eq!(Arc::strong_count(&owner), 1 + usize::from(is_kept));
        }
        12 => {
            // The size is often the room left in the queue.
            let room = queue.policy().limit_bytes.saturating_sub(queue.len());
            let size = size.min(room.saturating_add(size % 2));
            let fits = queue.is_empty() || queue.len() + size <= queue.policy().limit_bytes;
            if fits {
                assert!(queue.try_push(model.next(size)).is_ok());
            } else {
                let refused = queue.try_push(vec![7; size]).unwrap_err();
                assert_eq!(*refused.into_segment(), *vec![7; size]);
            }
        }
        13 => {
            let data = [size, 0, size / 2].map(|size| model.next(size));
            let slices = data.each_ref().map(|bytes| IoSlice::new(bytes));
            assert_eq!(queue.write_vectored(&slices).unwrap(), size + size / 2);
        }
        #[cfg(feature = "bytes")]
        14 => {
            let [one, two] = [size, size / 2].map(|size| bytes::Bytes::from(model.next(size)));
            queue.push_buf(bytes::Buf::chain(one, two));
        }
        #[cfg(feature = "bytes")]
        15 | 16 => {
            let size = size.min(queue.len());
            let taken = bytes::Buf::copy_to_bytes(queue, size);
            assert_eq!(taken, model.bytes[..size]);
            model.advance(size);
        }
        #[cfg(feature = "bytes")]
        17 => {
            let four = model.next(4);
            bytes::BufMut::put_u32_le(queue, u32::from_le_bytes(four.try_into().unwrap()));
        }
        18..=20 => {
            queue.end_record();
            if !model.bytes.is_empty() {
                model.record_ends.push(model.bytes.len());
            }
        }
        21 | 22 => {
            let bytes = size.min(queue.len());
            queue.advance(bytes);
            model.advance(bytes);
        }
        23 => {
            queue.try_reserve(3 * size).unwrap();
            assert!(queue.copied.capacity() - queue.copied.len() >= 3 * size);
            // On a 32-bit system, 2 GiB may be allocated.
            #[cfg(target_pointer_width = "64")]
            assert!(queue.try_reserve(isize::MAX as usize).is_err());
        }
        24 => {
            queue.clear();
            model.advance(model.bytes.len());
        }
        _ => write_all(queue, model, script, limits),
    }
    check(queue, model);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_queue_is_the_bytes_that_were_put_in_and_not_written(
        policy in any_policy(),
        steps in prop::collection::vec((0..27_usize, 0..60_usize), 0..if cfg!(miri) { 12 } else { 40 }),
        script in any_script(),
        limits in any_limits(),
    ) {
        let (mut queue, mut model) = (SegmentQueue::with_policy(policy), Model::default());
        for step in steps {
            run(&mut queue, step, &mut model, &script, limits);
        }
        let unsent: Vec<Segment> = queue.into_unsent().collect();
        assert!(unsent.iter().all(|segment| !segment.is_empty()));
        let unsent: Vec<u8> = unsent.into_iter().flat_map(Vec::from).collect();
        assert_eq!(unsent, model.bytes);
    }
}

#[test]
fn a_call_holds_whole_records_though_its_limits_allow_more() {
    let check = |chunk_bytes, segments, records: &[&[usize]], expected: &[usize]| {
        let policy = QueuePolicy {
            chunk_bytes,
            copy_below_bytes: 0,
            ..QueuePolicy::default()
        };
        let mut queue = SegmentQueue::with_policy(policy);
        for record in records {
            record.iter().for_each(|size| queue.push(vec![b'x'; *size]));
            queue.end_record();
        }
        let mut calls = Vec::new();
        let call = |slices: &[IoSlice<'_>]| {
            let bytes = slices.iter().map(|slice| slice.len()).sum();
            calls.push(bytes);
            Ok(bytes)
        };
        let limits = Limits {
            segments,
            ..Limits::default()
        };
        queue
            .write_all_into(limits, || Ok(()), FnSink(call))
            .unwrap();
        assert_eq!(calls, expected);
    };
    check(10, 1000, &[&[4], &[4], &[30], &[4], &[9]], &[8, 30, 4, 9]);
    check(
        usize::MAX,
        3,
        &[&[1, 1], &[1, 1], &[1, 1, 1, 1]],
        &[2, 2, 3, 1],
    );
}

#[test]
fn a_writer_that_reports_more_than_it_was_given_loses_nothing() {
    let mut queue = SegmentQueue::new();
    queue.put_slice(b"abc");
    let lies = FnSink(|_: &[IoSlice<'_>]| Ok(4));
    let error = queue
        .write_all_into(Limits::default(), || Ok(()), lies)
        .unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    assert_eq!(queue.len(), 3);
}

#[test]
fn a_queue_that_one_call_does_not_take_is_no_message() {
    let mut queue = SegmentQueue::new();
    queue.push(vec![1; 10_000]);
    queue.push(vec![2; 10_000]);
    let limits = Limits {
        segments: 1,
        bytes: usize::MAX,
    };
    let refuse = || Err(io::ErrorKind::InvalidInput.into());
    let never = FnSink(|_: &[IoSlice<'_>]| panic!("a part of a message"));
    let error = queue.write_all_into(limits, refuse, never).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    assert_eq!(queue.len(), 20_000);
}

#[test]
fn calls_of_short_records_are_nearly_as_long_as_a_chunk_allows() {
    let policy = QueuePolicy {
        chunk_bytes: 1000,
        join_below_bytes: 520,
        ..QueuePolicy::default()
    };
    let mut queue = SegmentQueue::with_policy(policy);
    for _ in 0..2 {
        for _ in 0..98 {
            queue.put_slice(&[1; 30]);
            queue.put_slice(&[2; 10]);
            queue.end_record();
        }
        let mut calls = Vec::new();
        let call = |slices: &[IoSlice<'_>]| {
            calls.push(slices[0].len());
            Ok(slices[0].len())
        };
        let sent = queue.write_all_into(Limits::default(), || Ok(()), FnSink(call));
        assert_eq!(sent.unwrap(), 98 * 40);
        // Each group has one record, because two records have more than an eighth of 520 bytes.
        assert_eq!(calls, [1000, 1000, 1000, 920]);
    }
}

#[test]
fn the_ends_of_short_records_take_memory_by_the_group() {
    let mut queue = SegmentQueue::with_policy(QueuePolicy::for_target(TargetKind::File));
    for _ in 0..10_000 {
        queue.put_slice(&[1; 100]);
        queue.end_record();
    }
    let groups = queue.len() / (queue.policy().join_below_bytes / 8);
    assert!(queue.record_ends.capacity() <= 2 * groups);
}

#[test]
fn what_was_reserved_is_put_in_without_more_memory() {
    let mut queue = SegmentQueue::new();
    for turn in 0..100 {
        queue.try_reserve(turn * 7).unwrap();
        let memory = |queue: &SegmentQueue| (queue.copied.capacity(), queue.kept.memory());
        let reserved = memory(&queue);
        queue.put_slice(&vec![1; turn * 7]);
        queue.push(vec![2; 5_000]);
        assert_eq!(memory(&queue), reserved);
    }
}

#[test]
fn memory_goes_back_after_a_burst() {
    let mut queue = SegmentQueue::new();
    let retained = queue.policy().retained_bytes;
    for _ in 0..10_000 {
        queue.push(vec![1; 5_000]);
        queue.put_slice(&[1; 1_000]);
        queue.end_record();
    }
    queue.advance(queue.len());
    assert_eq!(queue.copied.capacity(), 0);
    assert!(queue.kept.memory().iter().all(|bytes| *bytes <= retained));
    assert!(queue.record_ends.capacity() * 8 <= retained);

    for _ in 0..30 {
        queue.put_slice(&[1; 1000]);
        queue.advance(1000);
    }
    assert!((1000..=retained).contains(&queue.copied.capacity()));

    // The first allocation after a burst has the size of the burst. After a shorter burst, the size is halved. The size
    // is never below the requested size.
    let policy = QueuePolicy {
        retained_bytes: 0,
        limit_bytes: usize::MAX,
        ..QueuePolicy::default()
    };
    let mut queue = SegmentQueue::with_policy(policy);
    for (burst, at_once) in [(8000, 1), (1, 8000), (1, 4000)] {
        queue.put_slice(&[1]);
        assert!((at_once..at_once + 1000).contains(&queue.copied.capacity()));
        queue.put_slice(&vec![1; burst - 1]);
        queue.clear();
    }
    queue.regrow_bytes = isize::MAX as usize;
    queue.try_reserve(7).unwrap();
}

/// The thread-local memory for lists is destroyed before the queue, because the thread-local variable of the queue was
/// made first.
#[test]
fn a_queue_can_be_written_while_its_thread_ends() {
    struct Log(SegmentQueue, mpsc::Sender<usize>);
    impl Log {
        fn write(&mut self) {
            self.0.push(vec![1; 5_000]);
            let bytes = |slices: &[IoSlice<'_>]| Ok(slices.iter().map(|slice| slice.len()).sum());
            let sent = self
                .0
                .write_all_into(Limits::default(), || Ok(()), FnSink(bytes));
            self.1.send(sent.unwrap() as usize).unwrap();
        }
    }
    impl Drop for Log {
        fn drop(&mut self) {
            self.write();
        }
    }
    thread_local!(static LOG: RefCell<Option<Log>> = const { RefCell::new(None) });
    let (sender, receiver) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        LOG.with_borrow_mut(|log| log.insert(Log(SegmentQueue::new(), sender)).write());
    });
    thread.join().unwrap();
    assert_eq!(receiver.iter().collect::<Vec<_>>(), [5_000, 5_000]);
}

/// Makes a queue of three records with one kept segment each. The first and the last owner panic when they are dropped.
fn queue_of_panicking_owners() -> SegmentQueue {
    struct Panics(bool);
    impl AsRef<[u8]> for Panics {
        fn as_ref(&self) -> &[u8] {
            b"0123456789"
        }
    }
    impl Drop for Panics {
        fn drop(&mut self) {
            assert!(!self.0, "dropped");
        }
    }
    let mut queue = SegmentQueue::with_policy(QueuePolicy {
        copy_below_bytes: 4,
        chunk_bytes: 1,
        ..QueuePolicy::default()
    });
    for panics in [true, false, true] {
        queue.put_slice(b"ab");
        queue.push(Segment::from_owner(Panics(panics)));
        queue.end_record();
    }
    queue
}

#[test]
fn an_owner_that_panics_when_it_is_dropped_leaves_the_queue_as_it_should_be() {
    let mut queue = queue_of_panicking_owners();
    let advanced = catch_unwind(AssertUnwindSafe(|| queue.advance(25)));
    assert!(advanced.is_err());
    let segments: Vec<&[u8]> = queue.segments().collect();
    assert_eq!(segments.concat(), b"b0123456789");
    assert_eq!(queue.len(), 11);
    assert_eq!(queue.wanted_bytes(), 11);

    let cleared = catch_unwind(AssertUnwindSafe(|| queue.clear()));
    assert!(cleared.is_err());
    assert!(queue.is_empty());
    assert_eq!(queue.segments().count(), 0);
    queue.put_slice(b"new");
    queue.end_record();
    queue.put_slice(b"more");
    assert_eq!(queue.wanted_bytes(), 3);
    assert_eq!(queue.segments().collect::<Vec<_>>(), [b"newmore"]);
}

/// A call coalesces segments only if they may adjoin in memory.
#[test]
fn kept_segments_without_copied_bytes_between_them_may_adjoin() {
    let may_adjoin =
        |queue: &SegmentQueue| queue.fill(Limits::default(), &mut Vec::new()).may_adjoin;
    let mut queue = SegmentQueue::new();
    queue.push(vec![1; 5_000]);
    queue.put_slice(b"copied");
    queue.push(vec![1; 5_000]);
    assert!(!may_adjoin(&queue));
    queue.push(vec![1; 5_000]);
    assert!(may_adjoin(&queue));
    queue.clear();
    queue.push(vec![1; 5_000]);
    assert!(!may_adjoin(&queue));
}

/// On a 32-bit system, a segment of 1 MiB that is pushed 4096 times would exceed a `usize`.
#[test]
#[should_panic(expected = "more bytes than a queue can count")]
fn more_bytes_than_can_be_counted_are_a_panic_and_not_fewer() {
    let mut queue = SegmentQueue::new();
    queue.push(vec![1; 5_000]);
    queue.kept.bytes = isize::MAX as usize - 5_000;
    queue.push(vec![1; 5_000]);
    queue.push(vec![1; 5_000]);
}

#[test]
fn an_owner_becomes_a_segment_where_its_bytes_are() {
    let (owned, shared, text) = (vec![1; 9], Arc::<[u8]>::from([2; 9]), "static");
    for (start, segment) in [
        (owned.as_ptr(), Segment::from(owned)),
        (shared.as_ptr(), Segment::from(shared)),
        (text.as_ptr(), Segment::from(text)),
    ] {
        assert_eq!(segment.as_ptr(), start);
    }
}
